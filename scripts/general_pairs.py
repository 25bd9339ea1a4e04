"""Turn question-answering collections into retrieval pairs for joint training.

    python scripts/general_pairs.py squad.jsonl.xz medquad.jsonl.xz -o pairs.jsonl.xz

Reads lines of {"text", "questions": [...]} (a paragraph and its questions) and of {"q", "a"} (a question and
its answer), and writes {"query", "positive"}. Passages are cut to the length that sentences are searched at.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from numcolbert.errors import InputError
from numcolbert.files import replacing_file, require_file, text_lines
from numcolbert.program import parser_of, program


def pairs(path: Path, words: int) -> Iterator[dict[str, str]]:
    for number, line in text_lines(require_file(path, "collection")):
        try:
            row = json.loads(line)
            questions, passage = (
                (row["questions"], row["text"]) if "questions" in row else ([row["q"]], row["a"])
            )
            passage = " ".join(passage.split()[:words])
            asked = [question.strip() for question in questions]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"Line {number} of '{path}' has neither 'questions' and 'text' nor 'q' and 'a'.",
                hint="see the head of this script for the two layouts",
            ) from error
        for question in asked:
            if passage and question:
                yield {"query": question, "positive": passage}


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=int, default=90, help="passages are cut after this many words")
    chosen = parser.parse_args(arguments)
    with replacing_file(chosen.output) as aside, lzma.open(aside, "wt", encoding="utf-8") as out:
        for collection in chosen.collections:
            for pair in pairs(collection, chosen.words):
                out.write(json.dumps(pair, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
