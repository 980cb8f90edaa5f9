"""Where two bands of a page meet: what was read twice is kept once, what was cut is mended.

Blocks have boxes, lines have none, so lines are taken to stand evenly in their block. That is off
by a little, which is why a line that both bands hold is looked for before places decide.
"""

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ocrcli.confidence import Confidence
from ocrcli.document import Block, BlockType, Box

_SAME_LINE = 0.8
_MOST_STEPS_OFF = 3
_FLOWING = (BlockType.TEXT, BlockType.LIST, BlockType.CODE)
# Paragraphs stand further apart than this, in line pitches; lines of one begin within the other.
_MAX_PITCHES_DOWN = 0.8
_MAX_PITCHES_ASIDE = 2.0


@dataclass(frozen=True)
class _Line:
    block: int
    index: int
    centre: float
    text: str


def without_repetition(
    above: list[Block], below: list[Block], zone: tuple[float, float]
) -> tuple[list[Block], list[Block]]:
    """Return the blocks of two bands without what both hold.

    The upper band ends, and the lower one begins, with a line that both read alike, as near to the
    middle of the zone as there is one, or else in the middle itself. Lines cut by the edge of a
    band lie beyond that and go.

    Args:
        above: Blocks of the upper band; `bbox` is their place on the upright page.
        below: Blocks of the lower band.
        zone: Top and bottom of what both show, in the unit of `bbox`.
    """
    middle = sum(zone) / 2
    uppers = [line for line in _lines(above) if line.centre > zone[0]]
    lowers = [line for line in _lines(below) if line.centre < zone[1]]
    upper_end = lower_start = middle
    # Lines of a list may differ in a digit, so likeness counts first, then places, then the middle.
    step = (zone[1] - zone[0]) / 10
    pairs = [
        (
            -round(likeness, 2),
            round(abs(upper.centre - lower.centre) / step),
            abs(upper.centre - middle),
            (upper.centre, lower.centre),
        )
        for upper in uppers
        for lower in lowers
        if abs(upper.centre - lower.centre) < _MOST_STEPS_OFF * step
        and (likeness := _likeness(upper.text, lower.text)) >= _SAME_LINE
    ]
    if pairs:
        upper_end, lower_start = min(pairs)[-1]
    gone_above = {
        (line.block, line.index)
        for line in uppers
        if line.centre > upper_end or (not pairs and line.centre == upper_end)
    }
    gone_below = {
        (line.block, line.index)
        for line in lowers
        if line.centre < lower_start or (pairs and line.centre == lower_start)
    }
    return _kept(above, gone_above), _kept(below, gone_below)


def joined(above: list[Block], below: list[Block]) -> list[Block]:
    """Return the blocks of two bands in order; a paragraph that was cut between lines is one again.

    Args:
        above: Blocks of the upper band; `bbox` is their place on the upright page.
        below: Blocks of the lower band.
    """
    if not above or not below or not _continues(above[-1], below[0]):
        return above + below
    first, second = above[-1], below[0]
    whole = replace(
        first,
        text=f"{first.text}\n{second.text}",
        bbox=_around(first.bbox, second.bbox),
        confidence=_both(first, second),
    )
    return [*above[:-1], whole, *below[1:]]


def _lines(blocks: list[Block]) -> list[_Line]:
    """Return the lines of all blocks with a place; a table or a figure counts as one line."""
    found = []
    for number, block in enumerate(blocks):
        if block.bbox is None:
            continue
        texts = [block.text] if block.html or not block.text else block.text.split("\n")
        _, top, _, bottom = block.bbox
        pitch = (bottom - top) / len(texts)
        found += [
            _Line(number, index, top + (index + 0.5) * pitch, text)
            for index, text in enumerate(texts)
        ]
    return found


def _likeness(one: str, other: str) -> float:
    one, other = "".join(one.split()), "".join(other.split())
    return SequenceMatcher(None, one, other, False).ratio() if one and other else 0.0


def _kept(blocks: list[Block], gone: set[tuple[int, int]]) -> list[Block]:
    kept = []
    for number, block in enumerate(blocks):
        indices = [index for of, index in gone if of == number]
        if not indices:
            kept.append(block)
            continue
        lines = [] if block.html else block.text.split("\n")
        left = [index for index in range(len(lines)) if index not in indices]
        if not left or block.bbox is None:
            continue
        x0, top, x1, bottom = block.bbox
        pitch = (bottom - top) / len(lines)
        bbox = (x0, top + left[0] * pitch, x1, top + (left[-1] + 1) * pitch)
        kept.append(replace(block, text="\n".join(lines[index] for index in left), bbox=bbox))
    return kept


def _continues(first: Block, second: Block) -> bool:
    if first.type is not second.type or first.type not in _FLOWING or first.html or second.html:
        return False
    if first.bbox is None or second.bbox is None or not (first.text and second.text):
        return False
    pitch = (first.bbox[3] - first.bbox[1]) / len(first.text.split("\n"))
    is_next = second.bbox[1] - first.bbox[3] < _MAX_PITCHES_DOWN * pitch
    return is_next and abs(first.bbox[0] - second.bbox[0]) < _MAX_PITCHES_ASIDE * pitch


def _around(one: Box | None, other: Box | None) -> Box | None:
    if one is None or other is None:
        return one or other
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _both(first: Block, second: Block) -> Confidence | None:
    """Return the confidence of both texts; how many tokens each has is told by its length."""
    if first.confidence is None or second.confidence is None:
        return first.confidence or second.confidence
    one, other = len(first.text), len(second.text)
    mean = (one * first.confidence.mean + other * second.confidence.mean) / (one + other)
    return Confidence(mean, min(first.confidence.min, second.confidence.min))
