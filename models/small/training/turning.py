"""Pages turned by quarters of a circle, for the orientation head; nothing is read from them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


@dataclass(frozen=True)
class Turned:
    """Some pages of a batch, turned.

    Attributes:
        images: The turned pages, [n, 1, H, W].
        quarters: How many times 90 degrees counter-clockwise, 1 to 3, the same for all.
        kept: Whether a turned page has enough text to tell, bool [n].
        upright: The same of every page of the batch itself, bool [B].
    """

    images: Tensor
    quarters: int
    kept: Tensor
    upright: Tensor


def turn(images: Tensor, extent: Tensor, orientable: Tensor, rows: Tensor, quarters: int) -> Turned:
    """Return pages `rows` turned counter-clockwise, with their padding at the right and bottom.

    Args:
        images: Pages [B, 1, H, W], white beyond their paper.
        extent: Width and height of each paper in pixels, [B, 2].
        orientable: Whether each page has enough text, bool [B].
        rows: Pages to turn, int64 [n].
        quarters: Times 90 degrees, 1 to 3.
    """
    device = images.device
    orientable = orientable.to(device)
    rows = rows.to(device)
    high, wide = images.shape[2:] if quarters == 2 else images.shape[:1:-1]
    across, down = extent.to(device)[rows].long()[:, :, None, None].unbind(1)
    y = torch.arange(high, device=device)[:, None]
    x = torch.arange(wide, device=device)[None]
    # Where each pixel of the turned page comes from; padding must not tell the turn.
    source = {
        1: (x, across - 1 - y),
        2: (down - 1 - y, across - 1 - x),
        3: (down - 1 - x, y),
    }[quarters]
    row, col = torch.broadcast_tensors(*source)
    row, col = (part.expand(len(rows), high, wide) for part in (row, col))
    paper = (row >= 0) & (row < down) & (col >= 0) & (col < across)
    place = (
        rows[:, None, None],
        row.clamp(0, images.shape[2] - 1),
        col.clamp(0, images.shape[3] - 1),
    )
    turned = torch.where(paper, images[:, 0][place], torch.ones((), device=device))
    return Turned(turned[:, None], quarters, orientable[rows], orientable)


def orientation_loss(model: UnlimitedOcr, upright: Tensor, asked: Tensor, turned: Turned) -> Tensor:
    """Return the loss of the orientation head: a quarter on upright pages, the rest on turned ones.

    Args:
        model: A model with an orientation head.
        upright: Features of the batch itself, [B, h, w, width].
        asked: Features of the turned pages, [n, h, w, width].
        turned: What was turned, and how far.
    """
    total = upright.new_zeros((), dtype=torch.float32)
    for features, quarters, kept, share in (
        (upright, 0, turned.upright, 0.25),
        (asked, turned.quarters, turned.kept, 0.75),
    ):
        scores = model.orientation_scores(features).float()
        target = torch.full_like(kept, quarters, dtype=torch.long)
        losses = F.cross_entropy(scores, target, reduction="none") * kept
        total = total + share * losses.sum() / kept.sum().clamp(min=1)
    return total
