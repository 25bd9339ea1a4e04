"""The shares of right concepts and right numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence

from numcolbert.evaluate.wrong_hits import Share, WrongHits
from numcolbert.report.grid import Entry, Grid

_MEANING = (
    "R is the number of relevant passages. Of the first R hits, 'concept' is the share about the query's "
    "concept and dimension, 'number' the share of these whose value satisfies the condition, and 'both' is "
    "R-precision."
)


def wrong_hits_grid(dataset: str, measured: Sequence[WrongHits], level: float) -> Grid:
    """One row a system and part, the parts of a system together: where does it fail?"""
    systems = list(dict.fromkeys(hits.system for hits in measured))
    rows = [
        [
            Entry(hits.system),
            Entry(hits.part),
            Entry(f"{hits.queries:,}"),
            *(_entry(share, level) for share in (hits.concept, hits.number, hits.both)),
        ]
        for hits in sorted(measured, key=lambda hits: systems.index(hits.system))
    ]
    left_out = {hits.part: hits.left_out for hits in measured if hits.left_out}
    notes = [_MEANING]
    if left_out:
        counts = ", ".join(f"{part} {number}" for part, number in left_out.items())
        notes.append(f"Queries left out, because their concept is not known: {counts}.")
    columns = ["system", "part", "queries", "concept", "number", "both"]
    return Grid(f"{dataset}: concept and number of the first R hits", columns, rows, notes)


def _entry(share: Share | None, level: float) -> Entry:
    if share is None:
        return Entry("–", detail="no hit is about the concept")
    return Entry(f"{share.value:.3f}", detail=f"{level:.0%} interval {share.low:.3f} to {share.high:.3f}")
