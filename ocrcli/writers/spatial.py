"""Lines set where they stand on the page, with blanks: the estimate behind `--layout preserve`."""

from collections.abc import Sequence
from statistics import median

from ocrcli.document import Block

_MAX_COLUMNS = 200
_MAX_EMPTY_LINES = 2
_FULL_WIDTH = 1000


def spatial_text(blocks: Sequence[Block]) -> str:
    """Return the text of a page with its lines placed by the boxes of their blocks.

    A block's lines are taken to be spread evenly over its box. Blocks without a box follow at the
    end.

    Args:
        blocks: The blocks to write.
    """
    least = _least_height(blocks)
    lines = [line for block in blocks for line in _placed(block, least)]
    loose = [block.text for block in blocks if block.box is None]
    if not lines:
        return "\n\n".join(loose)
    step = max(median(height for _, _, height, _ in lines), least)
    columns = _columns(blocks)
    rows: list[tuple[float, list[tuple[int, str]]]] = []
    for middle, left, _, text in sorted(lines):
        if not rows or middle - rows[-1][0] > step / 2:
            rows.append((middle, []))
        rows[-1][1].append((round(left * columns / _FULL_WIDTH), text))
    written: list[str] = []
    before = rows[0][0]
    for middle, pieces in rows:
        written += [""] * min(_MAX_EMPTY_LINES, max(0, round((middle - before) / step) - 1))
        written.append(_row(pieces))
        before = middle
    return "\n\n".join(["\n".join(written), *loose])


def _least_height(blocks: Sequence[Block]) -> float:
    """Return the finest step of the boxes: below a thousandth on pages that were read in bands."""
    is_whole = all(number == int(number) for block in blocks for number in block.box or ())
    return 1.0 if is_whole else 1e-3


def _placed(block: Block, least: float) -> list[tuple[float, float, float, str]]:
    """Return middle, left edge, height and text of each line."""
    if block.box is None:
        return []
    left, top, _, bottom = block.box
    lines = block.text.split("\n")
    height = max(bottom - top, least) / len(lines)
    return [
        (top + (index + 0.5) * height, left, height, line.expandtabs())
        for index, line in enumerate(lines)
        if line.strip()
    ]


def _columns(blocks: Sequence[Block]) -> int:
    """Return how many characters fit across the page, judged by the fullest lines."""
    widths = [
        _FULL_WIDTH * max(len(line) for line in block.text.split("\n")) / (box[2] - box[0])
        for block in blocks
        if (box := block.box) is not None and box[2] > box[0]
    ]
    return min(_MAX_COLUMNS, round(max(widths, default=80.0)))


def _row(pieces: list[tuple[int, str]]) -> str:
    row = ""
    for column, text in sorted(pieces):
        # Text that is longer than its box pushes its neighbours to the right.
        row = row.ljust(column) if len(row) < column or not row else f"{row} "
        row += text
    return row.rstrip()
