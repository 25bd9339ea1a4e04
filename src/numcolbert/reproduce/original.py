"""The authors' FinQuant and MedQuant, brought into the layout of every other benchmark."""

from __future__ import annotations

import json
from pathlib import Path

from numcolbert.data.readers.benchmarks import read_benchmark
from numcolbert.errors import InputError
from numcolbert.evaluate.trec import write_qrels
from numcolbert.files import replacing_folder
from numcolbert.reproduce.imported import write_texts


def import_original(source: Path, target: Path) -> None:
    """Read the authors' folder and write a benchmark folder; an older import is replaced."""
    original = read_benchmark(source)
    with replacing_folder(target, overwrite=True, mark="queries.jsonl") as aside:
        documents = ((document.id, document.text) for document in original.documents())
        write_texts(aside / "corpus.jsonl", documents)
        write_texts(aside / "queries.jsonl", original.queries.items())
        strangers = [query for query in original.qrels if query not in original.queries]
        if strangers:
            raise InputError(
                f"The judgements in '{source}' name query '{strangers[0]}', which queries.tsv does not hold.",
                hint="the files must come from the same download",
            )
        write_qrels(aside / "qrels.trec", original.qrels)
        for name, qrels in original.subsets.items():
            write_qrels(aside / "qrels" / f"{name}.trec", qrels)
        (aside / "attributes.json").write_text(json.dumps(original.attributes), encoding="utf-8")
