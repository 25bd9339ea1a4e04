"""Every triple keeps its promise: the positive satisfies, the negative does not, nothing held out appears."""

from __future__ import annotations

import dataclasses
import json
import lzma
import math
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept, Mentions, Pool, Texts, Unit
from numcolbert.data.triple import Passage, QueryCondition
from numcolbert.data.triple_settings import NegativeShares, OperatorShares, TripleSettings
from numcolbert.data.triples import BLOCK, TripleStream
from numcolbert.errors import InputError, NumColBERTError, UsageError

UNITS = [
    Unit("USD", "currency:USD", 1.0, surfaces=("dollars", "dollar"), prefixes=("$",)),
    Unit("US_cent", "currency:USD", 0.01, surfaces=("cents", "cent")),
    Unit("percent", "percent", 1.0, surfaces=("%", "percent")),
    Unit("kilometre", "length", 1000.0, surfaces=("km", "kilometres", "kilometre")),
    Unit("mile", "length", 1609.344, surfaces=("miles", "mile")),
    Unit("patient", "count:patient", 1.0),
]
CONCEPTS = [
    Concept("revenue", ("sales", "turnover"), ("revenues",)),
    Concept("operating margin", ("margin",)),
    Concept("route length", ("distance",)),
    Concept("trial size", ("enrolment",)),
    Concept("dividend", ("payout",)),
]
# (sentence before the value, value, after it, concept, unit); the unit's surface stands in the text around.
SCALES = {"billion": 1e9, "million": 1e6}


def tiny_pool(name: str = "tiny", repeat: int = 12) -> Pool:
    rng = np.random.default_rng(5)
    sentences: list[str] = []
    rows: list[tuple[int, int, int, float, int, int, int, int, int, int]] = []

    def mention(text: str, surface: str, unit_text: str, concept: int, unit: int, value: float) -> None:
        start = text.index(surface)
        end = start + len(surface)
        unit_start = text.index(unit_text, start - len(unit_text) if unit_text == "$" else end)
        unit_end = unit_start + len(unit_text)
        rows.append(
            (len(sentences), concept, unit, value, min(start, unit_start), max(end, unit_end), start, end,
             unit_start, unit_end)
        )  # fmt: skip

    for i in range(repeat):
        amount = round(float(rng.uniform(1, 90)), 1)
        word = ("billion", "million")[i % 2]
        margin = round(float(rng.uniform(2, 40)), 1)
        text = f"Revenue of firm {chr(65 + i)} reached ${amount} {word} at a margin of {margin}% this year."
        mention(text, f"{amount} {word}", "$", 0, 0, amount * SCALES[word])
        mention(text, f"{margin}", "%", 1, 2, margin)
        sentences.append(text)
        length = int(rng.integers(20, 4000))
        unit, unit_text = ((3, "km"), (4, "miles"))[i % 2]
        text = f"The route of carrier {chr(65 + i)} is {length:,} {unit_text} long."
        mention(text, f"{length:,}", unit_text, 2, unit, float(length))
        sentences.append(text)
        size = int(rng.integers(10, 900))
        text = f"The trial enrolled {size} patients at site {chr(65 + i)}."
        mention(text, f"{size}", "patients", 3, 5, float(size))
        sentences.append(text)
        cents = 5 + i
        text = f"Firm {chr(65 + i)} pays a dividend of {cents} cents."
        mention(text, f"{cents}", "cents", 4, 1, float(cents))
        sentences.append(text)
        sentences.append(f"Nothing was counted by firm {chr(65 + i)}.")
    columns = np.array([row[:3] for row in rows], np.int32)
    values = np.array([row[3] for row in rows])
    spans = np.array([row[4:] for row in rows], np.int32)
    factor = np.array([unit.factor for unit in UNITS])
    nothing = np.full(len(rows), np.nan)
    return Pool(
        name=name,
        units=UNITS,
        concepts=CONCEPTS,
        sentences=Texts.of(sentences),
        sentence_ids=Texts.of([str(i) for i in range(len(sentences))]),
        mentions=Mentions(
            sentence=columns[:, 0],
            concept=columns[:, 1],
            unit=columns[:, 2],
            value=values,
            base_value=values * factor[columns[:, 2]],
            base_low=nothing,
            base_high=nothing,
            approximate=np.zeros(len(rows), np.bool_),
            span=spans[:, 0:2],
            value_span=spans[:, 2:4],
            unit_span=spans[:, 4:6],
        ),
    )


