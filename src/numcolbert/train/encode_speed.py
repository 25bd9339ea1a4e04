"""sentence-transformers on torch as a contestant in the race of encoders."""

from __future__ import annotations

from pathlib import Path

import torch

from numcolbert.model.checkpoint import load_checkpoint
from numcolbert.model.speed import Contestant


def stock_encoder(checkpoint: Path, threads: int) -> Contestant:
    """The checkpoint as people run it: `MultiVectorEncoder.encode_document`, float32, on the CPU."""
    torch.set_num_threads(threads)
    model = load_checkpoint(checkpoint, device="cpu")
    return Contestant(
        f"sentence-transformers, torch {torch.__version__.split('+')[0]}",
        lambda texts: model.encode_document(texts, convert_to_numpy=True, show_progress_bar=False),
        lambda texts: model.encode_query(texts, convert_to_numpy=True, show_progress_bar=False),
    )
