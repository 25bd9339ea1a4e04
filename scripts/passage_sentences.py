"""Turn the passages of question-answering collections into sentences, for `numcolbert data mine`.

    python scripts/passage_sentences.py squad.jsonl.xz medquad.jsonl.xz -o prose.jsonl.xz
    numcolbert data mine prose.jsonl.xz -o pools-all/prose --name prose --keep-all

Reads what `general_pairs.py` reads and writes {"doc", "sentences"}, compressed as .xz. Their quantities are
few but of every kind: lengths of rivers and reigns, speeds, populations, doses.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

from cloze import sentences
from general_pairs import pairs, refuse_places
from numcolbert.errors import InputError
from numcolbert.files import replacing_file, without_compression
from numcolbert.program import parser_of, program

SHORTEST, LONGEST = 4, 60
"""Words of a sentence that is kept: less is a heading, more a table whose ends were lost."""


def worth_mining(passage: str) -> list[str]:
    return [text for text in sentences(passage) if SHORTEST <= len(text.split()) <= LONGEST]


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--overwrite", action="store_true", help="replace the file")
    chosen = parser.parse_args(arguments)
    refuse_places(chosen.collections, chosen.output, None, overwrite=chosen.overwrite)
    written = 0
    with replacing_file(chosen.output) as aside, lzma.open(aside, "wt", encoding="utf-8") as out:
        for collection in chosen.collections:
            name = without_compression(collection).stem
            for number, passage in enumerate(dict.fromkeys(pair.whole for pair in pairs(collection))):
                if kept := worth_mining(passage):
                    row = {"doc": f"{name}-{number}", "sentences": kept}
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                    written += 1
        if not written:
            raise InputError("The collections hold no sentence.", hint="are they the right files?")
    return 0


if __name__ == "__main__":
    sys.exit(main())
