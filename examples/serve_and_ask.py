"""Serve an index from Python and speak to it with the client.

python examples/serve_and_ask.py
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import uvicorn

from numcolbert import NumColBERT
from numcolbert.data import corpora
from numcolbert.server.app import create_app
from numcolbert.server.client import Client


def main() -> None:
    documents = corpora.read(Path(__file__).parent / "phones.csv")
    with tempfile.TemporaryDirectory() as folder:
        index = NumColBERT.load().index(documents, Path(folder) / "idx")
        server = uvicorn.Server(uvicorn.Config(create_app(index), port=0, log_level="warning"))
        thread = threading.Thread(target=server.run)  # `numcolbert serve DIR` does the same in a process
        thread.start()
        while not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]

        client = Client(f"http://127.0.0.1:{port}")
        client.add([{"id": "eta", "text": "The Eta phone has 2 TB of storage.", "metadata": {"price": 1499}}])
        for hit in client.search("phones with more than 200 GB of storage", k=3):
            print(f"{hit.relevance:.2f}  {hit.satisfies!s:5}  {hit.text}")
        print(client.info()["documents"], "documents")

        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
