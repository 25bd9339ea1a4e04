"""Files become documents, and bad files one sentence with a place in it."""

from __future__ import annotations

import gzip
import json
import lzma
import resource
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.data.corpora import read, read_benchmark
from numcolbert.data.readers import lines
from numcolbert.errors import InputError, NotFoundError, NumColBERTError, UsageError
from numcolbert.types import Document


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def ids_and_texts(path: Path, **options: object) -> list[tuple[str, str]]:
    return [(d.id, d.text) for d in read(path, **options)]  # type: ignore[arg-type]


def test_jsonl_keeps_the_other_fields_as_metadata(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl", '{"id": 7, "text": "Nine kilos.", "year": 2020}\n\n{"text": "No id."}\n'
    )
    assert list(read(file)) == [Document("7", "Nine kilos.", {"year": 2020}), Document("3", "No id.", {})]


@pytest.mark.parametrize("suffix, opener", [(".gz", gzip.open), (".xz", lzma.open)])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str, opener: object) -> None:
    file = tmp_path / f"a.jsonl{suffix}"
    with opener(file, "wt") as out:  # type: ignore[operator]
        out.write('{"_id": "x", "text": "5 kg"}\n')
    assert ids_and_texts(file) == [("x", "5 kg")]


def test_a_document_of_sentences_gives_one_document_a_sentence(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"doc": "call", "date": "2020", "sentences": ["One.", "Two."]}\n')
    assert list(read(file)) == [
        Document("call#0", "One.", {"date": "2020", "doc": "call", "position": 0}),
        Document("call#1", "Two.", {"date": "2020", "doc": "call", "position": 1}),
    ]


