"""`numcolbert doctor`: versions, devices, what is missing and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


def requirements() -> list[tuple[str, str]]:
    """(package, extra) for everything the installed metadata names; the core's extra is ''."""
    found = []
    for line in importlib.metadata.requires("numcolbert") or []:
        name = re.split(r"[\s\[<>=!~;]", line, maxsplit=1)[0]
        extra = _EXTRA.search(line)
        if name != "numcolbert":
            found.append((name, extra.group(1) if extra else ""))
    return found


def doctor(as_json: JsonOption = False) -> None:
    """Show versions and what is missing.

    Example: [bold]numcolbert doctor[/bold]
    """
    rows = []
    for package, extra in requirements():
        try:
            version = importlib.metadata.version(package)
            advice = ""
        except importlib.metadata.PackageNotFoundError:
            version = "missing"
            advice = f"pip install 'numcolbert[{extra}]'" if extra else "pip install numcolbert"
        rows.append((extra or "core", package, version, advice))
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    if as_json:
        packages = [dict(zip(("part", "package", "version", "hint"), row, strict=True)) for row in rows]
        print_json({**machine, "packages": packages})
        return
    typer.echo(f"Python {machine['python']} on {machine['system']}, {machine['cores']} cores")
    print_table(("part", "package", "version", "hint"), rows)
