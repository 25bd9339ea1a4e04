"""One table a family of units: surface, value, unit, dimension."""

from __future__ import annotations

import pytest

from numcolbert.quantities import extract

CURRENCY = [
    ("$5", 5, "USD", "currency:USD"),
    ("$1.2 billion", 1.2e9, "USD", "currency:USD"),
    ("$3.5bn", 3.5e9, "USD", "currency:USD"),
    ("$12mm", 12e6, "USD", "currency:USD"),
    ("$12 mm", 12e6, "USD", "currency:USD"),
    ("$7m", 7e6, "USD", "currency:USD"),
    ("$80k", 80e3, "USD", "currency:USD"),
    ("$2-million", 2e6, "USD", "currency:USD"),
    ("4.2 mln dlrs", 4.2e6, "USD", "currency:USD"),
    ("1.6 billion stg", 1.6e9, "GBP", "currency:GBP"),
    ("12 cts", 12, "US_cent", "currency:USD"),
    ("35 cents", 35, "US_cent", "currency:USD"),
    ("US$40", 40, "USD", "currency:USD"),
    ("US $40", 40, "USD", "currency:USD"),
    ("$US40", 40, "USD", "currency:USD"),
    ("USD10m", 10e6, "USD", "currency:USD"),
    ("C$15.30", 15.3, "CAD", "currency:CAD"),
    ("$A25", 25, "AUD", "currency:AUD"),
    ("A $25", 25, "AUD", "currency:AUD"),
    ("-A $25", -25, "AUD", "currency:AUD"),
    ("HK$99", 99, "HKD", "currency:HKD"),
    ("RM23.50", 23.5, "MYR", "currency:MYR"),
    ("18 sen", 18, "sen", "currency:MYR"),
    ("€1,200", 1200, "EUR", "currency:EUR"),
    ("1,200€", 1200, "EUR", "currency:EUR"),
    ("£1,000", 1000, "GBP", "currency:GBP"),
    ("40 pence", 40, "penny", "currency:GBP"),
    ("150 billion yen", 150e9, "JPY", "currency:JPY"),
    ("3 mln marks", 3e6, "DEM", "currency:DEM"),
    ("7.5 million Danish crowns", 7.5e6, "DKK", "currency:DKK"),
    ("90 mln Canadian dlrs", 90e6, "CAD", "currency:CAD"),
    ("3M dlrs", 3e6, "USD", "currency:USD"),
    ("FF 120", 120, "FRF", "currency:FRF"),
    ("FF 120 a share", 120, "FRF/share", "currency:FRF/share"),
    ("DM 440 million", 440e6, "DEM", "currency:DEM"),
    ("DM 3.50", 3.5, "DEM", "currency:DEM"),
    ("FFr 200 mln", 200e6, "FRF", "currency:FRF"),
    ("Lit 300 billion", 300e9, "ITL", "currency:ITL"),
    ("Dfl 3.4 billion", 3.4e9, "NLG", "currency:NLG"),
    ("-$3.4 million", -3.4e6, "USD", "currency:USD"),
    ("$-3.4 million", -3.4e6, "USD", "currency:USD"),
    *(
        (text, 500, code, f"currency:{code}")
        for sign, code in {
            "₹": "INR",
            "₩": "KRW",
            "₺": "TRY",
            "₪": "ILS",
            "₱": "PHP",
            "₦": "NGN",
            "¥": "JPY",
            "₫": "VND",
            "₽": "RUB",
            "฿": "THB",
            "Kč": "CZK",
            "₴": "UAH",
            "₸": "KZT",
            "₾": "GEL",
            "₡": "CRC",
            "₲": "PYG",
        }.items()
        for text in (f"500 {sign}", f"500{sign}", f"{sign}500", f"{sign} 500")
    ),
    ("500 元", 500, "CNY", "currency:CNY"),
    ("12,34,567 ₹", 1_234_567, "INR", "currency:INR"),
]
SHARES = [
    ("12%", 12, "percent", "percent"),
    ("9-1/2 pct", 9.5, "percent", "percent"),
    ("5 per cent", 5, "percent", "percent"),
    ("43.4 percent", 43.4, "percent", "percent"),
    ("150 basis points", 150, "basis_point", "percentage_point"),
    ("2.5 percentage points", 2.5, "percentage_point", "percentage_point"),
    ("2.5x", 2.5, "times", "ratio"),
    ("sixfold", 6, "times", "ratio"),
    ("15 ppm", 15, "ppm", "fraction"),
]
PHYSICAL = [
    ("5 kg", 5, "kilogram", "mass"),
    ("5kg", 5, "kilogram", "mass"),
    ("250 mcg", 250, "microgram", "mass"),
    ("250 µg", 250, "microgram", "mass"),
    ("3 tonnes", 3, "tonne", "mass"),
    ("10 lbs", 10, "pound", "mass"),
    ("8 oz", 8, "ounce", "mass"),
    ("37 m", 37, "metre", "length"),
    ("6.1-inch", 6.1, "inch", "length"),
    ("352 μm", 352, "micrometre", "length"),
    ("12 miles", 12, "mile", "length"),
    ("1,520 sq m", 1520, "square_metre", "area"),
    ("32 m2", 32, "square_metre", "area"),
    ("32 m²", 32, "square_metre", "area"),
    ("20 hectares", 20, "hectare", "area"),
    ("24.5 cubic feet", 24.5, "cubic_foot", "volume"),
    ("50mL", 50, "millilitre", "volume"),
    ("1/2 cup", 0.5, "cup", "volume"),
    ("3 million barrels", 3e6, "barrel", "volume"),
    ("18 months", 18, "month", "time"),
    ("24 h", 24, "hour", "time"),
    ("five years", 5, "year", "time"),
    ("50-year-old", 50, "year", "time"),
    ("25 °C", 25, "celsius", "temperature"),
    ("minus 40 degrees Fahrenheit", -40, "fahrenheit", "temperature"),
    ("120 mmHg", 120, "mmHg", "pressure"),
    ("120 mm Hg", 120, "mmHg", "pressure"),
    ("35 psi", 35, "psi", "pressure"),
    ("2,000 kcal", 2000, "kilocalorie", "energy"),
    ("35 GWh", 35, "gigawatt_hour", "energy"),
    ("5 W", 5, "watt", "power"),
    ("1,000 megawatts", 1000, "megawatt", "power"),
    ("296 hp", 296, "horsepower", "power"),
    ("120Hz", 120, "hertz", "frequency"),
    ("3.2 Ghz", 3.2, "gigahertz", "frequency"),
    ("12 volts", 12, "volt", "voltage"),
    ("4500 mAh", 4500, "milliampere_hour", "charge"),
    ("64GB", 64, "gigabyte", "data"),
    ("1 TB", 1, "terabyte", "data"),
    ("600 Mbps", 600, "mbps", "data/time"),
    ("450 Nm", 450, "newton_metre", "torque"),
    ("5 GB/s", 5, "gigabyte/second", "data/time"),
    ("13.9 K", 13.9, "kelvin", "temperature"),
    ("-5 C", -5, "celsius", "temperature"),
    ("−89.2 °C", -89.2, "celsius", "temperature"),
    ("1,200-square-foot", 1200, "square_foot", "area"),
    ("9.81 m/s²", 9.81, "metre/second/second", "length/time/time"),
    ("9.81 m/s2", 9.81, "metre/second/second", "length/time/time"),
    ("9.81 m s−2", 9.81, "metre/second/second", "length/time/time"),
    ("9.8 metres per second squared", 9.8, "metre/second/second", "length/time/time"),
    ("1.85 g/cm³", 1.85, "gram/cubic_centimetre", "mass/volume"),
    ("3.30e23 kg", 3.3e23, "kilogram", "mass"),
    ("870 hPa", 870, "hectopascal", "pressure"),
    ("0.61 hours", 0.61, "hour", "time"),
    ("2 Gy", 2, "gray", "radiation_dose"),
]
CLINICAL = [
    ("90.8 ± 7.5 mmHg", 90.8, "mmHg", "pressure"),
    ("5.5 mmol/l", 5.5, "millimole/litre", "amount/volume"),
    ("140 mg/dl", 140, "milligram/decilitre", "mass/volume"),
    ("25 kg/m2", 25, "kilogram/square_metre", "mass/area"),
    ("25 kg/m²", 25, "kilogram/square_metre", "mass/area"),
    ("10 mg/kg", 10, "milligram/kilogram", "mass/mass"),
    ("25 mg/kg/day", 25, "milligram/kilogram/day", "mass/mass/time"),
    ("5 mg kg−1", 5, "milligram/kilogram", "mass/mass"),
    ("5 mg kg-1 day-1", 5, "milligram/kilogram/day", "mass/mass/time"),
    ("40 mg per day", 40, "milligram/day", "mass/time"),
    ("400 IU", 400, "IU", "activity_units"),
    ("5000 IU/day", 5000, "IU/day", "activity_units/time"),
    ("72 beats per minute", 72, "beat/minute", "count:beat/time"),
    ("60 ml/min/1.73 m2", 60, "millilitre/minute/1.73_square_metre", "volume/time/area"),
    ("25 kg m−2", 25, "kilogram/square_metre", "mass/area"),
    ("4.5 × 10^9/L", 4.5e9, "1/litre", "number/volume"),
    ("250 x 10^9/L", 250e9, "1/litre", "number/volume"),
    ("88/min", 88, "1/minute", "number/time"),
    ("500 cells/µl", 500, "cell/microlitre", "count:cell/volume"),
    ("4 mM", 4, "millimolar", "amount/volume"),
    ("9.9 mg l(-1)", 9.9, "milligram/litre", "mass/volume"),
    ("5,5 mmol/l", 5.5, "millimole/litre", "amount/volume"),
    ("46.6% ± 19.1%", 46.6, "percent", "percent"),
]
RATES = [
    ("$0.28 a share", 0.28, "USD/share", "currency:USD/share"),
    ("$0.35 per fully diluted share", 0.35, "USD/share", "currency:USD/share"),
    ("$5 per share", 5, "USD/share", "currency:USD/share"),
    ("63 cents per share", 63, "US_cent/share", "currency:USD/share"),
    ("18.50 dlrs per barrel", 18.5, "USD/barrel", "currency:USD/volume"),
    ("$1,271.2 an ounce", 1271.2, "USD/ounce", "currency:USD/mass"),
    ("$80 per sq m", 80, "USD/square_metre", "currency:USD/area"),
    ("60 miles per hour", 60, "mile/hour", "length/time"),
    ("60 mph", 60, "mph", "length/time"),
    ("100 km/h", 100, "kilometre/hour", "length/time"),
    ("52,000 barrels a day", 52000, "barrel/day", "volume/time"),
    ("52,000 barrel-a-day", 52000, "barrel/day", "volume/time"),
    ("3,000 tests per day", 3000, "test/day", "count:test/time"),
    ("3 percent a year", 3, "percent/year", "percent/time"),
]
COUNTS = [
    ("1,200 patients", 1200, "patient", "count:patient"),
    ("41 stores", 41, "store", "count:store"),
    ("13000 workers", 13000, "worker", "count:worker"),
    ("seven European countries", 7, "country", "count:country"),
    ("700 heart transplants", 700, "transplant", "count:transplant"),
    ("4 hundred million people", 4e8, "person", "count:person"),
    ("30 million shares", 30e6, "share", "count:share"),
    ("14 first-team players", 14, "player", "count:player"),
    ("eight straight World Cups", 8, "cup", "count:cup"),
    ("two college degrees", 2, "degree", "count:degree"),
    ("517 rushing yards", 517, "yard", "length"),
    ("six-cylinder", 6, "cylinder", "count:cylinder"),
    ("5M users", 5e6, "user", "count:user"),
]


