"""Index a CSV file and search it.

python examples/search_csv.py
python examples/search_csv.py my.csv "laptops under 1.5 kg"
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from numcolbert import NumColBERT
from numcolbert.data import corpora


def main(path: Path, query: str) -> None:
    model = NumColBERT.load()
    with (
        tempfile.TemporaryDirectory() as folder,
        model.index(corpora.read(path), Path(folder) / "idx") as index,
    ):
        results = index.search(query, k=3)
        print("understood:", [(c.operator, c.quantity.value, c.quantity.unit) for c in results.conditions])
        for hit in results:
            print(f"{hit.relevance:.2f}  {hit.satisfies!s:5}  {hit.id}: {hit.text}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        Path(given[0]) if given else Path(__file__).parent / "phones.csv",
        given[1] if len(given) > 1 else "phones with more than 200 GB of storage",
    )
