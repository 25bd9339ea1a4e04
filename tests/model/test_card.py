"""The model card says what was recorded, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError, UsageError
from numcolbert.model.card import read_facts, write_card

FACTS = {
    "name": "numcolbert-small",
    "backbone": "a small encoder",
    "backbone_licence": "Apache-2.0",
    "summary": "Ranks passages that satisfy a condition.",
    "data": [{"name": "letters", "origin": "written by hand", "terms": "CC0", "use": "training"}],
    "recipe": {"optimiser": {"lr": 5e-05, "batch": 256}, "steps": 4000},
    "results": {"Held-out queries": [{"model": "ours | best", "nDCG@10": 0.84321, "p": None}]},
    "query_length": 48,
}


def facts_file(folder: Path, **changes: object) -> Path:
    file = folder / "facts.json"
    file.write_text(json.dumps({**FACTS, **changes}))
    return file


def test_the_card_holds_data_recipe_results_licence_and_limits(tmp_path: Path) -> None:
    text = write_card(tmp_path, read_facts(facts_file(tmp_path))).read_text()
    assert text.startswith("---\nlibrary_name: sentence-transformers\nlicense: apache-2.0\n")
    assert "| letters | written by hand | CC0 | training |" in text
    assert "| optimiser.lr | 5e-05 |" in text and "| steps | 4000 |" in text
    assert "| ours \\| best | 0.8432 |  |" in text
    assert "a small encoder (Apache-2.0)" in text
    assert "queries after 48" in text
    assert "{" not in text.replace("```", "")


def test_a_model_without_results_gets_no_card(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results"):
        write_card(tmp_path, read_facts(facts_file(tmp_path, results={})))
    assert not (tmp_path / "README.md").exists()


def test_bad_facts_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_facts(tmp_path / "nowhere.json")
    with pytest.raises(UsageError, match="Unknown key 'licens'") as caught:
        read_facts(facts_file(tmp_path, licens="mit"))
    assert "licence" in caught.value.hint
    (tmp_path / "facts.json").write_text("[]")
    with pytest.raises(InputError, match="one JSON object"):
        read_facts(tmp_path / "facts.json")