@pytest.mark.parametrize(
    ("surface", "value", "unit", "dimension"),
    CURRENCY + SHARES + PHYSICAL + CLINICAL + RATES + COUNTS,
    ids=lambda cell: str(cell),
)
def test_a_quantity_inside_a_sentence(surface: str, value: float, unit: str, dimension: str) -> None:
    text = f"It came to {surface}, they said."
    (found,) = extract(text)
    assert text[slice(*found.span)] == surface
    assert (found.value, found.unit, found.dimension) == (pytest.approx(value), unit, dimension)


@pytest.mark.parametrize(
    ("surface", "low", "high", "unit"),
    [
        ("5-7 kg", 5, 7, "kilogram"),
        ("10–15 years", 10, 15, "year"),
        ("25 – 40 min", 25, 40, "minute"),
        ("5 to 7 kg", 5, 7, "kilogram"),
        ("$3-5 million", 3e6, 5e6, "USD"),
        ("$3 to $5 billion", 3e9, 5e9, "USD"),
        ("$200 to $4 million", 200, 4e6, "USD"),
        ("1 to 2 thousand people", 1000, 2000, "person"),
        ("5 per cent to 20 per cent", 5, 20, "percent"),
        ("three or four years", 3, 4, "year"),
        ("5 kg to 7 kg", 5, 7, "kilogram"),
        ("$5 to $7 million", 5e6, 7e6, "USD"),
        ("5- to 7-year", 5, 7, "year"),
        ("5 to 7 °C", 5, 7, "celsius"),
        ("-7 to -5 C", -7, -5, "celsius"),
        ("800 m to 1.2 km", 800, 1200, "metre"),
        ("-12.9 to +8.2 mg", -12.9, 8.2, "milligram"),
    ],
)
def test_ranges(surface: str, low: float, high: float, unit: str) -> None:
    text = f"It takes {surface} here."
    (found,) = extract(text)
    assert text[slice(*found.span)] == surface
    assert (found.low, found.high, found.unit) == (pytest.approx(low), pytest.approx(high), unit)
    assert found.value == pytest.approx((low + high) / 2)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("prices between $62 and $68 per share", 62, 68),
        ("weighing between 5 and 7 kg", 5, 7),
        ("from 5 to 7 mg", 5, 7),
        ("it rose from 240 to 273", 240, 273),
        ("falling from 208 pounds to 193", 193, 208),
    ],
)
def test_opened_ranges(text: str, low: float, high: float) -> None:
    (found,) = extract(text)
    assert (found.low, found.high) == (low, high)


