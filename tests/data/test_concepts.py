"""Which noun phrase a quantity describes, and when nothing is said rather than something wrong."""

from __future__ import annotations

import builtins
import importlib.util
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.data import concepts, headlines
from numcolbert.data.concept_table import plural, singular, table
from numcolbert.data.pipeline import load_pipeline, parse
from numcolbert.errors import MissingDependencyError, UsageError
from numcolbert.quantities import extract
from numcolbert.types import Quantity


@cache
def pipeline() -> Any:
    if importlib.util.find_spec("spacy") is None:
        pytest.skip("needs spaCy")
    try:
        return load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(error.message)


def described(text: str) -> dict[str, str | None]:
    quantities = extract(text)
    found = concepts.find(pipeline()(text), quantities)
    return {text[slice(*q.span)]: name for q, name in zip(quantities, found, strict=True)}


SENTENCES = {
    "Adjusted EBITDA was $5 million in the third quarter.": {"$5 million": "adjusted EBITDA"},
    "The mean arterial pressure of 80 mmHg was kept.": {"80 mmHg": "mean arterial pressure"},
    "The board declared a quarterly dividend of $0.28 a share.": {"$0.28 a share": "dividend"},
    "Revenue increased 12% to $2.2 billion.": {"12%": "revenue growth", "$2.2 billion": "revenue"},
    "Our net sales decreased 5% to $300 million.": {"5%": "revenue decline", "$300 million": "revenue"},
    "Total revenue was $4.5 billion, up 8% from last year.": {
        "$4.5 billion": "revenue",
        "8%": "revenue growth",
    },
    "The mean age was 45.3 years.": {"45.3 years": "age"},
    "Patients had a BMI of 27.4 kg/m2.": {"27.4 kg/m2": "body mass index"},
    "Our backlog stood at $3.4 billion.": {"$3.4 billion": "backlog"},
    "EPS came in at $1.05.": {"$1.05": "earnings per share"},
    "We generated $50 million of free cash flow.": {"$50 million": "free cash flow"},
    "Blood loss in the control group was 300 ml.": {"300 ml": "blood loss"},
    "The washout period was 2 weeks.": {"2 weeks": "washout period"},
    "They received 100 mg aspirin daily.": {"100 mg": "aspirin"},
    "It reported a 25% dropout rate.": {"25%": "dropout rate"},
    "Assets under management increased 17% to $583 billion.": {
        "17%": "assets under management growth",
        "$583 billion": "assets under management",
    },
    "The lender committed $5 million of working capital financing.": {
        "$5 million": "working capital financing"
    },
    "Book value was $31.20 per share.": {"$31.20 per share": "book value per share"},
    "We reported adjusted net income of $234 million or $2.79 per share.": {
        "$234 million": "adjusted net income",
        "$2.79 per share": "adjusted earnings per share",
    },
}
SILENT = [
    "We paid $5 million in cash.",
    "25% of patients had nausea.",
    "The company spent $40 million.",
    "It was 12% higher.",
    "Revenue exceeded $5 million.",
    "We expect organic net sales to be minus 1% to plus 1%.",
    "Products gross margin is estimated to range from about breakeven to $1 million on a GAAP basis.",
    "It affected more individuals under age 65.",
    "Cash from operations was a negative $11 million in the first quarter.",
    "We will add rigs even if oil prices reach $60 per barrel.",
    "The drivers included $5 million of higher depreciation and amortization expense.",
    "The tax rate was more than 21%.",
    "The odds ratio had a 95% confidence interval.",
    "SG&A expenses as a percentage of sales were 21%.",
    "The hotel added approximately $0.012 of FFO per share in the summer.",
    "The bank released $1.7 billion of allowance for credit losses.",
    "Working capital as a percentage of revenue was 14.2% in the quarter.",
    "As a percent of total sales, G&A was 1.5%.",
    "Operating expenses were 22% of sales.",
    "The benefit this quarter was worth $0.05 of FFO.",
    "The allowance for credit losses represents 52% of our modeled losses.",
    "Patients on the drug had a mean decrease in LDL of -1.1%.",
    "The net loss included a $545.7 million asset writedown.",
    "The bond carries a coupon of four 7/8%.",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_the_phrase_a_quantity_describes(text: str) -> None:
    assert described(text) == SENTENCES[text]


@pytest.mark.parametrize("text", SILENT)
def test_nothing_is_said_where_it_is_not_sure(text: str) -> None:
    assert set(described(text).values()) == {None}


def test_where_a_change_led_to_is_no_change() -> None:
    text = "Our expenses decreased from the same period in the prior year by $44 million to $355 million."
    assert "decline" not in (described(text)["$355 million"] or "")


def test_a_second_verb_has_its_own_subject() -> None:
    text = "Working capital was $35.4 million and non-current liabilities were $3.5 million."
    assert described(text)["$35.4 million"] == "working capital" != described(text)["$3.5 million"]


def test_what_something_else_was_driven_to_is_no_value_of_the_subject() -> None:
    text = "Net flows of $1.6 billion drove average account values up 28% to $94 billion."
    assert described(text)["$94 billion"] is None


def test_an_amount_for_something_else_ends_a_list() -> None:
    text = "The plan includes $140 million of maintenance capital, and $60 million for the repayment of debt."
    assert described(text)["$60 million"] is None


def test_another_noun_may_follow_in_a_list() -> None:
    text = "Our debt included $2.1 billion in term loans, $1.2 million and 6.25% senior notes."
    assert described(text)["$1.2 million"] is None


def test_the_tables_that_know_a_concept() -> None:
    known = table()
    assert known.domains_of("revenue") == known.domains_of("revenue growth") == ("finance",)
    assert known.domains_of("zinc") == ("medicine",)
    assert known.domains_of("colour") == ()


def test_counted_nouns() -> None:
    assert list(described("A total of 1,200 patients were enrolled.").values()) == ["patient"]
    assert list(described("A total of 12 other patients were enrolled.").values()) == ["patient"]
    assert list(described("They caught 40 infected mosquitoes.").values()) == ["infected mosquito"]
    assert list(described("They were tested on six other occasions.").values()) == [None]


def names_in(line: str) -> list[str | None] | None:
    return headlines.find(line, extract(line))


def test_results_lines_have_labels_instead_of_verbs() -> None:
    line = "Shr 34 cts vs 12 cts Revs 20.1 mln dlrs vs 18.0 mln dlrs"
    assert names_in(line) == ["earnings per share"] * 2 + ["revenue"] * 2
    assert names_in("Shr loss 39 cts vs profit 62 cts") == ["loss per share", "earnings per share"]
    assert names_in("Qtly div nine cts vs 7.5 cts in prior qtr Payable April 15") == ["dividend"] * 2


def test_notes_and_prose_are_no_results_lines() -> None:
    noted = names_in("Shr 34 cts vs 12 cts NOTE: Excludes a gain of 5 mln dlrs")
    assert noted == ["earnings per share", "earnings per share", None]
    assert names_in("Net income was 5 mln dlrs vs 4 mln dlrs") is None


def test_one_name_for_many_phrases() -> None:
    known = table()
    assert {known.canonical(p) for p in ("net sales", "revenues", "turnover")} == {"revenue"}
    assert known.canonical("eps") == known.canonical("diluted earnings per share") == "earnings per share"
    assert known.canonical("sales growth") == known.canonical("net revenue increase") == "revenue growth"
    assert known.canonical("bmi") == "body mass index"
    assert known.canonical("colour of the logo") is None


def test_variants_name_the_same_concept_and_wide_ones_do_not_count() -> None:
    known = table()
    for name, variants in known.same.items():
        for variant in variants:
            assert variant != name
            assert known.canonical(variant.lower()) is not None
    assert "top line" in known.close_variants("revenue")
    assert "growth in sales" in known.close_variants("revenue growth")
    assert "margin" in known.wide_variants("gross margin")
    assert "margin" not in known.close_variants("gross margin")
    assert known.close_variants("nothing known") == ()


@pytest.mark.parametrize(
    "phrase", ["savings", "leverage", "net interest spread", "benefit ratio", "allowance", "rental rate"]
)
def test_a_name_for_several_things_is_no_synonym(phrase: str) -> None:
    assert table().canonical(phrase) is None


@pytest.mark.parametrize(
    "one, many",
    [
        ("revenue", "revenues"),
        ("inventory", "inventories"),
        ("loss", "losses"),
        ("index", "indices"),
        ("mosquito", "mosquitoes"),
        ("woman", "women"),
        ("datum", "data"),
        ("man", "men"),
    ],
)
def test_singular(one: str, many: str) -> None:
    assert singular(many) == one
    assert singular(one) == one


@pytest.mark.parametrize("word", ["sales", "earnings", "diabetes", "analysis", "status"])
def test_words_that_only_look_like_plurals(word: str) -> None:
    assert singular(word) == plural(word) == word


@given(st.text(max_size=120))
def test_no_text_crashes_the_results_lines(text: str) -> None:
    quantities = extract(text)
    found = headlines.find(text, quantities)
    assert found is None or len(found) == len(quantities)


def test_a_quantity_of_another_text_is_refused() -> None:
    stranger = Quantity(1.0, "gram", "mass", 1.0, (400, 410), (400, 405))
    with pytest.raises(UsageError, match="does not lie in the sentence"):
        concepts.find(pipeline()("The dose was small."), [stranger])


def test_without_spacy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_spacy(name: str, *rest: Any, **options: Any) -> Any:
        if name == "spacy":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_spacy)
    with pytest.raises(MissingDependencyError) as caught:
        load_pipeline()
    assert "numcolbert[data]" in caught.value.hint


@pytest.mark.parametrize(
    ("one", "many"),
    [("woman", "women"), ("human", "humans"), ("child", "children"), ("city", "cities"), ("day", "days"),
     ("box", "boxes"), ("person", "people"), ("sheep", "sheep"), ("sales", "sales"), ("margin", "margins")],
)  # fmt: skip
def test_plurals(one: str, many: str) -> None:
    assert plural(one) == many


def test_a_dose_by_weight_is_no_weight() -> None:
    text = "Anesthesia was induced with fentanyl 2 μg/kg body weight."
    (doc,) = parse([text], pipeline())
    assert concepts.find(doc, extract(text)) != ["body weight"]


def test_a_scale_word_is_no_part_of_what_is_counted() -> None:
    text = "The company has 19 mln common shares outstanding."
    (doc,) = parse([text], pipeline())
    assert concepts.find(doc, extract(text)) == ["common share"]
