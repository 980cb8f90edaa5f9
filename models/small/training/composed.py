"""What a training page consists of before it is drawn: blocks, glyphs, fills and figures."""

import math
from dataclasses import dataclass, field

import numpy as np

from ocrcli.models.small.training.atlas import SIZES

# Two canvas pixels are one page pixel.
CANVAS_SCALE = 2


@dataclass(frozen=True)
class TableCell:
    """One cell of a table: its text on one line, and how many columns and rows it spans."""

    text: str
    is_heading: bool = False
    columns: int = 1
    rows: int = 1


@dataclass
class ComposedBlock:
    """One block of a page: its label, its lines and the canvas box of its ink.

    A table has rows of cells instead of lines.

    Attributes:
        label: What kind of block it is.
        lines: Its lines.
        box: Left, top, right and bottom.
        table: Rows of cells, or None.
        starts: Where each line, or row of a table, begins: its left edge and its baseline.
    """

    label: str
    lines: list[str] = field(default_factory=list)
    box: list[float] = field(default_factory=lambda: [math.inf, math.inf, -math.inf, -math.inf])
    table: list[list[TableCell]] | None = None
    starts: list[tuple[float, float]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The block's text, lines separated by line feeds."""
        return "\n".join(self.lines)

    @property
    def characters(self) -> int:
        """A measure of how long the block's response is."""
        cells = sum(len(cell.text) + 8 for row in self.table or () for cell in row)
        return sum(len(line) + 1 for line in self.lines) + cells + 24

    @property
    def is_seen(self) -> bool:
        """Whether anything of the block was set."""
        return self.box[0] < self.box[2]

    def cover(self, left: float, top: float, right: float, bottom: float) -> None:
        """Grow the box to hold the rectangle."""
        box = self.box
        self.box = [min(box[0], left), min(box[1], top), max(box[2], right), max(box[3], bottom)]

    def begin(self, left: float, baseline: float) -> None:
        """Note that a line begins, or that the last one goes on at the same height."""
        if self.starts and self.starts[-1][1] == baseline:
            left = min(left, self.starts.pop()[0])
        self.starts.append((left, baseline))

    @property
    def are_lines_placed(self) -> bool:
        """Whether it is known of every line, or row, where it begins."""
        return len(self.starts) == len(self.lines if self.table is None else self.table)


@dataclass
class ComposedPage:
    """Everything that is drawn, and blocks in reading order.

    Attributes:
        glyph: Flat atlas index of each glyph, int64 [N].
        x: Pen positions, canvas pixels, int32 [N].
        y: Baselines, canvas pixels, int32 [N].
        fills: Left, top, right, bottom in canvas pixels and darkness of each rectangle, float32
            [R, 5]; text on a rectangle darker than one half is white.
        figures: Left, top, right, bottom in canvas pixels and texture number, int64 [F, 5].
        blocks: Blocks in reading order.
        em: Em size of the body text in page pixels.
    """

    glyph: np.ndarray
    x: np.ndarray
    y: np.ndarray
    fills: np.ndarray
    figures: np.ndarray
    blocks: list[ComposedBlock]
    em: float = 16.0


@dataclass(frozen=True)
class Type:
    """One font at one size, with the spacing of the page."""

    font: int
    size_index: int
    tracking: float
    ligatures: bool

    @property
    def size(self) -> int:
        """Em size in canvas pixels."""
        return SIZES[self.size_index]


def size_near(wanted: float) -> int:
    """Return the index of the em size nearest to `wanted` canvas pixels."""
    return min(range(len(SIZES)), key=lambda index: abs(SIZES[index] - wanted))
