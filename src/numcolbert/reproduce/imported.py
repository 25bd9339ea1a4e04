"""What the commands that turn somebody's files into benchmark folders have in common."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from numcolbert.errors import NotFoundError
from numcolbert.evaluate.trec import Qrels, write_qrels
from numcolbert.files import COMPRESSED, replacing_folder
from numcolbert.program import parser_of


def find_file(folder: Path, *patterns: str, hint: str) -> Path:
    """The first file there that fits a pattern, plain or compressed."""
    for pattern in patterns:
        found = sorted(path for ending in ("", *COMPRESSED) for path in folder.glob(pattern + ending))
        if found:
            return found[0]
    raise NotFoundError(f"'{folder}' holds no {patterns[0]}.", hint=hint)


def text_line(id: str, text: str) -> str:
    """A line of a benchmark's corpus.jsonl or queries.jsonl."""
    return json.dumps({"_id": id, "text": text}, ensure_ascii=False) + "\n"


def write_texts(path: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Such a file, of ids and texts."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(text_line(id, text) for id, text in texts)


def write_benchmark(
    target: Path,
    passages: Mapping[str, str],
    queries: Mapping[str, str],
    qrels: Qrels,
    *,
    overwrite: bool = True,
) -> None:
    with replacing_folder(target, overwrite=overwrite, mark="queries.jsonl") as aside:
        write_texts(aside / "corpus.jsonl", passages.items())
        write_texts(aside / "queries.jsonl", queries.items())
        write_qrels(aside / "qrels.trec", qrels)


def command_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    parser = parser_of(description, module)
    parser.add_argument("source", type=Path, help="folder of the files")
    parser.add_argument("benchmarks", type=Path, help="folder to write benchmarks to")
    parser.add_argument("--model", help="checkpoint to rank them with")
    parser.add_argument("-o", "--out", type=Path, help="folder for its run files and results.json")
    parser.add_argument("--device", default="auto")
    return parser


def import_and_rank(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    bring_in: Callable[[argparse.Namespace], list[str]],
) -> int:
    """Write the benchmarks and, with a model, rank them. `bring_in` gives what evaluation is asked for."""
    chosen = parser.parse_args(arguments)
    if (chosen.model is None) != (chosen.out is None):
        parser.error("--model and --out belong together")
    wanted = bring_in(chosen)
    if chosen.model is None:
        return 0
    from numcolbert.train import evaluate

    return evaluate.main([chosen.model, *wanted, "-o", str(chosen.out), "--device", chosen.device])
