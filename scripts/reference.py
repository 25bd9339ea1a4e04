"""Write docs/reference from the code: commands, Python names, HTTP routes and errors.

python scripts/reference.py            # rewrite
python scripts/reference.py --check    # exit 1 where a page is out of date
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer.main

import numcolbert
from numcolbert import errors, types
from numcolbert.cli.app import app
from numcolbert.index.writer import AddReport
from numcolbert.search import results
from numcolbert.server import answers, client, problems

PAGES = Path(__file__).parent.parent / "docs" / "reference"
MARKUP = re.compile(r"\[/?(?:bold|dim|italic)\]")
GENERATED = "<!-- Written by scripts/reference.py: change the code, then run it. -->"


def clean(text: str | None) -> str:
    """Without markup, and without the backslash that keeps a bracket from being taken for it."""
    return MARKUP.sub("", inspect.cleandoc(text or "")).replace("\\[", "[").strip()


def cell(text: str | None) -> str:
    return " ".join(clean(text).split()).replace("|", "\\|")


# -- command line ------------------------------------------------------------------------------------------


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, depth first."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name in sorted(children):
        yield from commands(children[name], f"{path} {name}")


def default_of(parameter: Any) -> str:
    default = parameter.default
    if parameter.required:
        return "required"
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, list | tuple):
        default = " ".join(map(str, default))
    plain = default is None or default is False or default == "" or callable(default)
    if parameter.secondary_opts:  # --gate/--no-gate: say which of the two
        return f"`{(parameter.opts if default else parameter.secondary_opts)[0]}`"
    return "" if plain else f"`{default}`"


def option_row(parameter: Any) -> str:
    names = parameter.opts + parameter.secondary_opts
    argument = parameter.param_type_name == "argument"
    name = (parameter.metavar or parameter.name.upper()).strip("[]") if argument else ", ".join(names)
    return f"| `{name}` | {cell(getattr(parameter, 'help', ''))} | {default_of(parameter)} |"


def cli_page() -> str:
    root = typer.main.get_command(app)
    known = list(commands(root, "numcolbert"))
    lines = [
        "# Command line",
        GENERATED,
        "",
        "`numcolbert COMMAND --help` says the same in a terminal. Results go to standard output, progress",
        "and messages to standard error. `--json` prints JSON, a pipe gets tab-separated lines, a terminal",
        "gets tables; `NO_COLOR=1` switches colours off. `numcolbert --install-completion` sets up the",
        "shell's completion, `numcolbert --version` prints the version. Exit codes are listed under",
        "[errors](errors.md), the keys of a training recipe in the [training guide](../guides/training.md).",
        "",
        *(f"- [`{path}`](#{path.replace(' ', '-')})" for path, _ in known),
        "",
    ]
    for path, command in known:
        meaning, _, examples = clean(command.help).partition("\n\nExample")
        lines += [f"## `{path}`", "", meaning, ""]
        lines += ["```console", *(line.strip() for line in examples.splitlines()[1:]), "```", ""]
        rows = [option_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            lines += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


# -- errors ------------------------------------------------------------------------------------------------


def kinds(base: type[errors.NumColBERTError]) -> Iterator[type[errors.NumColBERTError]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


def error_page() -> str:
    lines = [
        "# Errors",
        GENERATED,
        "",
        "Every failure is `{code, message, hint}`: an exception in Python, two lines and an exit code on the",
        "command line, JSON with a status over HTTP.",
        "",
        "| code | exception | exit code | HTTP status | meaning |",
        "|---|---|---|---|---|",
    ]
    for kind in kinds(errors.NumColBERTError):
        if kind.__module__ == errors.__name__:
            row = f"| `{kind.code}` | `{kind.__name__}` | {kind.exit_code} | {kind.http_status} |"
            lines.append(f"{row} {cell(kind.__doc__)} |")
    lines += ["", "The server adds:", "", "| code | HTTP status | meaning |", "|---|---|---|"]
    for code, (status, meaning) in problems.CODES.items():
        lines.append(f"| `{code}` | {status or 'as answered'} | {meaning} |")
    lines += [
        "",
        "The Python client raises `ServerError` with the server's own code in `server_code`, or:",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| `{code}` | {meaning} |" for code, meaning in client.CODES.items()),
        "",
        "## Exit codes",
        "",
        "| exit code | meaning |",
        "|---|---|",
        "| 0 | it worked |",
        "| 1 | it failed: the sentence on standard error says why |",
        "| 2 | wrong use: an unknown option, a missing argument, a filter or recipe that cannot be read |",
        "| 130 | interrupted with Ctrl-C |",
        "",
    ]
    return "\n".join(lines)


# -- HTTP --------------------------------------------------------------------------------------------------


def openapi() -> dict[str, Any]:
    from fastapi import FastAPI

    from numcolbert.server.probes import add_probes
    from numcolbert.server.routes import router

    server = FastAPI()
    server.include_router(router)
    add_probes(server)
    return server.openapi()


def body_type(content: dict[str, Any]) -> str:
    """What a body holds, where it is made of objects that the page describes."""
    schema = content.get("application/json", {}).get("schema", {})
    described = "$ref" in schema or "$ref" in schema.get("items", {})
    return type_name(schema) if described else ""


def type_name(facts: dict[str, Any]) -> str:
    """'integer', 'string or null', 'list of HitOut'."""
    if "anyOf" in facts:
        return " or ".join(type_name(option) for option in facts["anyOf"])
    if "$ref" in facts:
        name = facts["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in facts:
        return ", ".join(f"`{value}`" for value in facts["enum"])
    if facts.get("type") == "array":
        items = facts.get("items") or (facts.get("prefixItems") or [{}])[0]
        return f"list of {type_name(items)}"
    return str(facts.get("type", "any"))


def json_default(facts: dict[str, Any]) -> str:
    if "default" in facts:
        return json.dumps(facts["default"])
    return "{}" if facts.get("type") == "object" else "null"


def http_page() -> str:
    spec = openapi()
    lines = [
        "# HTTP",
        GENERATED,
        "",
        "`numcolbert serve DIR` answers these routes; `/docs` on the server shows them with examples to try.",
        "Every answer carries an `x-request-id`, the caller's own where one was sent. Failures are",
        "`{code, message, hint}`, see [errors](errors.md). The [guide](../guides/serve.md) has examples.",
        "",
        "| route | what it does | request | answer |",
        "|---|---|---|---|",
    ]
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            request = body_type(operation.get("requestBody", {}).get("content", {}))
            good = next(answer for status, answer in operation["responses"].items() if status < "300")
            row = f"| `{method.upper()} {path}` | {cell(operation['description'])} |"
            lines.append(f"{row} {request} | {body_type(good.get('content', {}))} |")
    for name, schema in spec["components"]["schemas"].items():
        if name in ("HTTPValidationError", "ValidationError"):
            continue
        needed = set(schema.get("required", []))
        lines += ["", f"## {name}", "", "| field | type | meaning | default |", "|---|---|---|---|"]
        for field, facts in schema["properties"].items():
            default = "" if field in needed else f"`{json_default(facts)}`"
            meaning = cell(facts.get("description", ""))
            lines.append(f"| `{field}` | {type_name(facts)} | {meaning} | {default} |")
    return "\n".join([*lines, ""])


# -- Python ------------------------------------------------------------------------------------------------


def field_notes(kind: type) -> dict[str, str]:
    """The strings and comments that stand beside the fields of a dataclass."""
    source = inspect.getsource(kind)
    found = re.findall(r'^    (\w+): [^\n]+\n    """(.*?)"""', source, flags=re.MULTILINE | re.DOTALL)
    beside = re.findall(r"^    (\w+): [^\n#]+  # ([^\n]+)$", source, flags=re.MULTILINE)
    return {**dict(beside), **dict(found)}


def signature(function: Any) -> str:
    shown = str(inspect.signature(function))
    shown = re.sub(r"\b(?:numcolbert|collections|pathlib)(?:\.\w+)*\.(\w+)", r"\1", shown)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)  # annotations are texts, defaults may be
    return shown.replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")


def class_lines(kind: type) -> Iterator[str]:
    written = clean(kind.__doc__)
    made_up = written.startswith(f"{kind.__name__}(")  # a dataclass without a docstring gets its signature
    yield from (f"## `{kind.__name__}`", "", "" if made_up else written, "")
    if dataclasses.is_dataclass(kind):
        notes = field_notes(kind)
        yield from ("| field | type | meaning |", "|---|---|---|")
        for field in dataclasses.fields(kind):
            kind_of = cell(str(field.type))
            yield f"| `{field.name}` | `{kind_of}` | {cell(notes.get(field.name, ''))} |"
        yield ""
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, classmethod) else member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        yield from (f"### `{kind.__name__}.{name}{signature(function)}`", "", clean(function.__doc__), "")


def python_page() -> str:
    lines = [
        "# Python",
        GENERATED,
        "",
        "`import numcolbert` gives the names as far as `Quantity`; what their methods return follows, then",
        "the client, which is in `numcolbert.server.client`. A `DocumentLike` is a text, a `Document`, or a",
        "mapping with `text` and perhaps `id`, in which all else is metadata. All failures are",
        "[`NumColBERTError`](errors.md).",
        "",
        f"## `numcolbert.open{signature(numcolbert.open)}`",
        "",
        clean(numcolbert.open.__doc__),
        "",
    ]
    shown = [getattr(numcolbert, name) for name in sorted(numcolbert.__all__) if name != "open"]
    shown += [results.Results, results.Explanation, results.TokenMatch, results.JudgedQuantity]
    shown += [types.QueryEncoding, types.DocumentEncoding, AddReport, client.Client]
    shown += [kind for kind in vars(answers).values() if dataclasses.is_dataclass(kind)]
    for kind in shown:
        lines += class_lines(kind)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def pages() -> dict[str, str]:
    return {
        "cli.md": cli_page(),
        "errors.md": error_page(),
        "http.md": http_page(),
        "python.md": python_page(),
    }


def main() -> None:
    check = "--check" in sys.argv
    stale = []
    for name, text in pages().items():
        page = PAGES / name
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                PAGES.mkdir(parents=True, exist_ok=True)
                page.write_text(text, encoding="utf-8")
    if stale:
        print("out of date:" if check else "wrote", *stale)  # noqa: T201
    sys.exit(bool(stale) and check)


if __name__ == "__main__":
    main()
