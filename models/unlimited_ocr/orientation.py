"""Which way up a page lies, read off the encoder's features before anything is decoded."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TURNS = 4
"""Classes: class k means that the page's content is turned k * 90 degrees counter-clockwise."""

_WIDTH = 128


class OrientationHead(nn.Module):
    """Scores the four turns from features of all cells, weighed by how much each one tells."""

    def __init__(self, width: int) -> None:
        """Create the head for features of `width` channels."""
        super().__init__()
        self.hidden = nn.Linear(width, _WIDTH)
        self.weight = nn.Linear(_WIDTH, 1)
        self.turns = nn.Linear(_WIDTH, TURNS)

    def forward(self, features: Tensor) -> Tensor:
        """Return scores [B, 4] of features [B, h, w, width]."""
        cells = F.gelu(self.hidden(features.flatten(1, 2)))
        # White cells say nothing about the turn, so a plain mean would drown short texts.
        share = torch.softmax(self.weight(cells).float(), 1).to(cells.dtype)
        return self.turns((share * cells).sum(1))
