"""`numcolbert quantities` and `numcolbert bench extractor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MAIN = [sys.executable, "-c", "from numcolbert.cli.app import main; main()"]


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *arguments], input=stdin, capture_output=True, encoding="utf-8")


def test_table_of_quantities_and_conditions() -> None:
    done = run("quantities", "SSDs above 500 GB for less than $80")
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[1] == ["500 GB", "500", "gigabyte", "data", "5e+11", "11-17"]
    assert lines[4:] == [["above 500 GB", ">", "500", "gigabyte"], ["less than $80", "<", "80", "USD"]]


def test_json_has_exact_spans() -> None:
    text = "Sales rose 12% to $3.4 million."
    answer = json.loads(run("quantities", text, "--json").stdout)
    assert [text[slice(*q["span"])] for q in answer["quantities"]] == ["12%", "$3.4 million"]
    assert answer["quantities"][1]["base_value"] == 3.4e6


def test_standard_input_is_read_line_by_line() -> None:
    done = run("quantities", "-", "--json", stdin="5 kg\nnothing\n7 miles\n")
    assert [len(one["quantities"]) for one in json.loads(done.stdout)] == [1, 0, 1]


def test_a_line_that_is_not_utf_8_is_named() -> None:
    done = subprocess.run([*MAIN, "quantities", "-"], input=b"5 kg\ncaf\xe9 5 kg\n", capture_output=True)
    assert done.returncode == 1
    assert b"Line 2 of the standard input is not UTF-8 (byte 4)." in done.stderr


def test_empty_input_gets_a_hint() -> None:
    for arguments in (["  "], ["-"]):
        done = run("quantities", *arguments)
        assert done.returncode == 1
        assert "error: There is no text to read." in done.stderr
        assert "hint: " in done.stderr


def test_extractors_side_by_side(tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    quantity = {"value": "5.0", "normalized_unit": "kilogram"}
    gold.write_text(json.dumps([{"text": "It holds 5 kg.", "quantities": [quantity]}] * 4))
    done = run("bench", "extractor", "--gold", str(gold), "--skip-quantulum3", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["extractor"].strip(): row for row in json.loads(done.stdout)}
    assert rows["NumColBERT, loose"]["value F1"] == 100
    assert rows["CQE, published"]["+unit F1"] == 85.6


def test_a_missing_gold_file_is_one_sentence() -> None:
    done = run("bench", "extractor", "--gold", "absent.json")
    assert done.returncode == 1
    assert "absent.json" in done.stderr and "hint:" in done.stderr and "Traceback" not in done.stderr
