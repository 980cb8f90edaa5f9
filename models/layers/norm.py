"""Root-mean-square normalisation in the two styles that the checkpoints use."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RmsNorm(nn.Module):
    """RMSNorm computed in float32, scaled by `offset + weight`."""

    def __init__(self, width: int, eps: float, offset: float = 0.0) -> None:
        """Create the scale.

        Args:
            width: Size of the normalised last dimension.
            eps: Added to the mean square.
            offset: 0.0 for the plain style, 1.0 for the Gemma style.
        """
        super().__init__()
        self.eps = eps
        self.offset = offset
        self.weight = nn.Parameter(torch.full((width,), 1.0 - offset))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor, same shape and dtype."""
        scale = self.weight.float() + self.offset if self.offset else self.weight.float()
        return F.rms_norm(x.float(), scale.shape, scale, self.eps).to(x.dtype)
