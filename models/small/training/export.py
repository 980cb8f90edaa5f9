"""Turns trained weights into the file that ships: int8 matrices with a scale per output row."""

import hashlib
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from ocrcli.models.checkpoint import SCALE_SUFFIX


def quantise(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return int8 matrices with float32 scales, and every other tensor in float32.

    A matrix W becomes round(W / s) with s = max|W| / 127 of each row, stored beside it under the
    name with `.scale` appended.

    Args:
        weights: Floating-point tensors by name.
    """
    shipped: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        value = tensor.detach().float().cpu()
        if value.ndim != 2:
            shipped[name] = value.contiguous()
            continue
        scale = value.abs().amax(1).clamp(min=1e-12) / 127
        rounded = (value / scale[:, None]).round().clamp(-127, 127)
        shipped[name] = rounded.to(torch.int8).contiguous()
        shipped[name + SCALE_SUFFIX] = scale.contiguous()
    return shipped


def export(weights: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> str:
    """Write the shipped form of `weights` to `path` and return the file's sha256.

    Args:
        weights: Floating-point tensors by name, without the auxiliary head.
        path: The safetensors file to write.
        metadata: Strings stored in the file's header.
    """
    save_file(quantise(weights), path, metadata={"format": "pt", **metadata})
    return hashlib.sha256(path.read_bytes()).hexdigest()
