"""In which unit the plain numbers of a metadata field are, as far as its name says."""

from __future__ import annotations

import re

from numcolbert.errors import InputError
from numcolbert.quantities import extract, units
from numcolbert.quantities.units import UnitInfo
from numcolbert.types import Quantity

LONGEST_UNIT = 3
"""Words of a name that may be its unit: `speed_km_per_h`."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-zµ]+|[A-Z]+|[^\W\d_A-Za-z]+|[%°€£¥$/]+")
_IMPLIED = {"age": "years", "ages": "years"}
_MONEY = re.compile(
    "bill|bonus|budget|capex|cash|charge|cost|debt|deposit|earning|ebit|ebitda|expense|fare|fee|funding|gdp|income|"
    "loan|msrp|opex|pay|payment|premium|price|profit|rent|revenue|reward|rrp|salary|salarie|sale|spend|spending|"
    "tax|taxe|toll|tuition|turnover|valuation|wage"
)


def number_unit(name: str, asked: Quantity) -> UnitInfo | None:
    """The unit that makes a number in the field `name` comparable with `asked`; None where nothing says so.

    `weight_kg`, `capacityGB`, `price (EUR)` and `employees` name it. A field of money that names no currency
    (`price`) is in the currency asked for.
    """
    words = _WORDS.findall(name)
    for size in range(min(LONGEST_UNIT, len(words)), 0, -1):
        unit = _read(" ".join(words[-size:]))
        if unit and unit.dimension == asked.dimension:
            return unit
    if _is_money(words) and asked.unit and asked.dimension.startswith("currency:"):
        code = asked.dimension.removeprefix("currency:")
        return units.lookup(asked.unit if "/" in code else code)  # 99 are dollars, also for "< 9,000 cents"
    return None


def _read(written: str) -> UnitInfo | None:
    text = f"5 {_IMPLIED.get(written.lower(), written)}"
    found = extract(text)
    if len(found) != 1 or found[0].span != (0, len(text)) or not found[0].unit or found[0].value != 5:
        return None
    if found[0].dimension.startswith("count:") and "/" not in found[0].unit:
        return units.count_unit(found[0].unit)
    try:
        return units.lookup(found[0].unit)
    except InputError:
        return None


def _is_money(words: list[str]) -> bool:
    """Whether a name speaks of money and leaves the currency open."""
    found = [unit for word in words if (unit := units.find(word)) and len(word) > 1]
    if any(unit.dimension.startswith("currency:") for unit in found):
        return False
    return any(_MONEY.fullmatch(word.lower().removesuffix("s")) for word in words)
