from __future__ import annotations

import numpy as np
import pytest

from numcolbert.index.products import products


@pytest.mark.parametrize(
    ("vectors", "tokens", "dim"), [(0, 3, 8), (1, 1, 1), (5_000, 9, 128), (700, 64, 128)]
)
def test_the_products_are_those_of_one_large_product(vectors: int, tokens: int, dim: int) -> None:
    rng = np.random.default_rng(vectors)
    many = rng.standard_normal((vectors, dim)).astype(np.float32)
    few = 5 * rng.standard_normal((tokens, dim)).astype(np.float32)
    np.testing.assert_allclose(products(many, few), many @ few.T, rtol=1e-4, atol=1e-4)