def test_a_change_is_two_quantities() -> None:
    found = extract("Net profit rose 12 mln dlrs to 45 mln dlrs.")
    assert [q.value for q in found] == [12e6, 45e6]
    assert not any(q.is_range for q in found)


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("10K–20K USD", 10e3, 20e3, "USD"), ("10k–20k users", 10e3, 20e3, "user"),
        ("5M–10M users", 5e6, 10e6, "user"), ("$10K–20K", 10e3, 20e3, "USD"),
        ("10k EUR–20k EUR", 10e3, 20e3, "EUR"), ("1m-2m USD", 1e6, 2e6, "USD"),
        ("1m to 2m USD", 1e6, 2e6, "USD"), ("1b–2b users", 1e9, 2e9, "user"),
    ],
)  # fmt: skip
def test_ranges_with_scale_letters(text: str, low: float, high: float, unit: str) -> None:
    (quantity,) = extract(text)
    assert (quantity.low, quantity.high, quantity.unit) == (low, high, unit)
    assert text[slice(*quantity.span)] == text


def test_letters_tied_to_a_number_still_name_things() -> None:
    assert extract("SEC Rule 10B-13") == []
    assert not any(q.is_range for q in extract("waves of 5m-10m"))
    found = extract("It carried a charge state between +2 and +7.")
    assert not any(q.is_range for q in found)


