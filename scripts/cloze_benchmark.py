"""A development set of ordinary search that no model has been trained on: a sentence asks for its passage.

    python scripts/cloze_benchmark.py wikipedia_passages.jsonl.xz -o benchmarks/cloze-dev

reads lines of {"text"} and takes one sentence out of some passages, drawn with a fixed seed. It is the
query, and the passage without it is the only answer, among the other passages. Sentences with digits ask
nothing: this set says what is left of ordinary search, whatever a model makes of numbers. Questions held
out of training pairs (`general_pairs.py --development`) cannot say it of models that were trained on
those pairs before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from cloze import cut, taken_out
from numcolbert.errors import ConflictError, InputError, UsageError
from numcolbert.evaluate.trec import Qrels
from numcolbert.files import refuse_existing, require_file, text_lines
from numcolbert.program import parser_of, positive, program
from numcolbert.reproduce.imported import write_benchmark

SEED = 1


def passages(path: Path) -> Iterator[str]:
    for number, line in text_lines(require_file(path, "collection")):
        try:
            text = json.loads(line)["text"]
            " ".join(text.split()).encode()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"Line {number} of '{path}' is no passage.", hint='write {"text": "..."}, one passage a line'
            ) from error
        yield " ".join(text.split())


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the benchmark's folder")
    parser.add_argument("--queries", type=positive, default=1_000)
    parser.add_argument("--passages", type=positive, default=15_000)
    parser.add_argument("--words", type=positive, default=90, help="passages are cut after this many words")
    parser.add_argument("--overwrite", action="store_true", help="replace the benchmark")
    chosen = parser.parse_args(arguments)
    if chosen.queries > chosen.passages:
        raise UsageError(
            f"{chosen.passages} passages cannot answer {chosen.queries} queries.",
            hint="each has a passage of its own: raise --passages",
        )
    if chosen.collection.resolve().is_relative_to(chosen.output.resolve()):
        raise ConflictError(
            f"'{chosen.collection}' lies in '{chosen.output}', which is replaced.",
            hint="choose another folder",
        )
    refuse_existing(chosen.output, "folder", overwrite=chosen.overwrite, mark="queries.jsonl")
    random = Random(SEED)
    found = list(dict.fromkeys(passages(chosen.collection)))
    random.shuffle(found)
    corpus: dict[str, str] = {}
    queries: dict[str, str] = {}
    qrels: Qrels = {}
    for number, passage in enumerate(found[: chosen.passages]):
        name = f"p{number:05}"
        asked = taken_out(passage, random) if len(queries) < chosen.queries else None
        if asked is not None:
            query = f"q{number:05}"
            queries[query], passage = asked
            qrels[query] = {name: 1}
        corpus[name] = cut(passage, chosen.words)
    if len(queries) < chosen.queries:
        raise InputError(
            f"'{chosen.collection}' has sentences to ask with in {len(queries)} of {len(corpus)} passages.",
            hint="lower --queries, or give more passages",
        )
    write_benchmark(chosen.output, corpus, queries, qrels, overwrite=chosen.overwrite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
