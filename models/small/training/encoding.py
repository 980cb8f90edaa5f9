"""Encodes images of several sizes in one pass through the per-token parts of the encoder.

The few pages that are turned for the orientation head have another shape than the batch; alone they
would cost as many launches as the batch itself. Attention and convolutions still see one size at a
time. Two more things differ from the shipped forward pass, and neither shows in the result: patches
are cut out and multiplied instead of convolved, and where a page is a whole number of attention
windows its tokens stay in the order of the windows, so that no layer copies them there and back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from ocrcli.models.unlimited_ocr.config import VisionConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.models.unlimited_ocr.vision import EncoderBlock, PatchEmbedding, SamBlock


@dataclass(frozen=True)
class _Grid:
    """The cells of a batch of images: B pages of rows x cols."""

    pages: int
    rows: int
    cols: int

    @property
    def count(self) -> int:
        return self.pages * self.rows * self.cols

    def fits(self, side: int) -> bool:
        """Whether windows of `side` cells cover the grid exactly."""
        return self.rows % side == 0 and self.cols % side == 0


def features_of(
    model: UnlimitedOcr, images: Sequence[Tensor], offsets: Sequence[tuple[int, int]]
) -> list[Tensor]:
    """Return what `model.visual_features` returns for each batch of images.

    Args:
        model: A model without relative positions and class token whose features are those of the
            second stage.
        images: Batches of images [B, C, H, W], of any sizes.
        offsets: First row and column in the position tables of each batch, in patches.

    Returns:
        Features [B, h, w, width] of each batch.

    Raises:
        ValueError: The model is of another kind.
    """
    vision = model.config.vision
    _check(vision)
    steps = len(vision.compressor_channels)
    parts, grids = _first_stage(model, images, offsets)
    compress, second = model.model.sam_model.compress, model.model.vision_model
    rows, cells = [], []
    for part, grid, offset in zip(parts, grids, offsets, strict=True):
        compressed = compress(part.view(grid.pages, grid.rows, grid.cols, -1))
        pages, _, height, width = compressed.shape
        cells.append(_Grid(pages, height, width))
        coarse = (offset[0] >> steps, offset[1] >> steps)
        rows.append(second.embeddings(compressed, coarse).flatten(0, 1))
    x = second.pre_layrnorm(torch.cat(rows))
    for module in second.transformer.layers:
        block = cast(EncoderBlock, module)
        mixed = [
            block.mix(part.view(grid.pages, grid.rows * grid.cols, -1))
            for part, grid in zip(_split(block.project(x), cells), cells, strict=True)
        ]
        x = block.finish(x, torch.cat(mixed))
    if vision.encoder_final_norm:
        x = second.post_layernorm(x)
    return [
        part.view(grid.pages, grid.rows, grid.cols, -1)
        for part, grid in zip(_split(x, cells), cells, strict=True)
    ]


def _first_stage(
    model: UnlimitedOcr, images: Sequence[Tensor], offsets: Sequence[tuple[int, int]]
) -> tuple[list[Tensor], list[_Grid]]:
    """Return the tokens [B*h*w, D] that leave the first stage's blocks, row by row."""
    first, side = model.model.sam_model, model.config.vision.window_size
    tokens, grids = [], []
    for image, offset in zip(images, offsets, strict=True):
        x = _patches(first.patch_embed, image)
        x = x + first.positions(x.shape[1], x.shape[2], offset)
        grid = _Grid(*x.shape[:3])
        grids.append(grid)
        tokens.append(_into_windows(x, side) if grid.fits(side) else x.flatten(0, 2))
    x = torch.cat(tokens)
    for module in first.blocks:
        block = cast(SamBlock, module)
        mixed = [
            _mix(block, part, grid, side)
            for part, grid in zip(_split(block.project(x), grids), grids, strict=True)
        ]
        x = block.finish(x, torch.cat(mixed))
    parts = [
        _out_of_windows(part, grid, side) if grid.fits(side) else part
        for part, grid in zip(_split(x, grids), grids, strict=True)
    ]
    return parts, grids


def _patches(embedding: PatchEmbedding, pixels: Tensor) -> Tensor:
    """Return patches [B, h, w, D] of pixels [B, C, H, W]."""
    weight, bias = embedding.proj.weight, embedding.proj.bias
    pages, channels, height, width = pixels.shape
    side = weight.shape[-1]
    cut = pixels.view(pages, channels, height // side, side, width // side, side)
    cut = cut.permute(0, 2, 4, 1, 3, 5).flatten(3)  # [B, h, w, C * side * side]
    return F.linear(cut, weight.flatten(1), bias)


def _into_windows(x: Tensor, side: int) -> Tensor:
    """Return the tokens [B*h*w, D] of a grid [B, h, w, D], window by window."""
    pages, rows, cols, dim = x.shape
    windows = x.view(pages, rows // side, side, cols // side, side, dim).transpose(2, 3)
    return windows.reshape(-1, dim)


def _out_of_windows(tokens: Tensor, grid: _Grid, side: int) -> Tensor:
    """Return tokens [B*h*w, D] row by row that come window by window."""
    across, down = grid.cols // side, grid.rows // side
    windows = tokens.view(grid.pages, down, across, side, side, -1).transpose(2, 3)
    return windows.reshape(grid.count, -1)


def _mix(block: SamBlock, qkv: Tensor, grid: _Grid, side: int) -> Tensor:
    """Return attention values [B*h*w, D] of one batch, in the order of its tokens."""
    if not grid.fits(side):
        return block.mix(qkv.view(grid.pages, grid.rows, grid.cols, -1))
    # Without relative positions the order of tokens is of no consequence to attention.
    length = side * side if block.window else grid.rows * grid.cols
    mixed = block.attn.attend(qkv.view(-1, length, qkv.shape[-1]), (length, 1))
    return mixed.reshape(grid.count, -1)


def _split(tokens: Tensor, grids: Sequence[_Grid]) -> tuple[Tensor, ...]:
    return tokens.split([grid.count for grid in grids])


def _check(vision: VisionConfig) -> None:
    if vision.class_token or vision.relative_position or vision.fusion != "encoder":
        raise ValueError(
            "features_of needs a model without class token and relative positions whose features "
            f"are the second stage's, got class_token {vision.class_token}, relative_position "
            f"{vision.relative_position} and fusion {vision.fusion!r}"
        )
