"""Blocks that another reading of a page holds, on print that nothing kept stands on."""

from collections.abc import Iterable, Iterator

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import Block, Box, Notice, Page
from ocrcli.inventions import signs
from ocrcli.records import INK_PER_CHARACTER
from ocrcli.rotation import as_displayed

MIN_CONFIDENCE = 0.9
"""Mean probability of a block's text below which it is not missed."""

_SHOWN = 40
# Boxes are a little off, so that the rim of some print may lie outside all of them.
_LEAST_PRINT = 2 * INK_PER_CHARACTER


def doubts_of_loss(page: Page, others: Iterable[Page]) -> list[Notice]:
    """Say which blocks of other readings are missing, though the page has print for them.

    A line that stands by itself, such as a page number or the last one of a letter, has so little
    print that the page alone does not show the loss.

    Args:
        page: The record of all readings.
        others: Those of single readings, in any order.
    """
    lost = [" ".join(block.text.split()) for block in _lost(page, others)]
    return [
        Notice("unread_ink", f'another reading has "{_short(text)}" where nothing was read')
        for text in dict.fromkeys(lost)
    ]


def _lost(page: Page, others: Iterable[Page]) -> Iterator[Block]:
    ink = page.facts.ink
    boxes = [_place(block, page) for block in page.blocks]
    if ink is None:
        return
    known = [box for box in boxes if box is not None]
    if len(known) < len(boxes):
        return
    unread = ink.print_outside(known)
    kept = _key(page.text)
    for other in others:
        for block in other.blocks:
            place, count = _place(block, other), signs(block.text)
            sure = block.confidence is not None and block.confidence.mean >= MIN_CONFIDENCE
            if place is None or not count or not sure or _is_kept(block, kept):
                continue
            own = unread - ink.print_outside([*known, place])
            if own >= _LEAST_PRINT * count:
                yield block


def _place(block: Block, page: Page) -> Box | None:
    if block.box is None:
        return None
    return as_displayed(block.box, MAX_COORDINATE, MAX_COORDINATE, page.rotation)


def _is_kept(block: Block, kept: str) -> bool:
    """Return whether any line of a block is kept: then only the places of its lines differ."""
    return any(_key(line) in kept for line in block.text.splitlines() if _key(line))


def _key(text: str) -> str:
    return "".join(text.split())


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
