"""A test set out of a pool: queries with a numerical condition, and the passages that satisfy it.

How a query comes about: a pair (concept, dimension) is drawn; a threshold is chosen between the observed
values so that 2 to 10 passages satisfy the condition and at least as many of the same pair violate it; the
condition is put into words. Passages that may or may not be relevant (the words are there, a fitting number
too, but no rule ties the two) are left out of the collection, so that no unjudged passage can be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from numcolbert.data import thresholds
from numcolbert.data.pair_index import Pair, PairIndex
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.queries import Asked, QueryStyle, render_query
from numcolbert.data.query_words import Wording, check_reads_back
from numcolbert.errors import InputError, UsageError
from numcolbert.progress import Progress
from numcolbert.types import Operator, Span

ROUNDS = 12
PATIENCE = 2
"""Failed draws after which a pair is not asked again for the same kind of query."""
SIMPLE: tuple[Operator, ...] = ("=", ">", "<")


@dataclass(frozen=True, slots=True)
class BenchmarkSettings:
    name: str
    queries: int = 420
    development: int = 102
    suite: int = 60
    """Queries in each of the suites; 0 makes none."""
    seed: int = 13
    fewest: int = 2
    most: int = 10
    """Relevant passages a query."""
    most_doubtful: int = 60
    """Passages that one query may remove from the collection."""
    per_pair: int = 6
    """Test queries on one pair, at most."""


@dataclass(slots=True)
class JudgedQuery:
    id: str
    text: str
    asked: list[Condition]
    relevant: list[int]
    """Rows of the pool's sentences."""
    violating: list[int]
    """Rows about the same pair, or one of two, that violate the condition; later queries may remove some."""
    expanded: bool
    seen: bool

    @property
    def negatives(self) -> int:
        return len(self.violating)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a query with everything that is known about it."""

    pair: tuple[str, str]
    phrase: str
    operator: Operator
    value: float
    unit: str
    base_value: float
    base_high: float
    span: Span = (0, 0)

    @property
    def key(self) -> tuple[str, str, str, float, float]:
        return (*self.pair, self.operator, float(f"{self.base_value:.5e}"), float(f"{self.base_high:.5e}"))


@dataclass(slots=True)
class JudgedSet:
    """Everything that is written to disk."""

    settings: BenchmarkSettings
    test: list[JudgedQuery] = field(default_factory=list)
    development: list[JudgedQuery] = field(default_factory=list)
    suites: dict[str, list[JudgedQuery]] = field(default_factory=dict)
    unseen: set[tuple[str, str]] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    """Sentences left out of the collection because they may be relevant."""

    def all_queries(self) -> Iterator[JudgedQuery]:
        yield from self.test
        yield from self.development
        for queries in self.suites.values():
            yield from queries


class Builder:
    """Draws queries one after the other and keeps account of what the earlier ones need."""

    def __init__(self, pool: Pool, settings: BenchmarkSettings) -> None:
        self.pool, self.settings = pool, settings
        self.index = PairIndex(pool)
        self.wording = Wording(pool)
        self.made = JudgedSet(settings)
        self._needed: Counter[int] = Counter()
        self._used: set[tuple[str, str, str, float, float]] = set()
        self._test_uses: Counter[tuple[str, str]] = Counter()
        order = Random(f"{settings.seed} pairs")
        self.pairs = sorted(self.index.pairs(), key=lambda pair: pair.key)
        order.shuffle(self.pairs)
        if len(self.pairs) < 2:
            raise InputError(
                f"The pool '{pool.name}' has {len(self.pairs)} pairs with enough values for a test set.",
                hint="mine a larger corpus",
            )
        # Every second pair is kept from training, whether or not a query asks for it.
        self.made.unseen = {pair.key for pair in self.pairs[::2]}

    def build(self) -> JudgedSet:
        from numcolbert.data import suites

        settings = self.settings
        spread = {"queries": settings.queries, "development queries": settings.development}
        for kind, count in (spread | {"queries in a suite": settings.suite}).items():
            least = 3 if kind == "queries" else 0
            if count < least:
                raise UsageError(f"{count} {kind} are too few.", hint=f"ask for at least {least}")
        for kind, count in spread.items():
            if count % 3:
                raise UsageError(
                    f"{count} {kind} cannot be spread evenly over three operators.",
                    hint="choose a multiple of three",
                )
        total = settings.queries + settings.development
        with Progress("draw queries", total, "queries") as progress:
            self.made.test = self._set("q", settings.queries, progress)
            self._test_uses.clear()
            self.made.development = self._set("d", settings.development, progress)
        if settings.suite:
            for name, draw in suites.SUITES.items():
                self.made.suites[name] = draw(self, settings.suite)
                if not self.made.suites[name]:
                    raise InputError(
                        f"The pool '{self.pool.name}' yields no query for the suite '{name}'.",
                        hint="mine a larger corpus, or leave the suites out (--suite 0)",
                    )
        return self.made

    def _set(self, prefix: str, count: int, progress: Progress) -> list[JudgedQuery]:
        queries: list[JudgedQuery] = []
        each = count // 3
        for operator in SIMPLE:
            rng = Random(f"{self.settings.seed} {prefix} {operator}")
            # Four kinds in equal parts, so that neither property leans on an operator.
            kinds = [(expanded, seen) for expanded in (True, False) for seen in (True, False)]
            wanted = Counter({kind: each // 4 + (i < each % 4) for i, kind in enumerate(kinds)})
            for query in self._draws(rng, operator, wanted):
                query.id = f"{prefix}{len(queries) + 1:04}"
                queries.append(query)
                progress.advance()
        if len(queries) < count:
            raise InputError(
                f"The pool '{self.pool.name}' yields {len(queries)} of {count} queries.",
                hint="ask for fewer queries, or mine a larger corpus",
            )
        return queries

    def _draws(
        self, rng: Random, operator: Operator, wanted: Counter[tuple[bool, bool]]
    ) -> Iterator[JudgedQuery]:
        """Go through the pairs again and again, one query a turn, until every kind is full."""
        failures: Counter[tuple[tuple[str, str], bool]] = Counter()
        for _ in range(ROUNDS):
            pairs = list(self.pairs)
            rng.shuffle(pairs)
            for pair in pairs:
                seen = pair.key not in self.made.unseen
                for expanded in (True, False):
                    if (
                        wanted[expanded, seen] <= 0
                        or self._test_uses[pair.key] >= self.settings.per_pair
                        or failures[pair.key, expanded] >= PATIENCE
                    ):
                        continue
                    query = self.draw(pair, operator, rng, expanded=expanded)
                    if query is not None:
                        wanted[expanded, seen] -= 1
                        self._test_uses[pair.key] += 1
                        yield query
                        break
                    failures[pair.key, expanded] += 1
            if not +wanted:
                return
        # What one kind cannot give, its neighbour does: the total per operator comes first.
        missing = sum((+wanted).values())
        for _ in range(ROUNDS):
            for pair in rng.sample(self.pairs, len(self.pairs)):
                for expanded in (True, False):
                    if missing and (query := self.draw(pair, operator, rng, expanded=expanded)):
                        missing -= 1
                        yield query
            if not missing:
                return

    # -- one query -----------------------------------------------------------------------------------------

    def draw(
        self,
        pair: Pair,
        operator: Operator,
        rng: Random,
        *,
        expanded: bool = False,
        style: QueryStyle | None = None,
        unit: Unit | None = None,
    ) -> JudgedQuery | None:
        """A judged query on the pair, or None where no threshold gives the right number of passages."""
        settings = self.settings
        for threshold in thresholds.choose(pair, operator, rng, settings.fewest, settings.most, unit):
            relevant = pair.satisfying(threshold)
            phrase = self.wording.phrase(pair, relevant, rng, expanded=expanded)
            if phrase is None:
                return None
            negatives = pair.rows - relevant
            query = self.judge([(pair, threshold, phrase)], relevant, negatives, rng, style)
            if query is not None:
                query.expanded = expanded
                return query
        return None

    def judge(
        self,
        parts: Sequence[tuple[Pair, thresholds.Threshold, str]],
        relevant: set[int],
        negatives: set[int],
        rng: Random,
        style: QueryStyle | None,
    ) -> JudgedQuery | None:
        """Accept a query if its judgements are complete and do not disturb those of earlier queries."""
        settings = self.settings
        doubtful = self.index.doubtful(
            [(pair, threshold, self.wording.names(pair, phrase)) for pair, threshold, phrase in parts]
        )
        doubtful -= relevant
        kept_negatives = negatives - doubtful - self.made.removed
        if (
            not settings.fewest <= len(relevant) <= settings.most
            or len(kept_negatives) < len(relevant)
            or len(doubtful - self.made.removed) > settings.most_doubtful
            or relevant & self.made.removed
            or any(row in self._needed for row in doubtful)
        ):
            return None
        rendered = self._render(parts, rng, style)
        if rendered is None or any(condition.key in self._used for condition in rendered[1]):
            return None
        text, conditions = rendered
        self._used.update(condition.key for condition in conditions)
        self.made.removed |= doubtful
        self._needed.update(relevant)
        return JudgedQuery(
            id="",
            text=text,
            asked=conditions,
            relevant=sorted(relevant),
            violating=sorted(kept_negatives),
            expanded=False,
            seen=all(pair.key not in self.made.unseen for pair, _, _ in parts),
        )

    def _render(
        self,
        parts: Sequence[tuple[Pair, thresholds.Threshold, str]],
        rng: Random,
        style: QueryStyle | None,
    ) -> tuple[str, list[Condition]] | None:
        """Words for the conditions that our own reader understands as they are meant."""
        for _ in range(12):
            asked = [
                Asked(phrase, t.operator, t.value, self.wording.unit(t.unit), t.high)
                for _, t, phrase in parts
            ]
            rendered = render_query(asked, rng, style or QueryStyle())
            if check_reads_back(rendered.text, [t for _, t, _ in parts]):
                conditions = [
                    Condition(
                        pair.key, phrase, t.operator, t.value, t.unit.name, t.base_value, t.base_high, span
                    )
                    for (pair, t, phrase), span in zip(parts, rendered.spans, strict=True)
                ]
                return rendered.text, conditions
        return None


def build(pool: Pool, settings: BenchmarkSettings) -> JudgedSet:
    return Builder(pool, settings).build()
