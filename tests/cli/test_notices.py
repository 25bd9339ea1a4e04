from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.standin import StandIn


def test_a_kind_of_warning_is_one_line_and_a_count(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encode = StandIn.encode_documents

    def warned(self: StandIn, texts: list[str], batch_size: int = 32) -> Any:
        warnings.warn(f"{len(texts)} texts are too long.", UserWarning, stacklevel=2)
        return encode(self, texts, batch_size)

    monkeypatch.setattr(StandIn, "encode_documents", warned)
    lines = "".join(f"{n} kg\n" for n in range(5))
    built = run("index", "build", "-", "-o", tmp_path / "idx", "--batch-size", 2, stdin=lines)
    told = [line for line in built.err.splitlines() if "warning" in line]
    assert built.code == 0
    assert len(told) == 2
    assert told[0].startswith("warning: ") and told[0].endswith(" texts are too long.")
    assert told[1].startswith("warning: and ") and told[1].endswith(" more like it")
    assert ".py" not in built.err