def meets(condition: QueryCondition, passage: Passage) -> bool:
    """The definition once more, written apart from the code under test."""
    low, high = condition.base_value, condition.base_high
    for quantity in passage.quantities:
        if quantity.pair == condition.pair:
            value = quantity.base_value
            at_low, at_high = (math.isclose(value, end, rel_tol=1e-6) for end in (low, high))
            met = {
                "=": at_low,
                ">": value > low and not at_low,
                "<": value < low and not at_low,
                ">=": value > low or at_low,
                "<=": value < low or at_low,
                "range": low < value < high or at_low or at_high,
            }
            if met[condition.operator]:
                return True
    return False


def stream(**options) -> TripleStream:
    options.setdefault("seed", 3)
    return TripleStream([tiny_pool()], **options)


shares = st.floats(0, 1)
ONLY_TWINS = NegativeShares(observed=0, twin=1, rewritten=0, other_concept=0, unit=0, random=0)


@examples(25)
@given(
    source=st.sampled_from(["tiny", "attributes"]),
    seed=st.integers(0, 2**31),
    kind=st.sampled_from([item.name for item in dataclasses.fields(NegativeShares)] + ["all"]),
    near=shares,
    other_unit=shares,
    rewritten=shares,
    two=st.sampled_from([0.0, 0.3]),
)
def test_the_positive_satisfies_every_condition_and_the_negative_does_not(
    source: str, seed: int, kind: str, near: float, other_unit: float, rewritten: float, two: float
) -> None:
    negatives = NegativeShares()
    if kind != "all":
        weights = {item.name: float(item.name == kind) for item in dataclasses.fields(NegativeShares)}
        negatives = NegativeShares(**weights)
    chosen = TripleSettings(
        negatives=negatives,
        near_threshold=near,
        query_other_unit=other_unit,
        positive_rewritten=rewritten,
        positive_other_unit=1 - rewritten,
        two_conditions=two,
    )
    for triple in stream(seed=seed, mix={source: 1.0}, settings=chosen).next_block(150):
        assert triple.conditions
        assert all(meets(c, triple.positive) for c in triple.conditions), triple
        assert not all(meets(c, triple.negative) for c in triple.conditions), triple
        assert triple.positive.text != triple.negative.text


@pytest.mark.parametrize("source", ["tiny", "attributes"])
def test_more_strict_bounds_are_violated_by_the_threshold_itself(source: str) -> None:
    def share(at: float) -> float:
        settings = TripleSettings(negatives=ONLY_TWINS, at_threshold=at, query_other_unit=0.0)
        strict = [
            (triple, condition)
            for triple in stream(seed=3, mix={source: 1.0}, settings=settings).next_block(600)
            for condition in triple.conditions
            if condition.operator in ("<", ">") and len(triple.conditions) == 1
        ]
        hits = [
            (c.pair, pytest.approx(c.base_value)) in [(q.pair, q.base_value) for q in t.negative.quantities]
            for t, c in strict
        ]
        return sum(hits) / len(hits)

    assert share(0.0) < 0.05 < 0.6 < share(0.9)


def test_vocabulary_and_conditions_agree() -> None:
    made = stream()
    for triple in islice(made, 2000):
        for condition in triple.conditions:
            unit = made.units[condition.unit]
            assert made.dimensions[condition.dimension] == unit.dimension == made.pairs[condition.pair][1]
            assert condition.value * unit.factor + unit.offset == pytest.approx(condition.base_value)
            start, end = condition.span
            mention = triple.query[start:end]
            assert any(s in mention for s in unit.surfaces + unit.prefixes) or condition.pair >= 0
        for passage in (triple.positive, triple.negative):
            for quantity in passage.quantities:
                assert made.units[quantity.unit].dimension == made.dimensions[quantity.dimension]


def test_the_same_seed_and_worker_give_the_same_triples_and_others_do_not() -> None:
    def texts(**options) -> list[str]:
        return [t.query + t.positive.text + t.negative.text for t in islice(stream(**options), 300)]

    first = texts(seed=1, worker=0, workers=2)
    assert first == texts(seed=1, worker=0, workers=2)
    assert len(set(first) & set(texts(seed=1, worker=1, workers=2))) < 10
    assert len(set(first) & set(texts(seed=2, worker=0, workers=2))) < 10


