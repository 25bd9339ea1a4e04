"""Tiny random models in the layouts people have, written by the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from transformers import BertConfig, BertModel, BertTokenizer

from numcolbert.model.checkpoint import ColBERTSettings, GateSettings, add_gate, build_colbert

TEXT = """
revenue sales profit income above below under over more less than at least most between and exactly about
million billion thousand dollars dollar usd eur percent kg km mg patients patient the a of in was were is by
rose fell to from for company firm trial group dose weight speed phone phones model year years grew reached
"""
WORDS = TEXT.split()
SYMBOLS = list("$%<>=.,!?-+/()€'\"[]")
DIGITS = [str(i) for i in range(10)]
PIECES = [f"##{c}" for c in "0123456789abcdefghijklmnopqrstuvwxyz"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
SPECIAL = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *WORDS, *SYMBOLS, *DIGITS, "20", "416", "000", "500", *PIECES, *LETTERS]

DIM, HIDDEN = 16, 32


def write_backbone(folder: Path, *, vocabulary: list[str] | None = None, seed: int = 0) -> Path:
    """A two-layer BERT with random weights."""
    folder.mkdir(parents=True, exist_ok=True)
    words = list(dict.fromkeys(vocabulary or VOCABULARY))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
        pad_token_id=words.index("[PAD]"),
    )
    model = BertModel(config)
    for parameter in model.parameters():
        # Far from zero, so that tokens differ and a mistake shows.
        torch.nn.init.normal_(parameter, std=0.3) if parameter.ndim > 1 else None
    model.eval().save_pretrained(folder)
    return folder


def write_pylate(folder: Path) -> Path:
    """PyLate's layout: Transformer and Dense, prefixes and lengths in the top-level config."""
    write_backbone(folder)
    dense = folder / "1_Dense"
    dense.mkdir()
    (dense / "config.json").write_text(
        json.dumps(
            {
                "in_features": HIDDEN,
                "out_features": DIM,
                "bias": False,
                "activation_function": "torch.nn.modules.linear.Identity",
            }
        )
    )
    torch.manual_seed(1)
    save_file({"linear.weight": torch.randn(DIM, HIDDEN)}, dense / "model.safetensors")
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 31, "do_lower_case": False})
    )
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps(
            {
                "model_type": "ColBERT",
                "prompts": {},
                "default_prompt_name": None,
                "similarity_fn_name": "MaxSim",
                "query_prefix": "[unused0]",
                "document_prefix": "[unused1]",
                "query_length": 12,
                "document_length": 32,
                "attend_to_expansion_tokens": False,
                "skiplist_words": [".", ","],
            }
        )
    )
    return folder


def write_stanford(folder: Path, *, pickled: bool = False) -> Path:
    """The layout of colbertv2.0: BERT's weights under `bert.`, the projection as `linear.weight`."""
    write_backbone(folder)
    tensors = {f"bert.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    torch.manual_seed(2)
    tensors["linear.weight"] = torch.randn(DIM, HIDDEN)
    (folder / "model.safetensors").unlink()
    if pickled:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["HF_ColBERT"]
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "artifact.metadata").write_text(
        json.dumps(
            {
                "query_maxlen": 10,
                "doc_maxlen": 32,
                "mask_punctuation": True,
                "attend_to_mask_tokens": False,
                "query_token_id": "[unused0]",
                "doc_token_id": "[unused1]",
            }
        )
    )
    return folder


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_backbone(tmp_path_factory.mktemp("backbone"))


@pytest.fixture
def plain_backbone(tmp_path: Path) -> Path:
    """One whose vocabulary has no unused tokens."""
    words = [word for word in VOCABULARY if not word.startswith("[unused")]
    return write_backbone(tmp_path / "plain", vocabulary=words)


def waken(model: MultiVectorEncoder, seed: int = 3) -> MultiVectorEncoder:
    """Give the gate weights as if trained: about half of the words gated, with gates away from 1."""
    torch.manual_seed(seed)
    for network in (model[-1].detector, model[-1].gate):
        torch.nn.init.normal_(network[0].weight, std=1.0)
        torch.nn.init.normal_(network[-1].weight, std=0.5)
    return model.eval()


MakeModel = Callable[..., MultiVectorEncoder]


@pytest.fixture
def make_model(backbone: Path) -> MakeModel:
    """A tiny NumColBERT; gate settings and `digits` as keywords."""

    def make(digits: str = "wordpiece", **gate: object) -> MultiVectorEncoder:
        settings = ColBERTSettings(dim=DIM, query_length=24, document_length=48, digits=digits)  # type: ignore[arg-type]
        return waken(add_gate(build_colbert(backbone, settings), GateSettings(hidden_dim=8, **gate)))  # type: ignore[arg-type]

    return make


@pytest.fixture
def pylate_folder(tmp_path: Path) -> Path:
    return write_pylate(tmp_path / "pylate")


@pytest.fixture(params=["safetensors", "pickle"])
def stanford_folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return write_stanford(tmp_path / "stanford", pickled=request.param == "pickle")
