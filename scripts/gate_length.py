"""How strong should the gate be? The packaged model with another |Q| in the gate's formula.

    python scripts/gate_length.py benchmarks/openfinquant/dev runs/*/openfinquant-dev.*.trec

ranks the first 30 hits of all the runs together again, once with the gates as they are and once for each
length, and prints nDCG@10 of each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from best_hits import best_hits
from numcolbert.model.encoder import Encoder
from numcolbert.program import parser_of, program

Gates = NDArray[np.float32]


def with_length(gates: Gates, length: int, made_with: int | None = None) -> Gates:
    """`length * sigmoid(z - log(length - 1))`, with the z that made `gates`; |Q| was then `made_with`, or
    their own number.
    """
    acts = gates != 1
    before = made_with or len(gates)
    share = np.clip(gates / before, 1e-7, 1 - 1e-7)
    z = np.log(share / (1 - share)) + np.log(before - 1)
    changed: Gates = np.where(acts, length / (1 + (length - 1) * np.exp(-z)), gates)
    return changed


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("runs", type=Path, nargs="+", help="TREC runs whose hits are pooled")
    parser.add_argument("--best", type=int, default=30, help="hits of each run")
    parser.add_argument("--lengths", type=int, nargs="+", default=[5, 6, 7, 8, 10, 12, 16])
    given = parser.parse_args(arguments)
    chosen = best_hits(given.benchmark, given.runs, given.best)
    encoder = Encoder.load()
    queries = dict(zip(chosen.queries, encoder.encode_queries([*chosen.queries.values()]), strict=True))
    documents = encoder.encode_documents([*chosen.passages.values()])
    passages = {d: one.vectors for d, one in zip(chosen.passages, documents, strict=True)}
    # The best match of each token is the same whatever its weight.
    matches = {
        (q, d): (queries[q].ungated() @ passages[d].T).max(axis=1)
        for q, found in chosen.hits.items()
        for d in found
    }

    def quality(gates: dict[str, Gates]) -> float:
        return chosen.ndcg(lambda q, d: float(matches[q, d] @ gates[q]))

    own = {q: encoding.gates for q, encoding in queries.items()}
    held = (encoder.config.gate or {}).get("query_length")
    made_with = held if isinstance(held, int) else None
    found = {"as it is": quality(own)} | {
        str(length): quality({q: with_length(gates, length, made_with) for q, gates in own.items()})
        for length in given.lengths
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
