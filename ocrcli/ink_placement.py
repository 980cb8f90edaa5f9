"""Blocks and their lines where their ink is.

Boxes that a model writes are up to a line off, and worse far down a page; a search that marks what
it found, or a picture cut out by its box, shows it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import NamedTuple

import numpy as np

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import Block, BlockType, Box
from ocrcli.estimated_lines import estimated_lines, lines_of
from ocrcli.ink import InkMap
from ocrcli.ink_rows import InkRow, ink_rows, inked_columns, whole_row
from ocrcli.level_page import LevelPage
from ocrcli.line_alignment import WantedLine, aligned
from ocrcli.line_boxes import Line
from ocrcli.skew import Ink, skew
from ocrcli.table_rows import table_lines
from ocrcli.word_gaps import word_spans

_REACH = 26.0
"""How far lines are looked for from where they are said to be, in thousandths of the page."""

# The line after the last one of a block is no further away than this many heights of a line, and
# letters are at least so high.
_NEXT = 1.7
_LETTER = 0.4

ROW_BY_ROW = (BlockType.TABLE, BlockType.FIGURE)
"""Blocks without lines: what is read row by row, or not at all. No other block has their ink."""

# Columns are taken a little wider than boxes, in thousandths.
_WIDER = 4.0
# Gaps between lines are part of their distance, not of their ink.
_HEIGHT = 0.95
# A box this close to its ink, in heights of a line, is left alone: of the ink of a line without
# descenders it is not known where the line ends.
_CLOSE = 0.25
# A box is moved by what is usual among this many lines at its top and bottom, ...
_FEW = 3
# ... and only if at least this share of its lines stand on ink.
_LEAST_FOUND = 0.5
_LEAST_ALIKE = 0.4
_RIM = 8.0


class _Line(NamedTuple):
    """A line of a block, where it is said to stand on a page made level, in squares."""

    block: int
    number: int
    box: Box
    column: tuple[float, float]


def on_ink(blocks: Sequence[Block], ink: InkMap, rotation: int) -> list[Block]:
    """Return blocks with their boxes moved to their ink, and with the places of their lines.

    Args:
        blocks: Blocks in reading order, with boxes in thousandths of the upright page.
        ink: Ink of the page as displayed.
        rotation: Degrees clockwise by which the page was turned to be upright.
    """
    page = np.rot90(ink.print_squares, -(rotation // 90))
    slope = skew(page)
    placement = _Placement(LevelPage(_without_others(page, blocks), slope))
    placed: dict[int, dict[int, tuple[_Line, InkRow]]] = {}
    taken: list[InkRow] = []
    for column in _columns(placement, blocks):
        for line, row in zip(column, placement.rows(column), strict=True):
            # What is read twice, once more further up, finds the ink of the first time.
            if row is not None and not any(map(row.overlaps, taken)):
                placed.setdefault(line.block, {})[line.number] = (line, row)
                taken.append(row)
    height = median(row.bottom - row.top for row in taken) if taken else 0.0
    whole = LevelPage(page, slope) if any(map(_is_table, blocks)) else None
    found = []
    for index, block in enumerate(blocks):
        if block.box is None:
            found.append(block)
        elif _is_table(block) and whole is not None:
            lines = table_lines(block, block.box, whole, height)
            found.append(replace(block, lines=lines))
        else:
            block_rows = placed.get(index, {})
            skipped = placement.skipped(index, block_rows, taken)
            found.append(placement.moved(block, block_rows, skipped, blocks))
    return found


def _is_table(block: Block) -> bool:
    return block.type is BlockType.TABLE and bool(block.text.strip())


def _without_others(page: Ink, blocks: Sequence[Block]) -> Ink:
    """Return the ink without tables and figures, but for their rims, as boxes are off."""
    kept = page.copy()
    height, width = page.shape
    for block in blocks:
        if block.type in ROW_BY_ROW and block.box is not None:
            left, top, right, bottom = block.box
            rows = _squares(top + _RIM, height), _squares(bottom - _RIM, height)
            columns = _squares(left, width), _squares(right, width) + 1
            kept[slice(*map(round, rows)), slice(*map(round, columns))] = False
    return kept


def _squares(thousandths: float, size: int) -> float:
    return max(0.0, thousandths) * size / MAX_COORDINATE


def _columns(placement: "_Placement", blocks: Sequence[Block]) -> Iterable[list[_Line]]:
    """Yield lines that are read one after the other and stand below each other."""
    columns: list[list[_Line]] = []
    for line in placement.lines(blocks):
        last = columns[-1][-1] if columns else None
        if last is not None and _is_below(line, last):
            columns[-1].append(line)
        else:
            columns.append([line])
    return columns


def _is_below(line: _Line, last: _Line) -> bool:
    beside = min(line.column[1], last.column[1]) > max(line.column[0], last.column[0])
    return beside and line.box[1] + line.box[3] > last.box[1] + last.box[3]


class _Placement:
    """Finds the ink of lines, and moves blocks there."""

    def __init__(self, page: LevelPage) -> None:
        self._page = page
        self._rows: dict[int, list[InkRow]] = {}

    def lines(self, blocks: Sequence[Block]) -> Iterable[_Line]:
        """Yield where the lines of blocks are said to stand."""
        for index, block in enumerate(blocks):
            if block.type in ROW_BY_ROW or block.box is None or not block.text.strip():
                continue
            box = self._page.squares(block.box)
            below = block.baselines and tuple(
                self._page.baseline(down, box[0]) for down in block.baselines
            )
            for number, line in enumerate(estimated_lines(replace(block, baselines=below), box)):
                if line[3] > line[1]:
                    yield _Line(index, number, line, (box[0], box[2]))

    def rows(self, column: Sequence[_Line]) -> list[InkRow | None]:
        """Return the row of ink that each of some lines stands on, or None."""
        wanted = []
        for block, group in groupby(column, key=lambda line: line.block):
            lines = list(group)
            height = median(line.box[3] - line.box[1] for line in lines)
            rows = self._rows_of(block, lines[0].column, height)
            wanted += [
                WantedLine(
                    (line.box[1] + line.box[3]) / 2,
                    height,
                    line.box[2] - line.box[0],
                    line.column[1] - line.column[0],
                    rows,
                )
                for line in lines
            ]
        return aligned(wanted, _REACH * self._page.down)

    def _rows_of(self, block: int, column: tuple[float, float], height: float) -> list[InkRow]:
        if block not in self._rows:
            wider = _WIDER * self._page.across
            left, right = int(column[0] - wider), int(column[1] + wider) + 1
            self._rows[block] = ink_rows(self._page.ink, left, right, max(2.0, _HEIGHT * height))
        return self._rows[block]

    def moved(
        self,
        block: Block,
        found: dict[int, tuple[_Line, InkRow]],
        skipped: dict[int, int],
        others: Sequence[Block],
    ) -> Block:
        """Return a block on its ink, or as it is where that was not found.

        Args:
            block: A block with a box.
            found: Lines of it whose ink was found, by their number, and the ink.
            skipped: Rows of ink beside them that no line stands on.
            others: All blocks of the page.
        """
        assert block.box is not None, "only a block with a box can be moved"
        said = estimated_lines(block, block.box)
        if not found or len(found) < _LEAST_FOUND * len(said):
            return block
        height = median(line.box[3] - line.box[1] for line, _ in found.values())
        room = self._room(block, others)
        rows = {
            number: whole_row(self._page.ink, row, height, room)
            for number, (_, row) in found.items()
        }
        off = {number: self._off(*found[number]) for number in sorted(found)}
        box = self._moved_box(block.box, list(off.values()), height / self._page.down)
        if len(found) == len(said):
            box = self._with_sides(box, rows.values(), height / self._page.down)
        lines = []
        for number, (text, place) in enumerate(zip(lines_of(block), said, strict=True)):
            # A line without ink of its own moves with its neighbour.
            _, nearest = min((abs(known - number), known) for known in off)
            down = off[nearest]
            row = rows.get(number)
            words = () if row is None else self._words(row, text.split(), height)
            left, right = place[0], place[2]
            if row is not None:
                left, right = row.left / self._page.across, row.right / self._page.across
            place = (left, place[1] + down, right, place[3] + down)
            line = Line(place, words, row is not None, skipped.get(number, 0))
            lines.append(line.inside(box))
        return replace(block, box=box, lines=tuple(lines))

    def skipped(
        self, block: int, found: dict[int, tuple[_Line, InkRow]], taken: Sequence[InkRow]
    ) -> dict[int, int]:
        """Return how many rows of ink beside a line, by its number, no line stands on.

        Args:
            block: Number of a block.
            found: Lines of it whose ink was found, and the ink.
            taken: The ink of all lines of the page.
        """
        numbers = sorted(found)
        counts = {}
        for number, after in zip(numbers, [*numbers[1:], None], strict=False):
            line, row = found[number]
            near = _NEXT * (line.box[3] - line.box[1])
            # Above the first line, too, there may be one.
            start = row.middle - near if number == numbers[0] else row.middle
            end = row.middle + near if after is None else found[after][1].middle
            counts[number] = sum(
                start < other.middle < end and _may_be_a_line(other, near / _NEXT, taken)
                for other in self._rows[block]
            )
        return counts

    def _off(self, line: _Line, row: InkRow) -> float:
        """Return how far below the place where it is said to be a line is, in thousandths."""
        return (row.middle - (line.box[1] + line.box[3]) / 2) / self._page.down

    @staticmethod
    def _moved_box(box: Box, off: Sequence[float], height: float) -> Box:
        """Return a box with its top and bottom moved as far as the lines next to them are off.

        The first line and the last one may be further out, never cut off.
        """
        top = box[1] + min(_if_far(median(off[:_FEW]), height), _if_far(off[0], height))
        bottom = box[3] + max(_if_far(median(off[-_FEW:]), height), _if_far(off[-1], height))
        top, bottom = max(0.0, top), min(float(MAX_COORDINATE), bottom)
        return (box[0], round(top), box[2], round(bottom)) if top < bottom else box

    def _with_sides(self, box: Box, rows: Iterable[InkRow], height: float) -> Box:
        """Return a box that begins and ends where the rows of ink of all of its lines do."""
        spans = [(row.left, row.right) for row in rows]
        left = min(left for left, _ in spans) / self._page.across
        right = max(right for _, right in spans) / self._page.across
        # What is far narrower or wider is not what was read.
        if not _LEAST_ALIKE < (right - left) / max(1.0, box[2] - box[0]) < 1 / _LEAST_ALIKE:
            return box
        left, right = (
            box[0] + _if_far(left - box[0], height),
            box[2] + _if_far(right - box[2], height),
        )
        return round(left), box[1], round(right), box[3]

    def _words(
        self, row: InkRow, words: Sequence[str], height: float
    ) -> tuple[tuple[float, float], ...]:
        """Return left and right edge of the words of a line in thousandths, none if unseen."""
        strip = inked_columns(self._page.ink, row)[row.left : row.right]
        spans = word_spans(strip, words, height)
        return tuple(
            self._page.sides(row.left + left, row.left + right) for left, right in spans or ()
        )

    def _room(self, block: Block, others: Sequence[Block]) -> tuple[int, int]:
        """Return between which squares a block's lines lie if no other block is beside them."""
        assert block.box is not None, "only a block with a box has room"
        left, top, right, bottom = block.box
        beside = [
            other.box
            for other in others
            if other.box and other.box[1] < bottom + _REACH and other.box[3] > top - _REACH
        ]
        middle = (left + right) / 2
        first = max((box[2] for box in beside if box[2] < middle), default=0.0)
        last = min((box[0] for box in beside if box[0] > middle), default=float(MAX_COORDINATE))
        return int(min(first, left) * self._page.across), int(max(last, right) * self._page.across)


def _may_be_a_line(row: InkRow, height: float, taken: Sequence[InkRow]) -> bool:
    is_type = row.bottom - row.top > _LETTER * height and row.right - row.left > height
    return is_type and not any(map(row.overlaps, taken))


def _if_far(distance: float, height: float) -> float:
    return distance if abs(distance) >= _CLOSE * height else 0.0
