"""`python -m numcolbert.train RECIPE [--set section.key=value ...]`: train where only torch is installed."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence

from numcolbert.program import INTERRUPTED, program


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m numcolbert.train", description=__doc__)
    parser.add_argument("recipe", help="path of a recipe, or the name of a built-in one")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--overwrite", action="store_true", help="replace what the output folder holds")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # Imported here and not above: worker processes import this module too and must not load torch.
    from numcolbert.train.evaluate import table
    from numcolbert.train.recipe import load_recipe
    from numcolbert.train.trainer import train

    outcome = train(load_recipe(chosen.recipe, chosen.changes), overwrite=chosen.overwrite)
    code = INTERRUPTED if outcome.interrupted else 0
    if os.environ.get("RANK", "0") != "0":
        return code  # one of several processes speaks
    if chosen.json:
        values = {**vars(outcome), "results": [vars(result) for result in outcome.results]}
        sys.stdout.write(json.dumps(values, default=str, indent=1) + "\n")
        return code
    sys.stdout.write(
        f"{outcome.step:,} steps, {outcome.triples:,} triples in {outcome.seconds:.0f} s, "
        f"{outcome.triples_per_second:,.0f} triples/s: {outcome.output}\n"
    )
    if outcome.results:
        sys.stdout.write(table(outcome.results) + "\n")
    if outcome.interrupted:
        sys.stderr.write("interrupted: go on with --set run.resume=true\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
