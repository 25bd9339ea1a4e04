"""Write docs/reference from the code: commands, HTTP routes, errors and recipe keys.

python scripts/reference.py            # rewrite
python scripts/reference.py --check    # exit 1 where a page is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from numcolbert import errors
from numcolbert.cli.app import app

PAGES = Path(__file__).parent.parent / "docs" / "reference"
MARKUP = re.compile(r"\[/?(?:bold|dim|italic)\]")


def clean(text: str | None) -> str:
    return MARKUP.sub("", inspect.cleandoc(text or "")).strip()


def cell(text: str | None) -> str:
    return " ".join(clean(text).split()).replace("|", "\\|")


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, depth first."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name in sorted(children):
        yield from commands(children[name], f"{path} {name}")


def option_row(parameter: Any) -> str:
    names = parameter.opts + parameter.secondary_opts
    name = parameter.name.upper() if parameter.param_type_name == "argument" else ", ".join(names)
    default = parameter.default
    shown = (
        "" if default is None or default is False or default == () or callable(default) else f"`{default}`"
    )
    return f"| `{name}` | {cell(getattr(parameter, 'help', ''))} | {shown} |"


def cli_page() -> str:
    lines = ["# Command line", "", "`numcolbert COMMAND --help` says the same in a terminal.", ""]
    for path, command in commands(typer.main.get_command(app), "numcolbert"):
        lines += [f"## `{path}`", "", clean(command.help), ""]
        rows = [option_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            lines += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def error_page() -> str:
    lines = [
        "# Errors",
        "",
        "Every failure is `{code, message, hint}`: an exception in Python, two lines and an exit code on the",
        "command line, JSON with a status over HTTP.",
        "",
        "| code | exception | exit code | HTTP status | meaning |",
        "|---|---|---|---|---|",
    ]
    for kind in [errors.NumColBERTError, *errors.NumColBERTError.__subclasses__()]:
        if kind.__module__ == errors.__name__:
            row = f"| `{kind.code}` | `{kind.__name__}` | {kind.exit_code} | {kind.http_status} |"
            lines.append(f"{row} {cell(kind.__doc__)} |")
    lines += [
        "",
        "The server adds `bad_json` (400), `bad_request` (422: a field is missing, of the wrong type or",
        "unknown), `no_route` (404) and `too_large` (413).",
        "",
    ]
    return "\n".join(lines)


def http_page() -> str:
    from fastapi import FastAPI

    from numcolbert.server.app import add_probes
    from numcolbert.server.routes import router

    server = FastAPI()
    server.include_router(router)
    add_probes(server)
    spec = server.openapi()
    lines = [
        "# HTTP",
        "",
        "`numcolbert serve DIR` answers these routes; `/docs` on the server shows them with examples to try.",
        "",
        "| route | what it does | request |",
        "|---|---|---|",
    ]
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            request = content.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
            what = cell(operation.get("description") or operation["summary"])
            link = f"[{request}](#{request.lower()})" if request else ""
            lines.append(f"| `{method.upper()} {path}` | {what} | {link} |")
    for name, schema in spec["components"]["schemas"].items():
        if name.endswith("Request") or name == "DocumentIn":
            lines += ["", f"## {name}", "", "| field | meaning | default |", "|---|---|---|"]
            for field, facts in schema["properties"].items():
                default = "required" if field in schema.get("required", []) else f"`{facts.get('default')}`"
                lines.append(f"| `{field}` | {cell(facts.get('description', ''))} | {default} |")
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    return {"cli.md": cli_page(), "errors.md": error_page(), "http.md": http_page()}


def main() -> None:
    stale = []
    for name, text in pages().items():
        page = PAGES / name
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                page.write_text(text, encoding="utf-8")
    if stale:
        print("out of date:" if "--check" in sys.argv else "wrote", *stale)  # noqa: T201
    sys.exit(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    main()
