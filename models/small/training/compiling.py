"""Compiles the per-token parts of the model's blocks, once for all numbers of tokens."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ocrcli.models.small.training.speedups import is_on
from ocrcli.models.unlimited_ocr.decoder import DecoderLayer
from ocrcli.models.unlimited_ocr.vision import EncoderBlock, SamBlock


def keep_compiled(folder: Path) -> None:
    """Keep compiled code in `folder`, for this process, those it starts, and later runs.

    The folder can be carried to another machine with the same GPU and the same versions. What is
    set from outside stays.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "triton"))


def compile_blocks(**options: Any) -> None:
    """Compile the per-token parts of every kind of block, for any number of tokens.

    Args:
        options: For `torch.compile`.
    """
    torch._dynamo.config.cache_size_limit = 64
    for kind in (SamBlock, EncoderBlock, DecoderLayer):
        for method in ("project", "finish"):
            setattr(kind, method, compiled(getattr(kind, method), **options))


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return `function` compiled for tokens in the first dimension of its tensor arguments.

    The compiler guards on the base of a view, which changes with every batch shape, so views are
    replaced by tensors without a base.

    Args:
        function: A method of a module whose other arguments are tensors or records.
        options: For `torch.compile`.
    """
    inner = torch.compile(function, dynamic=True, **options)

    def call(owner: nn.Module, *arguments: Any) -> Any:
        plain = []
        for argument in arguments:
            if isinstance(argument, Tensor):
                argument = without_base(argument)
                torch._dynamo.maybe_mark_dynamic(argument, 0)
            plain.append(argument)
        return inner(owner, *plain)

    return call


def without_base(tensor: Tensor) -> Tensor:
    """Return `tensor` as one that is no view: the same memory under a new name, or a copy."""
    if tensor._base is None:
        return tensor
    if not (is_on("alias") and tensor.is_contiguous()):
        return tensor.clone(memory_format=torch.contiguous_format)
    alias: Tensor = torch.ops.aten._unsafe_view(tensor, tensor.shape)
    return alias
