"""Where the rows of a table stand, and their words, if the table has as many rows of ink."""

from typing import TYPE_CHECKING

from ocrcli.document import Block, Box
from ocrcli.estimated_lines import lines_of
from ocrcli.ink_rows import ink_rows, inked_columns
from ocrcli.line_boxes import Line
from ocrcli.word_gaps import word_spans

if TYPE_CHECKING:
    from ocrcli.level_page import LevelPage

# Share of a row that its type fills, where nothing else on the page says how high lines are.
_TYPE = 0.6
# Boxes are off by half a row at most, or their first or last row is not the table's.
_OFF = 0.5
# Ink reaches from the tops of letters to below the line; a box stands a little off.
_RIM = 0.1


def table_lines(
    block: Block, box: Box, page: "LevelPage", height: float
) -> tuple[Line, ...] | None:
    """Return where the rows of a table stand, None where that cannot be told.

    Cells of several lines make more rows of ink than the table has.

    Args:
        block: A table.
        box: Its box, in thousandths.
        page: The page made level, tables included.
        height: How high the lines of the page are, about, in squares; 0 if that is not known.
    """
    texts = lines_of(block)
    left, top, right, bottom = page.squares(box)
    pitch = (bottom - top) / max(1, len(texts))
    height = min(height, pitch) if height else _TYPE * pitch
    rows = [
        row
        for row in ink_rows(page.ink, int(left), int(right) + 1, max(2.0, height))
        if top - _OFF * pitch < row.middle < bottom + _OFF * pitch
    ]
    if len(rows) != len(texts):
        return None
    lines = []
    for text, row in zip(texts, rows, strict=True):
        strip = inked_columns(page.ink, row)[row.left : row.right]
        spans = word_spans(strip, text.split(), height, in_cells=True) or ()
        words = tuple(page.sides(row.left + start, row.left + end) for start, end in spans)
        rim = _RIM * height
        place = page.thousandths((row.left, row.top - rim, row.right, row.bottom + rim))
        lines.append(Line(place, words).inside(box))
    return tuple(lines)
