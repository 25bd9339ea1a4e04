"""The numbers are trec_eval's."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from tests.cpu_time import least_seconds

from numcolbert.errors import UsageError
from numcolbert.evaluate.measures import canonical_measures, measure, split_measures
from numcolbert.evaluate.trec import read_run, write_run


def random_benchmark(queries: int, hits: int, seed: int, ties: bool):
    draw = random.Random(seed)
    qrels, run = {}, {}
    for q in range(queries):
        pool = draw.sample(range(10 * hits), hits)
        run[f"q{q}"] = {f"d{d}": round(draw.random(), 1 if ties else 9) for d in pool}
        judged = [*draw.sample(pool, min(8, hits)), 10 * hits + 1]
        qrels[f"q{q}"] = {f"d{d}": draw.choice([0, 1, 1, 2]) for d in judged}
    return qrels, run


def test_by_hand() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    scores = measure(run, qrels).means()
    gained, ideal = 1 / math.log2(3) + 1 / math.log2(4), 1 + 1 / math.log2(3)
    assert scores == pytest.approx({"nDCG@10": gained / ideal, "RR@10": 0.5, "P@10": 0.2, "R@100": 1.0})


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_pytrec_eval(seed: int, ties: bool) -> None:
    qrels, run = random_benchmark(30, 150, seed, ties)
    names = {"nDCG@10": "ndcg_cut_10", "P@10": "P_10", "R@100": "recall_100", "RR": "recip_rank"}
    scores = measure(run, qrels, list(names))
    reference = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
    for ours, theirs in names.items():
        expected = [reference[query][theirs] for query in scores.queries]
        assert np.abs(scores.of(ours) - expected).max() < 1e-9


def test_reciprocal_rank_stops_at_its_cutoff() -> None:
    qrels = {"q10": {"d9": 1}, "q11": {"d10": 1}}
    ranking = {f"d{i}": 20.0 - i for i in range(15)}
    scores = measure({"q10": ranking, "q11": ranking}, qrels, ["RR@10", "RR"])
    assert scores.of("RR@10") == pytest.approx([0.1, 0.0])
    assert scores.of("RR") == pytest.approx([1 / 10, 1 / 11])


def test_missing_queries_count_as_zero_and_unjudged_ones_not_at_all() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    scores = measure({"q1": {"a": 1.0}, "q2": {}, "other": {"a": 1.0}}, qrels)
    assert scores.missing == 2
    assert scores.means()["nDCG@10"] == pytest.approx(1 / 3)


def test_a_query_without_relevant_documents_counts() -> None:
    assert measure({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"a": 0}}).means()[
        "RR@10"
    ] == pytest.approx(0.5)


def test_names() -> None:
    assert canonical_measures(["MRR@10", "RR@10", "nDCG@5"]) == ("RR@10", "nDCG@5")
    with pytest.raises(UsageError, match="'accuracy!' is not a measure"):
        canonical_measures(["accuracy!"])


WILD = ["P(rel=99999999999)@5", "P(rel=0)@5", "nDCG(gains={2:4000000000000})@10", "nDCG(gains={2:0.5})@10"]


@pytest.mark.parametrize("name", ["nDCG@0", "RR@0", "P@0", "nDCG@10.5", "nDCG(foo=1)@10", "BPM@10", *WILD])
def test_measures_that_cannot_be_computed_are_refused_by_name(name: str) -> None:
    with pytest.raises(UsageError, match=rf"'{re.escape(name)}' is not a measure"):
        measure({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, [name])


def test_a_measure_may_have_several_parameters() -> None:
    names = split_measures("nDCG(gains={0:0,1:1,2:3})@10, P(rel=2,judged_only=True)@5,RR")
    assert names == ["nDCG(gains={0:0,1:1,2:3})@10", "P(rel=2,judged_only=True)@5", "RR"]
    ndcg, precision, _ = measure({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}}, names).values[0]
    assert precision == 1 / 5
    assert ndcg == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_measures_of_other_programs() -> None:
    with pytest.raises(UsageError, match="'RBP' needs a package"):
        canonical_measures(["RBP"])
    with pytest.raises(UsageError, match="ERR@10"):
        measure({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, ["ERR@10"])


def test_a_full_benchmark_takes_less_than_two_seconds(tmp_path: Path) -> None:
    qrels, run = random_benchmark(420, 1000, 0, ties=False)
    write_run(tmp_path / "a.run", run, "t")
    assert least_seconds(lambda: measure(read_run(tmp_path / "a.run"), qrels)) < 2


def test_grades_below_zero_alone_reach_trec_eval_with_one_it_can_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ir_measures

    seen = {}
    calculate = ir_measures.iter_calc

    def spy(measures, qrels, run):
        seen.update(qrels)
        return calculate(measures, qrels, run)

    monkeypatch.setattr(ir_measures, "iter_calc", spy)
    run = {query: {"spam": 1.0} for query in ("junk", "mixed")}
    scores = measure(run, {"junk": {"spam": -2}, "mixed": {"spam": 1, "other": -2}})
    assert max(seen["junk"].values()) == 0, "without any from zero on it may count for ever"
    assert seen["mixed"] == {"spam": 1, "other": -2}
    assert scores.of("nDCG@10").tolist() == [0.0, 1.0]
