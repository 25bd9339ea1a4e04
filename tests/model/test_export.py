"""The exported model computes what the checkpoint computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from transformers import MPNetConfig, MPNetModel

from numcolbert.errors import ModelError
from numcolbert.model import graph_writer
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    GateSettings,
    add_gate,
    as_numcolbert,
    build_colbert,
    save_checkpoint,
)
from numcolbert.model.encoder import Encoder, QuantityCutOffWarning
from numcolbert.model.export import export_model, main, parity
from numcolbert.model.graph_writer import quantise_rows

QUERIES = ["revenue above 20 million dollars", "phones under 500 dollars in the year 2019", "sales"]
DOCUMENTS = ["the company reached revenue of $ 416,000.", "sales fell by 20 %", "the dose was 5 mg", ""]


@pytest.mark.parametrize("reads", ["vector", "hidden"])
@pytest.mark.parametrize("query_length", [None, 32])
def test_full_precision_gives_the_same_numbers(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, reads: str, query_length: int | None
) -> None:
    model = make_model(reads=reads, query_length=query_length)
    export_model(model, tmp_path / "m", precision="float32")
    encoder = Encoder.load(tmp_path / "m", threads=1)
    for ours, text in zip(encoder.encode_queries(QUERIES), QUERIES, strict=True):
        theirs = model.encode_query(text, output_value=None)
        np.testing.assert_allclose(ours.vectors, theirs["token_embeddings"], atol=1e-4)
        np.testing.assert_allclose(ours.gates, theirs["gate"], atol=1e-4)
        np.testing.assert_allclose(ours.probabilities, theirs["num_probability"], atol=1e-4)
        names = model.tokenizer.convert_ids_to_tokens(theirs["input_ids"])
        assert list(ours.tokens) == ["[Q]" if name == "[unused0]" else name for name in names]
    assert any((q.gates != 1).any() for q in encoder.encode_queries(QUERIES))
    for ours, theirs in zip(
        encoder.encode_documents(DOCUMENTS), model.encode_document(DOCUMENTS), strict=True
    ):
        np.testing.assert_allclose(ours.vectors, theirs, atol=1e-4)


def test_int8_stays_close_and_is_smaller(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    export_model(model, tmp_path / "int8")
    export_model(model, tmp_path / "float", precision="float32")
    report = parity(model, Encoder.load(tmp_path / "int8", threads=1), QUERIES, DOCUMENTS)
    assert report.mean_cosine > 0.998
    assert report.largest_score_difference < 0.02
    sizes = {kind: (tmp_path / kind / "model.onnx").stat().st_size for kind in ("int8", "float")}
    assert sizes["int8"] < 0.5 * sizes["float"]


def test_balanced_inputs_survive_outliers(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    with torch.no_grad():
        for layer in model[0].model.encoder.layer:  # a few inputs far larger than the rest, as in real models
            layer.attention.output.LayerNorm.weight[:2] *= 60
            layer.intermediate.dense.weight[:, :2] /= 60
    export_model(model, tmp_path / "balanced")
    monkeypatch.setattr("numcolbert.model.export._input_ranges", lambda *_: {})
    export_model(model, tmp_path / "as-is")
    found = {
        name: parity(model, Encoder.load(tmp_path / name, threads=1), QUERIES, DOCUMENTS).mean_cosine
        for name in ("balanced", "as-is")
    }
    assert 1 - found["balanced"] < 0.5 * (1 - found["as-is"])


def test_parity_of_the_full_precision_model_is_exact(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    export_model(model, tmp_path / "m", precision="float32")
    report = parity(model, Encoder.load(tmp_path / "m", threads=1), QUERIES, DOCUMENTS)
    assert report.lowest_cosine == pytest.approx(1, abs=1e-5)
    assert report.largest_score_difference == pytest.approx(0, abs=1e-5)
    assert report.same_best_document == 1


def test_query_expansion_and_skip_lists_are_exported(pylate_folder: Path, tmp_path: Path) -> None:
    model = as_numcolbert(pylate_folder, keep_punctuation=False)
    torch.nn.init.normal_(model[-1].gate[-1].weight)
    export_model(model, tmp_path / "m", precision="float32")
    encoder = Encoder.load(tmp_path / "m", threads=1)
    with pytest.warns(QuantityCutOffWarning):
        encoded = encoder.encode_queries(QUERIES)
    for ours, theirs in zip(encoded, model.encode_query(QUERIES), strict=True):
        assert ours.vectors.shape == (12, 16)
        np.testing.assert_allclose(ours.vectors, theirs, atol=1e-4)
    for document, expected in zip(
        encoder.encode_documents(DOCUMENTS), model.encode_document(DOCUMENTS), strict=True
    ):
        np.testing.assert_allclose(document.vectors, expected, atol=1e-4)
        assert "." not in document.tokens
        assert len(document.tokens) == len(document.spans) == len(document.vectors)


def test_single_digits_are_exported(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model(digits="single")
    export_model(model, tmp_path / "m", precision="float32")
    (ours,) = Encoder.load(tmp_path / "m", threads=1).encode_queries(["sales over 416 kg"])
    assert ours.tokens[4:7] == ("4", "1", "6")
    assert [ours.text[a:b] for a, b in filter(None, ours.spans)] == ["sales", "over", "4", "1", "6", "kg"]
    np.testing.assert_allclose(ours.vectors, model.encode_query(ours.text), atol=1e-4)


def test_mpnet_is_exported_with_its_bias_by_distance(backbone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mpnet"
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=48))
    torch.manual_seed(0)
    config = MPNetConfig(
        vocab_size=len(model.tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    mpnet = MPNetModel(config)
    for parameter in mpnet.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    mpnet.eval().save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    model = add_gate(build_colbert(folder, ColBERTSettings(dim=16, query_length=24, document_length=48)))
    export_model(model, tmp_path / "m", precision="float32")
    encoder = Encoder.load(tmp_path / "m", threads=1)
    for ours, theirs in zip(
        encoder.encode_documents(DOCUMENTS), model.encode_document(DOCUMENTS), strict=True
    ):
        np.testing.assert_allclose(ours.vectors, theirs, atol=1e-4)


def test_a_checkpoint_with_its_export_inside_opens_by_its_own_name(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    save_checkpoint(model, tmp_path / "m")
    with pytest.raises(ModelError) as caught:
        Encoder.load(tmp_path / "m")
    assert "python -m numcolbert.model.export" in caught.value.hint
    export_model(model, tmp_path / "m" / "onnx")
    assert Encoder.load(tmp_path / "m", threads=1).name == str(tmp_path / "m")


def test_the_program_replaces_an_export_only_when_asked(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "model"
    save_checkpoint(make_model(), checkpoint)
    assert main([str(checkpoint)]) == 0
    before = (checkpoint / "onnx/config.json").stat().st_mtime_ns
    assert main([str(checkpoint)]) == 1 and "pass --overwrite" in capsys.readouterr().err
    assert (checkpoint / "onnx/config.json").stat().st_mtime_ns == before
    assert main([str(checkpoint), "--overwrite"]) == 0
    assert (checkpoint / "onnx/config.json").stat().st_mtime_ns > before


def test_the_program_says_what_it_was_given(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export_model(make_model(), tmp_path / "exported")
    assert main([str(tmp_path / "exported")]) == 1
    said = capsys.readouterr().err
    assert "is an exported model already" in said and "the checkpoint that it was exported from" in said
    assert main([str(tmp_path / "exported" / "config.json")]) == 1
    assert "is a file, not a model folder" in capsys.readouterr().err


def test_a_model_that_is_no_colbert_is_refused(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    headless = MultiVectorEncoder(modules=[model[0], *list(model)[2:4]], prompts=model.prompts, device="cpu")
    with pytest.raises(ModelError, match="one Dense"):
        export_model(headless, tmp_path / "m")
    unmarked = MultiVectorEncoder(modules=list(model), prompts={"query": "find: "}, device="cpu")
    with pytest.raises(ModelError, match="marker"):
        export_model(unmarked, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_plain_colberts_are_exported_too(backbone: Path, tmp_path: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, document_length=64))
    export_model(model, tmp_path / "m", precision="float32")
    with pytest.warns(UserWarning, match="no numerical gate"):
        encoder = Encoder.load(tmp_path / "m", threads=1)
    assert not encoder.has_gate
    (query,) = encoder.encode_queries([QUERIES[0]])
    np.testing.assert_allclose(query.vectors, model.encode_query(QUERIES[0]), atol=1e-4)
    assert (query.gates == 1).all() and (query.probabilities == 0).all()


def test_gate_settings_reach_the_config(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export_model(make_model(threshold=0.7), tmp_path / "m")
    gate = Encoder.load(tmp_path / "m", threads=1).config.gate
    assert gate is not None and gate["threshold"] == 0.7
    assert GateSettings().threshold == 0.5


def test_rows_of_int8_give_the_weights_back_within_half_a_step() -> None:
    weight = np.random.default_rng(0).normal(size=(5, 70)).astype(np.float32)
    weight[2] = 0
    packed, steps = quantise_rows(weight)
    assert packed.dtype == np.int8
    assert np.abs(packed).max() == 127
    assert (np.abs(packed * steps[:, None] - weight) <= steps[:, None] / 2 + 1e-7).all()


def test_int8_vectors_do_not_depend_on_the_rest_of_the_batch(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export_model(make_model(), tmp_path / "m")
    encoder = Encoder.load(tmp_path / "m", threads=1)
    together = encoder.encode_documents(DOCUMENTS)
    for text, document in zip(DOCUMENTS, together, strict=True):
        np.testing.assert_allclose(encoder.encode_documents([text])[0].vectors, document.vectors, atol=2e-3)


def test_rows_cut_into_blocks_come_closer(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    found = {}
    for block in (8, 64):
        monkeypatch.setattr(graph_writer, "BLOCK", block)
        export_model(model, tmp_path / str(block))
        found[block] = parity(model, Encoder.load(tmp_path / str(block), threads=1), QUERIES, DOCUMENTS)
    assert found[8].mean_cosine > found[64].mean_cosine > 0.998