def test_a_sign_before_the_next_number_is_no_unit_of_the_last() -> None:
    found = extract("It sold 5 ₹600 notes.")
    assert [(q.value, q.unit) for q in found if q.unit] == [(600, "INR")]


def test_codes_with_other_meanings_are_no_currencies() -> None:
    (quantity,) = extract("500 CRC patients")
    assert quantity.unit == "patient"


def test_a_change_without_units_is_no_range_either() -> None:
    assert [q.value for q in extract("The stock jumped 2-1/2 to 98-3/4.")] == [2.5, 98.75]


def test_an_earnings_table_counts_nothing() -> None:
    found = extract(
        "Shr 12 cts vs 5.43-1/2 dlrs Net 1,002,000 vs 849,000 Sales 24.1 mln vs 16.0 mln Year Shr 61 cts"
    )
    assert [(q.value, q.unit) for q in found] == [
        (12, "US_cent"), (5.435, "USD"), (1002000, None), (849000, None), (24.1e6, None), (16e6, None),
        (61, "US_cent"),
    ]  # fmt: skip


def test_a_list_shares_its_unit() -> None:
    found = extract("Doses of 5, 10 and 15 mg were given to 12 of 35 patients.")
    assert [(q.value, q.unit) for q in found] == [
        (5, "milligram"), (10, "milligram"), (15, "milligram"), (12, "patient"), (35, "patient"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,307,000 km", 1307000), (".5 km", 0.5), ("12.75 km", 12.75), ("−3 km", -3), ("1 000 km", 1000),
        ("10\u2009500 km", 10500), ("9½ km", 9.5), ("½ km", 0.5), ("2 1/4 km", 2.25), ("3e5 km", 3e5),
        ("1.5 x 10^3 km", 1500), ("1.5 × 10⁻³ km", 0.0015), ("1.5×10-3 km", 0.0015), ("twenty-five km", 25),
        ("one hundred and five km", 105), ("two thousand five hundred km", 2500), ("half a million km", 5e5),
        ("3 dozen km", 36), ("two and a half million km", 2.5e6), ("a hundred km", 100),
    ],
)  # fmt: skip
def test_number_formats(text: str, value: float) -> None:
    found = extract(f"Some way: {text} away")
    assert [q.value for q in found] == [pytest.approx(value)]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("It took half an hour.", 0.5, "hour"),
        ("a quarter of a mile away", 0.25, "mile"),
        ("three-quarters of a mile away", 0.75, "mile"),
        ("a quarter of a million deaths", 250_000, "death"),
        ("half a dozen eggs", 6, "egg"),
        ("two and a half hours", 2.5, "hour"),
        ("eleven and three-quarters pct", 11.75, "percent"),
        ("one and a half million people", 1_500_000, "person"),
        ("2 and a half hours", 2.5, "hour"),
        ("one half cup of sugar", 0.5, "cup"),
        ("it rose 33·2% in May", 33.2, "percent"),
        ("5·10^3 cells", 5000, "cell"),
        ("a total of 12 092 patients", 12_092, "patient"),
        ("a loss of $(0.12) per share", -0.12, "USD/share"),
        ('a 27" screen', 27, "inch"),
        ("149, 000 barrels", 149_000, "barrel"),
        ("in this industry 40 firms compete", 40, "firm"),
        ("she has 1.5m followers", 1.5e6, "follower"),
        ("a harvest of 3m tonnes", 3e6, "tonne"),
        ("5m waves hit the shore", 5, "metre"),
        ("it closed at 45 7/8.", 45.875, None),
        ("MSDC-0160 150 mg", 150, "milligram"),
        ("3·1 ± 0·3 years", 3.1, "year"),
    ],
)
def test_parts_points_and_groups(text: str, value: float, unit: str | None) -> None:
    (found,) = extract(text)
    assert (found.value, found.unit) == (pytest.approx(value), unit)


