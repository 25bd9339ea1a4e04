"""Whom a training may listen to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from transformers import BertConfig, BertModel, BertTokenizer

from numcolbert.errors import ModelError
from numcolbert.model.checkpoint import ColBERTSettings, build_colbert, save_checkpoint
from numcolbert.train.model_setup import ModelSettings, open_teacher

SMALL = ColBERTSettings(dim=16, query_length=16, document_length=48)


@pytest.fixture
def student(backbone: Path) -> MultiVectorEncoder:
    return build_colbert(backbone, SMALL)


def taught_by(folder: Path, backbone: Path, encoder: ColBERTSettings) -> ModelSettings:
    save_checkpoint(build_colbert(backbone, encoder), folder)
    return ModelSettings(backbone=str(backbone), teacher=str(folder), encoder=SMALL)


# Shorter than the probe by which readings are compared, and longer.
@pytest.mark.parametrize(("queries", "documents"), [(12, 48), (32, 80), (16, 20)])
def test_a_teacher_may_have_been_made_for_other_lengths(
    backbone: Path, student: MultiVectorEncoder, tmp_path: Path, queries: int, documents: int
) -> None:
    encoder = replace(SMALL, query_length=queries, document_length=documents)
    teacher = open_teacher(taught_by(tmp_path / "teacher", backbone, encoder), student)
    assert teacher is not student


def test_a_teacher_that_reads_digits_otherwise_is_refused(
    backbone: Path, student: MultiVectorEncoder, tmp_path: Path
) -> None:
    settings = taught_by(tmp_path / "teacher", backbone, replace(SMALL, digits="single"))
    with pytest.raises(ModelError, match="reads text otherwise"):
        open_teacher(settings, student)


def test_a_teacher_whose_backbone_is_too_short_is_refused(
    backbone: Path, student: MultiVectorEncoder, tmp_path: Path
) -> None:
    short = tmp_path / "short"
    tokenizer = BertTokenizer.from_pretrained(backbone)
    tokenizer.save_pretrained(short)
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(backbone, max_position_embeddings=40)
    BertModel(config).save_pretrained(short)
    settings = taught_by(tmp_path / "teacher", short, replace(SMALL, document_length=40))
    with pytest.raises(ModelError, match="reads at most 40 tokens, the trained model 48"):
        open_teacher(settings, student)