@pytest.mark.parametrize("source", ["tiny", "attributes"])
def test_triples_in_a_row_share_their_subject(source: str) -> None:
    chosen = TripleSettings(same_subject=4, two_conditions=0.0)
    block = stream(mix={source: 1.0}, settings=chosen).next_block(400)
    groups = [[t.conditions[0].pair for t in block[at : at + 4]] for at in range(0, 400, 4)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) > 3
    assert len({t.query for t in block[:4]}) > 1
    late = stream(mix={source: 1.0}, settings=chosen, start=102).next_block(50)
    assert [t.query for t in late] == [t.query for t in block[102:152]]
    with pytest.raises(UsageError, match="same_subject"):
        TripleSettings(same_subject=0)


def test_the_triples_are_the_same_in_another_process() -> None:
    script = (
        "from numcolbert.data.triples import TripleStream\n"
        "print(next(TripleStream([], seed=11)).query, end='')"
    )
    runs = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert runs == {next(TripleStream([], seed=11)).query}


def test_a_stream_can_be_entered_anywhere() -> None:
    whole = [t.query for t in stream().next_block(BLOCK + 60)]
    for start in (17, BLOCK, BLOCK + 5):
        assert [t.query for t in stream(start=start).next_block(20)] == whole[start : start + 20]


def test_operators_follow_their_shares() -> None:
    shares = OperatorShares(equal=0.5, greater=0.25, less=0.25, at_least=0, at_most=0, between=0)
    settings = TripleSettings(operators=shares, two_conditions=0.0)
    counted = Counter(t.conditions[0].operator for t in stream(settings=settings).next_block(3000))
    assert set(counted) == {"=", ">", "<"}
    assert counted["="] / 3000 == pytest.approx(0.5, abs=0.06)


def test_held_out_pairs_and_thresholds_never_appear() -> None:
    free = stream(mix={"tiny": 1.0})
    seen = {
        (free.pairs[c.pair], c.operator, c.base_value) for t in free.next_block(4000) for c in t.conditions
    }
    taken = [s for s in seen if s[0] == ("dividend", "currency:USD")][:40]
    assert taken
    held_out = HeldOut.of(
        [("revenue", "currency:USD"), ("phone weight", "mass")],
        [{"concept": p[0], "dimension": p[1], "operator": o, "base_value": v} for p, o, v in taken],
    )
    made = stream(held_out=held_out, seed=3)
    for triple in made.next_block(6000):
        for c in triple.conditions:
            assert made.pairs[c.pair] not in held_out.pairs
            assert (made.pairs[c.pair], c.operator, c.base_value) not in taken


def test_a_variant_that_names_a_held_out_pair_is_not_asked_for() -> None:
    held_out = HeldOut.of([("Turnover", "currency:USD")])  # a variant of "revenue"
    made = stream(held_out=held_out, mix={"tiny": 1.0})
    queries = [t.query for t in made.next_block(2000)]
    assert not any("turnover" in query for query in queries)
    assert any("sales" in query for query in queries)


def test_twins_differ_in_the_number_alone() -> None:
    settings = TripleSettings(negatives=ONLY_TWINS, positive_other_unit=0, two_conditions=0)
    triples = stream(settings=settings, mix={"tiny": 1.0}).next_block(500)
    twins = 0
    for triple in triples:
        positive, negative = triple.positive.text.split(), triple.negative.text.split()
        different = [
            (a, b) for a, b in zip(positive, negative, strict=False) if a != b and any(map(str.isdigit, a))
        ]
        twins += len(different) <= 1 or len(positive) != len(negative)
    assert twins >= 0.98 * len(triples)  # where no twin can be written another passage takes its place


def test_queries_are_asked_in_other_units_too() -> None:
    settings = TripleSettings(query_other_unit=1.0, two_conditions=0.0)
    made = stream(settings=settings, mix={"tiny": 1.0})
    lengths = [t for t in made.next_block(2000) if made.dimensions[t.conditions[0].dimension] == "length"]
    crossed = [
        t
        for t in lengths
        if t.positive.quantities[0].unit != t.conditions[0].unit and t.conditions[0].operator != "="
    ]
    assert len(crossed) > len(lengths) / 3


