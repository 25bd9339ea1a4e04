"""Each loss against a slow, obvious reading of its formula."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from torch import Tensor

from numcolbert.data.triple import OPERATORS
from numcolbert.train.contrast import (
    _multi_positive_loss,
    contrastive_loss,
    mention_scores,
    mention_vectors,
)
from numcolbert.train.labels import (
    Conditions,
    DocumentQuantities,
    Strategy,
    candidates,
    compares,
    contrastive_positives,
    known_answers,
)
from numcolbert.train.losses import (
    BatchLabels,
    EncodedBatch,
    LossSettings,
    NumColBERTLoss,
    PropertyHeads,
    detection_loss,
    retrieval_loss,
    scientific,
)

DIM, QUERY_TOKENS, DOCUMENT_TOKENS, UNITS = 6, 5, 4, 3


def condition_rows(seed: int, queries: int, count: int) -> Conditions:
    g = torch.Generator().manual_seed(seed)
    value = torch.randint(1, 5, (count,), generator=g).double()
    mention = torch.rand(count, QUERY_TOKENS, generator=g) < 0.5
    mention[:, 1] = True
    return Conditions(
        query=torch.randint(0, queries, (count,), generator=g),
        operator=torch.randint(0, len(OPERATORS), (count,), generator=g),
        unit=torch.randint(-1, UNITS, (count,), generator=g),
        dimension=torch.randint(0, 2, (count,), generator=g),
        pair=torch.randint(-1, 2, (count,), generator=g),
        value=value,
        base_value=value,
        base_high=value + 1,
        mention=mention,
    )


def quantity_table(seed: int, documents: int) -> DocumentQuantities:
    g = torch.Generator().manual_seed(seed + 1)
    shape = (documents, 3)
    return DocumentQuantities(
        unit=torch.randint(-1, UNITS, shape, generator=g),
        dimension=torch.randint(-1, 2, shape, generator=g),
        pair=torch.randint(-1, 2, shape, generator=g),
        base_value=torch.randint(1, 6, shape, generator=g).double(),
    )


def holds(operator: str, value: float, low: float, high: float) -> bool:
    return {
        "=": value == low,
        ">": value > low,
        "<": value < low,
        ">=": value >= low,
        "<=": value <= low,
        "range": low <= value <= high,
    }[operator]


def slow_positives(c: Conditions, d: DocumentQuantities, row: int, document: int, strategy: str) -> bool:
    for m in range(d.unit.shape[1]):
        if d.dimension[document, m] < 0:
            continue
        same_unit = bool(d.unit[document, m] == c.unit[row])
        satisfied = holds(
            OPERATORS[int(c.operator[row])],
            float(d.base_value[document, m]),
            float(c.base_value[row]),
            float(c.base_high[row]),
        )
        if {"unit": same_unit, "numeric": satisfied, "joint": same_unit and satisfied}[strategy]:
            return True
    return False


seeds = st.integers(0, 100_000)


@examples(30)
@given(seed=seeds, strategy=st.sampled_from(["unit", "numeric", "joint"]))
def test_positive_sets_follow_their_definition(seed: int, strategy: Strategy) -> None:
    conditions, quantities = condition_rows(seed, 4, 5), quantity_table(seed, 6)
    (positives,) = contrastive_positives(conditions, quantities, strategy)
    for row in range(5):
        for document in range(6):
            expected = slow_positives(conditions, quantities, row, document, strategy)
            assert bool(positives[row, document]) == expected


def test_separate_is_unit_and_numeric_and_none_is_nothing() -> None:
    conditions, quantities = condition_rows(3, 4, 5), quantity_table(3, 6)
    unit, numeric = contrastive_positives(conditions, quantities, "separate")
    assert torch.equal(unit, contrastive_positives(conditions, quantities, "unit")[0])
    assert torch.equal(numeric, contrastive_positives(conditions, quantities, "numeric")[0])
    assert contrastive_positives(conditions, quantities, "none") == []


def test_values_that_differ_by_rounding_are_equal() -> None:
    conditions, quantities = condition_rows(0, 1, 1), quantity_table(0, 1)
    conditions.operator[:] = OPERATORS.index("=")
    conditions.base_value[:] = 0.3
    quantities.dimension[:] = 0
    quantities.base_value[:] = 0.1 + 0.2
    assert compares(conditions, quantities).all()
    conditions.operator[:] = OPERATORS.index(">")
    assert not compares(conditions, quantities).any()


@examples(30)
@given(seed=seeds)
def test_known_answers_satisfy_every_condition_on_the_same_concept(seed: int) -> None:
    c, d = condition_rows(seed, 3, 5), quantity_table(seed, 6)
    found = known_answers(c, d, queries=4)
    for query in range(4):
        rows = [row for row in range(5) if c.query[row] == query]
        for document in range(6):
            expected = bool(rows) and all(
                any(
                    d.pair[document, m] == c.pair[row] >= 0
                    and d.dimension[document, m] == c.dimension[row]
                    and holds(
                        OPERATORS[int(c.operator[row])],
                        float(d.base_value[document, m]),
                        float(c.base_value[row]),
                        float(c.base_high[row]),
                    )
                    for m in range(3)
                )
                for row in rows
            )
            assert bool(found[query, document]) == expected


def test_candidates_keep_the_target_and_drop_its_copies_and_known_answers() -> None:
    answers = torch.tensor([[True, True, False, False]])
    kept = candidates(answers, torch.tensor([0]), document_key=torch.tensor([7, 8, 9, 7]))
    assert kept.tolist() == [[True, False, True, False]]


def test_retrieval_loss_is_cross_entropy_of_mean_maxsim_over_the_candidates() -> None:
    scores = torch.tensor([[4.0, 3.0, 5.0], [1.0, 2.0, 0.0]])
    lengths, target = torch.tensor([4, 2]), torch.tensor([0, 1])
    kept = torch.tensor([[True, True, False], [True, True, True]])
    first = -math.log(math.exp(1 / 0.5) / (math.exp(1 / 0.5) + math.exp(0.75 / 0.5)))
    second = -math.log(math.exp(1 / 0.5) / (math.exp(0.5 / 0.5) + math.exp(1 / 0.5) + 1))
    loss = retrieval_loss(scores, target, lengths, kept, temperature=0.5)
    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-5)
    literal = retrieval_loss(scores, target, 1.0, temperature=0.5)
    assert literal.item() == pytest.approx(F.cross_entropy(scores / 0.5, target).item(), rel=1e-5)


def test_divided_by_the_gates_a_gate_on_every_token_changes_nothing() -> None:
    """Only the balance between tokens is left to the gate; with the length it also sets the temperature."""
    torch.manual_seed(3)
    queries = F.normalize(torch.randn(2, 5, 8), dim=-1)
    documents = F.normalize(torch.randn(4, 6, 8), dim=-1)
    mask, shown = torch.ones(2, 5, dtype=torch.bool), torch.ones(4, 6, dtype=torch.bool)

    def loss(gate: float, divisor: str) -> float:
        settings = LossSettings(contrastive=0, detection=0, properties=0, divisor=divisor)  # type: ignore[arg-type]
        batch = EncodedBatch(queries * gate, queries, mask, mask, documents, shown)
        labels = BatchLabels(torch.tensor([0, 1]), None, mask, condition_rows(1, 2, 2), quantity_table(1, 4))
        return float(NumColBERTLoss(settings, 8, 1)(batch, labels).total)

    assert loss(3.0, "gates") == pytest.approx(loss(1.0, "gates"), rel=1e-5)
    assert loss(1.0, "gates") == pytest.approx(loss(1.0, "length"), rel=1e-5)
    assert loss(3.0, "length") != pytest.approx(loss(1.0, "length"), rel=1e-2)


def slow_multi_positive(chosen: Sequence[float], others: Sequence[float], reading: str) -> float:
    rivals = sum(map(math.exp, others))
    total = sum(map(math.exp, chosen)) + rivals
    if reading == "log_sum":
        return math.log(total) - math.log(sum(map(math.exp, chosen)))
    against = [total if reading == "mean_log" else math.exp(score) + rivals for score in chosen]
    return sum(math.log(a) - score for a, score in zip(against, chosen, strict=True)) / len(chosen)


def slow_contrastive(
    mentions: Tensor,
    documents: Tensor,
    mask: Tensor,
    positives: Sequence[Tensor],
    rivals: Sequence[Sequence[bool]],
    reading: str,
    t: float,
) -> float:
    losses = []
    for positive in positives:
        rows = []
        for row, mention in enumerate(mentions):
            scores = [
                max(float(mention @ token) for token, kept in zip(document, m, strict=True) if kept) / t
                for document, m in zip(documents, mask, strict=True)
            ]
            # Without a rival among the comparable ones a condition teaches nothing and is left out.
            told = [p or r for p, r in zip(positive[row], rivals[row], strict=True)]
            if not all(rivals[row]) and all(p for p, here in zip(positive[row], told, strict=True) if here):
                continue
            chosen = [s for s, p in zip(scores, positive[row], strict=True) if p]
            others = [s for s, p, here in zip(scores, positive[row], told, strict=True) if here and not p]
            if chosen:
                rows.append(slow_multi_positive(chosen, others, reading))
        losses.append(sum(rows) / len(rows) if rows else 0.0)
    return sum(losses) / len(losses)


@examples(30)
@given(
    seed=seeds,
    strategy=st.sampled_from(["unit", "numeric", "joint", "separate"]),
    contrast=st.sampled_from(["all", "comparable"]),
    reading=st.sampled_from(["mean_log", "log_sum", "each_log"]),
)
def test_contrastive_loss_follows_its_formula(
    seed: int, strategy: Strategy, contrast: str, reading: str
) -> None:
    encoded, labels = toy_batch(seed)
    mentions = mention_vectors(encoded.ungated, labels.conditions)
    loss = contrastive_loss(
        mention_scores(mentions, encoded.documents, encoded.document_mask),
        labels.conditions,
        labels.quantities,
        strategy=strategy,
        contrast=contrast,  # type: ignore[arg-type]
        multi_positive=reading,  # type: ignore[arg-type]
        temperature=0.3,
    )
    sets = contrastive_positives(labels.conditions, labels.quantities, strategy)
    rivals = [
        [contrast == "all" or wanted in row for row in labels.quantities.dimension.tolist()]
        for wanted in labels.conditions.dimension.tolist()
    ]
    expected = slow_contrastive(
        mentions.detach(), encoded.documents.detach(), encoded.document_mask, sets, rivals, reading, 0.3
    )
    assert loss.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    loss.backward()
    assert encoded.ungated.grad is not None and encoded.ungated.grad.isfinite().all()


@examples(20)
@given(seed=seeds)
def test_a_quantity_can_be_compared_token_by_token(seed: int) -> None:
    encoded, labels = toy_batch(seed)
    settings = LossSettings(
        retrieval=0.0, contrastive=1.0, detection=0.0, properties=0.0,
        mention="tokens", positives="joint", contrast="comparable", contrastive_temperature=0.3,
    )  # fmt: skip
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    (positives,) = contrastive_positives(labels.conditions, labels.quantities, "joint")
    rows = []
    for row, (query, mention) in enumerate(
        zip(labels.conditions.query, labels.conditions.mention, strict=True)
    ):
        tokens = encoded.ungated[query][mention].detach()
        dimension = int(labels.conditions.dimension[row])
        told: list[tuple[float, bool]] = []
        for number, (document, mask) in enumerate(
            zip(encoded.documents.detach(), encoded.document_mask, strict=True)
        ):
            best = [float((document[mask] @ token).max()) for token in tokens]
            here = bool(positives[row, number])
            if here or dimension in labels.quantities.dimension[number].tolist():
                told.append((sum(best) / max(len(best), 1) / 0.3, here))
        chosen = [score for score, here in told if here]
        if chosen and len(chosen) < len(told):
            rows.append(math.log(sum(math.exp(s) for s, _ in told)) - sum(chosen) / len(chosen))
    assert loss.item() == pytest.approx(sum(rows) / len(rows) if rows else 0.0, rel=1e-4, abs=1e-5)
    loss.backward()
    marked = torch.zeros_like(labels.quantity_mask)
    for query, mention in zip(labels.conditions.query, labels.conditions.mention, strict=True):
        marked[query] |= mention
    assert (encoded.ungated.grad[~marked] == 0).all()  # type: ignore[index]  # words have no say about its size


def test_positives_need_not_score_alike() -> None:
    positives = torch.tensor([[True, True, False]])
    found = {}
    for reading in ("mean_log", "each_log"):
        logits = torch.tensor([[9.0, 8.0, 0.0]], requires_grad=True)
        _multi_positive_loss(logits, positives, None, reading).backward()  # type: ignore[arg-type]
        found[reading] = logits.grad[0].tolist()  # type: ignore[index]
    assert found["mean_log"][0] > 0.1, "the higher one is pulled down to the other"
    assert found["each_log"] == pytest.approx([0, 0, 0], abs=1e-3), "both are above the rival already"
    alone = torch.zeros(1, 2, requires_grad=True)
    loss = _multi_positive_loss(alone, torch.ones(1, 2, dtype=torch.bool), None, "each_log")
    loss.backward()
    assert loss.item() == 0 and alone.grad.tolist() == [[0, 0]]  # type: ignore[union-attr]


@examples(20)
@given(seed=seeds, reading=st.sampled_from(["mean_log", "log_sum", "each_log"]))
def test_bound_loss_follows_its_formula(seed: int, reading: str) -> None:
    encoded, labels = toy_batch(seed)
    c, d = labels.conditions, labels.quantities
    c.operator[-1], c.pair[-1] = -1, -1  # a row that fills up
    settings = LossSettings(
        retrieval=0.0, contrastive=0.0, detection=0.0, properties=0.0, bound=1.0,
        contrastive_temperature=0.3, multi_positive=reading,  # type: ignore[arg-type]
    )  # fmt: skip
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    expected = []
    for row, mention in enumerate(mention_vectors(encoded.ungated, c).detach()[:-1]):
        one = Conditions(*(getattr(c, name)[row : row + 1] for name in Conditions.__slots__))
        one.query = torch.zeros(1, dtype=torch.long)
        right = known_answers(one, d, queries=1)[0].tolist()
        right[labels.target[c.query[row]]] = True
        logits = [
            float((document[mask] @ mention).max()) / 0.3
            for document, mask in zip(encoded.documents.detach(), encoded.document_mask, strict=True)
        ]
        chosen = [logit for logit, p in zip(logits, right, strict=True) if p]
        rivals = [logit for logit, p in zip(logits, right, strict=True) if not p]
        expected.append(slow_multi_positive(chosen, rivals, reading))
    assert loss.item() == pytest.approx(sum(expected) / len(expected), rel=1e-4, abs=1e-5)
    loss.backward()
    words = encoded.ungated.grad[~labels.quantity_mask]  # type: ignore[index]
    assert (words == 0).all()  # words have no say about what the number is asked of


@examples(20)
@given(seed=seeds, reading=st.sampled_from(["mean_log", "log_sum", "each_log"]), own=st.booleans())
def test_concept_loss_follows_its_formula(seed: int, reading: str, own: bool) -> None:
    encoded, labels = toy_batch(seed)
    others = "log_sum" if reading == "mean_log" else "mean_log"
    positives = (
        {"multi_positive": others, "concept_multi_positive": reading} if own else {"multi_positive": reading}
    )
    settings = LossSettings(
        retrieval=0.0, contrastive=0.0, detection=0.0, properties=0.0, concept=1.0,
        contrastive_temperature=0.3, **positives,  # type: ignore[arg-type]
    )  # fmt: skip
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    expected = []
    for query, vectors in enumerate(encoded.ungated.detach()):
        words = [v for v, number in zip(vectors, labels.quantity_mask[query], strict=True) if not number]
        logits = []
        for document, mask in zip(encoded.documents.detach(), encoded.document_mask, strict=True):
            tokens = document[mask]
            best = [float((tokens @ word).max()) for word in words]
            logits.append(sum(best) / max(len(words), 1) / 0.3)
        asked = {
            int(pair)
            for pair, owner in zip(labels.conditions.pair, labels.conditions.query, strict=True)
            if owner == query and pair >= 0
        }
        positive = [
            d == labels.target[query] or (bool(asked) and asked <= set(labels.quantities.pair[d].tolist()))
            for d in range(len(logits))
        ]
        chosen = [logit for logit, p in zip(logits, positive, strict=True) if p]
        rivals = [logit for logit, p in zip(logits, positive, strict=True) if not p]
        expected.append(slow_multi_positive(chosen, rivals, reading))
    assert loss.item() == pytest.approx(sum(expected) / len(expected), rel=1e-4, abs=1e-5)
    loss.backward()
    numbers = encoded.ungated.grad[labels.quantity_mask]  # type: ignore[index]
    assert (numbers == 0).all()  # a number has no say about the concept


def slow_divergence(ours: Sequence[float], teachers: Sequence[float], scale: float) -> float:
    shares = [
        [math.exp(x / scale) / sum(math.exp(y / scale) for y in row) for x in row] for row in (ours, teachers)
    ]
    return sum(t * math.log(t / n) for n, t in zip(*shares, strict=True))


@pytest.mark.parametrize("of_numbers", [False, True])
@examples(20)
@given(seed=seeds)
def test_keep_losses_follow_their_formula(seed: int, of_numbers: bool) -> None:
    encoded, labels = toy_batch(seed)
    g = torch.Generator().manual_seed(seed)
    shape = (len(encoded.queries), len(encoded.documents))
    encoded.scores = torch.randn(shape, generator=g).requires_grad_()
    encoded.teacher_scores, encoded.start_scores = (torch.randn(shape, generator=g) for _ in range(2))
    settings = LossSettings(retrieval=0.0, contrastive=0.0, detection=0.0, properties=0.0)
    if of_numbers:
        settings.keep_numbers, settings.retrieval_temperature = 1.0, 0.3
    else:
        settings.keep, settings.keep_temperature = 1.0, 0.3
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    conditional = set(labels.conditions.query.tolist())
    counted = sorted(conditional if of_numbers else set(range(shape[0])) - conditional)
    wanted = encoded.start_scores if of_numbers else encoded.teacher_scores
    expected = [
        slow_divergence(
            encoded.scores[query].tolist(), wanted[query].tolist(), 0.3 * int(encoded.query_mask[query].sum())
        )
        for query in counted
    ]
    assert loss.item() == pytest.approx(sum(expected) / max(len(expected), 1), rel=1e-4, abs=1e-6)
    loss.backward()
    moved = encoded.scores.grad.abs().sum(dim=1) > 0  # type: ignore[union-attr]
    assert moved.nonzero().flatten().tolist() == counted  # the other queries are free to move


@pytest.mark.parametrize("of_numbers", [False, True])
@examples(20)
@given(seed=seeds)
def test_the_tokens_of_questions_each_keep_their_ranking(seed: int, of_numbers: bool) -> None:
    encoded, labels = toy_batch(seed)
    g = torch.Generator().manual_seed(seed)
    queries, tokens = len(encoded.queries), 12
    owner = torch.randint(0, queries + 1, (tokens,), generator=g)  # the last number is nobody's
    encoded.token_query = owner
    encoded.token_scores = torch.randn(tokens, len(encoded.documents), generator=g).requires_grad_()
    wanted = torch.randn(encoded.token_scores.shape, generator=g)
    settings = LossSettings(retrieval=0.0, contrastive=0.0, detection=0.0, properties=0.0)
    settings.keep_temperature = 0.3
    if of_numbers:
        settings.keep_numbers, settings.keep_numbers_of, encoded.start_scores = 1.0, "tokens", wanted
    else:
        settings.keep, settings.keep_of, encoded.teacher_scores = 1.0, "tokens", wanted
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    conditional = set(labels.conditions.query.tolist())
    asking = conditional if of_numbers else set(range(queries)) - conditional
    counted = [token for token in range(tokens) if int(owner[token]) in asking]
    expected = [slow_divergence(encoded.token_scores[t].tolist(), wanted[t].tolist(), 0.3) for t in counted]
    assert loss.item() == pytest.approx(sum(expected) / max(len(expected), 1), rel=1e-4, abs=1e-6)
    loss.backward()
    moved = encoded.token_scores.grad.abs().sum(dim=1) > 0
    assert moved.nonzero().flatten().tolist() == counted


@pytest.mark.parametrize("answers", [0.0, 0.25, 1.0])
@examples(20)
@given(seed=seeds)
def test_answers_weigh_general_questions_among_all(seed: int, answers: float) -> None:
    encoded, labels = toy_batch(seed)
    shape = (len(encoded.queries), len(encoded.documents))
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    encoded.scores = scores.clone().requires_grad_()
    settings = LossSettings(
        contrastive=0.0, detection=0.0, properties=0.0, retrieval_temperature=0.3, answers=answers
    )
    loss = NumColBERTLoss(settings, DIM, UNITS)(encoded, labels).total
    conditional = set(labels.conditions.query.tolist())
    weights = [1.0 if query in conditional else answers for query in range(shape[0])]
    total = 0.0
    for query, weight in enumerate(weights):
        logits = (scores[query] / (0.3 * int(encoded.query_mask[query].sum()))).tolist()
        rivals = (
            logits
            if labels.candidates is None
            else [logit for logit, kept in zip(logits, labels.candidates[query], strict=True) if kept]
        )
        total += weight * (math.log(sum(map(math.exp, rivals))) - logits[int(labels.target[query])])
    assert loss.item() == pytest.approx(total / max(sum(weights), 1e-6), rel=1e-4, abs=1e-6)
    loss.backward()
    moved = encoded.scores.grad.abs().sum(dim=1) > 0  # type: ignore[union-attr]
    assert moved.tolist() == [weight > 0 for weight in weights]


def test_mention_vector_is_the_mean_of_its_tokens() -> None:
    encoded, labels = toy_batch(0)
    c = labels.conditions
    vectors = mention_vectors(encoded.ungated, c)
    for row in range(len(c)):
        tokens = encoded.ungated[c.query[row]][c.mention[row]]
        torch.testing.assert_close(vectors[row], tokens.mean(dim=0))


def test_detection_loss_counts_words_only() -> None:
    logits = torch.tensor([[2.0, -1.0, 50.0]])
    gold = torch.tensor([[True, False, False]])
    words = torch.tensor([[True, True, False]])
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    assert detection_loss(logits, gold, words).item() == pytest.approx(expected, rel=1e-5)


@given(st.floats(min_value=1e-12, max_value=1e12), st.sampled_from([1, -1]))
def test_scientific_notation_gives_the_value_back(size: float, sign: int) -> None:
    value = torch.tensor([sign * size], dtype=torch.float64)
    mantissa, exponent = scientific(value)
    assert 1 <= abs(mantissa.item()) < 10
    assert mantissa.item() * 10 ** exponent.item() == pytest.approx(sign * size, rel=1e-9)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, (0, 0)), (1000, (1, 3)), (-250, (-2.5, 2)), (0.05, (5, -2))]
)
def test_scientific_notation_of_known_values(value: float, expected: tuple[float, float]) -> None:
    mantissa, exponent = scientific(torch.tensor([value], dtype=torch.float64))
    assert (mantissa.item(), exponent.item()) == pytest.approx(expected)


def test_property_losses_follow_their_formula() -> None:
    encoded, labels = toy_batch(5)
    c = labels.conditions
    heads = PropertyHeads(DIM, UNITS, hidden_dim=4)
    mentions = mention_vectors(encoded.ungated, c).detach()
    losses = heads(mentions, c)
    known = c.unit >= 0
    assert losses["unit"].item() == pytest.approx(
        F.cross_entropy(heads.unit(mentions)[known], c.unit[known]).item(), rel=1e-5
    )
    mantissa = sum(
        (heads.mantissa(m).item() - float(v) / 10) ** 2 for m, v in zip(mentions, c.value, strict=True)
    )
    assert losses["mantissa"].item() == pytest.approx(mantissa / len(c), rel=1e-4)
    exponent = sum(heads.exponent(m).item() ** 2 for m in mentions)  # the toy values are 1 to 4
    assert losses["exponent"].item() == pytest.approx(exponent / len(c), rel=1e-4)
    assert losses["operator"].item() == pytest.approx(
        F.cross_entropy(heads.operator(mentions), c.operator).item(), rel=1e-5
    )


def toy_batch(
    seed: int, queries: int = 4, documents: int = 8, conditions: int = 5
) -> tuple[EncodedBatch, BatchLabels]:
    g = torch.Generator().manual_seed(seed)

    def vectors(count: int, tokens: int) -> Tensor:
        return F.normalize(torch.randn(count, tokens, DIM, generator=g), dim=-1).requires_grad_()

    ungated = vectors(queries, QUERY_TOKENS)
    c = condition_rows(seed, queries, conditions)
    quantity_mask = torch.zeros(queries, QUERY_TOKENS, dtype=torch.bool)
    for row in range(len(c)):
        quantity_mask[c.query[row]] |= c.mention[row]
    mask = torch.ones(queries, QUERY_TOKENS, dtype=torch.bool)
    document_mask = torch.arange(DOCUMENT_TOKENS) < torch.randint(
        1, DOCUMENT_TOKENS + 1, (documents, 1), generator=g
    )
    encoded = EncodedBatch(
        queries=ungated,
        ungated=ungated,
        query_mask=mask,
        word_mask=mask,
        documents=vectors(documents, DOCUMENT_TOKENS),
        document_mask=document_mask,
        num_logit=torch.randn(queries, QUERY_TOKENS, generator=g),
    )
    target = torch.arange(queries) * 2
    return encoded, BatchLabels(target, None, quantity_mask, c, quantity_table(seed, documents))


def test_the_total_is_the_weighted_sum_of_its_parts() -> None:
    encoded, labels = toy_batch(9)
    made = NumColBERTLoss(LossSettings(contrastive=0.1, bound=0.4, detection=0.2, properties=0.3), DIM, UNITS)
    losses = made(encoded, labels)
    p = {name: value.item() for name, value in losses.parts.items()}
    expected = (
        p["retrieval"]
        + 0.1 * p["contrastive"]
        + 0.4 * p["bound"]
        + 0.2 * p["detection"]
        + 0.3 * (p["unit"] + p["mantissa"] + p["exponent"] + p["operator"])
    )
    assert losses.total.item() == pytest.approx(expected, rel=1e-5)


def test_weights_of_zero_leave_colberts_own_loss() -> None:
    encoded, labels = toy_batch(9)
    losses = NumColBERTLoss(LossSettings(contrastive=0, detection=0, properties=0), DIM, UNITS)(
        encoded, labels
    )
    assert set(losses.parts) == {"retrieval"}
    assert losses.total.item() == losses.parts["retrieval"].item()


def test_a_batch_without_any_condition_trains_retrieval_only() -> None:
    encoded, labels = toy_batch(4)
    c = labels.conditions
    labels.conditions = Conditions(*(getattr(c, name)[:0] for name in Conditions.__slots__))
    losses = NumColBERTLoss(LossSettings(bound=1, detection=0), DIM, UNITS)(encoded, labels)
    assert losses.total.item() == pytest.approx(losses.parts["retrieval"].item())
    losses.total.backward()
