"""Figures, each with the numbers it shows saved beside it."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import replacing_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLOURS = (
    "#0b6e6e", "#d1495b", "#edae49", "#30638e", "#7a5195", "#8a8d91", "#8fce00", "#ff7ab6", "#1c2430",
    "#a0522d", "#35b7e8", "#b4a0d6",
)  # fmt: skip
"""As many as the log of a training has terms: no two curves look the same."""
CURVE_POINTS = 60
_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e7ec",
    "figure.dpi": 160,
    "savefig.bbox": "tight",
    "legend.frameon": False,
}


LOSSES = {
    "loss", "retrieval", "contrastive", "bound", "concept", "keep", "keep_numbers", "detection", "unit",
    "mantissa", "exponent", "operator", "number", "order", "query_flops", "document_flops",
}  # fmt: skip
"""Terms of a loss in the logs of all trainers; what else a line holds is on another scale."""


@dataclass(frozen=True, slots=True)
class Curve:
    label: str
    x: Sequence[float]
    y: Sequence[float]


def operator_bars(
    values: Mapping[str, Mapping[str, float]], measure: str, path: Path, *, subject: str = ""
) -> Path:
    """Bars grouped by operator, one a system. `values`: system -> operator -> mean.

    `subject`, the system it is about, has the same and strongest colour in every figure.
    """
    operators = list(dict.fromkeys(o for of_system in values.values() for o in of_system))
    _require(bool(operators), "There is nothing to draw.")
    figure, axes = _canvas(7.2, 3.4)
    width = 0.8 / len(values)
    others = iter([*COLOURS[1:]] * len(values))
    for number, (system, means) in enumerate(values.items()):
        places = [i - 0.4 + width * (number + 0.5) for i in range(len(operators))]
        heights = [means.get(operator, 0.0) for operator in operators]
        colour = COLOURS[0] if system == subject else next(others)
        axes.bar(places, heights, width * 0.92, label=system, color=colour)
    axes.set_xticks(range(len(operators)), operators)
    axes.set_ylabel(measure)
    axes.set_ylim(0, 1)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    rows = [{"system": s, "operator": o, measure: v} for s, means in values.items() for o, v in means.items()]
    return _save(figure, path, rows)


def lines(
    curves: Sequence[Curve],
    path: Path,
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
) -> Path:
    """Curves with markers: quality against bits, latency against collection size, loss against steps."""
    _require(bool(curves), "There is nothing to draw.")
    for curve in curves:
        _require(
            len(curve.x) == len(curve.y),
            f"The curve '{curve.label}' has {len(curve.x)} x and {len(curve.y)} y.",
        )
    figure, axes = _canvas(5.6, 3.6)
    many = max(len(curve.x) for curve in curves) > 30
    for number, curve in enumerate(curves):
        marker = "" if many else "o"
        axes.plot(curve.x, curve.y, marker=marker, label=curve.label, color=COLOURS[number % len(COLOURS)])
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if log_x:
        axes.set_xscale("log")
        _name_points(axes.xaxis, sorted({x for curve in curves for x in curve.x}))
    if log_y:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    if len(curves) > 4:  # so many names would hide the curves
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    elif len(curves) > 1:
        axes.legend(frameon=False)
    rows = [{"curve": c.label, x_label: x, y_label: y} for c in curves for x, y in zip(c.x, c.y, strict=True)]
    return _save(figure, path, rows)


def nbits_curve(scores: Mapping[str, Mapping[int, float]], measure: str, path: Path) -> Path:
    """Quality against bits per value. `scores`: system -> bits -> mean."""
    curves = [Curve(name, sorted(of), [of[bits] for bits in sorted(of)]) for name, of in scores.items()]
    return lines(curves, path, x_label="bits per value", y_label=measure, log_x=True)


def training_curve(logs: Sequence[Path], path: Path) -> Path:
    """Each term of the loss against steps, from training logs of JSON lines, each of which goes on from the
    one before.

    Single batches scatter so much that long curves would hide each other: of a log with more than
    `CURVE_POINTS` lines the mean of a few lines at a time is drawn.
    """
    points: dict[str, tuple[list[float], list[float]]] = {}
    before = 0
    for log in logs:
        entries = _losses_in(log)
        for name in dict.fromkeys(key for entry in entries for key in entry if key in LOSSES):
            held = [entry for entry in entries if name in entry]
            count = min(len(held), CURVE_POINTS)
            ends = [len(held) * part // count for part in range(count + 1)]
            x, y = points.setdefault(name, ([], []))
            for part in (held[start:end] for start, end in pairwise(ends)):
                x.append(before + part[-1]["step"])
                y.append(sum(entry[name] for entry in part) / len(part))
        before += entries[-1]["step"]
    curves = [Curve(name, x, y) for name, (x, y) in points.items()]
    return lines(curves, path, x_label="step", y_label="loss", log_y=True)


def _losses_in(log: Path) -> list[dict[str, Any]]:
    """The lines of a log that hold losses, and not evaluations."""
    try:
        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(
            f"The training log '{log}' cannot be read: {error}.", hint="give a log.jsonl"
        ) from error
    entries = [entry for entry in entries if "step" in entry and LOSSES & entry.keys()]
    _require(bool(entries), f"The training log '{log}' holds no losses.")
    return entries


def latency_curve(seconds: Mapping[str, Mapping[int, float]], path: Path) -> Path:
    """Milliseconds a query against passages. `seconds`: engine -> passages -> seconds a query."""
    curves = [Curve(name, sorted(of), [1000 * of[n] for n in sorted(of)]) for name, of in seconds.items()]
    return lines(curves, path, x_label="passages", y_label="ms per query", log_x=True, log_y=True)


def tsne_scatter(vectors: NDArray[np.float32], labels: Sequence[str], path: Path) -> Path:
    """t-SNE of number tokens by operator, with the paper's settings. `vectors`: [tokens, dim]."""
    _require(len(vectors) == len(labels), f"There are {len(vectors)} vectors and {len(labels)} labels.")
    _require(len(vectors) > 30, "t-SNE with perplexity 30 needs more than 30 vectors.")
    from sklearn.manifold import TSNE

    settings = {"perplexity": 30, "init": "pca", "learning_rate": "auto", "random_state": 42}
    places = TSNE(**settings).fit_transform(vectors)  # [tokens, 2]
    figure, axes = _canvas(5.2, 4.8)
    for number, label in enumerate(dict.fromkeys(labels)):
        chosen = [i for i, name in enumerate(labels) if name == label]
        axes.scatter(*places[chosen].T, s=14, alpha=0.8, label=label, color=COLOURS[number % len(COLOURS)])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(title="operator", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    rows = [{"operator": n, "x": float(x), "y": float(y)} for n, (x, y) in zip(labels, places, strict=True)]
    return _save(figure, path, rows)


def _canvas(width: float, height: float) -> tuple[Any, Any]:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_extra("matplotlib", "figures", "Drawing a figure") from error

    mpl.use("Agg")
    from matplotlib import pyplot

    with mpl.rc_context(_STYLE):
        return pyplot.subplots(figsize=(width, height))


def _name_points(axis: Any, places: Sequence[float]) -> None:
    """Ticks where something was measured, written out."""
    if len(places) <= 10:
        axis.set_ticks(places, [f"{place:,.0f}" for place in places])
        axis.set_ticks([], minor=True)
    else:
        _plain_numbers(axis)


def _plain_numbers(axis: Any) -> None:
    """20, not 2 x 10^1."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _save(figure: Any, path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the picture and, with the same name, its numbers as CSV and JSON."""
    from matplotlib import pyplot

    with replacing_file(path) as aside:
        # The date would make the same figure a different file every time.
        plain = {"Software": None} if path.suffix == ".png" else {"Date": None}
        figure.savefig(
            aside, format=path.suffix.removeprefix("."), bbox_inches="tight", dpi=160, metadata=plain
        )
    pyplot.close(figure)
    with (
        replacing_file(path.with_suffix(".csv")) as aside,
        aside.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with replacing_file(path.with_suffix(".json")) as aside:
        aside.write_text(json.dumps(list(rows), indent=1), encoding="utf-8")
    return path


def _require(fine: bool, complaint: str) -> None:
    if not fine:
        raise InputError(complaint, hint="check what was measured")
