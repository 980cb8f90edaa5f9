"""Endless batches of composed pages, made by CPU workers for the GPU painter."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from ocrcli.engine import LinePlaces
from ocrcli.models.small.training.atlas import Atlas
from ocrcli.models.small.training.composed import CANVAS_SCALE, ComposedBlock, ComposedPage
from ocrcli.models.small.training.composer import Composer
from ocrcli.models.small.training.geometry import STRAIGHT, to_page
from ocrcli.models.small.training.painter import PaintBatch
from ocrcli.models.small.training.responses import Box, response
from ocrcli.models.small.training.stages import DAMAGED_TILT, Stage, parts
from ocrcli.models.small.training.text_source import TextSource
from ocrcli.tokenizer import Tokenizer

PLACE_STEP = 2
"""Thousandths of the image between two places at which lines are said to begin."""

# Pages of several batches are sorted by length together, so that little of a batch is padding.
_POOLED_BATCHES = 3
_LENGTH_STEP = 64
# A page with fewer glyphs may look alike either way up.
_ORIENTABLE_GLYPHS = 40
# Pages with a few words would hardly come up otherwise, on small pictures least of all.
_SHORT = 0.1
_SMALL_AREA = 500_000
# Of so many pages places are shown up to so many thousandths off, at most a third of a line, and
# about ten lines alike. Half of the pages and half a line made dense pages lose and repeat lines.
_DRIFTING, _DRIFT, _FURTHEST, _STEADY = 0.25, 8, 1 / 3, 0.9
# Of half of the pages so many tokens are shown wrong.
_MISTAKES = 0.02


@dataclass(frozen=True)
class TrainingBatch:
    """One batch before it is drawn.

    Attributes:
        tokens: Responses from `<PAGE>` to EOS, padded, int64 [B, T + 1]; in some pages a few are
            wrong, see `_mistaken`.
        kept: Tokens that are followed by a real one, flat indices into [B, T], int64 [n].
        target: What follows them, int64 [n].
        paint: What to draw.
        orientable: Whether a page has enough text to tell which way up it is, bool [B].
        width: Image width in pixels.
        height: Image height in pixels.
    """

    tokens: Tensor
    kept: Tensor
    target: Tensor
    paint: PaintBatch
    orientable: Tensor
    width: int
    height: int


@dataclass
class _Sample:
    page: ComposedPage
    ids: list[int]
    view: "_View"
    extent: tuple[int, int]
    damage: float


@dataclass
class _View:
    """How the canvas is seen; fields as in `PaintBatch`."""

    matrix: np.ndarray
    shift: np.ndarray
    bend: np.ndarray


class PageBatches(IterableDataset):  # type: ignore[type-arg]
    """Composes pages of one stage for ever, different in every worker."""

    def __init__(
        self,
        data: Path,
        atlas: Path,
        tokenizer: Path,
        stage: Stage,
        seed: int,
        order_seed: int | None = None,
    ) -> None:
        """Remember where the data lies; everything is opened in the worker.

        Args:
            data: Folder with `text/`.
            atlas: Folder that `Atlas.save` wrote.
            tokenizer: `tokenizer.json`.
            stage: What to compose.
            seed: Differs between runs and ranks.
            order_seed: Of the kinds, sizes and lengths of batches, one after the other; the same
                for processes that should have alike batches at the same time. None: `seed`.
        """
        self.data, self.atlas, self.tokenizer = data, atlas, tokenizer
        self.stage, self.seed = stage, seed
        self.order_seed = seed if order_seed is None else order_seed
        self.held_out = False

    def __iter__(self) -> Iterator[TrainingBatch]:
        """Yield batches without end."""
        worker = get_worker_info()
        number = worker.id if worker else 0
        rng = random.Random(self.seed * 1009 + number)
        order = random.Random(self.order_seed * 2003 + number)
        torch.set_num_threads(1)
        composer = Composer(Atlas.load(self.atlas), TextSource(self.data, self.held_out))
        tokenizer = Tokenizer.from_file(self.tokenizer)
        line_places = LinePlaces.of(tokenizer)
        assert line_places is not None, "the small model has an id for every coordinate"
        stages, shares = parts(self.stage)
        while True:
            stage = order.choices(stages, shares)[0]
            shapes, weights = zip(*stage.shapes, strict=True)
            width, height = order.choices(shapes, weights)[0]
            samples: list[_Sample] = []
            while len(samples) < stage.batch * _POOLED_BATCHES:
                sample = _compose(composer, tokenizer, stage, rng, width, height)
                if sample is not None:
                    samples.append(sample)
            samples.sort(key=lambda sample: len(sample.ids))
            groups = [samples[i : i + stage.batch] for i in range(0, len(samples), stage.batch)]
            order.shuffle(groups)
            for group in groups:
                yield _collate(group, width, height, tokenizer.pad_id, rng, line_places)


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
        if not page.blocks or not page.blocks[0].lines:
            return None
    else:
        extent = (width - rng.randrange(64), height - rng.randrange(64))
        budget = int(stage.max_tokens * 2.55)
        if rng.random() < _SHORT * (3 if width * height < _SMALL_AREA else 1):
            budget = min(budget, rng.randrange(70, 700))
        page = composer.page(rng, *extent, stage.sizes, budget)
    damaged = rng.random() < stage.damage
    view = _view(rng, page, stage.tilt, damaged, (width, height), extent)
    boxes = places = None
    if stage.structured:
        boxes = [_page_box(block.box, view, (width, height)) for block in page.blocks]
        places = [_places(block, view, (width, height)) for block in page.blocks]
    ids = response(tokenizer, page.blocks, boxes, places)
    if len(ids) > stage.max_tokens:
        return None
    # What large type survives would make small type unreadable, and teach to guess.
    strength = min(1.0, max(0.25, (page.em - 6) / 10)) if damaged else 0.0
    return _Sample(page, ids, view, extent, strength)


def _view(
    rng: random.Random,
    page: ComposedPage,
    tilt: float,
    damaged: bool,
    image: tuple[int, int],
    extent: tuple[int, int],
) -> _View:
    """Return a view in which the whole page is seen."""
    angle = rng.uniform(-tilt, tilt) if rng.random() < 0.35 else 0.0
    scale = rng.uniform(0.94, 1.03) if rng.random() < 0.6 else 1.0
    shift = np.array([rng.uniform(-1, 1), rng.uniform(-1, 1)], np.float32)
    bend = np.array(STRAIGHT, np.float32)
    if damaged:
        angle = rng.gauss(0.0, 1.0) if rng.random() < 0.5 else rng.uniform(-1, 1) * DAMAGED_TILT
        angle = max(-DAMAGED_TILT, min(DAMAGED_TILT, angle))
        scale = rng.uniform(0.9, 1.02)
        shift += np.array([rng.gauss(0, 6), rng.gauss(0, 6)], np.float32)
        if rng.random() < 0.4:
            reach = 0.006 * max(image)
            sides = [rng.uniform(-reach, reach) for _ in range(4)]
            bend = np.array([*sides[:3], 0.6 * sides[3], rng.random()], np.float32)
    low, high = np.array([math.inf] * 2), np.array([-math.inf] * 2)
    for block in page.blocks:
        low, high = np.minimum(low, block.box[:2]), np.maximum(high, block.box[2:])
    while True:
        turn = math.radians(angle)
        matrix = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        view = _View((matrix * scale / CANVAS_SCALE).astype(np.float32), shift, bend)
        if not page.blocks or scale < 0.8:
            return view
        seen = to_page(_outline([*low, *high]), view.matrix, view.shift, view.bend, image)
        if (seen.min(0) >= 1).all() and (seen.max(0) <= np.array(extent) - 1).all():
            return view
        # Text that leaves the paper could not be read.
        angle, scale, shift, bend = angle * 0.6, scale * 0.98, shift * 0.6, bend * 0.6


def _outline(box: list[float]) -> np.ndarray:
    """Return the corners of a box and the middles of its sides, [8, 2]."""
    left, top, right, bottom = box
    across, down = (left + right) / 2, (top + bottom) / 2
    return np.array(
        [(x, y) for x in (left, across, right) for y in (top, down, bottom)], np.float64
    )


def _page_box(box: list[float], view: _View, image: tuple[int, int]) -> Box:
    """Return a canvas box as the box of its turned outline, in thousandths of the image.

    Of the image, not of the paper: where white paper ends cannot be seen.
    """
    seen = to_page(_outline(box), view.matrix, view.shift, view.bend, image)
    low = np.clip(seen.min(0) / image, 0, 1) * 999
    high = np.clip(seen.max(0) / image, 0, 1) * 999
    return (round(low[0]), round(low[1]), round(high[0]), round(high[1]))


def _places(block: ComposedBlock, view: _View, image: tuple[int, int]) -> list[int]:
    """Return how far down the image each line of a block begins, in thousandths.

    They are rounded to `PLACE_STEP`, which is about what can be told from the picture.
    """
    if not block.starts or not block.are_lines_placed:
        return []
    seen = to_page(np.array(block.starts), view.matrix, view.shift, view.bend, image)
    down = np.clip(seen[:, 1] / image[1], 0, 1) * 999 / PLACE_STEP
    return [PLACE_STEP * min(round(each), 999 // PLACE_STEP) for each in down]


def _mistaken(rng: random.Random, ids: list[int], spared: range = range(0)) -> list[int]:
    """Return a response with a few tokens replaced by others of it, `<PAGE>` and EOS kept.

    What follows them stays asked for. A model that has only ever seen what is right goes on from
    its first mistake to others, or in circles (Blecher et al., Nougat, 2023, section 3.2).

    Args:
        rng: Source of all choices.
        ids: The response.
        spared: Ids that are never replaced: a model that was shown wrong places beside the right
            text would learn not to read where it said it would.
    """
    if rng.random() < 0.5 or len(ids) < 4:
        return ids
    return [
        rng.choice(ids)
        if 0 < place < len(ids) - 1 and token not in spared and rng.random() < _MISTAKES
        else token
        for place, token in enumerate(ids)
    ]


def _drifted(rng: random.Random, ids: list[int], line_places: LinePlaces) -> list[int]:
    """Return a response whose places are shown too high or too low, several lines alike.

    What is asked for stays right. A model that has only ever seen right places adds the distance of
    lines to the last one, and is a line off after forty: it has to look where lines are.
    """
    if rng.random() >= _DRIFTING:
        return ids
    told = [i for i, is_text in enumerate(line_places.spells(ids)) if not is_text]
    shown, off = list(ids), 0.0
    apart = [abs(ids[after] - ids[before]) for before, after in pairwise(told)]
    for place, distance in zip(told, [*apart, _DRIFT], strict=False):
        if rng.random() > _STEADY:
            off = rng.uniform(-_DRIFT, _DRIFT)
        most = _FURTHEST * distance
        moved = PLACE_STEP * int(min(max(off, -most), most) / PLACE_STEP)
        last = line_places.first + line_places.count - 1
        shown[place] = min(max(ids[place] + moved, line_places.first), last)
    return shown


def _collate(
    samples: list[_Sample],
    width: int,
    height: int,
    pad: int,
    rng: random.Random,
    line_places: LinePlaces,
) -> TrainingBatch:
    longest = max(len(sample.ids) for sample in samples)
    spared = range(line_places.first, line_places.first + line_places.count)
    length = -(-(longest - 1) // _LENGTH_STEP) * _LENGTH_STEP + 1
    tokens = np.full((len(samples), length), pad, np.int64)
    following = np.full((len(samples), length - 1), pad, np.int64)
    for row, sample in enumerate(samples):
        shown = _drifted(rng, sample.ids, line_places)
        tokens[row, : len(sample.ids)] = _mistaken(rng, shown, spared)
        following[row, : len(sample.ids) - 1] = sample.ids[1:]
    pages = [sample.page for sample in samples]
    views = [sample.view for sample in samples]
    paint = PaintBatch(
        page=_page_of([len(page.glyph) for page in pages]),
        glyph=torch.from_numpy(np.concatenate([page.glyph for page in pages]).astype(np.int64)),
        x=torch.from_numpy(np.concatenate([page.x for page in pages]).astype(np.int64)),
        y=torch.from_numpy(np.concatenate([page.y for page in pages]).astype(np.int64)),
        fill_page=_page_of([len(page.fills) for page in pages]),
        fills=torch.from_numpy(np.concatenate([page.fills for page in pages])),
        figure_page=_page_of([len(page.figures) for page in pages]),
        figures=torch.from_numpy(np.concatenate([page.figures for page in pages])),
        matrix=torch.from_numpy(np.stack([view.matrix for view in views])),
        shift=torch.from_numpy(np.stack([view.shift for view in views]).astype(np.float32)),
        bend=torch.from_numpy(np.stack([view.bend for view in views]).astype(np.float32)),
        extent=torch.tensor([s.extent for s in samples], dtype=torch.float32),
        damage=torch.tensor([s.damage for s in samples], dtype=torch.float32),
    )
    orientable = torch.tensor([len(s.page.glyph) >= _ORIENTABLE_GLYPHS for s in samples])
    kept = np.flatnonzero(following != pad)
    return TrainingBatch(
        tokens=torch.from_numpy(tokens),
        kept=torch.from_numpy(kept),
        target=torch.from_numpy(following.reshape(-1)[kept]),
        paint=paint,
        orientable=orientable,
        width=width,
        height=height,
    )


def _page_of(counts: list[int]) -> Tensor:
    return torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
