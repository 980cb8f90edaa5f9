"""Endless batches of composed pages, made by CPU workers for the GPU painter."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from ocrcli.models.small.training.atlas import Atlas
from ocrcli.models.small.training.composer import Composer
from ocrcli.models.small.training.painter import GlyphBatch
from ocrcli.models.small.training.sheet import CANVAS_SCALE, ComposedPage
from ocrcli.models.small.training.stages import Stage
from ocrcli.models.small.training.text_source import TextSource
from ocrcli.tokenizer import Tokenizer

# Pages of several batches are sorted by length together, so that little of a batch is padding.
_POOLED_BATCHES = 3
_LENGTH_STEP = 64


@dataclass(frozen=True)
class TrainingBatch:
    """One batch before it is drawn.

    Attributes:
        tokens: Responses from `<PAGE>` to EOS, padded, int64 [B, T + 1].
        glyphs: What to draw.
        width: Image width in pixels.
        height: Image height in pixels.
    """

    tokens: Tensor
    glyphs: GlyphBatch
    width: int
    height: int


@dataclass
class _Sample:
    page: ComposedPage
    ids: list[int]
    matrix: np.ndarray
    shift: np.ndarray
    extent: tuple[int, int]


class PageBatches(IterableDataset):  # type: ignore[type-arg]
    """Composes pages of one stage for ever, different in every worker."""

    def __init__(self, data: Path, atlas: Path, tokenizer: Path, stage: Stage, seed: int) -> None:
        """Remember where the data lies; everything is opened in the worker.

        Args:
            data: Folder with `text/`.
            atlas: Folder that `Atlas.save` wrote.
            tokenizer: `tokenizer.json`.
            stage: What to compose.
            seed: Differs between runs and ranks.
        """
        self.data, self.atlas, self.tokenizer = data, atlas, tokenizer
        self.stage, self.seed = stage, seed
        self.held_out = False

    def __iter__(self) -> Iterator[TrainingBatch]:
        """Yield batches without end."""
        worker = get_worker_info()
        rng = random.Random(self.seed * 1009 + (worker.id if worker else 0))
        torch.set_num_threads(1)
        composer = Composer(Atlas.load(self.atlas), TextSource(self.data, self.held_out))
        tokenizer = Tokenizer.from_file(self.tokenizer)
        stage = self.stage
        shapes, weights = zip(*stage.shapes, strict=True)
        while True:
            width, height = rng.choices(shapes, weights)[0]
            samples: list[_Sample] = []
            while len(samples) < stage.batch * _POOLED_BATCHES:
                sample = _compose(composer, tokenizer, stage, rng, width, height)
                if sample is not None:
                    samples.append(sample)
            samples.sort(key=lambda sample: len(sample.ids))
            groups = [samples[i : i + stage.batch] for i in range(0, len(samples), stage.batch)]
            rng.shuffle(groups)
            for group in groups:
                yield _collate(group, width, height, tokenizer.pad_id)


def _compose(
    composer: Composer,
    tokenizer: Tokenizer,
    stage: Stage,
    rng: random.Random,
    width: int,
    height: int,
) -> _Sample | None:
    if not stage.structured:
        page = composer.lines(rng, width, height, stage.sizes)
        extent = (width, height)
    else:
        extent = (width - rng.randrange(64), height - rng.randrange(16))
        page = composer.page(rng, *extent, stage.sizes, int(stage.max_tokens * 2.9))
    if not page.blocks or not page.blocks[0].lines:
        return None
    # Composed coordinates start at the paper's corner; the canvas covers the whole image.
    tilt = rng.uniform(-stage.tilt, stage.tilt) if rng.random() < 0.35 else 0.0
    scale = rng.uniform(0.94, 1.03) if rng.random() < 0.6 else 1.0
    angle = math.radians(tilt)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = (turn * scale / CANVAS_SCALE).astype(np.float32)
    shift = np.array([rng.uniform(-1, 1), rng.uniform(-1, 1)], np.float32)
    ids = [tokenizer.page_id]
    for index, block in enumerate(page.blocks):
        if stage.structured:
            box = _page_box(block.box, matrix, shift, (width, height), extent)
            if index:
                ids.append(tokenizer.newline_id)
            ids += tokenizer.encode_det(block.label, box)
        ids += tokenizer.encode(block.text)
    ids.append(tokenizer.eos_id)
    if len(ids) > stage.max_tokens:
        return None
    return _Sample(page, ids, matrix, shift, extent)


def _page_box(
    box: list[float],
    matrix: np.ndarray,
    shift: np.ndarray,
    image: tuple[int, int],
    extent: tuple[int, int],
) -> tuple[int, int, int, int]:
    """Return a canvas box as the box of its turned corners, in thousandths of the paper."""
    corners = np.array([[box[i], box[j]] for i in (0, 2) for j in (1, 3)])
    moved = (corners - np.array(image)) @ matrix.T + shift + np.array(image) / 2
    low = np.clip(moved.min(0) / extent, 0, 1) * 999
    high = np.clip(moved.max(0) / extent, 0, 1) * 999
    return (round(low[0]), round(low[1]), round(high[0]), round(high[1]))


def _collate(samples: list[_Sample], width: int, height: int, pad: int) -> TrainingBatch:
    longest = max(len(sample.ids) for sample in samples)
    length = -(-(longest - 1) // _LENGTH_STEP) * _LENGTH_STEP + 1
    tokens = np.full((len(samples), length), pad, np.int64)
    for row, sample in enumerate(samples):
        tokens[row, : len(sample.ids)] = sample.ids
    counts = [len(sample.page.glyph) for sample in samples]
    glyphs = GlyphBatch(
        page=torch.from_numpy(np.repeat(np.arange(len(samples)), counts)),
        glyph=torch.from_numpy(np.concatenate([s.page.glyph for s in samples]).astype(np.int64)),
        x=torch.from_numpy(np.concatenate([s.page.x for s in samples]).astype(np.int64)),
        y=torch.from_numpy(np.concatenate([s.page.y for s in samples]).astype(np.int64)),
        matrix=torch.from_numpy(np.stack([s.matrix for s in samples])),
        shift=torch.from_numpy(np.stack([s.shift for s in samples])),
        extent=torch.tensor([s.extent for s in samples], dtype=torch.float32),
    )
    return TrainingBatch(torch.from_numpy(tokens), glyphs, width, height)
