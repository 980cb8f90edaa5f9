"""The text that a PDF carries, as an alternative to reading the page, and whether to trust it.

Text layers may be missing, cover half the page, or hold rubbish where fonts lack a mapping to
characters; none of that shows before somebody reads it.
"""

import unicodedata
from dataclasses import dataclass
from typing import Protocol

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import PageFacts
from ocrcli.options import TextLayer

_MAX_BAD_SHARE = 0.02
_MIN_LETTER_SHARE = 0.4
_MAX_PICTURE_SHARE = 0.5
_MAX_INK_DENSITY = 0.6
_BAD_CATEGORIES = ("Cc", "Cn", "Co", "Cs")
_TEXT_BLOCK = 0


class _PdfPage(Protocol):
    rect: "_Rectangle"

    def get_text(self, option: str) -> list[tuple[float, float, float, float, str, int, int]]: ...

    def get_image_info(self) -> list[dict[str, tuple[float, float, float, float]]]: ...


class _Rectangle(Protocol):
    width: float
    height: float


@dataclass(frozen=True)
class Layer:
    """The text layer of a page.

    Attributes:
        markup: The text as a model would have written it.
        text_share: Share of the page that its text covers, 0 to 1.
        picture_share: Share of the page that its largest picture covers, 0 to 1.
    """

    markup: str
    text_share: float
    picture_share: float


def read_layer(page: _PdfPage) -> Layer | None:
    """Return the text that a page of a PDF carries, or None if there is none.

    Args:
        page: The page as PyMuPDF opens it.
    """
    width, height = page.rect.width, page.rect.height
    pieces, covered = [], 0.0
    for left, top, right, bottom, text, _, kind in page.get_text("blocks"):
        lines = "\n".join(line.strip() for line in text.splitlines() if line.strip())
        if kind != _TEXT_BLOCK or not lines:
            continue
        edges = (left / width, top / height, right / width, bottom / height)
        box = ", ".join(str(round(min(max(edge, 0.0), 1.0) * MAX_COORDINATE)) for edge in edges)
        covered += _area((left, top, right, bottom))
        # What looks like a control token is text here.
        pieces.append(f"<|det|>text [{box}]<|/det|>{lines.replace('<|', '< |')}")
    if not pieces:
        return None
    areas = [_area(info["bbox"]) / (width * height) for info in page.get_image_info()]
    text_share = min(covered / (width * height), 1.0)
    return Layer("\n".join(pieces), text_share, min(max(areas, default=0.0), 1.0))


def is_wanted(layer: Layer | None, facts: PageFacts, text: str, choice: TextLayer) -> bool:
    """Return whether the layer is taken instead of reading the page.

    Args:
        layer: The layer, or None.
        facts: What is known of the page, its ink above all.
        text: The layer's text.
        choice: What the user asked for.
    """
    if layer is None or choice is TextLayer.IGNORE:
        return False
    return choice is TextLayer.PREFER or _is_sound(layer, facts, text)


def _is_sound(layer: Layer, facts: PageFacts, text: str) -> bool:
    signs = [character for character in text if not character.isspace()]
    bad = sum(sign == "\ufffd" or unicodedata.category(sign) in _BAD_CATEGORIES for sign in signs)
    letters = sum(sign.isalnum() for sign in signs)
    return (
        bool(signs)
        and bad <= _MAX_BAD_SHARE * len(signs)
        and letters >= _MIN_LETTER_SHARE * len(signs)
        and layer.picture_share <= _MAX_PICTURE_SHARE
        and facts.ink_ratio <= _MAX_INK_DENSITY * layer.text_share
    )


def _area(box: tuple[float, float, float, float]) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
