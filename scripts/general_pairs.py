"""Turn question-answering collections into retrieval pairs for joint training.

    python scripts/general_pairs.py squad.jsonl.xz medquad.jsonl.xz -o pairs.jsonl.xz

Reads lines of {"text", "questions": [...]} (a paragraph and its questions) and of {"q", "a"} (a question and
its answer), and writes {"query", "positive"}. Passages are cut to the length that sentences are searched at.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

from numcolbert.errors import InputError
from numcolbert.files import open_binary, replacing_file, require_file


def pairs(path: Path, words: int) -> Iterator[dict[str, str]]:
    with open_binary(require_file(path, "collection")) as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            if "questions" in row:
                questions, passage = row["questions"], row["text"]
            elif "q" in row and "a" in row:
                questions, passage = [row["q"]], row["a"]
            else:
                raise InputError(
                    f"'{path}', line {number} has neither 'questions' nor 'q' and 'a'.",
                    hint="see the head of this script for the two layouts",
                )
            passage = " ".join(passage.split()[:words])
            for question in questions:
                if passage and question.strip():
                    yield {"query": question.strip(), "positive": passage}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=int, default=90, help="passages are cut after this many words")
    arguments = parser.parse_args()
    with replacing_file(arguments.output) as aside, lzma.open(aside, "wt", encoding="utf-8") as out:
        for collection in arguments.collections:
            for pair in pairs(collection, arguments.words):
                out.write(json.dumps(pair, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
