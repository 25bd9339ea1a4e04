from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from numcolbert.baselines.quantulum import Quantulum
from numcolbert.data.pool import Unit
from numcolbert.data.triple import Passage, PassageQuantity, QueryCondition, Triple
from numcolbert.data.triple_files import StoredTriples, write_triples

WORDS = [
    "revenue", "profit", "weight", "height", "above", "below", "of", "dollars", "kilograms", "the", "company",
    "reported", "was",
]  # fmt: skip


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Quantulum:
    """quantulum3 takes seconds to load; all tests share one."""
    pytest.importorskip("quantulum3")
    path: Path = tmp_path_factory.mktemp(f"quantulum-{os.getpid()}") / "cache.sqlite"
    return Quantulum(path)


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A two-layer BERT with random weights and a vocabulary of words and digits."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("backbone")
    entries = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    entries += [str(d) for d in range(10)] + [f"##{d}" for d in range(10)] + list("$.,%")
    vocabulary = {word: i for i, word in enumerate(entries)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def triples() -> list[Triple]:
    """Questions about revenue and weight whose passages differ in the number alone."""
    draw = random.Random(0)
    made = []
    for _ in range(400):
        pair = draw.randrange(2)
        word, unit = (("revenue", "dollars"), ("weight", "kilograms"))[pair]
        threshold = draw.randrange(10, 90)
        above = draw.random() < 0.5
        right = draw.randrange(threshold + 1, 100) if above else draw.randrange(1, threshold)
        wrong = draw.randrange(1, threshold) if above else draw.randrange(threshold + 1, 100)
        query = f"{word} {'above' if above else 'below'} {threshold} {unit}"
        condition = QueryCondition(
            ">" if above else "<", pair, pair, pair, threshold, threshold, threshold, (0, len(query))
        )

        def passage(value: int, word: str = word, unit: str = unit, pair: int = pair) -> Passage:
            text = f"the company reported {word} of {value} {unit}"
            return Passage(text, [PassageQuantity(pair, pair, pair, value)])

        made.append(Triple(query, [condition], passage(right), passage(wrong)))
    return made


@pytest.fixture(scope="session")
def triples_file(triples: list[Triple], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("triples") / "triples.npz"
    units = [Unit("dollar", "currency", 1.0), Unit("kilogram", "mass", 1.0)]
    pairs = [("revenue", "currency"), ("weight", "mass")]
    write_triples(path, triples, StoredTriples([], units, ["currency", "mass"], pairs))
    return path