@pytest.mark.parametrize("text", ["half a loaf", "a third of a loaf", "he is half a head taller"])
def test_a_part_of_what_is_no_unit_is_read_loosely_at_most(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    ("surface", "value", "unit"),
    [
        ("1.234,56 €", 1234.56, "EUR"),
        ("€1.234,56", 1234.56, "EUR"),
        ("1.234.567,89 euros", 1234567.89, "EUR"),
        ("1.000.000 euros", 1e6, "EUR"),
        ("€12.345.678", 12345678, "EUR"),
        ("1 234 567 €", 1234567, "EUR"),
        ("1\u202f234,50 €", 1234.5, "EUR"),
        ("1,50 €", 1.5, "EUR"),
        ("€ 1,5", 1.5, "EUR"),
        ("1,5 Mio. €", 1.5e6, "EUR"),
        ("5 Mio. Euro", 5e6, "EUR"),
        ("R$ 1.500,00", 1500, "BRL"),
        ("1'200 CHF", 1200, "CHF"),
        ("CHF 1’234’567", 1234567, "CHF"),
        ("1'234'567 km", 1234567, "kilometre"),
        ("₹12,34,567", 1234567, "INR"),
        ("Rs. 1,23,456.50", 123456.5, "INR"),
        ("12,34,567 rupees", 1234567, "INR"),
        ("20 zł", 20, "PLN"),
        # as in English
        ("1,234 euros", 1234, "EUR"),
        ("€1,234.50", 1234.5, "EUR"),
        ("€1.234 billion", 1.234e9, "EUR"),
        ("1.459 euros per litre", 1.459, "EUR/litre"),
    ],
)
def test_amounts_as_they_are_written_elsewhere(surface: str, value: float, unit: str) -> None:
    text = f"They paid {surface} in all."
    found = extract(text)
    assert [(q.value, q.unit, text[slice(*q.span)]) for q in found] == [(pytest.approx(value), unit, surface)]


