"""Whether a kernel that a machine may lack, or run wrongly, can be trusted there."""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch
from torch import Tensor

log = logging.getLogger(__name__)


def difference(made: Tensor, expected: Tensor) -> float:
    """As a share of the whole, and not of each entry."""
    apart = (made.detach().float() - expected.detach().float()).norm()
    return float(apart / expected.detach().float().norm())


def nearly_equal(made: Tensor, expected: Tensor) -> bool:
    """Equal up to what half precision loses."""
    return difference(made, expected) <= 0.05


def has_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    """Kernels are for half precision on a GPU."""
    return device.type == "cuda" and dtype in (torch.bfloat16, torch.float16)


def kernel_works(name: str, agrees: Callable[[], bool]) -> bool:
    """Whether `agrees`, a trial of the kernel against the ordinary way, ends well."""
    try:
        agree = agrees()
    except Exception as error:  # noqa: BLE001  whatever a kernel throws means: use another way
        log.info("%s is not available: %s", name, error)
        return False
    if not agree:
        log.warning("%s gives other results than the ordinary way; not used", name)
    return agree
