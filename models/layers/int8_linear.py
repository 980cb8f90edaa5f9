"""Linear layers whose weights are stored as 8-bit integers, for computers short of memory.

A matrix takes a quarter of its float32 bytes, so a model of three billion parameters fits into
ordinary memory. Each use converts the matrix to the type of its input first: what is saved is
memory, not time.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Int8Linear(nn.Module):
    """A linear layer without bias: `y = (x W^T) * scale`, W int8 with one scale per output row."""

    def __init__(self, width: int, rows: int) -> None:
        """Create the layer for inputs of `width` and outputs of `rows` channels."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, width, dtype=torch.int8), requires_grad=False)
        self.scale = nn.Parameter(torch.ones(rows), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed vectors [..., rows] of x [..., width]."""
        return F.linear(x, self.weight.to(x.dtype)) * self.scale.to(x.dtype)


def quantised_rows(value: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix as integers -127..127 and the float32 scale of each row."""
    value = value.float()
    scale = value.abs().amax(1) / 127.0
    steps = value / scale.clamp(min=torch.finfo(torch.float32).tiny)[:, None]
    return steps.round().to(torch.int8), scale


def use_int8(module: nn.Module, skipped: tuple[str, ...] = ()) -> None:
    """Replace the bias-free linear layers below `module`, in place.

    Args:
        module: Any module; its layers should be on the meta device or about to be filled.
        skipped: Names of submodules, at any depth, that stay as they are.
    """
    for name, child in module.named_children():
        if name in skipped:
            continue
        if type(child) is nn.Linear and child.bias is None:
            setattr(module, name, Int8Linear(child.in_features, child.out_features))
        else:
            use_int8(child, skipped)
