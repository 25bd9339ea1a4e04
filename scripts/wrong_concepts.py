"""Which concepts a run takes for the one that was asked for: do the wrong hits share its words?

    python scripts/wrong_concepts.py benchmarks/openfinquant/dev run.trec --show 20

looks at the first R hits of each query, R being the number of its answers, counts those about another concept
and the answers that are missing there, and shows some of the former to read. Words are compared by their
first five letters.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from best_hits import best_hits
from numcolbert.evaluate.wrong_hits import read_about
from numcolbert.program import parser_of, program

WORD = re.compile(r"[a-z]{3,}")
DEPTH = 100
"""Answers further down count as not found at all, and not as found too late."""
SEED = 1


def stems(text: str) -> set[str]:
    return {word[:5] for word in WORD.findall(text.lower())}


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("run", type=Path, help="TREC run")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many of the hits")
    given = parser.parse_args(arguments)
    chosen = best_hits(given.benchmark, [given.run], DEPTH)
    about = read_about(given.benchmark, chosen.benchmark.qrels)
    asked = chosen.benchmark.attributes
    wrong: list[tuple[str, str]] = []
    missed: list[tuple[str, str]] = []
    for query in chosen.queries.keys() & about.keys():
        answers = chosen.benchmark.qrels[query]
        first = chosen.hits[query][: len(answers)]
        wrong += [(query, hit) for hit in first if hit not in about[query]]
        missed += [(query, hit) for hit in chosen.hits[query] if hit in answers and hit not in first]

    def words(pair: tuple[str, str]) -> tuple[set[str], set[str]]:
        query, passage = pair
        return stems(chosen.asked_for(query)), stems(chosen.passages[passage])

    counts = {
        "hits about another concept": len(wrong),
        "of these with a word of the concept": sum(not a.isdisjoint(b) for a, b in map(words, wrong)),
        "with all of its words": sum(a <= b for a, b in map(words, wrong)),
        "of concepts seen in training": sum(bool(asked[query].get("seen")) for query, _ in wrong),
        "answers found too late": len(missed),
        "of these with all words of the concept": sum(a <= b for a, b in map(words, missed)),
    }
    sys.stdout.write(json.dumps(counts, indent=1) + "\n")
    for query, passage in random.Random(SEED).sample(sorted(wrong), min(given.show, len(wrong))):
        sys.stdout.write(f"\n? {chosen.queries[query]}\n  {chosen.passages[passage]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