def test_both_sides_are_rewritten_so_that_editing_is_no_sign() -> None:
    pool = tiny_pool()
    original = {pool.sentences[i] for i in range(len(pool.sentences))}
    triples = stream(mix={"tiny": 1.0}).next_block(3000)
    positives = sum(t.positive.text not in original for t in triples) / 3000
    negatives = sum(t.negative.text not in original for t in triples) / 3000
    assert 0.3 < positives < 0.75
    assert 0.3 < negatives < 0.75


def test_two_conditions_can_be_asked_for() -> None:
    triples = stream(settings=TripleSettings(two_conditions=1.0)).next_block(300)
    assert all(len(t.conditions) == 2 for t in triples)
    assert all(t.conditions[0].span[1] <= t.conditions[1].span[0] for t in triples)


def test_units_without_surfaces_are_read_from_the_text() -> None:
    made = stream()
    (patient,) = (u for u in made.units if u.name == "patient" and u.dimension == "count:patient")
    assert "patients" in patient.surfaces


def test_general_pairs_have_no_conditions_and_another_passage_as_negative(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    rows = [
        {"query": "who wrote it", "positive": "Ann wrote it.", "negative": "It rained."},
        {"query": "when", "positive": "At noon."},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    triples = stream(general=[file], mix={"general": 1.0}).next_block(50)
    assert all(not t.conditions for t in triples)
    assert {t.negative.text for t in triples} == {"It rained.", "Ann wrote it."}
    mixed = stream(general=[file]).next_block(1000)
    assert 80 < sum(not t.conditions for t in mixed) < 220


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worker": 2, "workers": 2}, "Worker 2 of 2"),
        ({"mix": {"finance": 1.0}}, "unknown source 'finance'"),
        ({"mix": {"tiny": -1.0}}, "weight of 'tiny'"),
        ({"mix": {"tiny": math.nan}}, "weight of 'tiny' is nan"),
        ({"mix": {"tiny": math.inf}}, "weight of 'tiny' is inf"),
        ({"mix": {"tiny": 0.0}}, "weight 0"),
    ],
)
def test_wrong_use_is_named(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stream(**options)


def test_a_pool_may_not_take_the_name_of_another_source() -> None:
    with pytest.raises(UsageError, match="may not be called 'general'"):
        TripleStream([tiny_pool("general")], seed=3)


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pair with 500"):
        stream(settings=TripleSettings(minimum_values=500))
    with pytest.raises(UsageError, match=r"'distractors' is 1\.5"):
        TripleSettings(distractors=1.5)
    bad = tmp_path / "pairs.jsonl"
    bad.write_text('{"query": "a", "positive": "b"}\n{"query": 1}\n')
    with pytest.raises(InputError, match="line 2"):
        stream(general=[bad])
    cut = tmp_path / "pairs.jsonl.xz"
    cut.write_bytes(lzma.compress(b'{"query": "a", "positive": "b"}\n' * 1000)[:60])
    with pytest.raises(InputError, match="cut off"):
        stream(general=[cut])
    (tmp_path / "held_out.json").write_text("[]")
    with pytest.raises(NumColBERTError, match=r"held_out\.json"):
        HeldOut.read([tmp_path])


def test_the_stream_needs_numpy_only(tmp_path: Path) -> None:
    """A training machine has neither pint nor spaCy."""
    script = """
import sys
from pathlib import Path
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pint", "spacy", "numba", "scipy", "typer", "rich"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from numcolbert.data.pool import Pool
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream
settings = TripleSettings(synonyms=0.5, below_zero=0.5, neighbours=0.5)
print(len(TripleStream([Pool.load(Path(sys.argv[1]))], seed=0, settings=settings).next_block(50)))
"""
    tiny_pool().save(tmp_path / "pool")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "pool")], capture_output=True, text=True
    )
    assert done.stdout.strip() == "50", done.stderr


def test_every_setting_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "triples.md").read_text(encoding="utf-8")
    for table in (TripleSettings, OperatorShares, NegativeShares):
        for item in dataclasses.fields(table):
            assert any(f"{a}{item.name}{b}" in guide for a, b in ("``", ".`", "`.")), item.name
