"""Train and rank with the neural baselines where only torch and sentence-transformers are installed.

    python -m numcolbert.baselines train splade RECIPE --set run.steps=4000 -o OUT
    python -m numcolbert.baselines rank deepquant MODEL BENCHMARK... -o OUT

`train` uses the triples, backbone, budget and optimiser of a NumColBERT recipe and then ranks its
`run.evaluate_at_end`. Runs go to OUT/<benchmark>.trec.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numcolbert.errors import NumColBERTError
from numcolbert.progress import TerminalListener, listening

if TYPE_CHECKING:
    from numcolbert.baselines.ranker import Ranker

SYSTEMS = ("splade", "deepquant")
DEPTH = 1000
"""Hits a query: as many as the quantity rerankers look at."""


def train(system: str, recipe_name: str, changes: Sequence[str], out: Path) -> dict[str, Any]:
    from numcolbert.train.recipe import load_recipe

    recipe = load_recipe(recipe_name, changes)
    ranker: Ranker
    if system == "splade":
        from numcolbert.baselines.splade import Splade, train_splade

        encoder, fitted = train_splade(recipe, out / "model")
        ranker = Splade(encoder)
    else:
        from numcolbert.baselines.deepquant import DeepQuantRanker, train_deepquant

        model, text, fitted = train_deepquant(recipe, out / "model")
        ranker = DeepQuantRanker(model, text)
    (out / "recipe.json").write_text(json.dumps(recipe.as_dict(), indent=1), encoding="utf-8")
    outcome = {"steps": fitted.steps, "triples": fitted.triples, "seconds": round(fitted.seconds, 1)}
    return outcome | {"results": rank(ranker, recipe.run.evaluate_at_end, out)}


def load(system: str, folder: Path, device: str) -> Ranker:
    from numcolbert.train.model_setup import choose_device

    if system == "splade":
        from numcolbert.baselines.splade import Splade, load_splade

        encoder = load_splade(folder)
        encoder.to(choose_device(device))
        return Splade(encoder)
    from numcolbert.baselines.deepquant import DeepQuantRanker, load_deepquant

    model, text = load_deepquant(folder)
    model.to(choose_device(device))
    return DeepQuantRanker(model, text)


def rank(ranker: Ranker, folders: Sequence[Path], out: Path) -> dict[str, dict[str, float]]:
    """Rank each benchmark and its suites, write runs, and give the measures. A shared corpus is read once."""
    from numcolbert.baselines.collection import read_documents, read_queries
    from numcolbert.train.benchmarks import with_suites, write_run
    from numcolbert.train.measures import mean_measures

    indexed: Path | None = None
    results: dict[str, dict[str, float]] = {}
    for benchmark in (b for folder in folders for b in with_suites(folder)):
        if indexed != benchmark.corpus_path:
            ranker.index(read_documents(benchmark.corpus_path))
            indexed = benchmark.corpus_path
        run = ranker.search(read_queries(benchmark), DEPTH)
        name = benchmark.name.replace("/", "-")
        write_run(out / f"{name}.trec", {q: list(hits.items()) for q, hits in run.items()}, out.name)
        results[benchmark.name] = mean_measures({q: list(hits) for q, hits in run.items()}, benchmark.qrels)
        (out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m numcolbert.baselines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train on a recipe's triples")
    training.add_argument("system", choices=SYSTEMS)
    training.add_argument("recipe", help="path of a recipe, or the name of a built-in one")
    training.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    ranking = commands.add_parser("rank", help="rank benchmarks with a trained model")
    ranking.add_argument("system", choices=SYSTEMS)
    ranking.add_argument("model", type=Path)
    ranking.add_argument("benchmarks", nargs="+", type=Path)
    ranking.add_argument("--device", default="auto")
    for command in (training, ranking):
        command.add_argument("-o", "--out", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        with listening(TerminalListener()):
            chosen.out.mkdir(parents=True, exist_ok=True)
            if chosen.command == "train":
                outcome = train(chosen.system, chosen.recipe, chosen.changes, chosen.out)
            else:
                ranker = load(chosen.system, chosen.model, chosen.device)
                outcome = {"results": rank(ranker, chosen.benchmarks, chosen.out)}
    except NumColBERTError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
