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
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from numcolbert.errors import InputError, UsageError
from numcolbert.evaluate.trec import Qrels
from numcolbert.files import text_lines
from numcolbert.program import program
from numcolbert.reproduce.imported import (
    command_parser,
    find_file,
    import_and_rank,
    write_benchmark,
)

GENERAL = ("msmarco-mini", "squad-sentences")


def import_general(source: Path, target: Path, *, distractors: int | None = None) -> None:
    """Write both sets below `target`, replacing older ones, with so many `distractors` or all there are."""
    if distractors is not None and distractors < 0:
        raise UsageError(f"{distractors} distractors cannot be kept.", hint="give 0 or more")
    _msmarco(source, target / GENERAL[0], distractors)
    _squad(source, target / GENERAL[1])


def _msmarco(source: Path, target: Path, most: int | None) -> None:
    passages = dict(_rows(source, "msmarco_mini_corpus.jsonl", "_id", "text"))
    queries = dict(_rows(source, "msmarco_mini_queries.jsonl", "_id", "text"))
    qrels: Qrels = {}
    path = _found(source, "msmarco_mini_qrels.tsv")
    for number, line in _filled_lines(path):
        try:
            query, passage, grade = line.split()
            qrels.setdefault(query, {})[passage] = int(grade)
        except ValueError as error:
            raise InputError(
                f"Line {number} of '{path}' is not a judgement.", hint="write query, passage and grade"
            ) from error
    judged = {query: grades for query, grades in qrels.items() if query in queries}
    distractors = {
        "_".join(name.split()): text
        for name, text in islice(_rows(source, "wikipedia_passages*.jsonl", "id", "text"), most)
    }
    write_benchmark(target, distractors | passages, {query: queries[query] for query in judged}, judged)


def _squad(source: Path, target: Path) -> None:
    rows = list(_rows(source, "squad_question_sentence_eval.jsonl", "q", "sent"))
    sentences = dict.fromkeys(sentence for _, sentence in rows)
    name = {sentence: f"s{number:05}" for number, sentence in enumerate(sentences)}
    answers: dict[str, set[str]] = {}
    for question, sentence in rows:  # a question may be asked of several sentences
        answers.setdefault(question, set()).add(name[sentence])
    queries = {f"q{number:05}": question for number, question in enumerate(answers)}
    qrels = {query: dict.fromkeys(sorted(answers[text]), 1) for query, text in queries.items()}
    write_benchmark(target, {name[sentence]: sentence for sentence in sentences}, queries, qrels)


def _found(folder: Path, pattern: str) -> Path:
    return find_file(folder, pattern, hint="name the folder of the general sets")


def _filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in text_lines(path) if line.strip())


def _rows(folder: Path, pattern: str, first: str, second: str) -> Iterator[tuple[str, str]]:
    """Two values of each line, by their keys."""
    path = _found(folder, pattern)
    for number, line in _filled_lines(path):
        try:
            row = json.loads(line)
            found = str(row[first]), str(row[second])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"Line {number} of '{path}' is no JSON with '{first}' and '{second}'.",
                hint="mend or remove it",
            ) from error
        yield found


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("numcolbert.reproduce.general", __doc__)
    parser.add_argument("--distractors", type=int, help="passages of Wikipedia to keep; all if left out")

    def bring_in(chosen: argparse.Namespace) -> list[str]:
        import_general(chosen.source, chosen.benchmarks, distractors=chosen.distractors)
        return [str(chosen.benchmarks / name) for name in GENERAL]

    return import_and_rank(parser, arguments, bring_in)


if __name__ == "__main__":
    sys.exit(main())
