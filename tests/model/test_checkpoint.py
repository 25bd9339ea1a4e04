"""Building, converting, saving and refusing checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from numcolbert.errors import ConflictError, ModelError, UsageError
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    GateSettings,
    add_gate,
    as_numcolbert,
    build_colbert,
    find_gate,
    load_checkpoint,
    save_checkpoint,
    without_gate,
)

QUERIES = ["revenue above 20 million dollars", "phones under 500 dollars"]
DOCUMENTS = ["the company reached revenue of $ 416,000.", "sales fell by 20 %, the firm grew"]


def tokens(model: MultiVectorEncoder, text: str, task: str) -> list[str]:
    features = model.preprocess([text], prompt=model.prompts[task], task=task)
    return list(model.tokenizer.convert_ids_to_tokens(features["input_ids"][0]))


def test_a_fresh_colbert_marks_queries_and_documents_and_keeps_symbols(backbone: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=48))
    assert tokens(model, "sales > 20", "query") == ["[CLS]", "[unused0]", "sales", ">", "20", "[SEP]"]
    assert tokens(model, "$ 20 %.", "document")[:2] == ["[CLS]", "[unused1]"]
    assert len(model.encode_document("$ 20 %.")) == 7  # every token, punctuation too
    weight = model[1].linear.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(16), atol=1e-5, rtol=1e-5)


def test_what_has_no_projection_is_no_colbert(backbone: Path, tmp_path: Path) -> None:
    pooled = tmp_path / "pooled"
    SentenceTransformer(modules=[Transformer(str(backbone)), Pooling(32)]).save(str(pooled))
    for folder in (backbone, pooled):
        for opening in (load_checkpoint, as_numcolbert):
            with pytest.raises(ModelError, match="no projection"):
                opening(folder)


@pytest.mark.parametrize(
    ("name", "said"),
    [("exported", "is an exported model"), ("x" * 5000, "cannot be read: File name too long")],
)
def test_what_no_checkpoint_is_gets_a_sentence(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "exported").mkdir()
    for file in ("config.json", "model.onnx", "tokenizer.json"):
        (tmp_path / "exported" / file).write_text("{}")
    with pytest.raises(ModelError, match=said) as refused:
        load_checkpoint(tmp_path / name)
    assert refused.value.hint


def test_the_plain_colbert_of_a_numcolbert(backbone: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, document_length=64))
    before = model.encode_query("sales > 20")
    assert find_gate(add_gate(model)) is not None
    plain = without_gate(model)
    assert find_gate(plain) is None and len(list(plain)) == 4
    torch.testing.assert_close(plain.encode_query("sales > 20"), before)
    assert without_gate(plain) is plain


def test_lengths_are_limits(backbone: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=10, document_length=20))
    long = "sales " * 50
    assert len(model.encode_query(long)) == 10
    assert len(model.encode_document(long)) == 20
    with pytest.raises(UsageError, match="at most 128 tokens"):
        build_colbert(backbone, ColBERTSettings(document_length=500))


def test_a_vocabulary_without_unused_tokens_gets_new_markers(plain_backbone: Path, tmp_path: Path) -> None:
    model = build_colbert(plain_backbone, ColBERTSettings(dim=16, document_length=64))
    assert tokens(model, "sales", "query") == ["[CLS]", "[Q]", "sales", "[SEP]"]
    save_checkpoint(model, tmp_path / "m", half=False)
    again = load_checkpoint(tmp_path / "m")
    assert tokens(again, "sales", "document") == ["[CLS]", "[D]", "sales", "[SEP]"]
    torch.testing.assert_close(again.encode_query("sales"), model.encode_query("sales"))


def test_digits_can_be_tokens_of_their_own_and_stay_so_when_saved(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model(digits="single")
    expected = ["[CLS]", "[unused0]", "sales", "4", "1", "6", ",", "0", "0", "0", "kg", "[SEP]"]
    assert tokens(model, "sales 416,000 kg", "query") == expected
    save_checkpoint(model, tmp_path / "m", half=False)
    again = load_checkpoint(tmp_path / "m")
    assert tokens(again, "sales 416,000 kg", "query") == expected
    stock = MultiVectorEncoder(str(tmp_path / "m"), trust_remote_code=True, device="cpu")
    assert tokens(stock, "sales 416,000 kg", "query") == expected
    torch.testing.assert_close(again.encode_query(QUERIES[0]), model.encode_query(QUERIES[0]))


def test_an_added_gate_changes_no_score(backbone: Path) -> None:
    model = build_colbert(backbone, ColBERTSettings(dim=16, document_length=64))
    before = model.similarity(model.encode_query(QUERIES), model.encode_document(DOCUMENTS))
    add_gate(model)
    after = model.similarity(model.encode_query(QUERIES), model.encode_document(DOCUMENTS))
    torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-5)
    with pytest.raises(UsageError, match="already has"):
        add_gate(model)


def test_half_precision_halves_the_files_and_loads_in_full(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    save_checkpoint(model, tmp_path / "full", half=False)
    save_checkpoint(model, tmp_path / "half", half=True)
    stored = load_file(tmp_path / "half" / "model.safetensors")
    assert {t.dtype for t in stored.values() if t.is_floating_point()} == {torch.float16}
    again = load_checkpoint(tmp_path / "half")
    assert {p.dtype for p in again.parameters()} == {torch.float32}
    full, half = model.encode_document(DOCUMENTS), again.encode_document(DOCUMENTS)
    assert min(float((a * b).sum(-1).min()) for a, b in zip(full, half, strict=True)) > 0.999


def test_saving_over_a_checkpoint_must_be_asked_for(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    save_checkpoint(model, tmp_path / "m")
    with pytest.raises(ConflictError):
        save_checkpoint(model, tmp_path / "m")
    save_checkpoint(model, tmp_path / "m", overwrite=True)


def test_a_pylate_checkpoint_becomes_a_numcolbert(pylate_folder: Path, tmp_path: Path) -> None:
    plain = MultiVectorEncoder(str(pylate_folder), device="cpu")
    model = as_numcolbert(pylate_folder, keep_punctuation=False)
    for before, after in zip(plain.encode_document(DOCUMENTS), model.encode_document(DOCUMENTS), strict=True):
        assert torch.equal(before, after)
    query = model.encode_query(QUERIES[0], output_value=None)
    found = model.tokenizer.convert_ids_to_tokens(query["input_ids"])
    assert found[1] == "[unused0]" and found[-1] == "[MASK]" and len(found) == 12
    find_gate(model).detector[-1].bias.data += 100  # type: ignore[union-attr,operator]
    find_gate(model).gate[-1].bias.data += 1  # type: ignore[union-attr,operator]
    gates = model.encode_query(QUERIES[0], output_value=None)["gate"]
    assert [g == 1 for g in gates.tolist()] == [t.startswith("[") for t in found]
    save_checkpoint(model, tmp_path / "saved", half=False)
    again = load_checkpoint(tmp_path / "saved")
    torch.testing.assert_close(again.encode_query(QUERIES[0]), model.encode_query(QUERIES[0]))


def test_punctuation_comes_back_into_the_documents_of_a_pylate_checkpoint(pylate_folder: Path) -> None:
    kept = as_numcolbert(pylate_folder).encode_document(DOCUMENTS[0])
    dropped = as_numcolbert(pylate_folder, keep_punctuation=False).encode_document(DOCUMENTS[0])
    assert len(kept) == len(dropped) + 2  # the comma in 416,000 and the full stop


def test_a_stanford_checkpoint_becomes_a_numcolbert(stanford_folder: Path) -> None:
    model = as_numcolbert(stanford_folder, GateSettings(hidden_dim=8))
    assert find_gate(model) is not None
    query = model.encode_query("sales", output_value=None)
    found = model.tokenizer.convert_ids_to_tokens(query["input_ids"])
    assert found == ["[CLS]", "[unused0]", "sales", "[SEP]", *["[MASK]"] * 6]
    assert query["attention_mask"].all()  # expansion tokens are scored
    assert query["gate"].tolist() == pytest.approx([1.0] * 10)
    # The same numbers by hand, from the folder's own tensors.
    features = model.preprocess(["sales fell"], prompt=model.prompts["document"], task="document")
    hidden = model[0](dict(features))["token_embeddings"][0]
    if (stanford_folder / "model.safetensors").exists():
        weight = load_file(stanford_folder / "model.safetensors")["linear.weight"]
    else:
        weight = torch.load(stanford_folder / "pytorch_model.bin", weights_only=True)["linear.weight"]
    expected = torch.nn.functional.normalize(hidden @ weight.T, dim=-1)
    torch.testing.assert_close(model.encode_document("sales fell"), expected.detach(), atol=1e-5, rtol=1e-5)


def test_a_numcolbert_stays_one(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model(reads="hidden")
    save_checkpoint(model, tmp_path / "m", half=False)
    again = as_numcolbert(tmp_path / "m")
    assert find_gate(again).reads == "hidden"  # type: ignore[union-attr]
    torch.testing.assert_close(again.encode_query(QUERIES[0]), model.encode_query(QUERIES[0]))


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_checkpoint(tmp_path)


def test_truncated_weights(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_checkpoint(make_model(), tmp_path / "m")
    weights = tmp_path / "m" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be read"):
        load_checkpoint(tmp_path / "m")


def test_a_gate_of_another_dimension_or_a_newer_format(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_checkpoint(make_model(reads="hidden"), tmp_path / "m")
    file = tmp_path / "m" / "4_NumericalGate" / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "dim": 99}))
    with pytest.raises(ModelError, match="size 99"):
        load_checkpoint(tmp_path / "m")
    file.write_text(json.dumps({**config, "format": 99}))
    with pytest.raises(ModelError, match="newer version"):
        load_checkpoint(tmp_path / "m")
    file.write_text(json.dumps({**config, "format": 2, "a_new_key": 1}))
    with pytest.raises(ModelError, match="newer version") as caught:
        load_checkpoint(tmp_path / "m")
    assert "--upgrade" in caught.value.hint
    file.write_text(json.dumps({**config, "a_new_key": 1}))
    with pytest.raises(ModelError, match="cannot be read"):
        load_checkpoint(tmp_path / "m")


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('unpickled')",))


def test_nothing_is_unpickled(stanford_folder: Path) -> None:
    (stanford_folder / "model.safetensors").unlink(missing_ok=True)
    torch.save({"linear.weight": Bomb()}, stanford_folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="more than tensors"):
        load_checkpoint(stanford_folder)


def test_code_in_a_checkpoint_is_not_run(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_checkpoint(make_model(), tmp_path / "m")
    (tmp_path / "m" / "numcolbert_gate.py").write_text("raise SystemExit('ran')")
    assert find_gate(load_checkpoint(tmp_path / "m")) is not None
