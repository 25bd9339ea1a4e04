"""Nothing is undocumented: the reference is made from the code and committed beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

from numcolbert import errors
from numcolbert.cli.app import app
from numcolbert.server import problems
from numcolbert.server.routes import router

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("reference")


@pytest.fixture(scope="module")
def pages(reference: ModuleType) -> dict[str, str]:
    made: dict[str, str] = reference.pages()
    return made


@pytest.mark.parametrize("name", ["cli.md", "errors.md", "http.md", "python.md"])
def test_the_committed_page_is_what_the_code_says(pages: dict[str, str], name: str) -> None:
    committed = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert committed == pages[name], "run: python scripts/reference.py"


def test_every_command_and_option_has_a_meaning(reference: ModuleType, pages: dict[str, str]) -> None:
    page = pages["cli.md"]
    for path, command in reference.commands(typer.main.get_command(app), "numcolbert"):
        assert f"## `{path}`" in page
        section = page.split(f"## `{path}`\n")[1].split("\n## ")[0]
        for parameter in command.params:
            if parameter.name != "help":
                assert parameter.help, f"{path}: '{parameter.name}' has no help"
                assert parameter.opts[0].upper() in section.upper()


def test_every_route_and_field_has_a_meaning(reference: ModuleType, pages: dict[str, str]) -> None:
    for route in router.routes:
        assert re.sub(r":\w+}", "}", route.path) in pages["http.md"]  # type: ignore[attr-defined]
    for name, schema in reference.openapi()["components"]["schemas"].items():
        for field, facts in schema["properties"].items():
            assert facts.get("description"), f"{name}.{field} has no description"


def test_every_error_code_is_listed(pages: dict[str, str]) -> None:
    def codes(kind: type[errors.NumColBERTError]) -> set[str]:
        return {kind.code}.union(*(codes(child) for child in kind.__subclasses__()))

    server = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src" / "numcolbert" / "server").glob("*.py")
    )
    spoken = set(re.findall(r'problem\(\s*\d+,\s*"(\w+)"', server)) - {"failed"}
    assert spoken <= set(problems.CODES)
    own = codes(errors.NumColBERTError) - {"server"}  # the client's, which carries the server's own
    for code in own | set(problems.CODES):
        assert f"| `{code}` |" in pages["errors.md"]


def test_examples_and_signatures_can_be_copied(pages: dict[str, str]) -> None:
    assert "\\[" not in pages["cli.md"], "a backslash that only the help's markup needs"
    assert "engine: str = 'auto'" in pages["python.md"]


def test_a_list_is_called_one(pages: dict[str, str]) -> None:
    assert re.search(r"^\| `GET /v1/jobs` .*\| list of \[JobOut\]", pages["http.md"], flags=re.MULTILINE)


def test_what_methods_return_is_described(pages: dict[str, str]) -> None:
    found = re.findall(r"-> (?:list\[)?([A-Z]\w+)", pages["python.md"])
    returned = set(found) - {"None", "Iterator", "NDArray"}
    assert {name for name in returned if f"## `{name}`" not in pages["python.md"]} == set()
