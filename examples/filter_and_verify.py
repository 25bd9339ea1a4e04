"""Three ways to a condition: ranked by the model, filtered beforehand, verified afterwards.

python examples/filter_and_verify.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from numcolbert import NumColBERT
from numcolbert.api import Results
from numcolbert.data import corpora

QUERY = "phones with more than 200 GB of storage"


def show(title: str, results: Results) -> None:
    print(
        f"{title}: {[hit.id for hit in results]}", f"({results.dropped} dropped)" if results.dropped else ""
    )


def main() -> None:
    documents = corpora.read(Path(__file__).parent / "phones.csv")
    with (
        tempfile.TemporaryDirectory() as folder,
        NumColBERT.load().index(documents, Path(folder) / "idx") as index,
    ):
        show("ranked", index.search(QUERY))
        show("filtered by metadata", index.search(QUERY, where="price < 500 USD and year >= 2022"))
        show("filtered by quantity", index.search("phones", where="quantity > 200 GB"))
        show("verified", index.search(QUERY, verify=True))

        best = index.search(QUERY, verify=True)[0]
        explanation = index.explain(QUERY, best.id)
        print(
            f"{best.id}: score {explanation.score:.2f}, {explanation.score_without_gate:.2f} without the gate"
        )
        for token in explanation.tokens:
            print(f"  {token.token:10} × {token.gate:.2f}  -> {token.matched_token:10} {token.share:6.1%}")


if __name__ == "__main__":
    main()
