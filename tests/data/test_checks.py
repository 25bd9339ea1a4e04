"""The checks find what is wrong, and nothing where nothing is."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.data.checks import check_triples, read_test_queries
from numcolbert.data.held_out import HeldOut
from numcolbert.data.triples import TripleStream
from numcolbert.errors import InputError

runner = CliRunner()


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """A test set made of what the stream with seed 2 gives when it is not told to avoid it."""
    stream = TripleStream([], seed=2)
    triples = stream.next_block(30)
    conditions = [c for t in triples for c in t.conditions]
    held_out = {
        "pairs": [list(stream.pairs[conditions[0].pair])],
        "queries": [
            {
                "concept": stream.pairs[c.pair][0],
                "dimension": stream.pairs[c.pair][1],
                "operator": c.operator,
                "base_value": c.base_value,
                "base_high": c.base_high,
            }
            for c in conditions
        ],
    }
    (tmp_path / "held_out.json").write_text(json.dumps(held_out))
    suite = tmp_path / "suite"
    suite.mkdir()
    queries = [{"_id": str(i), "text": t.query.upper()} for i, t in enumerate(triples)]
    (suite / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    return tmp_path


def test_leakage_is_found(benchmark: Path) -> None:
    stream = TripleStream([], seed=2)
    report = check_triples(
        stream.next_block(40),
        stream,
        held_out=HeldOut.read([benchmark]),
        test_queries=read_test_queries([benchmark]),
    )
    assert report.leaks
    assert len(report.leaked_queries) == 30
    assert len(report.leaked_thresholds) >= 30
    assert report.leaked_pairs


@pytest.mark.parametrize(("ending", "opened"), [(".xz", lzma.open), (".gz", gzip.open)])
def test_compressed_queries_are_compared_too(benchmark: Path, ending: str, opened: Any) -> None:
    plain = benchmark / "suite" / "queries.jsonl"
    expected = read_test_queries([benchmark])
    with opened(plain.with_name(plain.name + ending), "wt") as file:
        file.write(plain.read_text().replace("\n", "\n\n", 1))
    assert len(read_test_queries([benchmark])) == 30, "a file that is there twice is read once"
    plain.unlink()
    assert read_test_queries([benchmark]) == expected
    assert read_test_queries([benchmark / "held_out.json"]) == expected


def test_a_byte_order_mark_before_what_is_held_out(benchmark: Path) -> None:
    file = benchmark / "held_out.json"
    expected = HeldOut.read([benchmark])
    file.write_text(file.read_text(), encoding="utf-8-sig")
    assert HeldOut.read([file]) == expected
    file.write_text("[")
    with pytest.raises(InputError, match=r"held_out\.json' is not valid JSON"):
        HeldOut.read([benchmark])


def test_a_guarded_stream_does_not_leak(benchmark: Path) -> None:
    held_out = HeldOut.read([benchmark])
    stream = TripleStream([], seed=2, held_out=held_out)
    report = check_triples(
        stream.next_block(4000), stream, held_out=held_out, test_queries=read_test_queries([benchmark])
    )
    assert not report.leaks


def test_duplicates_and_balance_are_counted() -> None:
    stream = TripleStream([], seed=2)
    triples = stream.next_block(2000)
    report = check_triples([*triples, *triples[:10]], stream, held_out=HeldOut())
    assert report.duplicate_triples >= 10
    assert sum(report.conditions_per_query.values()) == 2010
    assert sum(report.operators.values()) == sum(report.units.values()) >= 2010
    assert min(report.operators[o] for o in "=><") / 2010 > 0.2


def test_the_extractor_agrees_with_the_labels() -> None:
    stream = TripleStream([], seed=2)
    labels = check_triples(stream.next_block(1500), stream, held_out=HeldOut(), verify=1500).labels
    assert labels.positives == 1500
    assert labels.positives_confirmed > 0.97
    assert labels.quantities_read > 0.97
    assert labels.conditions_read > 0.9


def test_token_lengths_are_measured(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    file = tmp_path / "tokenizer.json"
    tokenizer.save(str(file))
    stream = TripleStream([], seed=2)
    lengths = check_triples(stream.next_block(50), stream, held_out=HeldOut(), tokenizer=file).lengths
    assert 3 < lengths["query"]["mean"] < 40
    assert lengths["passage"]["longest"] >= lengths["passage"]["p99"] >= lengths["passage"]["median"]
    file.write_text("{}")
    with pytest.raises(InputError, match="not a tokenizer"):
        check_triples(stream.next_block(5), stream, held_out=HeldOut(), tokenizer=file)


def test_the_command_exits_with_one_on_leakage(benchmark: Path) -> None:
    options = ["data", "check", "--count", "200", "--seed", "2", "--verify", "0", "-b", str(benchmark)]
    leaked = runner.invoke(app, [*options, "--unguarded", "--json"])
    assert leaked.exit_code == 1
    assert json.loads(leaked.stdout)["leaks"] is True
    clean = runner.invoke(app, options)
    assert clean.exit_code == 0, clean.output
    assert "held-out pairs\t0" in clean.stdout
    assert "queries.jsonl" not in clean.stderr
    (benchmark / "suite" / "queries.jsonl").unlink()
    assert "has no queries.jsonl: only pairs and thresholds" in runner.invoke(app, options).stderr
