"""Any sequence of changes leaves the engine that a fresh build of what is left would give."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray
from tests.properties import examples

from numcolbert.index.flat import FlatEngine
from numcolbert.index.plaid import PlaidEngine
from numcolbert.index.plaid_settings import PlaidSettings

DIM = 8


def passage(key: int) -> NDArray[np.float32]:
    generator = np.random.default_rng(key)
    rows = generator.standard_normal((1 + key % 5, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


SAMPLE = np.concatenate([passage(key) for key in range(1000, 1060)])
QUERIES = [3 * passage(key) for key in (2004, 2008)]


class Changes(RuleBasedStateMachine):
    kind = "flat"

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.engine = self.fresh("engine")
        self.live: set[int] = set()
        self.committed: set[int] = set()
        self.next_key = 0

    def fresh(self, name: str) -> Any:
        shutil.rmtree(self.root / name, ignore_errors=True)
        if self.kind == "flat":
            return FlatEngine.create(self.root / name, DIM)
        # A fixed number of centroids does not grow, so that the order of arrival cannot matter.
        settings = PlaidSettings(4, centroids=20)
        return PlaidEngine.create(self.root / name, DIM, settings, sample=SAMPLE)

    @rule(count=st.integers(0, 4))
    def add(self, count: int) -> None:
        keys = range(self.next_key, self.next_key + count)
        self.engine.add(keys, [passage(key) for key in keys])
        self.live |= {*keys}
        self.next_key += count

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        keys = data.draw(st.lists(st.sampled_from(sorted(self.live)), unique=True, max_size=3))
        self.engine.delete(keys)
        self.live -= {*keys}

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def upsert(self, data: st.DataObject) -> None:
        self.engine.delete([data.draw(st.sampled_from(sorted(self.live)))])
        self.live = {*self.engine.keys().tolist()}
        self.add(1)

    @rule()
    def compact(self) -> None:
        self.engine.compact()

    @rule()
    def commit(self) -> None:
        self.engine.commit()
        self.committed = {*self.live}

    @rule()
    def reopen(self) -> None:
        self.engine.close()
        self.engine = type(self.engine).open(self.root / "engine")
        self.live = {*self.committed}

    @invariant()
    def equals_a_fresh_build(self) -> None:
        assert self.engine.keys().tolist() == sorted(self.live)
        other = self.fresh("other")
        other.add(sorted(self.live), [passage(key) for key in sorted(self.live)])
        for query in QUERIES:
            ours, theirs = self.engine.search(query, 10), other.search(query, 10)
            assert ours.keys.tolist() == theirs.keys.tolist()
            np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5)
        other.close()

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
            shutil.rmtree(self.root, ignore_errors=True)


class PlaidChanges(Changes):
    kind = "plaid"


@pytest.mark.parametrize("machine", [Changes, PlaidChanges])
def test_sequences(machine: type[Changes]) -> None:
    case = machine.TestCase()
    case.settings = examples(8, stateful_step_count=14)
    case.runTest()