def test_csv_cells_may_span_lines_and_hold_commas(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", 'id,text,year\na,"1,200\npatients",2020\nb,plain,2021\n')
    assert ids_and_texts(file) == [("a", "1,200\npatients"), ("b", "plain")]


def test_an_empty_cell_is_no_value(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "id,text,price\na,x,\n")
    assert list(read(file)) == [Document("a", "x", {"price": None})]


def test_a_column_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names the column 'price' twice"):
        list(read(write(tmp_path / "a.csv", "id,text,price,price\na,x,1,2\n")))


def test_metadata_may_stand_together(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"id": "a", "text": "x", "year": 1, "metadata": {"price": 2}}\n')
    assert list(read(file)) == [Document("a", "x", {"year": 1, "price": 2})]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_csv_with_other_separators(tmp_path: Path, mark: str) -> None:
    """As spreadsheets write them where the comma is decimal."""
    rows = [["id", "text", "price"], ["a", '"5 kg; 3,5 m\tlong"', "1,50"]]
    file = write(tmp_path / "a.csv", "\n" + "".join(mark.join(row) + "\n" for row in rows))
    assert list(read(file)) == [Document("a", "5 kg; 3,5 m\tlong", {"price": "1,50"})]


def test_tsv_with_and_without_header(tmp_path: Path) -> None:
    headed = write(tmp_path / "a.tsv", 'id\ttext\n1\ta 5" disk\n')
    assert ids_and_texts(headed) == [("1", 'a 5" disk')]
    marco = write(tmp_path / "collection.tsv", "0\tFirst passage.\n1\tSecond passage.\n")
    assert ids_and_texts(marco) == [("0", "First passage."), ("1", "Second passage.")]


def test_plain_text_is_one_document_a_line(tmp_path: Path) -> None:
    assert ids_and_texts(write(tmp_path / "a.txt", "one\n\n two \n")) == [("1", "one"), ("3", "two")]


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    table = pyarrow.table({"id": ["a", "b"], "body": ["one", None], "n": [1, 2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"no column 'text'; it has 'id', 'body', 'n'"):
        list(read(tmp_path / "a.parquet"))
    reader = read(tmp_path / "a.parquet", text_field="body", skip_bad=True)
    assert [d.id for d in reader] == ["a"] and reader.skipped == 1
    with pytest.raises(InputError, match="not a readable Parquet file"):
        list(read(write(tmp_path / "b.parquet", "PAR1 no")))


def test_parquet_values_become_json(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    columns = {
        "id": ["a", None],
        "text": ["one", "two"],
        "day": [date(2024, 5, 6)] * 2,
        "price": [Decimal("1.50"), None],
        "share": [float("nan"), 0.5],
        "key": [b"\xff"] * 2,
        "moments": [[datetime(2024, 5, 6, 7)]] * 2,
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    first, second = read(tmp_path / "a.parquet")
    assert (first.id, second.id) == ("a", "2")
    assert first.metadata == {
        "day": "2024-05-06", "price": 1.5, "share": None, "key": "ff", "moments": ["2024-05-06T07:00:00"]
    }  # fmt: skip


def test_a_parquet_file_damaged_in_the_middle(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    table = pyarrow.table({"text": [f"value {i * 7919}" for i in range(9000)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3000, use_dictionary=False)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    third = len(content) // 2
    content[third : third + 2000] = b"\xaa" * 2000
    file = write(tmp_path / "b.parquet", bytes(content))
    with pytest.raises(InputError, match=r"damaged after row \d+"):
        list(read(file))
    reader = read(file, skip_bad=True)
    assert 0 < len(list(reader)) < 9000
    assert reader.skipped == 1


def test_missing_ids_in_json(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"id": null, "text": "a"}\n{"id": null, "text": "b"}\n')
    assert [d.id for d in read(file)] == ["1", "2"]


def test_utf_16_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is UTF-16") as caught:
        list(read(write(tmp_path / "a.txt", "5 kg".encode("utf-16"))))
    assert "iconv -f utf-16" in caught.value.hint


BAD_LINES = {
    "json": ("a.jsonl", b'{"text": "ok"}\n{"id": 2, "te\n', r"Line 2 of '.*a.jsonl' is not valid JSON"),
    "no object": ("a.jsonl", b'{"text": "ok"}\n[1]\n', r"Line 2 of .* is not a JSON object"),
    "no field": ("a.jsonl", b'{"text": "ok"}\n{"body": "x"}\n', r"Line 2 .* no field 'text'; it has 'body'"),
    "no text": ("a.jsonl", b'{"text": "ok"}\n{"text": 5}\n', r"Line 2 of .* has no text in its field 'text'"),
    "id": ("a.jsonl", b'{"text": "ok"}\n{"_id": {"$oid": "5f"}, "text": ""}\n', r'the id {"\$oid": "5f"}'),
    "half a character": ("a.jsonl", b'{"text": "ok"}\n{"text": "\\ud800"}\n', "half of a surrogate"),
    "endless number": ("a.jsonl", b'{"text": "ok"}\n{"text": "a", "n": %s}\n' % (b"9" * 5000), "too long"),
    "latin1": ("a.txt", "fine\ncaf\xe9\n".encode("latin1"), r"Line 2 of .* is not UTF-8 \(byte 4\)"),
    "binary": ("a.txt", b"fine\n\x7fELF\0\0\n", r"Line 2 of .* holds binary data"),
    "binary without noughts": ("a.txt", b"fine\n\x89PNG\x02\xff\n", r"Line 2 of .* holds binary data"),
    "columns": ("a.csv", b"id,text\n1,ok\n2\n", r"Line 3 of .* has 1 columns where the header has 2"),
    "duplicate": ("a.csv", b"id,text\n1,ok\n1,again\n", r"Line 3 of .* repeats the id '1'"),
}  # fmt: skip


@pytest.mark.parametrize("name, content, message", BAD_LINES.values(), ids=BAD_LINES)
def test_bad_lines_are_named_or_skipped(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    file = write(tmp_path / name, content)
    with pytest.raises(InputError, match=message) as caught:
        list(read(file))
    assert caught.value.hint
    reader = read(file, skip_bad=True)
    assert len(list(reader)) == 1
    assert reader.skipped == 1 and len(reader.problems) == 1
    assert len(list(reader)) == 1 and reader.skipped == 1, "a second reading starts from the beginning"


def test_a_missing_column_lists_the_columns_that_are_there(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "key,body\n1,x\n")
    with pytest.raises(InputError, match=r"\(line 1\) has no column 'text'; it has 'key', 'body'") as caught:
        list(read(file, skip_bad=True))
    assert "--text-field" in caught.value.hint


def test_empty_files_and_files_without_documents(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.jsonl' is empty"):
        list(read(write(tmp_path / "a.jsonl", "")))
    with pytest.raises(InputError, match="holds no document"):
        list(read(write(tmp_path / "b.jsonl", "\n\n")))
    reader = read(tmp_path / "a.jsonl", skip_bad=True)
    assert list(reader) == [] and reader.skipped == 1


@pytest.mark.parametrize("suffix, pack", [(".xz", lzma.compress), (".gz", gzip.compress)])
def test_truncated_archives(tmp_path: Path, suffix: str, pack: object) -> None:
    text = "".join(json.dumps({"id": i, "text": f"value {i * 7919}"}) + "\n" for i in range(20_000))
    whole: bytes = pack(text.encode())  # type: ignore[operator]
    file = write(tmp_path / f"a.jsonl{suffix}", whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged or cut off"):
        list(read(file))
    reader = read(file, skip_bad=True)
    kept = len(list(reader))
    assert 0 < kept < 20_000 and reader.skipped >= 1


def test_something_else_under_a_compressed_name(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "a.jsonl.xz"):
        with pytest.raises(InputError, match="damaged or cut off"):
            list(read(write(tmp_path / name, "this is not compressed\n")))


def test_missing_files_folders_and_formats(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(NotFoundError, match=r"without a corpus.jsonl"):
        read(tmp_path)
    with pytest.raises(UsageError, match=r"format of .* is unknown"):
        read(write(tmp_path / "a.docx", "x"))


def test_an_overlong_line_is_refused_and_can_be_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    file = write(tmp_path / "a.txt", "short\n" + "x" * 1000 + "\nlast\n")
    with pytest.raises(InputError, match=r"Line 2 of .* is longer than"):
        list(read(file))
    reader = read(file, skip_bad=True)
    assert [d.text for d in reader] == ["short", "last"] and reader.skipped == 1


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """200 MB of lines, then one line of 200 MB, are read in a process that may not grow by 100 MB."""
    many, single = tmp_path / "many.jsonl", tmp_path / "single.txt"
    line = (json.dumps({"text": "x" * 2000}) + "\n").encode() * 500
    with many.open("wb") as out:
        for _ in range(200):
            out.write(line)
    with single.open("wb") as out:
        for _ in range(200):
            out.write(b"y" * 1_000_000)
    script = f"""
import resource, sys
from numcolbert.data.corpora import read
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert sum(1 for _ in read({str(many)!r})) == 100_000
reader = read({str(single)!r}, skip_bad=True)
assert list(reader) == [] and reader.skipped == 1
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert resource.RUSAGE_SELF == 0  # ru_maxrss is in kilobytes on Linux
    assert int(done.stdout) < 100


@given(st.binary(max_size=300), st.sampled_from(["a.jsonl", "a.csv", "a.tsv", "a.txt", "a.jsonl.xz"]))
def test_no_bytes_crash_a_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    file = write(tmp_path_factory.mktemp("bytes") / name, content)
    for skip in (False, True):
        try:
            for document in read(file, skip_bad=skip):
                assert document.text is not None
        except NumColBERTError as error:
            assert error.hint


def beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    write(
        folder / "corpus.jsonl",
        '{"_id": "d1", "title": "Title", "text": "text"}\n{"_id": "d2", "text": "x"}\n',
    )
    write(folder / "queries.jsonl", '{"_id": "q1", "text": "over 5 kg"}\n')
    return folder


def test_beir_folders(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    with pytest.raises(NotFoundError, match="no relevance judgements"):
        read_benchmark(folder)
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    benchmark = read_benchmark(folder)
    assert benchmark.queries == {"q1": "over 5 kg"} and benchmark.qrels == {"q1": {"d1": 1}}
    assert [d.text for d in benchmark.documents()] == ["Title text", "x"]
    write(folder / "qrels.trec", "q1 0 d2 1\nq1 0 d1\n")
    with pytest.raises(InputError, match=r"Line 2 of .* is not a relevance judgement"):
        read_benchmark(folder)


def test_subsets_and_attributes_come_along(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    write(folder / "qrels.trec", "q1 0 d2 1\n")
    write(folder / "qrels" / "greater.trec", "q1 0 d2 1\n")
    write(folder / "attributes.json", '{"q1": {"operator": ">"}}')
    benchmark = read_benchmark(folder)
    assert benchmark.subsets == {"greater": {"q1": {"d2": 1}}}
    assert benchmark.attributes == {"q1": {"operator": ">"}}


def test_a_suite_finds_the_corpus_of_its_benchmark(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    suite = folder / "suites" / "bounds"
    suite.mkdir(parents=True)
    write(suite / "queries.jsonl", '{"_id": "b1", "text": "at least 5 kg"}\n')
    write(suite / "qrels.trec", "b1 0 d2 1\n")
    assert [d.id for d in read_benchmark(suite).documents()] == ["d1", "d2"]


def test_finquant_layout(tmp_path: Path) -> None:
    write(
        tmp_path / "queries.tsv",
        "query_text\tkeywords\tunit\tvalue\tcondition\nprofit above 5 dollars\tprofit\tdollar\t5\tgreater\n",
    )
    write(tmp_path / "collection.csv", "id,sentence\n10,The profit was $6.\n")
    for name in ("complete", "greater", "in_training", "not_training"):
        write(tmp_path / f"qrels_{name}.json", '{"0": {"10": 1}}')
    benchmark = read_benchmark(tmp_path)
    assert benchmark.queries == {"0": "profit above 5 dollars"}
    assert [d.text for d in benchmark.documents()] == ["The profit was $6."]
    assert benchmark.qrels == {"0": {"10": 1}}
    assert sorted(benchmark.subsets) == ["greater", "in_training", "not_training"]
    assert benchmark.attributes["0"]["operator"] == ">"


def test_folders_that_are_no_benchmark(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no queries.jsonl and no queries.tsv"):
        read_benchmark(tmp_path)
    with pytest.raises(NotFoundError, match="does not exist"):
        read_benchmark(tmp_path / "nothing")
