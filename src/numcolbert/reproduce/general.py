"""General retrieval sets, small stand-ins for MS MARCO, as benchmark folders.

    python -m numcolbert.reproduce.general SOURCE BENCHMARKS [--model CHECKPOINT -o RUNS/SYSTEM]

writes the folders and, with a model, ranks them; it needs what training needs and nothing more. SOURCE holds

    msmarco_mini_corpus.jsonl   {"_id", "text"}     judged passages of MS MARCO (TREC DL 2019)
    msmarco_mini_queries.jsonl  {"_id", "text"}
    msmarco_mini_qrels.tsv      query, passage, grade
    wikipedia_passages*.jsonl   {"id", "text"}      distractors for them
    squad_question_sentence_eval.jsonl  {"q", "sent"}   a question and the sentence that answers it

Each may be compressed (.xz, .gz).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from numcolbert.errors import InputError, NotFoundError, NumColBERTError
from numcolbert.evaluate.trec import Qrels, write_qrels
from numcolbert.files import open_binary, replacing_folder

GENERAL = ("msmarco-mini", "squad-sentences")


def import_general(source: Path, target: Path, *, distractors: int | None = None) -> None:
    """Write both sets below `target`, replacing older ones, with so many `distractors` or all there are."""
    _msmarco(source, target / GENERAL[0], distractors)
    _squad(source, target / GENERAL[1])


def _msmarco(source: Path, target: Path, most: int | None) -> None:
    passages = {str(row["_id"]): str(row["text"]) for row in _rows(source, "msmarco_mini_corpus.jsonl")}
    queries = {str(row["_id"]): str(row["text"]) for row in _rows(source, "msmarco_mini_queries.jsonl")}
    qrels: Qrels = {}
    path = _found(source, "msmarco_mini_qrels.tsv")
    for number, line in _lines(path):
        try:
            query, passage, grade = line.split()
            qrels.setdefault(query, {})[passage] = int(grade)
        except ValueError as error:
            raise InputError(
                f"Line {number} of '{path}' is not a judgement.", hint="write query, passage and grade"
            ) from error
    judged = {query: grades for query, grades in qrels.items() if query in queries}
    distractors = {
        "_".join(str(row["id"]).split()): str(row["text"])
        for row in islice(_rows(source, "wikipedia_passages*.jsonl"), most)
    }
    _write(target, distractors | passages, {query: queries[query] for query in judged}, judged)


def _squad(source: Path, target: Path) -> None:
    rows = list(_rows(source, "squad_question_sentence_eval.jsonl"))
    sentences = dict.fromkeys(str(row["sent"]) for row in rows)
    name = {sentence: f"s{number:05}" for number, sentence in enumerate(sentences)}
    answers: dict[str, set[str]] = {}
    for row in rows:  # a question may be asked of several sentences
        answers.setdefault(str(row["q"]), set()).add(name[str(row["sent"])])
    queries = {f"q{number:05}": question for number, question in enumerate(answers)}
    qrels = {query: dict.fromkeys(sorted(answers[text]), 1) for query, text in queries.items()}
    _write(target, {name[sentence]: sentence for sentence in sentences}, queries, qrels)


def _write(target: Path, passages: dict[str, str], queries: dict[str, str], qrels: Qrels) -> None:
    with replacing_folder(target, overwrite=True) as aside:
        for file, texts in (("corpus.jsonl", passages), ("queries.jsonl", queries)):
            lines = (json.dumps({"_id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in texts.items())
            (aside / file).write_text("".join(lines), encoding="utf-8")
        write_qrels(aside / "qrels.trec", qrels)


def _found(folder: Path, pattern: str) -> Path:
    found = sorted(path for ending in ("", ".xz", ".gz") for path in folder.glob(pattern + ending))
    if not found:
        raise NotFoundError(f"'{folder}' holds no {pattern}.", hint="name the folder of the general sets")
    return found[0]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line.decode("utf-8")


def _rows(folder: Path, pattern: str) -> Iterable[dict[str, Any]]:
    path = _found(folder, pattern)
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("not an object")
        except ValueError as error:
            raise InputError(
                f"Line {number} of '{path}' is not JSON: {error}.", hint="mend or remove it"
            ) from error
        yield row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m numcolbert.reproduce.general",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", type=Path, help="folder of the files")
    parser.add_argument("benchmarks", type=Path, help="folder to write the two benchmarks to")
    parser.add_argument("--distractors", type=int, help="passages of Wikipedia to keep; all if left out")
    parser.add_argument("--model", help="checkpoint to rank them with")
    parser.add_argument("-o", "--out", type=Path, help="folder for its run files and results.json")
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args(arguments)
    if (chosen.model is None) != (chosen.out is None):
        parser.error("--model and --out belong together")
    try:
        import_general(chosen.source, chosen.benchmarks, distractors=chosen.distractors)
    except NumColBERTError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if chosen.model is None:
        return 0
    from numcolbert.train import evaluate

    folders = [str(chosen.benchmarks / name) for name in GENERAL]
    return evaluate.main([chosen.model, *folders, "-o", str(chosen.out), "--device", chosen.device])


if __name__ == "__main__":
    sys.exit(main())