@pytest.mark.parametrize("text", ["the host 192.168.100.200", "version 1.000.000", "release 3.2.1"])
def test_dotted_identifiers_are_no_amounts(text: str) -> None:
    assert not extract(text)


def test_a_label_with_a_colon_is_no_ratio() -> None:
    first, second = extract("(Cohort 1: 2.5–15 mg, Cohort 2: 5–20 mg)")
    assert (first.low, first.high, second.low, second.high) == (2.5, 15, 5, 20)


def test_minutes_behind_hours() -> None:
    hours, minutes = extract("The flight takes 7h 30m.")
    assert (hours.unit, minutes.unit) == ("hour", "minute")
    assert minutes.base_value == 1800


def test_a_closing_quote_is_no_inch() -> None:
    (found,) = extract('He said "we sold 5" and left.')
    assert found.unit is None


def test_the_level_of_a_confidence_interval_lends_its_percent_to_nothing() -> None:
    ratio, level, interval = extract("a hazard ratio of 2.58, 95% CI 1.87 to 3.55")
    assert (ratio.unit, level.unit, interval.unit) == (None, "percent", None)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("In 2021, 12% of people agreed.", [12]),
        ("By 2030, 50% of cars will be electric.", [50]),
        ("Since 2005, 3.5 kg was lost.", [3.5]),
        ("intakes of 1900, 2000 and 2100 kcal", [1900, 2000, 2100]),
    ],
)
def test_a_year_before_a_quantity_takes_no_unit(text: str, values: list[float]) -> None:
    assert [q.value for q in extract(text)] == values


