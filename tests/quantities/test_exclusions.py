"""Numbers that are no quantities."""

from __future__ import annotations

import pytest

from numcolbert.quantities import extract


@pytest.mark.parametrize(
    "text",
    [
        "It opened in 1987.", "Since 2015 it has grown.", "The 2019 report is out.", "the 1987-88 season",
        "between 2014 and 2017", "in the 1980s", "back in '87", "From 1950 to 1975 it stood empty.",
        "on March 29", "on 29 March 2019", "Dec 31, 2020", "on 3/12/2020", "on 2020-03-12", "July 4th",
        "February 11 and 12", "the 29th of May", "It was completed in 1345.",
        "the Battle of Hastings of 1066", "since 1402", "expires 12/2024",
        "The Colosseum was completed in 80.",
    ],
)  # fmt: skip
def test_years_and_dates(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "at 10:27 PM",
        "at 9 a.m. sharp",
        "by 5pm",
        "at 1430 GMT",
        "8 o'clock",
        "24/7",
        "from 9 to 5 pm",
        "at 0800 hours",
        "at half past 5",
    ],
)
def test_clock_times(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Call 555-123-4567 now.", "Call (555) 123-4567 now.", "Call 1-800-555-0199.", "as shown [12]",
        "others [3, 4] agree", "others [5–7] agree", "See Figure 3.", "Table 2 lists them", "in Section 4.2",
        "under section 3.2.1", "Chapter 11 protection", "on page 12", "No. 1 seller", "Rule 144 applies",
        "Call 555-1234 now.", "Call +44 20 7946 0958 now.", "Tel: 020 7946 0958", "dial 112",
        "+33 1 23 45 67 89",
        "J. Chem. 12, 345 (1998)", "Lemma 2.3 holds", "Theorem 4 states it", "4.3 Methods",
        "(2) How do you feel?",
    ],
)  # fmt: skip
def test_references(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "the iPhone 15 is out", "a 5G phone", "COVID-19 spread", "Covid -19 tests", "an F-16 jet",
        "the Boeing 737",
        "Windows 10 users", "the S&P 500 fell", "type 2 diabetes", "a phase 3 trial", "the Galaxy S22",
        "H2O and CO2", "the B52s", "Model 3s are sold", "TPP-11 members", "user42 wrote",
        "www.site.com/item/77",
        "interleukin-6 levels", "the 22nd amendment", "Room 101 is closed", "in Q3 and FY21", "won 3-1",
        "weeks 4 and 8", "as others found (5, 6).", "shown in patients.12–14 Then", "at L3–4",
        "the Six Flags park", "Stage three moves closer", "the index (PGWBI)14 consists",
        "DPS 7000 computers", "now above 2019.", "2018 sales", "a two-sided test", "a 12-lead ECG",
        "a 10-Q form", "a 2:1 ratio", "a 1:10,000 dilution", "a 2-1 win", "ISBN 978-3-16-148410-0",
        "CVE-2021-44228 was mended", "PMID: 12345678", "patent US 6,285,999", "postcode 90210",
        "1-2-3 software",
        "HTTP/2 servers", "H.264 video", "USB 3.0 cables", "221B Baker Street", "Falcon 9 landed",
        "7-Eleven opened",
        "the Airbus A380-800 is large", "the Boeing 777-300ER landed", "a BMW M3 (2014)", "K2 is steep",
        "element number 53 of the table", "Taipei 101 was completed", "Apollo 10 returned",
        "Merdeka 118 reaches far",
        "the Pixel 3 weighs little", "the Porsche 911 Turbo S tops out early", "the Queen Mary 2 measures up",
        "the Bugatti Veyron 16.4 has wings", "the Volkswagen Golf 1.5 TSI has doors", "a 10 K run",
        "3M products", "3M said", "Form 10-K",
        "patients with DM 2", "trial DM95-231", "a PS5 console", "the iPhone 12 mini", "the Ford Model T",
        "Fig. 1B", "13C-urea", "the 19F spectrum",
        "dated by 14C", "seat 30C", "a 1080p screen", "720p video",
        "doi 10.1371/journal.x.001",
    ],
)  # fmt: skip
def test_names_and_identifiers(text: str) -> None:
    assert extract(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("more than 2000 were sold", 2000), ("a total of 2010 patients", 2010), ("$2019 each", 2019),
        ("2,019 homes", 2019), ("1650 subjects took part", 1650), ("a 2000 kg load", 2000),
    ],
)  # fmt: skip
def test_what_looks_like_a_year_and_is_none(text: str, value: float) -> None:
    assert [q.value for q in extract(text)] == [value]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("The Cessna 172 seats 3 passengers.", 3, "passenger"),
        ("The ATR 72-600 carries 70 people.", 70, "person"),
        ("The Pixel 6 Pro weighs 210 grams.", 210, "gram"),
        ("Voyager 1 leaves at 17 km/s.", 17, "kilometre/second"),
        ("Nearly 20 runs ended early.", 20, "run"),
        ("In Berlin 20 patients were seen.", 20, "patient"),
        ("The 3 seats were taken.", 3, "seat"),
    ],
)
def test_names_that_end_in_a_number_and_what_is_counted(text: str, value: float, unit: str) -> None:
    assert [(q.value, q.unit) for q in extract(text)] == [(value, unit)]
