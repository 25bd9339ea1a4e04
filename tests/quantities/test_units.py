"""The table agrees with pint and with itself."""

from __future__ import annotations

from collections import defaultdict

import pytest
from tests.cpu_time import least_seconds_in_a_new_process

from numcolbert.errors import InputError
from numcolbert.quantities import extract, units
from numcolbert.quantities.units import UnitInfo

BASES = {unit.dimension: unit for unit in units.all_units() if unit.factor == 1 and not unit.offset}
WITH_PINT = [unit for unit in units.all_units() if unit.pint]


@pytest.mark.parametrize("unit", WITH_PINT, ids=lambda unit: unit.name)
def test_factors_agree_with_pint(unit: UnitInfo) -> None:
    base = BASES.get(unit.dimension)
    if base is None or base.pint is None:  # "length/time": any unit of the dimension will do
        base = next(u for u in WITH_PINT if u.dimension == unit.dimension)
    assert units.pint_factor(unit, base) == pytest.approx(unit.factor / base.factor, rel=1e-9)


def test_temperatures_have_offsets() -> None:
    celsius, fahrenheit = units.lookup("celsius"), units.lookup("fahrenheit")
    assert fahrenheit.from_base(celsius.to_base(100)) == pytest.approx(212)
    assert fahrenheit.to_base(-40) == pytest.approx(celsius.to_base(-40))


def test_every_dimension_without_pint_has_a_base() -> None:
    for unit in units.all_units():
        if unit.pint is None and not unit.dimension.startswith("count:"):
            assert unit.dimension in BASES, unit


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("72 bpm", "72 beats per minute"),
        ("60 fps", "60 frames per second"),
        ("25.1 ppg", "25.1 points per game"),
    ],
)
def test_abbreviated_rates_of_counts_are_the_spelled_ones(short: str, long: str) -> None:
    (left,), (right,) = extract(short), extract(long)
    assert left.dimension == right.dimension
    assert left.base_value == pytest.approx(right.base_value)


def test_no_spelled_form_belongs_to_two_units() -> None:
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for unit in units.all_units():
        for surface in unit.surfaces:
            if len(surface) > 5:
                owners[surface.lower()].add(unit.name)
    assert {surface: names for surface, names in owners.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("name", "canonical", "dimension"),
    [
        ("kg", "kilogram", "mass"), ("kilograms", "kilogram", "mass"), ("USD", "USD", "currency:USD"),
        ("$", "USD", "currency:USD"), ("USD/share", "USD/share", "currency:USD/share"),
        ("mg/dl", "milligram/decilitre", "mass/volume"), ("patient/day", "patient/day", "count:patient/time"),
        ("mph", "mph", "length/time"), ("furlong", "furlong", "length"),
    ],
)  # fmt: skip
def test_lookup(name: str, canonical: str, dimension: str) -> None:
    found = units.lookup(name)
    assert (found.name, found.dimension) == (canonical, dimension)


@pytest.mark.parametrize(
    "text",
    ["60 ml/min/1.73 m2", "5 mg per 100 ml", "3 deaths per 1,000 births", "72 beats per minute", "$5 a share",
     "25 mg/kg/day", "40 barrels a day", "7 cells/mm3", "5 % per year", "6 bn dlrs", "9 miles"],
)  # fmt: skip
def test_lookup_gives_back_the_unit_of_a_quantity(text: str) -> None:
    (quantity,) = extract(text)
    assert quantity.unit is not None
    unit = units.lookup(quantity.unit)
    assert (unit.name, unit.dimension) == (quantity.unit, quantity.dimension)
    assert unit.to_base(quantity.value) == pytest.approx(quantity.base_value)


def test_lookup_falls_back_on_pint() -> None:
    assert units.lookup("furlong").factor == pytest.approx(201.168, rel=1e-3)


def test_an_unknown_unit_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError) as caught:
        units.lookup("blorps")
    assert "blorps" in caught.value.message
    assert "count_unit" in caught.value.hint


def test_currencies_never_convert() -> None:
    currencies = [unit for unit in units.all_units() if unit.dimension.startswith("currency:")]
    assert len({unit.dimension for unit in currencies}) > 30
    assert units.lookup("cents").dimension == "currency:USD"


def test_rates_convert() -> None:
    mph, kmh = units.lookup("mph"), units.lookup("km/h")
    assert kmh.from_base(mph.to_base(60)) == pytest.approx(96.56064)


def test_reading_needs_no_unit_library_and_starts_fast() -> None:
    reading = "from numcolbert.quantities import extract; extract('5 kg')"
    without = "import sys; assert 'pint' not in sys.modules"
    assert least_seconds_in_a_new_process(f"{reading}; {without}") < 0.3
