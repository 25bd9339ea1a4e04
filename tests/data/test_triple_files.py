"""Triples survive the disk, and the command writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.data.triple_files import json_line, read_triples, write_triples
from numcolbert.data.triples import TripleStream
from numcolbert.errors import ConflictError, InputError

runner = CliRunner()


def test_what_is_read_equals_what_was_written(tmp_path: Path) -> None:
    stream = TripleStream([], seed=4)
    triples = stream.next_block(300)
    write_triples(tmp_path / "t.npz", triples, stream)
    stored = read_triples(tmp_path / "t.npz")
    assert stored.units == stream.units
    assert stored.dimensions == stream.dimensions
    assert stored.pairs == stream.pairs
    for made, read in zip(triples, stored.triples, strict=True):
        assert (made.query, made.positive, made.negative) == (read.query, read.positive, read.negative)
        assert list(made.conditions) == list(read.conditions)


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    stream = TripleStream([], seed=4)
    file = tmp_path / "t.npz"
    file.write_bytes(b"mine")
    with pytest.raises(ConflictError):
        write_triples(file, stream.next_block(2), stream)
    assert file.read_bytes() == b"mine"


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.npz"
    file.write_text("not numpy")
    with pytest.raises(InputError, match="not a compact file of triples"):
        read_triples(file)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    stream = TripleStream([], seed=4)
    file = tmp_path / "t.npz"
    write_triples(file, stream.next_block(50), stream)
    content = file.read_bytes()
    file.write_bytes(content[:2000] + bytes(500) + content[2500:])
    with pytest.raises(InputError, match=r"t\.npz"):
        read_triples(file)


def test_a_line_holds_the_triple_and_what_its_numbers_mean() -> None:
    stream = TripleStream([], seed=4)
    triple = next(stream)
    line = json.loads(json_line(triple, stream))
    assert line["query"] == triple.query
    assert line["conditions"][0]["base_value"] == triple.conditions[0].base_value
    assert line["positive"]["quantities"][0]["unit"] == triple.positive.quantities[0].unit
    concept = stream.pairs[triple.conditions[0].pair][0]
    assert line["reading"]["conditions"][0].startswith(f"{concept} {triple.conditions[0].operator} ")
    assert any(reading.startswith(concept) for reading in line["reading"]["positive"])


def test_the_command_writes_compact_files_and_lines(tmp_path: Path) -> None:
    compact = tmp_path / "t.npz"
    options = ["data", "triples", "--count", "50", "--seed", "9"]
    done = runner.invoke(app, [*options, "-o", str(compact), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["triples"] == 50
    lines = runner.invoke(app, options).stdout.splitlines()
    assert [json.loads(line)["query"] for line in lines] == [t.query for t in read_triples(compact).triples]
    again = runner.invoke(app, ["data", "triples", "-o", str(compact)])
    assert isinstance(again.exception, ConflictError)
