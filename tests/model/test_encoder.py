"""The runtime: order, lengths, spans, warnings, and model folders that cannot be used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.errors import InputError, ModelError, UsageError
from numcolbert.model.checkpoint import ColBERTSettings, GateSettings, add_gate, build_colbert
from numcolbert.model.encoder import Encoder, QuantityCutOffWarning
from numcolbert.model.export import export_model

TEXTS = ["sales fell", "revenue grew to 416,000 dollars", "", "the dose was 5 mg", "profit over 20 %"]


@pytest.fixture(scope="module")
def folder(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "m"
    model = add_gate(
        build_colbert(backbone, ColBERTSettings(dim=16, query_length=16, document_length=32)),
        GateSettings(hidden_dim=8),
    )
    export_model(model, target, precision="float32")
    return target


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return Encoder.load(folder, threads=1)


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    """A copy of the model folder to damage."""
    target = tmp_path / "copy"
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def change_config(folder: Path, **values: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_batching_changes_neither_order_nor_vectors(encoder: Encoder) -> None:
    alone = [encoder.encode_documents([text])[0] for text in TEXTS]
    for batch_size in (1, 2, 32):
        for one, many in zip(alone, encoder.encode_documents(TEXTS, batch_size), strict=True):
            assert one.tokens == many.tokens
            np.testing.assert_allclose(one.vectors, many.vectors, atol=1e-5)
    for one, text in zip(encoder.encode_queries(TEXTS), TEXTS, strict=True):
        assert one.text == text
        np.testing.assert_allclose(one.vectors, encoder.encode_queries([text])[0].vectors, atol=1e-5)


def test_long_texts_get_batches_of_their_own(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []
    arrays = encoder._arrays

    def noted(batch: list[Any]) -> dict[str, Any]:
        made = arrays(batch)
        sizes.append(made["input_ids"].shape)
        return made

    monkeypatch.setattr(encoder, "_arrays", noted)
    monkeypatch.setattr("numcolbert.model.encoder.TOKENS_AT_ONCE", 24)
    texts = ["sales " * 29, "sales fell", *["dose"] * 9]
    assert [len(d.tokens) for d in encoder.encode_documents(texts)] == [32, 5, *[4] * 9]
    assert sorted(sizes) == [(1, 32), (4, 5), (6, 4)]


def test_documents_have_length_one_and_queries_their_gate(encoder: Encoder) -> None:
    for document in encoder.encode_documents(TEXTS):
        assert document.vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(document.vectors, axis=1), 1, atol=1e-5)
    for query in encoder.encode_queries(TEXTS):
        np.testing.assert_allclose(np.linalg.norm(query.vectors, axis=1), query.gates, rtol=1e-4)
        np.testing.assert_allclose(np.linalg.norm(query.ungated(), axis=1), 1, atol=1e-4)


def test_nothing_to_encode(encoder: Encoder) -> None:
    assert encoder.encode_documents([]) == []
    assert encoder.encode_queries([]) == []


@examples(40)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_can_be_encoded_and_spans_point_into_it(encoder: Encoder, text: str) -> None:
    (document,) = encoder.encode_documents([text])
    assert len(document.tokens) == len(document.spans) == len(document.vectors) <= 32
    assert np.isfinite(document.vectors).all()
    assert all(0 <= a <= b <= len(text) for a, b in filter(None, document.spans))


def test_spans_name_the_words(encoder: Encoder) -> None:
    text = "Revenue  above 20 million"
    (query,) = encoder.encode_queries([text])
    assert query.tokens == ("[CLS]", "[Q]", "revenue", "above", "20", "million", "[SEP]")
    words = [None if span is None else text[slice(*span)] for span in query.spans]
    assert words == [None, None, "Revenue", "above", "20", "million", None]


def test_a_number_that_is_cut_off_is_told(encoder: Encoder) -> None:
    filler = "sales " * 40
    with pytest.warns(QuantityCutOffWarning, match="1 of 2 texts"):
        encoder.encode_documents([filler + "of 20 dollars", "sales"])
    with pytest.warns(QuantityCutOffWarning, match="16 tokens"):
        encoder.encode_queries([filler + "over 20"])


def test_the_advice_on_a_long_text_is_for_its_kind(encoder: Encoder) -> None:
    filler = "sales " * 40
    with pytest.warns(QuantityCutOffWarning, match=r"1 of 1 queries .* Shorten the query\."):
        encoder.encode_queries([filler + "over 20"])
    with pytest.warns(QuantityCutOffWarning, match=r"1 of 1 texts .* Split long texts into passages\."):
        encoder.encode_documents([filler + "of 20 dollars"])


def test_a_long_text_without_a_number_at_its_end_is_quiet(
    encoder: Encoder, recwarn: pytest.WarningsRecorder
) -> None:
    encoder.encode_documents(["20 dollars " + "sales " * 40])
    assert not [w for w in recwarn if w.category is QuantityCutOffWarning]


def test_what_is_no_text_is_refused(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="Text 2 of 2 is of type int"):
        encoder.encode_documents(["sales", 5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="not valid Unicode"):
        encoder.encode_queries(["\ud800"])


def test_the_fingerprint_follows_what_shapes_the_vectors(folder: Path, broken: Path) -> None:
    original = Encoder.load(folder, threads=1).fingerprint
    change_config(broken, name="another name", notes={"a": 1})
    assert Encoder.load(broken, threads=1).fingerprint == original
    change_config(broken, document_length=20)
    assert Encoder.load(broken, threads=1).fingerprint != original


def test_a_missing_folder_and_one_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        Encoder.load(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="file' is a file"):
        Encoder.load(tmp_path / "file")
    with pytest.raises(ModelError, match="not a model folder"):
        Encoder.load(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_truncated_or_changed_file(broken: Path, name: str) -> None:
    file = broken / name
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ModelError, match="not the file the model was saved with"):
        Encoder.load(broken)


def test_a_missing_tokenizer_or_a_damaged_config(broken: Path) -> None:
    whole = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps(whole | {"files": ["model.onnx"]}))
    with pytest.raises(ModelError, match="cannot be read"):
        Encoder.load(broken)
    (broken / "config.json").write_text(json.dumps(whole))
    (broken / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"lacks tokenizer\.json"):
        Encoder.load(broken)
    (broken / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        Encoder.load(broken)
    change = {"format": 1, "dim": 16}
    (broken / "config.json").write_text(json.dumps(change))
    with pytest.raises(ModelError, match="cannot be read"):
        Encoder.load(broken)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"query_length": "48"}, "key 'query_length' is '48'"),
        ({"query_length": -1}, "query_length is -1"),
        ({"document_length": 3}, "document_length is 3"),
        ({"document_length": 10**12}, f"document_length is {10**12}"),
        ({"dim": 16.0}, r"key 'dim' is 16\.0"),
        ({"query_marker": 99999999}, "query_marker is 99999999, which is no token"),
        ({"document_marker": -1}, "document_marker is -1, which is no token"),
        ({"skipped_tokens": ["a"]}, "key 'skipped_tokens' is 'a'"),
        ({"skipped_tokens": [5, 10**30]}, rf"skipped_tokens\[1\] is {10**30}"),
        ({"files": {"model.onnx": 5}}, "key 'model.onnx' is 5"),
        (
            {"expansion": {"token_id": 5, "length": "32", "attend": True, "fixed": True}},
            "key 'expansion', key 'length' is '32'",
        ),
        (
            {"expansion": {"token_id": 5, "length": -32, "attend": True, "fixed": True}},
            r"expansion\.length is -32",
        ),
        (
            {"expansion": {"token_id": -5, "length": 32, "attend": True, "fixed": True}},
            r"expansion\.token_id is -5",
        ),
        ({"no_such_key": 1}, "Unknown key 'no_such_key'"),
        ({"format": "1"}, "cannot be read"),
    ],
)
def test_wrong_values_in_a_config_are_named(broken: Path, change: dict[str, object], said: str) -> None:
    change_config(broken, **change)
    with pytest.raises(ModelError, match=said) as caught:
        Encoder.load(broken)
    assert "copy or download the model again" in caught.value.hint


def test_a_text_that_is_longer_than_the_graph_reads_is_one_sentence(broken: Path) -> None:
    change_config(broken, query_length=100)
    encoder = Encoder.load(broken, threads=1)
    assert len(encoder.encode_queries(["sales " * 20])[0].tokens) == 23
    with pytest.raises(ModelError, match="cannot read texts of 63 tokens") as caught:
        encoder.encode_queries(["sales " * 60])
    assert "config.json" in caught.value.hint


def test_a_name_that_no_folder_can_have() -> None:
    with pytest.raises(ModelError, match="name too long"):
        Encoder.load("x" * 5000)
    for empty in ("", " "):
        with pytest.raises(UsageError, match="name of the model is empty"):
            Encoder.load(empty)


def test_another_dimension_and_a_newer_version(broken: Path) -> None:
    change_config(broken, dim=99)
    with pytest.raises(ModelError, match="size 16, its config says 99"):
        Encoder.load(broken)
    change_config(broken, format=99)
    with pytest.raises(ModelError, match="newer version") as caught:
        Encoder.load(broken)
    assert "--upgrade" in caught.value.hint


def test_a_graph_that_onnxruntime_does_not_know(broken: Path) -> None:
    import hashlib

    (broken / "model.onnx").write_bytes(b"no graph")
    files = json.loads((broken / "config.json").read_text())["files"]
    change_config(broken, files={**files, "model.onnx": hashlib.sha256(b"no graph").hexdigest()})
    with pytest.raises(ModelError, match="cannot open"):
        Encoder.load(broken)


def test_the_runtime_needs_no_torch(folder: Path) -> None:
    script = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "transformers", "sentence_transformers", "onnx", "safetensors"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from numcolbert.model.encoder import Encoder
encoder = Encoder.load(sys.argv[1], threads=1)
print(encoder.encode_queries(["sales over 20"])[0].vectors.shape)
"""
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
    assert done.stdout.strip() == "(6, 16)", done.stderr
