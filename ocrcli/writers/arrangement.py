"""Which blocks of a page are written, and in which order."""

from collections.abc import Iterable

from ocrcli.document import Block, BlockType
from ocrcli.textstyle import Layout, Margins, TextStyle

MARGINS = frozenset({BlockType.HEADER, BlockType.FOOTER, BlockType.PAGE_NUMBER})
"""What stands outside the body of a page."""

_MIDDLE = 500
_FOOT = (BlockType.FOOTNOTE, BlockType.FOOTER, BlockType.PAGE_NUMBER)


def arranged(blocks: Iterable[Block], style: TextStyle, *, pictures: bool = False) -> list[Block]:
    """Return the blocks that are written, in their order.

    Args:
        blocks: All blocks, in the model's order; those without text leave no trace.
        style: Tells the order, and whether the margins are kept.
        pictures: Whether those that were cut out are kept even without text.
    """
    kept = [block for block in blocks if block.text.strip() or (pictures and block.picture)]
    if style.headers is Margins.DROP:
        kept = [block for block in kept if block.type not in MARGINS]
    if style.layout is not Layout.READING:
        return kept
    # Sorting is stable: within each part the model's order stays.
    return sorted(kept, key=_part)


def is_marked(block: Block, style: TextStyle) -> bool:
    """Return whether a block is to be marked as standing in the margin."""
    return style.headers is Margins.MARK and block.type in MARGINS


def _part(block: Block) -> int:
    is_above = block.box is not None and block.box[3] < _MIDDLE
    if block.type is BlockType.HEADER or (block.type is BlockType.PAGE_NUMBER and is_above):
        return 0
    return 2 + _FOOT.index(block.type) if block.type in _FOOT else 1
