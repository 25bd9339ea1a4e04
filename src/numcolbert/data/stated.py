"""Whether a sentence states a quantity as a value: no bound, share, interval or what might have been."""

from __future__ import annotations

import re

from numcolbert.types import Quantity

# Words right before a quantity that make it a bound and not a value.
_COMPARATIVES = (
    "more|less|greater|fewer|higher|lower|larger|smaller|older|younger|better|longer|shorter|worse"
)
BOUND = re.compile(
    rf"(?:\b(?:{_COMPARATIVES})\s+than"
    r"|\b(?:over|above|below|under|exceed(?:s|ed|ing)?|at least|at most|up to|within|beyond|minimum(?: of)?"
    r"|as (?:much|many|high|low|long) as|maximum(?: of)?|in excess of|north of|south of"
    r"|surpass(?:ed|es|ing)?)|[<>≤≥⩽⩾≦≧])"
    r"\s*(?:(?:the )?age (?:of\s+)?)?(?:or equal to\s*)?(?:of\s+)?(?:an?\s+)?(?:additional\s+)?"
    r"(?:US)?[$£€]?\s*$",
    re.IGNORECASE,
)
BOUND_AFTER = re.compile(
    rf"^\s*(?:(?:or )?(?:{_COMPARATIVES}|above|below|over|under)\b"
    r"|\w+\s?/\s?(?:kg|d|day|m2|h)\b"  # "5 mg iron/kg/day"
    r"|and (?:over|above|older|under|below|up)|plus\b|\+)",
    re.IGNORECASE,
)
# A range over nought, whose ends are no values: "minus 1% to plus 1%".
SIGN_CHANGE = re.compile(r"\s*to (?:plus|positive|a positive)\b")
# "the first 24 h of the observation period" is not its length.
PART_BEFORE = re.compile(r"\b(?:first|last|initial|next|final|past|previous|remaining)\s*$", re.IGNORECASE)
# A share of something else: "as a percentage of sales, expenses were 21%", "reserves were 2% of loans".
AS_SHARE = re.compile(r"\bas an? (?:percent(?:age)?|%|share|proportion) of\b", re.IGNORECASE)
SHARE_OF = re.compile(r"%?\s+of\b")
# "four 7/8%" is 4.875%, whatever was read of it.
WHOLE_IN_WORDS = re.compile(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten)[\s-]+$", re.IGNORECASE)
# What would have been was not, nor what would follow if it were.
UNREAL = re.compile(r"\b(?:(?:would|could|might) have\b[^.;]*|(?:even )?if\b[^,.;]*)$", re.IGNORECASE)
# A confidence interval describes an estimate, "% predicted" a norm; neither the noun beside it.
INTERVAL_AFTER = re.compile(
    r"^[\s-]*(?:confidence|CI\b|C\.I\.|credible|prediction interval|(?:of )?predicted)", re.IGNORECASE
)


def states_value(text: str, quantity: Quantity) -> bool:
    return not (_is_bound(text, quantity) or _is_share(text, quantity))


def _is_bound(text: str, quantity: Quantity) -> bool:
    start, end = quantity.span
    before, after = text[max(0, start - 40) : start], text[end : end + 30]
    if quantity.dimension == "time" and PART_BEFORE.search(before):
        return True
    if 0 < quantity.value < 1 and WHOLE_IN_WORDS.search(before):
        return True
    return bool(
        BOUND.search(before)
        or UNREAL.search(text[:start])
        or BOUND_AFTER.match(after)
        or INTERVAL_AFTER.match(after)
        or SIGN_CHANGE.match(after)
    )


def _is_share(text: str, quantity: Quantity) -> bool:
    if quantity.dimension not in ("percent", "percentage_point"):
        return False
    start, end = quantity.span
    return bool(AS_SHARE.search(text, 0, start) or SHARE_OF.match(text, end))
