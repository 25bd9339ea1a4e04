"""The default engine: centroids, a few bits a coordinate, and lists that lead from centroids to passages.

A vector is stored as the number of its nearest centroid and the coarsely rounded rest (`codec.py`); a query
looks at the passages in the lists of its nearest centroids only (`plaid_search.py`). Centroids never move
once they are trained: new documents are coded with the present ones, and where those fit badly, further ones
are added for the new documents. So nothing that is stored ever has to be coded again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import DamagedIndexError
from numcolbert.index.base import Scored
from numcolbert.index.checks import checked_documents, checked_k, checked_query
from numcolbert.index.codec import ResidualCodec, code_bytes, slots
from numcolbert.index.columns import Column, Columns, Kind
from numcolbert.index.kernels import count_listed, fill_lists
from numcolbert.index.kmeans import Cells, train_centroids
from numcolbert.index.passages import PASSAGE_COLUMNS, Passages
from numcolbert.index.plaid_search import PlaidView, search
from numcolbert.index.plaid_settings import MOST_CENTROIDS, PlaidSettings, automatic_centroids, sample_size

GROW_AT = 1.25
"""Drift of a batch from which it gets centroids of its own."""
REBUILD_AT = 1.5
"""Drift of everything added since the build from which a rebuild is advised."""
_UNLISTED = 4096
"""Passages that may wait outside the lists, or a quarter of those inside if that is more."""
_FACTS: dict[str, Any] = {  # as they are at the beginning
    "listed": 0,
    "build_error": 0.0,  # mean squared distance from the centroid: of the sample,
    "added_error": 0.0,  # and of what was added, as a sum over
    "added": 0,  # so many vectors
}


class PlaidEngine:
    """`Engine` with centroids and residuals."""

    KIND = Kind("plaid", 2)
    """Format 1 had other lengths of residuals for the same bytes."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        columns.require_facts(("dim", "settings", *_FACTS))
        self._settings = settings_from(PlaidSettings, columns.facts["settings"], "state.json")
        columns.require_columns(_layout(self.dim, self._settings.nbits))
        self._changing = threading.RLock()
        self._cells: Cells | None = None
        self._view = self._look()
        self._refuse_damaged()

    @classmethod
    def create(
        cls,
        folder: Path,
        dim: int,
        settings: PlaidSettings | None = None,
        *,
        sample: NDArray[np.float32] | None = None,
        expected_vectors: int | None = None,
    ) -> PlaidEngine:
        """Make an empty engine.

        `sample` is `[vectors, dim]`, drawn from all documents that will be added, and `expected_vectors` how
        many vectors those have: from them come the centroids. Without a sample the first `add` is the sample.
        """
        settings = settings or PlaidSettings()
        facts = {"dim": dim, "settings": asdict(settings), **_FACTS}
        if sample is not None:
            sample = checked_documents([0], [sample], dim)[2]
        columns = _layout(dim, settings.nbits)
        engine = cls(Columns.create(folder, cls.KIND, columns, facts))
        if sample is not None:
            engine._train(sample, expected_vectors or len(sample))
            engine.commit()
        return engine

    @classmethod
    def open(cls, folder: Path) -> PlaidEngine:
        return cls(Columns.open(folder, cls.KIND))

    def _refuse_damaged(self) -> None:
        """Kernels follow numbers of centroids and passages blindly: a damaged file must not crash them."""
        view, folder = self._view, self._columns.folder
        view.passages.refuse_damaged(len(view.codes), folder)
        offsets, entries = view.list_offsets, view.list_passages
        sound = (
            len(view.codes) == len(view.lengths) == len(view.residuals)
            and int(view.codes.max(initial=0)) < max(1, len(view.centroids))
            and 0 <= view.listed <= len(view.passages.keys)
            and int(entries.max(initial=0)) < max(1, view.listed)
            and len(offsets) <= len(view.centroids) + 1
            and (int(offsets[-1]) if len(offsets) else 0) == len(entries)
            and (not len(offsets) or int(offsets[0]) == 0)
            and bool((offsets[1:] >= offsets[:-1]).all())
        )
        if not sound:
            raise DamagedIndexError(
                f"The vectors in '{folder}' do not fit their centroids and lists.",
                hint="copy the folder again or rebuild it",
            )

    def _look(self) -> PlaidView:
        columns = self._columns
        known: PlaidView | None = getattr(self, "_view", None)
        if known is not None and len(known.centroids) == columns["centroids"].rows:
            codec, centroids = known.codec, known.centroids
        else:
            centroids = columns.array("centroids").astype(np.float32)
            codec = ResidualCodec(*(columns.array(name) for name in ("rotation", "spread", "bits", "levels")))
        return PlaidView(
            settings=self._settings,
            passages=Passages.of(columns),
            codec=codec,
            centroids=centroids,
            codes=columns.array("codes"),
            lengths=columns.array("lengths"),
            residuals=columns.array("residuals"),
            list_offsets=columns.array("list_offsets"),
            list_passages=columns.array("list_passages"),
            listed=columns.facts["listed"],
        )

    @property
    def dim(self) -> int:
        return int(self._columns.facts["dim"])

    @property
    def count(self) -> int:
        return self._view.passages.count

    def keys(self) -> NDArray[np.int64]:
        return self._view.passages.sorted_keys()

    # ------------------------------------------------------------------------------------------ changing

    def _train(self, sample: NDArray[np.float32], vectors: int) -> None:
        generator = np.random.default_rng(self._settings.seed)
        wanted = self._settings.centroids or automatic_centroids(vectors)
        enough = sample_size(self._settings, vectors)
        if len(sample) > enough:
            sample = sample[np.sort(generator.choice(len(sample), enough, replace=False))]
        centroids = train_centroids(sample, wanted, self._settings.seed)
        tried = sample[generator.choice(len(sample), min(len(sample), 65_536), replace=False)]
        residuals = tried - centroids[Cells.of(centroids, self._settings.seed).nearest(tried)]
        codec = ResidualCodec.fit(tried, residuals, self._settings.nbits)
        self._columns.append(
            rotation=codec.rotation,
            spread=codec.spread,
            bits=codec.bits,
            levels=codec.levels,
            centroids=codec.turn(centroids),
        )
        self._columns.facts["build_error"] = _mean_square(residuals)
        self._view = self._look()

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        key_array, lengths, joined = checked_documents(keys, vectors, self.dim)
        with self._changing:
            self._view.passages.refuse_known(key_array)
            if not len(key_array):
                return
            if not len(self._view.centroids):
                self._train(joined, len(joined))
            turned = self._view.codec.turn(joined)
            labels, error = self._label(turned)
            view = self._view
            residual_lengths, residuals = view.codec.encode(turned, view.centroids, labels)
            ends = len(view.codes) + np.cumsum(lengths)
            self._columns.append(
                residuals=residuals,
                lengths=residual_lengths,
                codes=labels.astype(np.uint16),
                ends=ends,
                keys=key_array,
            )
            self._columns.facts["added"] += len(joined)
            self._columns.facts["added_error"] += error * len(joined)
            self._view = self._look()

    def _label(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], float]:
        """The nearest centroid of each vector and the mean squared distance; adds centroids on drift."""
        centroids = self._view.centroids
        if self._cells is None or len(self._cells.centroids) != len(centroids):
            self._cells = Cells.of(centroids, self._settings.seed)
        labels = self._cells.nearest(vectors)
        distances = _square_distances(vectors, centroids, labels)
        error = float(distances.mean())
        build_error = self._columns.facts["build_error"]
        far = distances > GROW_AT * max(build_error, 1e-4)
        if error > GROW_AT * build_error and self._may_grow(int(far.sum())):
            strangers = vectors[far]
            room = MOST_CENTROIDS - len(centroids)
            missing = automatic_centroids(len(self._view.codes) + len(vectors)) - len(centroids)
            count = min(max(missing, len(strangers) // 64, 1), len(strangers) // 4, room)
            self._columns.append(centroids=train_centroids(strangers, count, self._settings.seed))
            self._view = self._look()
            centroids = self._view.centroids
            self._cells = Cells.of(centroids, self._settings.seed)
            labels = self._cells.nearest(vectors)
            error = float(_square_distances(vectors, centroids, labels).mean())
        return labels, error

    def _may_grow(self, strangers: int) -> bool:
        """A few odd vectors make no centroid: it takes some hundred, or a good part of a small collection."""
        enough = min(256, max(16, len(self._view.codes) // 4))
        fixed = self._settings.centroids is not None
        return strangers >= enough and not fixed and len(self._view.centroids) < MOST_CENTROIDS

    def delete(self, keys: Sequence[int]) -> None:
        with self._changing:
            positions = self._view.passages.positions(keys)
            self._columns.append(deleted=np.unique(positions))
            self._view = self._look()

    def commit(self) -> None:
        with self._changing:
            waiting = len(self._view.passages.keys) - self._view.listed
            if waiting > max(_UNLISTED, self._view.listed // 4):
                self._write_lists()
            self._columns.commit()

    def compact(self) -> None:
        with self._changing:
            view = self._view
            if view.passages.count < len(view.passages.keys):
                self._columns.replace(
                    residuals=view.passages.live_rows(view.residuals),
                    lengths=view.passages.live_rows(view.lengths),
                    codes=view.passages.live_rows(view.codes),
                    **view.passages.compacted(),
                )
                self._view = self._look()
                self._write_lists()

    def _write_lists(self) -> None:
        view = self._view
        passages = view.passages
        counts = np.zeros(len(view.centroids), np.int64)
        count_listed(view.codes, passages.starts, passages.ends, counts)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        entries = np.empty(int(offsets[-1]), np.uint32)
        fill_lists(view.codes, passages.starts, passages.ends, offsets[:-1].copy(), entries)
        self._columns.replace(list_offsets=[offsets], list_passages=[entries])
        self._columns.facts["listed"] = len(passages.keys)
        self._view = self._look()

    # ----------------------------------------------------------------------------------------- searching

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        query, k, view = checked_query(query, self.dim), checked_k(k), self._view
        if not len(view.centroids):  # nothing was ever added
            return Scored(np.empty(0, np.int64), np.empty(0, np.float32))
        return search(view, query, k, allowed)

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        return checked_query(query, self.dim) @ self.vectors(key).T

    def vectors(self, key: int) -> NDArray[np.float32]:
        view = self._view
        position = int(view.passages.positions([key])[0])
        rows = slice(view.passages.starts[position], view.passages.ends[position])
        residuals = view.codec.decode(view.lengths[rows], view.residuals[rows])
        return view.codec.turn_back(view.centroids[view.codes[rows]] + residuals)

    def files(self) -> Mapping[str, int]:
        return self._columns.files()

    def stats(self) -> dict[str, Any]:
        view, facts = self._view, self._columns.facts
        size = sum(self.files().values())
        drift = 1.0
        if facts["added"] and facts["build_error"] > 0:
            drift = facts["added_error"] / facts["added"] / facts["build_error"]
        return {
            "engine": self.KIND.engine,
            "documents": view.passages.count,
            "deleted": len(view.passages.deleted),
            "vectors": len(view.codes),
            "dim": self.dim,
            "nbits": self._settings.nbits,
            "centroids": len(view.centroids),
            "listed": view.listed,
            "drift": round(drift, 4),
            "advice": "rebuild" if drift > REBUILD_AT else None,
            "bytes": size,
            "ratio_to_fp32": size / max(1, 4 * self.dim * len(view.codes)),
        }

    def close(self) -> None:
        self._columns.close()


def _layout(dim: int, nbits: int) -> dict[str, Column]:
    turned = slots(dim, nbits)
    return {
        **PASSAGE_COLUMNS,
        "rotation": Column("<f4", turned),
        "spread": Column("<f4", 0),
        "bits": Column("|u1", 0),
        "levels": Column("<f4", 0),
        "centroids": Column("<f2", turned),
        "codes": Column("<u2", 0),
        "lengths": Column("|u1", 0),
        "residuals": Column("|u1", code_bytes(dim, nbits)),
        "list_offsets": Column("<i8", 0),
        "list_passages": Column("<u4", 0),
    }


def _square_distances(
    vectors: NDArray[np.float32], centroids: NDArray[np.float32], labels: NDArray[np.int64]
) -> NDArray[np.float32]:
    out = np.empty(len(vectors), np.float32)
    for begin in range(0, len(vectors), 16_384):
        some = slice(begin, begin + 16_384)
        rest = vectors[some] - centroids[labels[some]]
        out[some] = np.einsum("ij,ij->i", rest, rest)
    return out


def _mean_square(rows: NDArray[np.float32]) -> float:
    return float(np.einsum("ij,ij->i", rows, rows).mean())
