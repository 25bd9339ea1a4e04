"""Chooses, on development queries, how much of its start a trained model keeps and how strong its gate is.

    python -m numcolbert.train.choose RUN BENCHMARK/dev... --shares 0.05 0.1 --gate-strengths 0.8 1 -o MODEL

ranks the queries with each share, and each length and strength of the gate (see `numcolbert.train.average`
and `numcolbert.train.gate_setting`), prints nDCG@10, and saves the model with the highest mean over the
benchmarks. All that was tried stands beside it in choice.json.

    ... --rank BENCHMARK... --runs OUT

then ranks others with that model, as `numcolbert.train.evaluate` does, without reading collections again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from numcolbert.files import refuse_existing, storage_errors
from numcolbert.model.checkpoint import MARK, load_checkpoint, save_checkpoint
from numcolbert.program import parser_of, positive, program
from numcolbert.train.average import average, averaged_run, check_share, start_of
from numcolbert.train.benchmarks import Benchmark
from numcolbert.train.evaluate import (
    DEPTH,
    Corpora,
    Ranker,
    Result,
    add_device_options,
    collect,
    evaluate,
    save_results,
)
from numcolbert.train.evaluate import table as measured_table
from numcolbert.train.gate_setting import AS_TRAINED, GateSetting
from numcolbert.train.measures import Measures, as_it_ranks
from numcolbert.train.model_setup import choose_device
from numcolbert.train.packed import Precision

CHOICE = "choice.json"
MEASURE = "nDCG@10"


@dataclass(frozen=True)
class Tried:
    """One setting, and what it reaches on each benchmark."""

    share: float
    gate: GateSetting
    by_benchmark: dict[str, float]
    mean: float


def try_all(
    run: Path,
    benchmarks: Sequence[Benchmark],
    shares: Sequence[float],
    gates: Sequence[GateSetting],
    device: str,
    corpora: Corpora,
    *,
    precision: Precision = "auto",
) -> Iterator[Tried]:
    """Each share with each gate; a model without one has its shares alone. Collections are read into
    `corpora`: their tokens are the same for all shares.
    """
    start = start_of(run)
    for share in shares:
        model = load_checkpoint(run / "model", device=str(choose_device(device)))
        average(model, start, share)
        ranker = Ranker.of(model, precision=precision)
        ranker.corpora = corpora
        some = gates if ranker.gate is not None else [AS_TRAINED]
        results = list(evaluate(ranker, benchmarks, gates=[gate for gate in some if gate != AS_TRAINED]))
        for gate in some:
            reached = {result.name: _with_gate(result, gate)[MEASURE] for result in results}
            yield Tried(share, gate, reached, sum(reached.values()) / len(reached))


def _with_gate(result: Result, gate: GateSetting) -> Measures:
    return as_it_ranks(result.scores) if gate == AS_TRAINED else result.scores[str(gate)]


def table(tried: Sequence[Tried]) -> str:
    names = list(tried[0].by_benchmark)
    width = max(8, *map(len, names))
    wide = max(len(str(one.gate)) for one in tried)
    rows = [
        f"{'share':>5}  {'gate':<{wide}}  " + "".join(f"{name:>{width}}  " for name in names) + f"{'mean':>6}"
    ]
    for one in tried:
        cells = "".join(f"{one.by_benchmark[name]:{width}.4f}  " for name in names)
        rows.append(f"{one.share:5g}  {one.gate!s:<{wide}}  {cells}{one.mean:6.4f}")
    return "\n".join(rows) + "\n"


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__, "numcolbert.train.choose")
    parser.add_argument(
        "run", type=Path, help="folder of a finished training, not averaged and its gate not held"
    )
    parser.add_argument("benchmarks", nargs="+", type=Path, help="to choose on: never those of the tables")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.1])
    parser.add_argument("--gate-lengths", type=int, nargs="+", default=[0], help="0: as it was trained")
    parser.add_argument("--gate-strengths", type=float, nargs="+", default=[1.0], help="1: as it was trained")
    add_device_options(parser)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--rank", type=Path, nargs="+", default=[], help="then these, with their suites")
    parser.add_argument("--runs", type=Path, help="folder for their run files and results.json")
    parser.add_argument("--depth", type=positive, default=DEPTH, help="hits a query in the run files")
    chosen = parser.parse_args(arguments)
    if bool(chosen.rank) != bool(chosen.runs):
        parser.error("--rank and --runs go together")
    gates = [GateSetting(*pair) for pair in product(chosen.gate_lengths, chosen.gate_strengths)]
    for gate in gates:
        gate.check()
    for share in chosen.shares:
        check_share(share)
    refuse_existing(chosen.out, "folder", overwrite=chosen.overwrite, mark=MARK)
    benchmarks, ranked = collect(chosen.benchmarks, suites=False), collect(chosen.rank, suites=True)
    if ranked:
        with storage_errors(chosen.runs):  # now, and not after everything is tried
            chosen.runs.mkdir(parents=True, exist_ok=True)
    corpora: Corpora = {}
    settings = (chosen.shares, gates, chosen.device, corpora)
    tried = list(try_all(chosen.run, benchmarks, *settings, precision=chosen.precision))
    best = max(tried, key=lambda one: one.mean)
    model = averaged_run(chosen.run, best.share, best.gate)
    save_checkpoint(model, chosen.out, overwrite=chosen.overwrite)
    choice = {"chosen": asdict(best), "tried": [asdict(one) for one in tried]}
    (chosen.out / CHOICE).write_text(json.dumps(choice, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(tried))
    sys.stdout.write(f"chosen: share {best.share:g}, gate {best.gate}\n")
    if ranked:
        model = load_checkpoint(chosen.out, device=str(choose_device(chosen.device)))
        ranker = Ranker.of(model, precision=chosen.precision)
        ranker.corpora = corpora
        measured = evaluate(ranker, ranked, chosen.runs, depth=chosen.depth)
        sys.stdout.write(measured_table(save_results(chosen.runs / "results.json", measured)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
