"""Draws batches of composed pages on the GPU: glyphs, geometry, ink, paper and light damage."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ocrcli.models.small.training.atlas import GLYPHS, SIZES, Atlas
from ocrcli.models.small.training.sheet import CANVAS_SCALE

# Characters of one cell that the auxiliary head must name, in reading order.
SLOTS = 20
# Code 0 is "nothing more in this cell"; glyph g has code g + 1.
CODES = len(GLYPHS) + 1


@dataclass(frozen=True)
class GlyphBatch:
    """Glyphs of a batch of B pages and the geometry of each page.

    Attributes:
        page: Index of the page of each glyph, int64 [N], ascending.
        glyph: Flat atlas index, int64 [N].
        x: Pen position, canvas pixels, int64 [N].
        y: Baseline, canvas pixels, int64 [N].
        matrix: Canvas offsets from its centre to page offsets from its centre, float32 [B, 2, 2].
        shift: Page pixels added afterwards, float32 [B, 2] (x, y).
        extent: Width and height of the paper inside the image, page pixels, float32 [B, 2].
    """

    page: Tensor
    glyph: Tensor
    x: Tensor
    y: Tensor
    matrix: Tensor
    shift: Tensor
    extent: Tensor

    def to(self, device: torch.device) -> "GlyphBatch":
        """Return the batch on `device`."""
        names = ("page", "glyph", "x", "y", "matrix", "shift", "extent")
        return GlyphBatch(
            **{name: getattr(self, name).to(device, non_blocking=True) for name in names}
        )


class Painter:
    """Holds the atlas on one device and paints batches."""

    def __init__(self, atlas: Atlas, device: torch.device) -> None:
        """Move the atlas to `device`."""
        self.device = device
        self.shape = torch.from_numpy(atlas.shape.reshape(-1, 4).copy()).to(device).long()
        self.start = torch.from_numpy(atlas.start.reshape(-1).copy()).to(device)
        self.pixels = torch.from_numpy(atlas.pixels.copy()).to(device)
        sizes = torch.tensor(SIZES, device=device)
        self.size = sizes[None, :, None].expand(atlas.shape.shape[:3]).reshape(-1)

    def paint(
        self, batch: GlyphBatch, pages: int, width: int, height: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return images [B, 1, H, W] in [-1, 1] and character codes int64 [B, H/32, W/32, SLOTS].

        Args:
            batch: Glyphs on the painter's device.
            pages: Number of pages B.
            width: Image width in page pixels.
            height: Image height in page pixels.
            generator: Random numbers on the painter's device.
        """
        ink = self._ink(batch, pages, width, height)
        ink = _warp(ink, batch, width, height)
        images = _develop(ink, batch, generator)
        return images, self._codes(batch, pages, width, height)

    def _ink(self, batch: GlyphBatch, pages: int, width: int, height: int) -> Tensor:
        canvas_h, canvas_w = height * CANVAS_SCALE, width * CANVAS_SCALE
        cols, rows, left, top = self.shape[batch.glyph].unbind(1)
        count = cols * rows
        total = int(count.sum())
        which = torch.repeat_interleave(
            torch.arange(len(count), device=self.device), count, output_size=total
        )
        local = torch.arange(total, device=self.device) - (count.cumsum(0) - count)[which]
        row = local // cols[which].clamp(min=1)
        py = (batch.y + top)[which] + row
        px = (batch.x + left)[which] + local - row * cols[which]
        inside = (py >= 0) & (py < canvas_h) & (px >= 0) & (px < canvas_w)
        target = (batch.page[which] * canvas_h + py) * canvas_w + px
        value = self.pixels[self.start[batch.glyph][which] + local].float()
        value = torch.where(inside, value, torch.zeros_like(value))
        canvas = torch.zeros(pages * canvas_h * canvas_w, device=self.device)
        canvas.index_add_(0, target.clamp_(0, canvas.numel() - 1), value)
        return canvas.view(pages, 1, canvas_h, canvas_w).clamp_(max=255.0).div_(255.0)

    def _codes(self, batch: GlyphBatch, pages: int, width: int, height: int) -> Tensor:
        cols = self.shape[batch.glyph][:, 0]
        centre = torch.stack(
            (batch.x + cols * 0.5, batch.y - self.size[batch.glyph] * 0.3), 1
        ).float()
        half = torch.tensor([width, height], device=self.device, dtype=torch.float32)
        offset = centre - half
        moved = torch.einsum("nij,nj->ni", batch.matrix[batch.page], offset)
        cell = ((moved + batch.shift[batch.page] + half / 2) / 32).floor().long()
        across, down = width // 32, height // 32
        good = (cell >= 0).all(1) & (cell[:, 0] < across) & (cell[:, 1] < down) & (cols > 0)
        flat = ((batch.page * down + cell[:, 1]) * across + cell[:, 0])[good]
        order = torch.argsort(flat, stable=True)
        ranked = flat[order]
        rank = torch.arange(len(ranked), device=self.device) - torch.searchsorted(ranked, ranked)
        kept = rank < SLOTS
        codes = torch.zeros(pages * down * across, SLOTS, dtype=torch.long, device=self.device)
        code = batch.glyph[good][order] % len(GLYPHS) + 1
        codes[ranked[kept], rank[kept]] = code[kept]
        return codes.view(pages, down, across, SLOTS)


