"""Every figure leaves a picture and its numbers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from numcolbert.errors import InputError
from numcolbert.report.figures import (
    COLOURS,
    LOSSES,
    Curve,
    latency_curve,
    lines,
    nbits_curve,
    operator_bars,
    training_curve,
    tsne_scatter,
)
from numcolbert.train.losses import LOSSES as TRAINED


def check(path: Path, rows: int) -> list[dict[str, str]]:
    assert path.read_bytes().startswith(b"\x89PNG")
    with path.with_suffix(".csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(json.loads(path.with_suffix(".json").read_text())) == rows
    return table


def test_operator_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    colours = {}
    bar = Axes.bar

    def spy(axes: Axes, *places: object, label: str, color: str) -> object:
        colours[label] = color
        return bar(axes, *places, label=label, color=color)

    monkeypatch.setattr(Axes, "bar", spy)
    values = {"A": {"=": 0.9, ">": 0.5}, "B": {"=": 0.8, ">": 0.6}, "C": {"=": 0.7, ">": 0.6}}
    table = check(operator_bars(values, "nDCG@10", tmp_path / "bars.png", subject="B"), 6)
    assert table[0] == {"system": "A", "operator": "=", "nDCG@10": "0.9"}
    assert colours["B"] == COLOURS[0] and len(set(colours.values())) == 3


def test_nbits_curve(tmp_path: Path) -> None:
    table = check(nbits_curve({"A": {4: 0.5, 1: 0.4}}, "nDCG@10", tmp_path / "bits.png"), 2)
    assert [row["bits per value"] for row in table] == ["1", "4"]


def test_latency_curve(tmp_path: Path) -> None:
    table = check(latency_curve({"flat": {1000: 0.002, 10_000: 0.02}}, tmp_path / "latency.png"), 2)
    assert [float(row["ms per query"]) for row in table] == [2.0, 20.0]


def test_training_curve(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        "".join(json.dumps({"step": s, "seconds": 1.0, "retrieval": 1.0 / (s + 1)}) + "\n" for s in range(5))
    )
    check(training_curve([log], tmp_path / "curve.png"), 5)
    with log.open("a") as file:
        file.write(json.dumps({"step": 5, "retrieval": 0.1, "triples_per_s": 9e3, "grad_norm": 2.0}) + "\n")
        file.write(json.dumps({"step": 5, "benchmark": "dev", "nDCG@10": 0.5}) + "\n")
    drawn = check(training_curve([log], tmp_path / "curve.png"), 6)
    assert {row["curve"] for row in drawn} == {"retrieval"}, "rates and evaluations are on other scales"
    log.write_text('{"step": 1}\n')
    with pytest.raises(InputError, match="holds no losses"):
        training_curve([log], tmp_path / "curve2.png")
    log.write_text("nonsense\n")
    with pytest.raises(InputError, match="cannot be read"):
        training_curve([log], tmp_path / "curve2.png")


def test_every_loss_of_a_training_is_drawn_in_a_colour_of_its_own() -> None:
    heads = {"unit", "mantissa", "exponent", "operator"}
    drawn = {*TRAINED} - {"properties"} | heads | {"loss"}
    assert drawn <= LOSSES
    assert len(drawn) <= len(set(COLOURS))


def test_a_long_training_is_drawn_smooth(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"step": 10 * s, "loss": float(s % 2)}) + "\n" for s in range(1, 241)))
    drawn = check(training_curve([log], tmp_path / "curve.png"), 60)
    assert [float(row["loss"]) for row in drawn] == [0.5] * 60, "four batches each"
    assert [float(row["step"]) for row in drawn] == [40.0 * part for part in range(1, 61)]


def test_a_training_that_went_on_is_drawn_behind_the_first(tmp_path: Path) -> None:
    first, then = tmp_path / "first.jsonl", tmp_path / "then.jsonl"
    first.write_text(
        '{"step": 10, "loss": 3.0}\n{"step": 20, "loss": 2.0}\n{"step": 20, "benchmark": "dev"}\n'
    )
    then.write_text('{"step": 5, "loss": 1.0, "bound": 0.5}\n')
    drawn = check(training_curve([first, then], tmp_path / "curve.png"), 4)
    points = [(row["curve"], float(row["step"]), float(row["loss"])) for row in drawn]
    assert points == [("loss", 10, 3), ("loss", 20, 2), ("loss", 25, 1), ("bound", 25, 0.5)]


def test_tsne(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    draw = np.random.default_rng(0)
    vectors = np.concatenate([draw.normal(c, 0.1, (20, 8)) for c in (0, 5)]).astype(np.float32)
    table = check(tsne_scatter(vectors, ["<"] * 20 + [">"] * 20, tmp_path / "tsne.png"), 40)
    places = np.array([[float(row["x"]), float(row["y"])] for row in table])
    inside = np.linalg.norm(places[:20] - places[:20].mean(0), axis=1).mean()
    between = np.linalg.norm(places[:20].mean(0) - places[20:].mean(0))
    assert between > inside, "clusters stay apart"
    with pytest.raises(InputError, match="more than 30"):
        tsne_scatter(vectors[:10], ["<"] * 10, tmp_path / "few.png")


def test_the_same_numbers_give_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines([Curve("c", [1, 2], [3, 4])], tmp_path / f"{name}.png", x_label="x", y_label="y")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_bad_curves(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 x and 1 y"):
        lines([Curve("c", [1, 2], [3])], tmp_path / "x.png", x_label="x", y_label="y")
    with pytest.raises(InputError, match="nothing to draw"):
        lines([], tmp_path / "x.png", x_label="x", y_label="y")


def test_every_term_of_a_training_has_a_colour_of_its_own(tmp_path: Path) -> None:
    terms = ["retrieval", "contrastive", "concept", "detection", "unit", "mantissa", "exponent", "operator"]
    log = tmp_path / "log.jsonl"
    line = {"event": "train", **dict.fromkeys([*terms, "loss"], 0.5)}
    log.write_text("".join(json.dumps({**line, "step": step}) + "\n" for step in (1, 2)))
    path = training_curve([log], tmp_path / "training.png")
    curves = {row["curve"] for row in json.loads(path.with_suffix(".json").read_text())}
    assert curves == {*terms, "loss"} and len(curves) <= len(set(COLOURS))
