"""Train the compared systems on a collection that has no training data of its own: mine it, then train.

For the authors' FinQuant and MedQuant: triples are drawn from their sentences, and what their test queries
ask for is held out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numcolbert.data.pool import Pool
from numcolbert.errors import UsageError
from numcolbert.reproduce.runs import find_run
from numcolbert.train.benchmarks import Benchmark, read_benchmark

SYSTEMS = ("numcolbert", "colbert-ft", "splade", "deepquant")
_PLAIN = (
    "model.gated=false",
    "run.gate_length=0",
    *(f"loss.{part}=0" for part in ("contrastive", "detection", "properties", "concept")),
)
UNSEEN = "not_training"
"""The subset of queries about pairs that training must not know."""


def train_systems(
    folder: Path, runs: Path, recipe: str, changes: Sequence[str] = (), systems: Sequence[str] = SYSTEMS
) -> list[str]:
    """Train those of `systems` that have no run on the benchmark in `folder` yet; returns their names.

    `recipe` is trained as it is for NumColBERT; the others take its data, budget and optimiser.
    """
    benchmark = read_benchmark(folder)
    missing = [system for system in systems if find_run(runs, system, benchmark) is None]
    if not missing:
        return []
    pool = folder / "pool"
    if not pool.is_dir():
        mine_benchmark(benchmark).save(pool)
    held_out = folder / "held_out.json"
    held_out.write_text(json.dumps(held_out_of(benchmark)), encoding="utf-8")
    for system in missing:
        out = runs / system / f"trained-on-{benchmark.name}"
        wanted = [
            *changes,
            f"data.pools=['{pool}']",
            f"data.held_out=['{held_out}']",
            f"run.evaluate_at_end=['{folder}']",
            f"run.output={out}",
            "run.depth=1000",
        ]
        _train(system, recipe, wanted, out)
    return missing


def mine_benchmark(benchmark: Benchmark) -> Pool:
    from numcolbert.data.mining import MiningSettings, mine

    return mine([benchmark.corpus_path], MiningSettings(name=benchmark.name, id_field="_id"))


def held_out_of(benchmark: Benchmark) -> dict[str, Any]:
    """What training must not see: every query's threshold, and whole pairs where the layout marks them."""
    from numcolbert.quantities import extract

    unseen = benchmark.subsets.get(UNSEEN, {})
    pairs: list[tuple[str, str]] = []
    queries = []
    for query, text in zip(benchmark.query_ids, benchmark.query_texts, strict=True):
        asked = benchmark.attributes.get(query, {})
        concept = str(asked.get("concept", "")).lower()
        # The query's own words say more about the unit than its column, which is a bare symbol.
        for quantity in extract(text):
            if concept and asked.get("operator") in ("=", ">", "<"):
                queries.append(
                    {
                        "concept": concept,
                        "dimension": quantity.dimension,
                        "operator": asked["operator"],
                        "base_value": quantity.base_value,
                    }
                )
                if query in unseen:
                    pairs.append((concept, quantity.dimension))
    return {"pairs": sorted(set(pairs)), "queries": queries}


def _train(system: str, recipe: str, changes: Sequence[str], out: Path) -> None:
    from numcolbert.train.recipe import load_recipe

    if system in ("splade", "deepquant"):
        from numcolbert.baselines.__main__ import train as train_baseline

        out.mkdir(parents=True, exist_ok=True)
        train_baseline(system, load_recipe(recipe, changes), out, trial=0.1, depth=1000)
        return
    from numcolbert.train.trainer import train

    if system not in SYSTEMS:
        raise UsageError(f"'{system}' is not trained here.", hint="choose one of " + ", ".join(SYSTEMS))
    chosen = load_recipe(recipe, [*changes, *(_PLAIN if system == "colbert-ft" else ())])
    train(chosen, overwrite=True)  # only systems without a run come here: what is there was not finished
