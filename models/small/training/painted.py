"""Batches ready to learn from: painted on the GPU, ahead of the step that needs them.

Painting waits for the GPU several times, to learn how many pixels or slots there are. On the stream
of the training step each wait would leave the GPU idle; on a stream of its own, after a step has
been launched, painting fills the gaps of that step.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from ocrcli.models.small.training.batches import TrainingBatch
from ocrcli.models.small.training.painter import SLOTS, Painter
from ocrcli.models.small.training.speedups import is_on
from ocrcli.models.small.training.stages import Stage
from ocrcli.models.small.training.turning import Turned, turn


@dataclass(frozen=True)
class PaintedBatch:
    """Everything a step needs, on one device.

    Attributes:
        images: Pages in [-1, 1], [B, 1, H, W].
        tokens: Responses without their last token, padded, int64 [B, T].
        kept: Tokens that are followed by a real one, flat indices into [B, T], int64 [n].
        target: What follows them, int64 [n].
        asked: Slots the character head is asked for, flat indices into [B, h, w, SLOTS], int64 [m].
        codes: Characters in them, int64 [m].
        offset: First row and column in the position tables, in patches.
        turned: Pages for the orientation head, if any.
    """

    images: Tensor
    tokens: Tensor
    kept: Tensor
    target: Tensor
    asked: Tensor
    codes: Tensor
    offset: tuple[int, int] = (0, 0)
    turned: Turned | None = None


class PaintedBatches:
    """Paints batches of one stage, one ahead."""

    def __init__(
        self,
        batches: Iterator[TrainingBatch],
        painter: Painter,
        stage: Stage,
        position_size: int,
        seed: int,
    ) -> None:
        """Start with nothing painted.

        Args:
            batches: What to paint.
            painter: Paints on the device of the step.
            stage: The stage of the batches.
            position_size: Rows and columns of the position tables, in patches.
            seed: Of the damage and the turns.
        """
        self.batches, self.painter, self.stage = batches, painter, stage
        self.position_size = position_size
        self.device = painter.device
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.chooser = random.Random(seed)
        self.waited = 0.0
        self._next: PaintedBatch | None = None
        self._stream: torch.cuda.Stream | None = None
        if self.device.type == "cuda" and is_on("ahead"):
            # Small kernels between large ones: they go first.
            self._stream = torch.cuda.Stream(self.device, priority=-1)
            self._stream.wait_stream(torch.cuda.current_stream(self.device))

    def take(self) -> PaintedBatch:
        """Return a batch; the current stream waits until it is painted."""
        if self._next is None:
            self._paint()
        batch, self._next = self._next, None
        assert batch is not None, "painted above"
        if self._stream is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_stream(self._stream)
            for tensor in _tensors(batch):
                # Memory of the painting stream may be painted on again when the step is done.
                tensor.record_stream(current)
        return batch

    def prepare(self) -> None:
        """Paint the next batch, while what has been launched is running."""
        if self._stream is not None and self._next is None:
            self._paint()

    def _paint(self) -> None:
        before = time.time()
        batch = next(self.batches)
        self.waited += time.time() - before
        if self._stream is None:
            self._next = self._painted(batch)
            return
        with torch.cuda.stream(self._stream):
            self._next = self._painted(batch)

    @torch.no_grad()
    def _painted(self, batch: TrainingBatch) -> PaintedBatch:
        device, stage = self.device, self.stage
        pages = len(batch.tokens)
        images, codes = self.painter.paint(
            batch.paint.to(device), pages, batch.width, batch.height, self.generator
        )
        offset, turned = (0, 0), None
        if stage.turned:
            count = min(pages, max(1, round(stage.turned * pages)))
            rows = torch.tensor(sorted(self.chooser.sample(range(pages), count)))
            quarters = self.chooser.randrange(1, 4)
            turned = turn(images, batch.paint.extent, batch.orientable, rows, quarters)
        if not stage.structured:
            # Small crops are shown all over the position tables, in whole attention windows.
            offset = (
                self.chooser.randrange(0, self.position_size - batch.height // 16 + 1, 8),
                self.chooser.randrange(0, self.position_size - batch.width // 16 + 1, 8),
            )
        asked = asked_slots(codes)
        return PaintedBatch(
            images=images,
            tokens=batch.tokens[:, :-1].to(device),
            kept=batch.kept.to(device),
            target=batch.target.to(device),
            asked=asked,
            codes=codes.flatten()[asked],
            offset=offset,
            turned=turned,
        )


def asked_slots(codes: Tensor) -> Tensor:
    """Return the slots of named characters and of each cell's end mark, flat indices int64 [n].

    Args:
        codes: Character codes [B, h, w, SLOTS], 0 after the last.
    """
    asked = torch.arange(SLOTS, device=codes.device) <= (codes > 0).sum(-1, keepdim=True)
    return asked.flatten().nonzero()[:, 0]


def _tensors(record: Any) -> Iterator[Tensor]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, Turned):
            yield from _tensors(value)