def test_a_list_shares_its_scale() -> None:
    found = extract("They left the aggregates 18.2 and 20.8 billion dlrs under target.")
    assert [(q.value, q.unit) for q in found] == [(18.2e9, "USD"), (20.8e9, "USD")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Net 5.1 mln dlrs vs 4.2 mln", [(5.1e6, "USD"), (4.2e6, "USD")]),
        ("Net 5.1 mln dlrs vs loss 4.2 mln", [(5.1e6, "USD"), (4.2e6, "USD")]),
        ("Net 5.1 mln dlrs vs 4.2", [(5.1e6, "USD"), (4.2e6, "USD")]),
        ("Net 5.1 mln dlrs vs 980,000", [(5.1e6, "USD"), (980e3, "USD")]),
        ("Shr 34 cts vs 12", [(34, "US_cent"), (12, "US_cent")]),
        ("Shr 34 cts vs 12 Net 5.1 mln vs 4.2 mln",
         [(34, "US_cent"), (12, "US_cent"), (5.1e6, None), (4.2e6, None)]),
        ("a gain of 34 kg compared with 2019", [(34, "kilogram")]),
        ("a loss of 4 kg compared with 16 out of 61", [(4, "kilogram"), (16, None), (61, None)]),
        ("81 kg versus 78, P = 0.04", [(81, "kilogram"), (78, "kilogram"), (0.04, None)]),
    ],
)  # fmt: skip
def test_what_is_compared_shares_the_unit(text: str, wanted: list[tuple[float, str | None]]) -> None:
    """But a unit that the sentence never says for a line of a table is not guessed."""
    assert [(q.value, q.unit) for q in extract(text)] == wanted


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Sterling deposits of 300 mln pounds", ["pound"]),  # capitalised, it may be a name
        ("They hold sterling deposits of 300 mln pounds.", ["GBP"]),
        ("He won £5 and spent 300 pounds a day.", ["GBP", "GBP/day"]),
        ("Shipped at 40 pence were 300 pounds of copper.", ["penny", "pound"]),
        ("The load weighs 300 pounds.", ["pound"]),
        ("The ticket cost 250 pounds and the case weighs 12 pounds.", ["GBP", "pound"]),
        ("It costs 5 dollars and weighs 3 pounds.", ["USD", "pound"]),
        ("The flat is priced between 700 and 900 pounds a month.", ["GBP/month"]),
        ("They sold 300 pounds of copper.", ["pound"]),
        ("He paid 30 dollars for a 12 pound turkey.", ["USD", "pound"]),
        ("It cost £20 and weighs 3 lbs.", ["GBP", "pound"]),
    ],
)
def test_pounds_are_money_where_the_sentence_speaks_of_sterling(text: str, units: list[str]) -> None:
    assert [q.unit for q in extract(text)] == units


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("It has 20 g of protein per 100 g.", 20, "gram"),
        ("It has 20 g protein per 100 g.", 20, "gram"),
        ("The fat content is 49.9 g per 100 g.", 49.9, "gram"),
        ("Per 100 g it has 12 g of fat.", 12, "gram"),
        ("100 grams of figs provide 74 kcal.", 74, "kilocalorie"),
        ("A 100-gram portion of figs supplies 0.8 grams of protein.", 0.8, "gram"),
        ("In 100 g of figs there are 19 g of carbohydrate.", 19, "gram"),
        ("Eating 100 grams of figs adds 2.9 grams of fibre.", 2.9, "gram"),
        ("It has 42 kcal per 100 ml.", 42, "kilocalorie"),
        ("It held 80 mg per 100 ml.", 80, "milligram/100_millilitre"),  # a concentration
        ("Mix it with 100 g of flour.", 100, "gram"),
        ("The pump moves 5 litres of blood a minute.", 5, "litre/minute"),
        ("They inject 40 mg of the drug per day.", 40, "milligram/day"),
        ("He took 50 ml of syrup some hours later.", 50, "millilitre"),
        ("Over 80% of drivers buy a car on credit.", 80, "percent"),
        ("a dose (6 mg ml−1) was given", 6, "milligram/millilitre"),
    ],
)
def test_the_portion_of_a_food_label_is_no_quantity(text: str, value: float, unit: str) -> None:
    (found,) = extract(text)
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("The number of known moons of Saturn stood at 146 in 2024.", 146, "moon"),
        ("The number of active users rose to 5.2 million.", 5.2e6, "user"),
        ("the number of patients was 40", 40, "patient"),
        ("The mean number of days on treatment was 65.5.", 65.5, "day"),
        ("The number is 40.", 40, None),
    ],
)
def test_what_the_number_of_counts(text: str, value: float, unit: str | None) -> None:
    (found,) = extract(text)
    assert (found.value, found.unit) == (value, unit)


def test_a_population_counts_people() -> None:
    found = extract("The region has a population of about 67 million and a university of 12,000.")
    assert [(q.value, q.unit) for q in found] == [(67e6, "person"), (12000, None)]


def test_synonyms_keep_their_name_and_share_a_dimension() -> None:
    storeys, floors = extract("One tower has 101 storeys, the other 88 floors.")
    assert (storeys.unit, floors.unit) == ("storey", "floor")
    assert storeys.dimension == floors.dimension == "count:floor"


def test_a_statistic_is_no_part_of_a_list() -> None:
    found = extract("It differed (P = 0.05, 12 months).")
    assert [(q.value, q.unit) for q in found] == [(0.05, None), (12, "month")]


def test_a_number_too_long_for_a_float_is_left_alone() -> None:
    assert extract("9" * 400 + " billion kg") == []


def test_approximation_is_kept() -> None:
    assert [q.approximate for q in extract("about 5 kg, ~6 kg and 7 kg")] == [True, True, False]


def test_bare_numbers_are_numbers() -> None:
    found = extract("The pH was 7.4 with P < 0.05 (n = 200).")
    assert [(q.value, q.unit, q.dimension) for q in found] == [
        (7.4, None, "number"), (0.05, None, "number"), (200, None, "number"),
    ]  # fmt: skip


