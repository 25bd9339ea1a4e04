"""How often a query would ask for its concept by what is another's name.

    python scripts/unclear_names.py pools-all/fin -b benchmarks/openfinquant

draws pairs of a pool and phrases for them as the recipe `default` does, before words are exchanged and names
made clear, and counts the variants that `data.stream.clear_names` does not ask by, and the pairs that are
easily taken for others by all of their names and by the clear ones.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from numcolbert.data.augment import concept_phrase
from numcolbert.data.clear_names import ClearNames
from numcolbert.data.corpus_source import CorpusSource
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Pool
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.program import parser_of, program
from numcolbert.train.recipe import load_recipe


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("-b", "--benchmark", type=Path, action="append", default=[], help="held out")
    parser.add_argument("--draws", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    settings = load_recipe("default").data.stream
    pool, held_out = Pool.load(given.pool), HeldOut.read(given.benchmark)
    source, clear = (
        CorpusSource(pool, Vocabulary(), held_out, replace(settings, clear_names=is_clear))
        for is_clear in (False, True)
    )
    pairs = list(source.pairs())
    names, rng = ClearNames(pairs), Random(given.seed)
    counts = Counter({"queries": given.draws})
    for _ in range(given.draws):
        pair = source.subject(rng)
        counts["taken for others"] += source.neighbour(pair, rng) is not None
        counts["taken for others by clear names"] += clear.neighbour(pair, rng) is not None
        concept, _ = pairs[pair]
        phrase = concept_phrase(concept, rng, settings.concept_expansion)
        if phrase == concept.name:
            continue
        counts["by a variant"] += 1
        if not names.is_clear(phrase, pair):
            counts["unclear"] += 1
            counts["the name of another"] += names.names_another(phrase, pair)
    sys.stdout.write(json.dumps(counts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
