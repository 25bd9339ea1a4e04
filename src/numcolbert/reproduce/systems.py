"""The compared systems that can be run here, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numcolbert.baselines.ranker import Ranker, Run
from numcolbert.errors import UsageError

if TYPE_CHECKING:
    from numcolbert.baselines.bm25 import Sees
    from numcolbert.baselines.query_condition import Conditions

Build = Callable[[Run], Ranker]
"""Makes the ranker; the argument is the first system's run, empty for systems that need none."""


@dataclass(frozen=True, slots=True)
class System:
    build: Build
    first_depth: int = 0
    """Hits a query it looks at in another system's run; 0 for systems that stand on none."""
    revision: int = 1
    """Raised when its scores change, so that saved runs are made again."""

    @property
    def needs_first(self) -> bool:
        return self.first_depth > 0


def _bm25(sees: Sees) -> Build:
    def build(_: Run) -> Ranker:
        from numcolbert.baselines.bm25 import BM25

        return BM25(sees)

    return build


def _qbm25(conditions: Conditions) -> Build:
    def build(_: Run) -> Ranker:
        from numcolbert.baselines.qbm25 import QBM25
        from numcolbert.baselines.quantulum import Quantulum

        return QBM25(Quantulum.cached(), conditions=conditions)

    return build


def _qcolbert(conditions: Conditions) -> Build:
    def build(first: Run) -> Ranker:
        from numcolbert.baselines.qcolbert import qcolbert
        from numcolbert.baselines.quantity_rerank import RunRanker
        from numcolbert.baselines.quantulum import Quantulum

        return qcolbert(RunRanker(first), Quantulum.cached(), conditions=conditions)

    return build


def _qsplade(conditions: Conditions) -> Build:
    def build(first: Run) -> Ranker:
        from numcolbert.baselines.qsplade import qsplade
        from numcolbert.baselines.quantity_rerank import RunRanker
        from numcolbert.baselines.quantulum import Quantulum

        return qsplade(RunRanker(first), Quantulum.cached(), conditions=conditions)

    return build


def _cross_encoder(first: Run) -> Ranker:
    from numcolbert.baselines.crossencoder import CrossEncoder, find_cross_encoder
    from numcolbert.baselines.kept_scores import KeptScores
    from numcolbert.baselines.quantity_rerank import RunRanker
    from numcolbert.baselines.rerank import Reranker
    from numcolbert.files import cache_folder, sha256

    folder = find_cross_encoder()
    name = f"cross-encoder {sha256(folder / 'model.onnx')[:12]}"
    scorer = KeptScores(CrossEncoder(folder), name, cache_folder() / "cross-encoder.sqlite")
    return Reranker(RunRanker(first), scorer, depth=100)


SYSTEMS: dict[str, System] = {
    "bm25": System(_bm25("query")),
    "bm25-concept": System(_bm25("concept")),
    "qbm25": System(_qbm25("parsed")),
    "qbm25-gold": System(_qbm25("gold")),
    "qcolbert": System(_qcolbert("parsed"), first_depth=1000),
    "qcolbert-gold": System(_qcolbert("gold"), first_depth=1000),
    "qsplade": System(_qsplade("parsed"), first_depth=1000),
    "qsplade-gold": System(_qsplade("gold"), first_depth=1000),
    "cross-encoder": System(_cross_encoder, first_depth=100),
}


def find_system(name: str) -> System:
    if name not in SYSTEMS:
        raise UsageError(f"There is no system '{name}'.", hint="choose one of " + ", ".join(SYSTEMS))
    return SYSTEMS[name]
