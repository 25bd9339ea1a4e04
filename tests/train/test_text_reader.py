"""Word by word must give exactly what the model's own tokenizer gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from numcolbert.model.checkpoint import ColBERTSettings, build_colbert
from numcolbert.train.model_setup import text_settings
from numcolbert.train.text_reader import TextReader, TextSettings

TEXTS = st.text(alphabet="abr 0123456789.,$%€\t-éÉ中[]", max_size=60) | st.lists(
    st.sampled_from(["revenue", "was", "4,200", "$5.3", "the", "[SEP]", "mg/kg", "Ünit", "x" * 120]),
    max_size=20,
).map(" ".join)


@pytest.fixture(scope="module", params=["wordpiece", "single"])
def reader(backbone: Path, request: pytest.FixtureRequest) -> TextReader:
    encoder = ColBERTSettings(dim=16, query_length=20, document_length=30, digits=request.param)
    return TextReader(text_settings(build_colbert(backbone, encoder)))


@examples(150)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_words_one_by_one_give_the_tokens_of_the_text(reader: TextReader, texts: list[str]) -> None:
    reader._checks_left = 0
    chosen = reader.settings
    expected = reader._all_at_once(texts, chosen.query_prompt, chosen.query_length)
    assert [t.ids for t in reader.queries(texts)] == [t.ids for t in expected]
    expected = reader._all_at_once(texts, chosen.document_prompt, chosen.document_length)
    assert reader.documents(texts) == [t.ids for t in expected]


def test_tokens_and_limits_are_the_models(backbone: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=8, document_length=12))
    reader = TextReader(text_settings(model))
    texts = ["revenue above 5 dollars", "the dose was 25 mg in the report of a report"]
    features = model.preprocess(texts, prompt=model.prompts["query"], task="query")
    for ids, mask, tokens in zip(
        features["input_ids"], features["attention_mask"], reader.queries(texts), strict=True
    ):
        assert ids[mask.bool()].tolist() == tokens.ids
    features = model.preprocess(texts, prompt=model.prompts["document"], task="document")
    for ids, mask, made in zip(
        features["input_ids"], features["attention_mask"], reader.documents(texts), strict=True
    ):
        assert ids[mask.bool()].tolist() == made


def test_a_mention_is_found_by_its_characters(reader: TextReader) -> None:
    text = "revenue above 42 dollars in the report"
    (tokens,) = reader.queries([text])
    start = text.index("42")
    marked = reader.mention(tokens, (start, start + len("42 dollars")))
    pieces = [text[a:b] for a, b in (tokens.offsets[i] for i in marked)]
    assert "".join(pieces) == "42dollars"


def test_a_tokenizer_that_looks_across_spaces_is_asked_itself() -> None:
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "b": 4, "a b": 5}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("c", "removed")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 1), ("[CLS]", 0))
    reader = TextReader(TextSettings(tokenizer.to_str(), "", "", 8, 9, (0, 1)))
    assert reader.documents(["a b", "a"]) == [[0, 5, 1], [0, 3, 1]]
    assert reader.queries(["a b"])[0].ids == [0, 5, 1]
