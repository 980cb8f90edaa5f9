"""Draws batches of composed pages on the GPU: glyphs, fills, figures, geometry, ink and paper."""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from ocrcli.kernels.tile_stamping import Tiles, stamp_tiles, stamp_tiles_reference
from ocrcli.models.small.training.atlas import GLYPHS, SIZES, Atlas
from ocrcli.models.small.training.composed import CANVAS_SCALE
from ocrcli.models.small.training.damage import age, print_roughly
from ocrcli.models.small.training.geometry import displacement
from ocrcli.models.small.training.speedups import is_on
from ocrcli.models.small.training.textures import texture_bank

# Characters of one cell that the auxiliary head must name, in reading order.
SLOTS = 20
# Code 0 is "nothing more in this cell"; glyph g has code g + 1.
CODES = len(GLYPHS) + 1


@dataclass(frozen=True)
class PaintBatch:
    """What stands on a batch of B pages and the geometry of each page.

    Attributes:
        page: Index of the page of each glyph, int64 [N], ascending.
        glyph: Flat atlas index, int64 [N].
        x: Pen position, canvas pixels, int64 [N].
        y: Baseline, canvas pixels, int64 [N].
        fill_page: Page of each filled rectangle, int64 [R].
        fills: Left, top, right, bottom (canvas pixels) and darkness, float32 [R, 5].
        figure_page: Page of each textured rectangle, int64 [F].
        figures: Left, top, right, bottom (canvas pixels) and texture, int64 [F, 5].
        matrix: Canvas offsets from its centre to page offsets from its centre, float32 [B, 2, 2].
        shift: Page pixels added afterwards, float32 [B, 2] (x, y).
        bend: How the page is bent; see `geometry.displacement`, float32 [B, 5].
        extent: Width and height of the paper inside the image, page pixels, float32 [B, 2].
        damage: How much damage of scans each page gets, 0 (none) to 1, float32 [B].
    """

    page: Tensor
    glyph: Tensor
    x: Tensor
    y: Tensor
    fill_page: Tensor
    fills: Tensor
    figure_page: Tensor
    figures: Tensor
    matrix: Tensor
    shift: Tensor
    bend: Tensor
    extent: Tensor
    damage: Tensor

    def to(self, device: torch.device) -> "PaintBatch":
        """Return the batch on `device`."""
        return PaintBatch(
            **{
                field.name: getattr(self, field.name).to(device, non_blocking=True)
                for field in fields(self)
            }
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
        self, batch: PaintBatch, pages: int, width: int, height: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return images [B, 1, H, W] in [-1, 1] and character codes int64 [B, H/32, W/32, SLOTS].

        Args:
            batch: Glyphs on the painter's device.
            pages: Number of pages B.
            width: Image width in page pixels.
            height: Image height in page pixels.
            generator: Random numbers on the painter's device.
        """
        canvas = self._ink(batch, pages, width, height)
        canvas = self._ground(canvas, batch, generator)
        canvas = print_roughly(canvas, batch.damage, generator)
        ink, beyond = _warp(canvas, batch, width, height)
        images = _develop(ink, beyond, batch, generator)
        return images, self._codes(batch, pages, width, height)

    def _ink(self, batch: PaintBatch, pages: int, width: int, height: int) -> Tensor:
        sides = height * CANVAS_SCALE, width * CANVAS_SCALE
        stamp = stamp_tiles if is_on("stamping") else stamp_tiles_reference
        canvas = torch.zeros(pages, *sides, device=self.device)
        tiles = Tiles(self.pixels, self.start, self.shape)
        stamp(canvas, tiles, batch.glyph, batch.page, batch.x, batch.y)
        return canvas[:, None].clamp_(max=255.0).div_(255.0)

    def _ground(self, text: Tensor, batch: PaintBatch, generator: torch.Generator) -> Tensor:
        """Return text on its fills and figures; white on what is darker than one half."""
        ink = text
        if len(batch.fills):
            pages, page = _drawn_on(batch.fill_page, len(text))
            ground = _rectangles(page, batch.fills, len(pages), *text.shape[2:]).clamp_(0, 1)
            chosen = _rows(ink, pages)
            ink = _with_rows(ink, pages, torch.lerp(ground, (ground < 0.5).float(), chosen))
        if len(batch.figures):
            pages, page = _drawn_on(batch.figure_page, len(text))
            place = self._texels(batch, pages, page, *text.shape[2:])
            rows, cols = (side // CANVAS_SCALE for side in text.shape[2:])
            bank = texture_bank(cols, rows, self.device, generator).flatten()
            shown = torch.where(place >= 0, bank[place.clamp(min=0)], _rows(ink, pages))
            ink = _with_rows(ink, pages, shown)
        return ink

    def _texels(
        self, batch: PaintBatch, pages: Tensor, page: Tensor, height: int, width: int
    ) -> Tensor:
        """Return which number of the texture bank each pixel shows, below 0 for none, int32."""
        marked = batch.figures.float()
        marked[:, 4] += 1
        which = _rectangles(page, marked, len(pages), height, width).round_().int()
        rows, cols = height // CANVAS_SCALE, width // CANVAS_SCALE
        y = torch.arange(height, device=self.device).view(1, 1, -1, 1) // CANVAS_SCALE
        x = torch.arange(width, device=self.device).view(1, 1, 1, -1) // CANVAS_SCALE
        # Pages show different parts of a picture.
        y = (y + 97 * pages.view(-1, 1, 1, 1)) % rows
        inside = (y * cols + x).int()
        return torch.where(which > 0, (which - 1) * (rows * cols) + inside, -1)

    def _codes(self, batch: PaintBatch, pages: int, width: int, height: int) -> Tensor:
        cols = self.shape[batch.glyph][:, 0]
        centre = torch.stack(
            (batch.x + cols * 0.5, batch.y - self.size[batch.glyph] * 0.3), 1
        ).float()
        # Half the canvas is a whole page: canvas pixels are half as large.
        half = torch.tensor([width, height], device=self.device, dtype=torch.float32)
        offset = centre - half
        moved = torch.einsum("nij,nj->ni", batch.matrix[batch.page], offset)
        moved = moved + batch.shift[batch.page]
        unit = 2 * moved / half
        moved = moved - displacement(batch.bend[batch.page], unit[:, 0], unit[:, 1], torch.sin)
        cell = ((moved + half / 2) / 32).floor().long()
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


def _drawn_on(page: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the pages that something is drawn on, and the place of each item's page among them."""
    if not is_on("figures"):
        return torch.arange(count, device=page.device), page
    pages, place = page.unique(return_inverse=True)
    return pages, place


def _rows(ink: Tensor, pages: Tensor) -> Tensor:
    return ink if len(pages) == len(ink) else ink.index_select(0, pages)


def _with_rows(ink: Tensor, pages: Tensor, rows: Tensor) -> Tensor:
    """Return `ink` with some of its pages replaced, in place."""
    return rows if len(pages) == len(ink) else ink.index_copy_(0, pages, rows)


def _rectangles(page: Tensor, boxes: Tensor, pages: int, height: int, width: int) -> Tensor:
    """Return the sum of the rectangles' values at every pixel, float32 [B, 1, H, W]."""
    limit = torch.tensor([width, height, width, height], device=boxes.device)
    left, top, right, bottom = boxes[:, :4].round().long().clamp(min=0).minimum(limit).unbind(1)
    rows, cols = height + 1, width + 1
    # Differences at the four corners, summed in both directions, fill the rectangles.
    corners = torch.zeros(pages * rows * cols, device=boxes.device)
    for y, x, sign in ((top, left, 1), (top, right, -1), (bottom, left, -1), (bottom, right, 1)):
        corners.index_add_(0, (page * rows + y) * cols + x, sign * boxes[:, 4])
    summed = corners.view(pages, 1, rows, cols).cumsum_(2).cumsum_(3)
    return summed[:, :, :height, :width].contiguous()


def _warp(canvas: Tensor, batch: PaintBatch, width: int, height: int) -> tuple[Tensor, Tensor]:
    """Return the ink of each page and where the image lies beyond the sheet."""
    half = torch.tensor([width / 2, height / 2], device=canvas.device)
    inverse = torch.linalg.inv(batch.matrix)  # [B, 2, 2]
    v = ((torch.arange(height, device=canvas.device) + 0.5) / half[1] - 1)[None, :, None]
    u = ((torch.arange(width, device=canvas.device) + 0.5) / half[0] - 1)[None, None, :]
    bent = displacement(batch.bend[:, None, None], u, v, torch.sin)
    place = torch.stack(torch.broadcast_tensors(u * half[0], v * half[1]), -1) + bent
    place = place - batch.shift[:, None, None]
    # The sampler addresses the canvas from -1 to 1.
    grid = torch.einsum("bij,bhwj->bhwi", inverse, place) / (CANVAS_SCALE * half)
    ink = F.grid_sample(canvas, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return ink, (grid.abs() > 1).any(-1)[:, None]


def _develop(ink: Tensor, beyond: Tensor, batch: PaintBatch, generator: torch.Generator) -> Tensor:
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
    image = (image + noise * uniform(0.0, 0.25, 0.3)).clamp_(0.0, 1.0)
    if (batch.damage > 0).any():
        chosen = batch.damage.nonzero()[:, 0]
        image[chosen] = age(ink[chosen], beyond[chosen], batch.damage[chosen], generator)
    cols = torch.arange(width, device=ink.device).view(1, 1, 1, -1)
    rows = torch.arange(height, device=ink.device).view(1, 1, -1, 1)
    extent = batch.extent[:, :, None, None, None]
    outside = (cols >= extent[:, 0]) | (rows >= extent[:, 1])
    # 8-bit steps, as a decoded file has them; beyond the paper lies the engine's white padding.
    image = (image * 255).round() / 127.5 - 1
    return image.masked_fill(outside, 1.0)
