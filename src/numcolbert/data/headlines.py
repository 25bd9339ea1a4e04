"""Results as a wire service writes them: "Oper shr 78 cts vs 51 cts Revs 126.6 mln vs 120.9 mln".

These lines have labels and no verbs, so a parser makes nothing of them, and the labels are a closed set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from numcolbert.types import Quantity

# Label -> concept. A label followed by "loss" is the negative of it and gets a concept of its own.
LABELS = {
    "shr": "earnings per share",
    "shr basic": "earnings per share",
    "shr diluted": "earnings per share",
    "shr primary": "earnings per share",
    "group shr": "earnings per share",
    "oper shr": "operating earnings per share",
    "net": "net income",
    "net profit": "net income",
    "group net": "net income",
    "oper net": "operating net income",
    "pretax profit": "pretax profit",
    "group pretax profit": "pretax profit",
    "operating profit": "operating profit",
    "revs": "revenue",
    "rev": "revenue",
    "sales": "revenue",
    "turnover": "revenue",
    "group turnover": "revenue",
    "qtly div": "dividend",
    "qtrly div": "dividend",
    "qtly dividend": "dividend",
    "semi-annual div": "dividend",
    "final div": "dividend",
    "interim div": "dividend",
    "annual div": "dividend",
    "mthly div": "dividend",
    "div": "dividend",
    "dividend": "dividend",
    "cash distribution": "distribution",
    "qtly distribution": "distribution",
    "mthly distribution": "distribution",
    "assets": "assets",
    "total assets": "assets",
    "deposits": "deposits",
    "loans": "loans",
}
LOSSES = {
    "earnings per share": "loss per share",
    "operating earnings per share": "operating loss per share",
    "net income": "net loss",
    "operating net income": "operating net loss",
    "pretax profit": "pretax loss",
    "operating profit": "operating loss",
}

_IS_HEADLINE = re.compile(
    r"\b(?:shr|net|revs|sales|div|dividend|distribution|assets|turnover|profit)\b[^.]{0,40}?\bvs\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:was|were|is|are|said|has|had|will|rose|fell|increased|declared|reported|to be)\b", re.IGNORECASE
)
_LABEL_BEFORE = re.compile(
    r"(?:^|(?<=[\s.]))("
    + "|".join(sorted((re.escape(label) for label in LABELS), key=len, reverse=True))
    + r")(?:\s+-)?(?:\s+(loss|profit))?\s*$",
    re.IGNORECASE,
)
_VERSUS_BEFORE = re.compile(r"\s+vs\.?(?:\s+(loss|profit))?\s*$", re.IGNORECASE)


def find(text: str, quantities: Sequence[Quantity]) -> list[str | None] | None:
    """The concept of each quantity in a results line; None where the text is no such line."""
    note = re.search(r"\bNOTE\b", text, re.IGNORECASE)
    body = text[: note.start()] if note else text
    if not _IS_HEADLINE.search(body) or _VERB.search(body):
        return None
    found: list[str | None] = []
    label: str | None = None
    previous_end = 0
    for quantity in quantities:
        start, end = quantity.span
        before = text[previous_end:start]
        name: str | None = None
        if start >= len(body) or not _is_money(quantity):
            name = None  # the note is prose about something else, "Nine mths" a heading
        elif match := _LABEL_BEFORE.search(before):
            label = LABELS[match.group(1).lower()]
            name = _signed(label, match.group(2))
        elif label and (match := _VERSUS_BEFORE.fullmatch(before)):
            name = _signed(label, match.group(1))
        else:
            label = None
        found.append(name)
        previous_end = end
    return found


def _is_money(quantity: Quantity) -> bool:
    return quantity.dimension.startswith("currency:") or quantity.dimension == "number"


def _signed(label: str, sign: str | None) -> str | None:
    if sign and sign.lower() == "loss":
        return LOSSES.get(label)
    return label
