"""`--where` expressions: what they may say, and their translation to SQL with bound parameters."""

from __future__ import annotations

from numcolbert.index.store import Selection


def parse_filter(expression: str) -> Selection:
    raise NotImplementedError
