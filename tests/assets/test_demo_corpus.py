"""The shipped demo corpus is what the facts and templates say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build", ROOT / "scripts" / "demo_corpus" / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shipped() -> list[dict[str, str]]:
    text = (ROOT / "src" / "numcolbert" / "assets" / "demo.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_shipped_corpus_is_up_to_date(build: ModuleType, shipped: list[dict[str, str]]) -> None:
    assert build.sentences() == shipped


def test_it_is_large_and_without_repeats(shipped: list[dict[str, str]]) -> None:
    assert len(shipped) >= 2000
    assert len({item["text"] for item in shipped}) == len({item["id"] for item in shipped}) == len(shipped)
    assert len({item["kind"] for item in shipped}) >= 16


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (8849, 0, "8,849"),
        (0.5, 1, "0.5"),
        (-89.2, 1, "−89.2"),
        (4000.0, 1, "4,000"),
        (637068, -3, "637,000"),
        (0.0035274, 2, "0.0035"),
    ],
)
def test_numbers_are_written_plainly(build: ModuleType, value: float, decimals: int, text: str) -> None:
    assert build.number(value, decimals) == text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("orca", "An orca lives."), ("European bison", "A European bison lives."), ("wolf", "A wolf lives.")],
)
def test_names_have_their_article(build: ModuleType, name: str, sentence: str) -> None:
    assert build.fill("A {name} lives.", {"name": name}, {}, {}) == sentence


@pytest.mark.parametrize(
    ("about", "figure"), [("K2", "28,251 feet"), ("mercury", "−38.8 degrees Celsius"), ("Nile", "6,650 k")]
)
def test_known_figures_are_there(shipped: list[dict[str, str]], about: str, figure: str) -> None:
    assert any(item["about"] == about and figure in item["text"] for item in shipped)
