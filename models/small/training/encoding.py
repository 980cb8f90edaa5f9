"""Encodes images of several sizes in one pass through the per-token parts of the encoder.

The few pages that are turned for the orientation head have another shape than the batch; alone they
would cost as many launches as the batch itself. Attention and convolutions still see one size at a
time.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.models.unlimited_ocr.vision import EncoderBlock, SamBlock


def features_of(
    model: UnlimitedOcr, images: Sequence[Tensor], offsets: Sequence[tuple[int, int]]
) -> list[Tensor]:
    """Return what `model.visual_features` returns for each batch of images.

    Args:
        model: A model without class token whose features are those of the second stage.
        images: Batches of images [B, C, H, W], of any sizes.
        offsets: First row and column in the position tables of each batch, in patches.

    Returns:
        Features [B, h, w, width] of each batch.

    Raises:
        ValueError: The model has a class token or joins the features of both stages.
    """
    vision = model.config.vision
    if vision.class_token or vision.fusion != "encoder":
        raise ValueError(
            "features_of needs a model without class token whose features are the second stage's, "
            f"got class_token {vision.class_token} and fusion {vision.fusion!r}"
        )
    first, second = model.model.sam_model, model.model.vision_model
    grids = [first.embed(image, offset) for image, offset in zip(images, offsets, strict=True)]
    shapes = [grid.shape[:3] for grid in grids]
    x = torch.cat([grid.flatten(0, 2) for grid in grids])
    for module in first.blocks:
        sam = cast(SamBlock, module)
        parts = _split(sam.project(x), shapes)
        mixed = [sam.mix(part.view(*shape, -1)) for part, shape in zip(parts, shapes, strict=True)]
        x = sam.finish(x, torch.cat(mixed))
    steps = len(vision.compressor_channels)
    parts, rows, shapes = _split(x, shapes), [], []
    for part, grid, offset in zip(parts, grids, offsets, strict=True):
        compressed = first.compress(part.view(grid.shape))
        batch, _, height, width = compressed.shape
        shapes.append(torch.Size((batch, height, width)))
        coarse = (offset[0] >> steps, offset[1] >> steps)
        rows.append(second.embeddings(compressed, coarse).flatten(0, 1))
    x = second.pre_layrnorm(torch.cat(rows))
    for module in second.transformer.layers:
        block = cast(EncoderBlock, module)
        parts = _split(block.project(x), shapes)
        mixed = [
            block.mix(part.view(shape[0], shape[1] * shape[2], -1))
            for part, shape in zip(parts, shapes, strict=True)
        ]
        x = block.finish(x, torch.cat(mixed))
    if vision.encoder_final_norm:
        x = second.post_layernorm(x)
    return [part.view(*shape, -1) for part, shape in zip(_split(x, shapes), shapes, strict=True)]


def _split(tokens: Tensor, shapes: Sequence[torch.Size]) -> tuple[Tensor, ...]:
    return tokens.split([shape.numel() for shape in shapes])
