"""The committed report keeps what its own tables were made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numcolbert.reproduce.kept_file import read_kept
from numcolbert.reproduce.spec import TABLES, load_table

REPORT = Path(__file__).parents[2] / "docs" / "results" / "report"


def test_the_kept_measures_are_those_of_the_tables() -> None:
    kept = read_kept(REPORT)
    specs = {spec.title: spec for spec in map(load_table, TABLES)}
    for table in json.loads((REPORT / "results.json").read_text(encoding="utf-8")):
        if table["comparison"] is None:
            continue
        assert kept.query_sets[table["benchmark"]].fingerprint == table["fingerprint"]
        systems = {row.name: row.system for row in specs[table["table"]].rows}
        for row in table["comparison"]["tables"][0]["rows"]:
            measured = kept.systems[table["benchmark"]][systems[row["system"]]]
            for measure, mean in measured.scores.means().items():
                if measure in row["cells"]:
                    assert mean == pytest.approx(row["cells"][measure]["mean"], abs=5e-5), row["system"]
