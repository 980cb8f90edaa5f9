"""Records of pages with chosen lines, for tests of what becomes of readings."""

from ocrcli.confidence import Confidence
from ocrcli.document import Block, BlockType, Page, PageStatus

_PROSE = (
    "alabaster brocade cinnamon dromedary elephant filigree gossamer harlequin iridescent juniper "
    "kingfisher labyrinth marigold nightingale obsidian pomegranate quicksilver rhapsody saffron "
    "tamarind umbrella velveteen wisteria xylophone yesteryear zeppelin apricot bumblebee"
)
WORDS = _PROSE.split()
LINES = [f"{word} {word[::-1]} {word[1:]} {word[:4]}" for word in WORDS]
"""Lines that are not alike."""

RESULTS = (PageStatus.OK, PageStatus.SUSPECT)
NO_RESULTS = [status for status in PageStatus if status not in RESULTS]
TABLE = "Name\tJanuary\tFebruary\nOats\t1200\t1300\nBarley\t2200\t2300"


def block(*lines, confidence=0.99, kind=BlockType.TEXT):
    sure = None if confidence is None else Confidence(confidence, confidence)
    return Block(kind, "\n".join(lines), confidence=sure)


def page(*blocks, status=PageStatus.OK, **fields):
    text = "\n\n".join(block.text for block in blocks if block.text)
    return Page(1, status, text, blocks=blocks, **fields)


def lines(*found, confidence=0.99, **fields):
    return page(block(*found, confidence=confidence), **fields)