def _warp(ink: Tensor, batch: GlyphBatch, width: int, height: int) -> Tensor:
    half = torch.tensor([width / 2, height / 2], device=ink.device)
    inverse = torch.linalg.inv(batch.matrix)  # [B, 2, 2]
    # Both images are addressed from -1 to 1; half sides convert to pixels.
    scaled = inverse * half[None, None, :] / (CANVAS_SCALE * half)[None, :, None]
    moved = -torch.einsum("bij,bj->bi", inverse, batch.shift) / (CANVAS_SCALE * half)
    theta = torch.cat((scaled, moved[:, :, None]), 2)
    grid = F.affine_grid(theta, [ink.shape[0], 1, height, width], align_corners=False)
    return F.grid_sample(ink, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _develop(ink: Tensor, batch: GlyphBatch, generator: torch.Generator) -> Tensor:
    pages, _, height, width = ink.shape

    def uniform(low: float, high: float, chance: float = 1.0, other: float = 0.0) -> Tensor:
        value = torch.rand(pages, 1, 1, 1, device=ink.device, generator=generator)
        pick = torch.rand(pages, 1, 1, 1, device=ink.device, generator=generator) < chance
        return torch.where(pick, low + (high - low) * value, torch.full_like(value, other))

    ink = ink.clamp(1e-6, 1.0) ** uniform(0.65, 1.5, 0.6, 1.0)
    softness = uniform(0.0, 0.8, 0.35)
    ink = ink * (1 - softness) + F.avg_pool2d(ink, 3, 1, 1) * softness
    paper, dark = uniform(0.82, 1.0, 0.4, 1.0), uniform(0.0, 0.35, 0.5)
    slope = torch.linspace(-0.5, 0.5, height, device=ink.device).view(1, 1, -1, 1)
    paper = paper + slope * uniform(-0.08, 0.08, 0.15)
    image = paper + (dark - paper) * ink
    noise = torch.rand(image.shape, device=ink.device, generator=generator) - 0.5
    image = image + noise * uniform(0.0, 0.25, 0.3)
    cols = torch.arange(width, device=ink.device).view(1, 1, 1, -1)
    rows = torch.arange(height, device=ink.device).view(1, 1, -1, 1)
    extent = batch.extent[:, :, None, None, None]
    outside = (cols >= extent[:, 0]) | (rows >= extent[:, 1])
    # 8-bit steps, as a decoded file has them; beyond the paper lies the engine's white padding.
    image = (image.clamp(0.0, 1.0) * 255).round() / 127.5 - 1
    return image.masked_fill(outside, 1.0)
