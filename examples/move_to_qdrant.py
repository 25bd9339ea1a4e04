"""Move an index to Qdrant without encoding anything again, and check that the scores stayed.

pip install 'numcolbert[qdrant]'
python examples/move_to_qdrant.py                           # Qdrant inside this process
python examples/move_to_qdrant.py http://localhost:6333     # a Qdrant server
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from numcolbert import NumColBERT
from numcolbert.data import corpora

QUERY = "phones with more than 200 GB of storage"


def main(settings: dict[str, str]) -> None:
    documents = corpora.read(Path(__file__).parent / "phones.csv")
    with (
        tempfile.TemporaryDirectory() as folder,
        NumColBERT.load().index(documents, Path(folder) / "idx") as index,
        index.copy(Path(folder) / "moved", engine="qdrant", **settings) as moved,
    ):
        for here, there in zip(index.search(QUERY, k=3), moved.search(QUERY, k=3), strict=True):
            print(f"{here.score:.2f} = {there.score:.2f}  {there.id}: {there.text}")
        print("collection", moved.info()["engine_stats"]["collection"])


if __name__ == "__main__":
    main({"url": sys.argv[1]} if len(sys.argv) > 1 else {})
