"""The measuring itself: matching, the unit map, and a file that is no gold file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError
from numcolbert.quantities import evaluation
from numcolbert.quantities.evaluation import Extracted, Gold, Sentence

KG = frozenset({"kilogram"})
MILE = frozenset({"mile"})


@pytest.fixture
def gold_file(tmp_path: Path) -> Path:
    def entry(text: str, *quantities: tuple[str, str]) -> dict[str, object]:
        return {"text": text, "quantities": [{"value": v, "normalized_unit": u} for v, u in quantities]}

    path = tmp_path / "gold.json"
    path.write_text(
        json.dumps([
            entry("The bag holds 5 kg.", ("5.0", "kilogram")),
            entry("It costs $3 to $5 million.", ("3000000-5000000", "dollar")),
            entry("Nothing to see.", ),
            entry("They opened 12 new shops and sold 40 pies.", ("12", "new shop"), ("40", "cake")),
        ])
    )  # fmt: skip
    return path


def test_scores(gold_file: Path) -> None:
    outcome = evaluation.measure(evaluation.ours(), evaluation.read_gold(gold_file))
    assert outcome.value.f1 == 1
    assert outcome.value_and_unit.precision == outcome.value_and_unit.recall == pytest.approx(3 / 4)
    assert outcome.sentences_per_second > 0


def test_whole_noun_phrases(gold_file: Path) -> None:
    assert "new shop" in evaluation.gold_units("new shop", whole=True)
    assert "shop" not in evaluation.gold_units("new shop", whole=True)
    outcome = evaluation.measure(evaluation.ours(whole=True), evaluation.read_gold(gold_file, whole=True))
    assert outcome.value_and_unit.recall == pytest.approx(3 / 4)


def test_each_gold_quantity_matches_once() -> None:
    gold = [Gold(5, 5, KG), Gold(5, 5, MILE)]
    assert evaluation.matches(gold, [Extracted(5, 5, MILE)]) == (1, 1)
    assert evaluation.matches(gold, [Extracted(5, 5, MILE), Extracted(5, 5, KG)]) == (2, 2)
    assert evaluation.matches(gold[:1], [Extracted(5, 5, KG), Extracted(5, 5, KG)]) == (1, 1)
    assert evaluation.matches(gold[:1], [Extracted(5, 6, KG)]) == (0, 0)


def test_extra_quantities_cost_precision() -> None:
    sentences = [Sentence("5 kg or 7 miles", (Gold(5, 5, KG),))]
    outcome = evaluation.measure(evaluation.ours(), sentences)
    assert (outcome.value.precision, outcome.value.recall) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("phrase", "ours"),
    [
        ("percentage", "percent"), ("dollar per barrel", "USD/barrel"), ("heart transplant", "transplant"),
        ("kilometre per hour", "kilometre/hour"), ("-", ""), ("kilowatt", "kilowatt"),
    ],
)  # fmt: skip
def test_unit_names_are_mapped(phrase: str, ours: str) -> None:
    assert ours in evaluation.gold_units(phrase)


def test_every_name_on_our_side_of_the_map_is_a_unit() -> None:
    from numcolbert.quantities import units

    nouns = {"", "point", "age", "person", "count", "generation", "calorie"}
    for names in evaluation.unit_map().values():
        for name in names:
            if name not in nouns and not name.startswith(("point", "rebound", "assist")):
                assert units.lookup(name).name == name


@pytest.mark.parametrize("content", ["{", "[1, 2]", '[{"text": "x"}]', '[{"text": "x", "quantities": [{}]}]'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match="is not a NewsQuant file"):
        evaluation.read_gold(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="absent"):
        evaluation.read_gold(tmp_path / "absent.json")


def test_the_halves_share_nothing() -> None:
    sentences = [Sentence(str(number), ()) for number in range(9)]
    left, right = evaluation.halves(sentences)
    assert len(left) + len(right) == 9
    assert not set(left) & set(right)
