"""Train and rank with the neural baselines where only torch and sentence-transformers are installed.

    python -m numcolbert.baselines train splade RECIPE --set run.steps=4000 -o OUT
    python -m numcolbert.baselines train deepquant RECIPE --rates 2e-5 5e-5 1e-4 -o OUT
    python -m numcolbert.baselines rank deepquant MODEL BENCHMARK... -o OUT

`train` uses the triples, backbone, budget and optimiser of a NumColBERT recipe and then ranks its
`run.evaluate_at_end`. With --rates it first tries each learning rate for a share of the budget, and takes the
one that ranks `run.evaluate_during` best. Runs go to OUT/<benchmark>.trec. A model in OUT is replaced only
with --overwrite.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numcolbert.files import refuse_existing, storage_errors
from numcolbert.program import parser_of, positive, program

if TYPE_CHECKING:
    from numcolbert.baselines.fitting import Fitted
    from numcolbert.baselines.ranker import Ranker
    from numcolbert.train.benchmarks import Benchmark
    from numcolbert.train.recipe import Recipe

SYSTEMS = ("splade", "deepquant")
DEPTH, DEPTH_WITHOUT_CONDITIONS = 1000, 100
"""Hits a query: as many as quantity rerankers look at, or as are measured where those have no work."""


def train(
    system: str,
    recipe: Recipe,
    out: Path,
    *,
    rates: Sequence[float] = (),
    trial: float,
    depth: int | None,
    overwrite: bool = False,
) -> dict[str, Any]:
    from numcolbert.baselines.rates import choose_rate
    from numcolbert.train.evaluate import collect

    refuse_existing(out / "model", "folder", overwrite=overwrite)
    # Read first: a wrong path should fail before the training, not after it.
    benchmarks = collect(recipe.run.evaluate_at_end, suites=True)
    for name in ("training.json", "results.json"):  # they tell of the model that is replaced
        (out / name).unlink(missing_ok=True)
    tried: dict[float, float] = {}
    if rates:
        during = collect(recipe.run.evaluate_during, suites=False)

        def quality(attempt: Recipe) -> float:
            ranker, _ = fitted(system, attempt, out / "trial")
            return mean_ndcg(rank(ranker, during, None))

        recipe, tried = choose_rate(recipe, rates, trial, quality)
    ranker, outcome = fitted(system, recipe, out / "model")
    (out / "recipe.json").write_text(json.dumps(recipe.as_dict(), indent=1), encoding="utf-8")
    report = {
        "steps": outcome.steps,
        "triples": outcome.triples,
        "replayed": outcome.replayed,
        "seconds": round(outcome.seconds, 1),
        "lr": recipe.optimiser.lr,
        "rates": {str(rate): value for rate, value in tried.items()},
    }
    (out / "training.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    return report | {"results": rank(ranker, benchmarks, out, depth)}


def fitted(system: str, recipe: Recipe, folder: Path) -> tuple[Ranker, Fitted]:
    if system == "splade":
        from numcolbert.baselines.splade import Splade, train_splade

        encoder, outcome = train_splade(recipe, folder)
        return Splade(encoder), outcome
    from numcolbert.baselines.deepquant import DeepQuantRanker, train_deepquant

    model, text, outcome = train_deepquant(recipe, folder)
    return DeepQuantRanker(model, text), outcome


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


def rank(
    ranker: Ranker, benchmarks: Sequence[Benchmark], out: Path | None, depth: int | None = None
) -> dict[str, dict[str, float]]:
    """Rank each benchmark, write runs to `out`, and give the measures. A shared corpus is read once."""
    from numcolbert.baselines.collection import read_documents, read_queries
    from numcolbert.train.benchmarks import write_run
    from numcolbert.train.fingerprint import write_note
    from numcolbert.train.measures import mean_measures

    indexed: Path | None = None
    results: dict[str, dict[str, float]] = {}
    for benchmark in benchmarks:
        if indexed != benchmark.corpus_path:
            ranker.index(read_documents(benchmark.corpus_path))
            indexed = benchmark.corpus_path
        usual = DEPTH if benchmark.attributes else DEPTH_WITHOUT_CONDITIONS
        run = ranker.search(read_queries(benchmark), depth or usual)
        results[benchmark.name] = mean_measures({q: list(hits) for q, hits in run.items()}, benchmark.qrels)
        if out is not None:
            name = benchmark.name.replace("/", "-")
            path = out / f"{name}.trec"
            write_run(path, {q: list(hits.items()) for q, hits in run.items()}, out.resolve().name)
            write_note(path, benchmark)
            (out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


def mean_ndcg(results: dict[str, dict[str, float]]) -> float:
    return sum(measures["nDCG@10"] for measures in results.values()) / len(results)


@program
def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # Imported here and not above: worker processes import this module too.
    from numcolbert.train.evaluate import collect
    from numcolbert.train.recipe import load_recipe

    with storage_errors(chosen.out):
        chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.command == "train":
        outcome = train(
            chosen.system,
            load_recipe(chosen.recipe, chosen.changes),
            chosen.out,
            rates=chosen.rates,
            trial=chosen.trial,
            depth=chosen.depth,
            overwrite=chosen.overwrite,
        )
    else:
        benchmarks = collect(chosen.benchmarks, suites=True)
        ranker = load(chosen.system, chosen.model, chosen.device)
        outcome = {"results": rank(ranker, benchmarks, chosen.out, chosen.depth)}
    sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__, "numcolbert.baselines")
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train on a recipe's triples")
    training.add_argument("system", choices=SYSTEMS)
    training.add_argument("recipe", help="path of a recipe, or the name of a built-in one")
    training.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    training.add_argument("--rates", nargs="+", type=float, default=[], help="learning rates to try first")
    training.add_argument("--trial", type=float, default=0.1, help="share of the budget a rate is tried for")
    training.add_argument("--overwrite", action="store_true", help="replace a model that is there already")
    ranking = commands.add_parser("rank", help="rank benchmarks with a trained model")
    ranking.add_argument("system", choices=SYSTEMS)
    ranking.add_argument("model", type=Path)
    ranking.add_argument("benchmarks", nargs="+", type=Path)
    ranking.add_argument("--device", default="auto")
    for command in (training, ranking):
        command.add_argument("-o", "--out", type=Path, required=True)
        command.add_argument(
            "--depth",
            type=positive,
            help=f"hits a query in the run files; by default {DEPTH}, or {DEPTH_WITHOUT_CONDITIONS} where no "
            "query has a condition",
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
