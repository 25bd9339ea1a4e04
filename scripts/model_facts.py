"""Bring a shipped model's facts.json and card up to date with its recorded run.

    python scripts/model_facts.py models/numcolbert-minilm RUN --baseline ft-17k-average0.1

Results and recipe come from docs/results/runs/: of a model that was trained further, the losses and the
optimiser of its last training, and the commands and steps of all. What else facts.json says (data, summary,
limits, parity and speed) is kept as it stands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numcolbert.config import read_json
from numcolbert.files import replacing_file
from numcolbert.model.card import read_facts, write_card
from numcolbert.program import parser_of, program
from numcolbert.train.measures import MEASURES, as_it_ranks
from recorded_runs import recorded, trainings

Row = dict[str, Any]
SYSTEMS = {"colbert-ft": "ColBERT_ft", "no-gate": "trained without a gate"}
"""What recipes train, as the card says it."""


def with_names(run: Row) -> Row:
    """A recorded run whose results can be asked for by name."""
    return run | {"by_name": {result["name"]: result for result in run["results"]}}


def measured(run: Row, baselines: list[Row], name: str) -> Row:
    result = run["by_name"][name]
    row: Row = {"set": name, "queries": result["queries"]}
    row |= {measure: round(as_it_ranks(result["scores"])[measure], 3) for measure in MEASURES}
    row["without its gate, nDCG@10"] = round(result["scores"]["ungated"]["nDCG@10"], 3)
    for other in baselines:
        theirs = as_it_ranks(other["by_name"][name]["scores"])
        row[f"{label(other)}, nDCG@10"] = round(theirs["nDCG@10"], 3)
    return row


def label(run: Row) -> str:
    averaged = ", averaged" if run["recipe"]["run"]["start_share"] else ""
    taught = ", taught ordinary search" if run["recipe"]["loss"].get("keep") else ""
    system = SYSTEMS.get(run["recipe"]["name"], run["recipe"]["name"])
    return f"{system}{taught}, {in_all(run, 'step'):,} steps{averaged}"


def in_all(run: Mapping[str, Any], what: str) -> Any:
    """Steps, triples or seconds of a run and of those it went on from."""
    return sum(training["end"][what] for training in trainings(run))


def results(run: Row, baselines: list[Row]) -> dict[str, list[Row]]:
    sets = ("openfinquant", "openmedquant")
    suites = [n for n in run["by_name"] if n.startswith(sets) and "/" in n and not n.endswith("/dev")]
    subsets: list[Row] = []
    detector: list[Row] = []
    for name in sets:
        for subset, scores in run["by_name"][name]["subsets"].items():
            others = {
                label(other): round(other["by_name"][name]["subsets"][subset]["nDCG@10"], 3)
                for other in baselines
            }
            subsets.append({"set": name, "subset": subset, "nDCG@10": round(scores["nDCG@10"], 3), **others})
        found = run["by_name"][name]["detector"]
        detector.append(
            {
                "set": name,
                "token F1": round(found["f1"], 4),
                "mean gate on quantities": round(found["gate_on_quantities"], 2),
            }
        )
    return {
        "Held-out queries, exact search": [measured(run, baselines, name) for name in sets],
        "Extra suites": [measured(run, baselines, name) for name in suites],
        "By operator and subset": subsets,
        "Detector on the test queries": detector,
    }


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("run", help="name of its recorded run")
    parser.add_argument("--baseline", action="append", default=[], help="names of recorded runs beside it")
    chosen = parser.parse_args(arguments)
    run, *baselines = (with_names(recorded(name)) for name in (chosen.run, *chosen.baseline))
    file = chosen.model / "facts.json"
    facts = read_json(file, "facts of the model", hint="name the folder of a shipped model")
    facts["results"] |= results(run, baselines)
    *before, _ = trainings(run)
    facts["recipe"] = {
        **{f"command {number}": earlier["command"] for number, earlier in enumerate(before, start=1)},
        "command": run["command"],
        **{key: round(in_all(run, key), 1) for key in ("step", "triples", "seconds")},
        "machine": run["machine"],
        **{key: run["recipe"][key] for key in ("optimiser", "loss")},
        "mix": run["recipe"]["data"]["mix"],
        "digits": run["recipe"]["model"]["encoder"]["digits"],
        "share of the start's weights": run["recipe"]["run"]["start_share"],
        "length the gate is held at": run["recipe"]["run"].get("gate_length") or "that of the query",
        "strength of the gate": run["recipe"]["run"].get("gate_strength", 1.0),
    }
    with replacing_file(file) as aside:
        aside.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_card(chosen.model, read_facts(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