def test_ages_are_years() -> None:
    found = extract("Adults aged 18 to 65 with a mean age of 45.3 were asked.")
    assert [(q.value, q.unit) for q in found] == [(41.5, "year"), (45.3, "year")]


def test_loose_reading_adds_vague_amounts() -> None:
    text = "One solution serves millions of users and half of the shops."
    assert extract(text) == []
    found = extract(text, loose=True)
    assert [(q.value if q.low is None else q.low, q.unit) for q in found] == [
        (1, "solution"), (1e6, "user"), (0.5, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["A $300 million facility was signed.", "It closed. A $300 million facility was signed."],
)
def test_an_article_is_no_australian_dollar(text: str) -> None:
    (quantity,) = extract(text)
    assert (quantity.value, quantity.unit) == (300e6, "USD")


def test_percentages_in_a_list_are_no_rates() -> None:
    found = extract("improved, stable or worse (21%/79%/0% vs 8%/83%/8%)")
    assert [(q.value, q.unit) for q in found] == [(v, "percent") for v in (21, 79, 0, 8, 83, 8)]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("a dose of 1 mg/kg1 was given", "milligram/kilogram"),
        ("5 μg·kg1 was given", "microgram/kilogram"),
        ("at least 12 mg/dL1 of it", "milligram/decilitre"),
        ("1.2 g/kg0.8 g/kg", "gram/kilogram"),
        ("an acceleration of 3 m/s2", "metre/second/second"),
        ("5 mg per 0 h", "milligram"),
        ("5 mg per 99999999999999 g", "milligram"),
    ],
)
def test_denominators_with_digits_against_them(text: str, unit: str) -> None:
    assert extract(text)[0].unit == unit


def test_only_retirement_plans_are_named_401k() -> None:
    assert extract("our 401(k) plan") == extract("a 401k") == []
    assert extract("It weighs 401 kg.")[0].unit == "kilogram"


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("Roast it at 400F for an hour.", 400, "fahrenheit"),
        ("Preheat the oven to 180C.", 180, "celsius"),
        ("Below -20C the seal fails.", -20, "celsius"),
        ("Keep it under 8C.", 8, "celsius"),
        ("A 15in laptop.", 15, "inch"),
    ],
)
def test_units_tied_to_the_number(text: str, value: float, unit: str) -> None:
    assert [(q.value, q.unit) for q in extract(text)] == [(value, unit)]


@pytest.mark.parametrize("text", ["Serotypes 18C, 19F, and 23F.", "Strains 19F and 23F.", "Aimed at 1086C."])
def test_a_label_with_a_letter_is_no_temperature(text: str) -> None:
    assert all(q.dimension != "temperature" for q in extract(text))


@pytest.mark.parametrize("text", ["Kept at 37C.", "A fever ≥40C.", "Bake at 220C/425F.", "≥38.0°C/37.5°C"])
def test_labels_of_test_sets_know_no_temperature_by_a_letter_alone(text: str) -> None:
    assert any(q.unit == "celsius" for q in extract(text))
    assert all(q.unit != "celsius" for q in extract(text, for_labels=True))


def test_both_scales_of_a_temperature() -> None:
    assert [q.unit for q in extract("Bake at 220C/425F.")] == ["celsius", "fahrenheit"]
    assert [q.unit for q in extract("Bake at 220C (425F).")] == ["celsius", "fahrenheit"]


@pytest.mark.parametrize("text", [
    "They sold 15 in all.", "It took 5 in 2019.", "as others found.15 In 2019", "It took 5in 2019.",
    "70 workers per 100,000 in rural areas", "a mean of 2.11in the group",
])  # fmt: skip
def test_a_preposition_is_no_inch(text: str) -> None:
    assert all(q.unit != "inch" for q in extract(text))


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("The 990 Pro drive holds 4 TB.", ["terabyte"]),
        ("The 850 Evo reads 540 MB/s.", ["megabyte/second"]),
        ("The 12 players scored 30 goals.", ["player", "goal"]),
    ],
)
def test_a_verb_counts_nothing(text: str, units: list[str]) -> None:
    assert [q.unit for q in extract(text)] == units
