"""hOCR: the transcript as XHTML with the place of every block, line and word."""

import html

from ocrcli import __version__
from ocrcli.document import Block, BlockType, Document, Page, Source
from ocrcli.errors import OcrError, printable
from ocrcli.writers.lines import NOTE, PlacedLine, Rectangle, block_box, placed_lines, xml_text

_CLASSES = {
    BlockType.HEADER: "ocr_header",
    BlockType.FOOTER: "ocr_footer",
    BlockType.PAGE_NUMBER: "ocr_pageno",
    BlockType.CAPTION: "ocr_caption",
    BlockType.FORMULA: "ocr_display",
    BlockType.FIGURE: "ocr_photo",
    BlockType.TABLE: "ocr_table",
}
_CAPABILITIES = " ".join(
    ("ocr_page", "ocr_carea", *_CLASSES.values(), "ocr_par", "ocr_line", "ocrx_word")
)
_HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"
    "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
<head>
<title></title>
<meta http-equiv="Content-Type" content="text/html;charset=utf-8" />
<meta name="ocr-system" content="ocrcli {__version__}" />
<meta name="ocr-capabilities" content="{_CAPABILITIES}" />
<meta name="description" content="{NOTE}" />
</head>
<body>
"""


class HocrWriter:
    """One `ocr_page` per page, in one document."""

    def __init__(self) -> None:
        """Start an output."""
        self._num_pages = 0

    def page(self, source: Source, page: Page) -> str:
        """Return the page's element."""
        head = "" if self._num_pages else _HEAD
        self._num_pages += 1
        facts = page.facts
        # The standard knows no way to write a quotation mark between quotation marks.
        name = printable(source.name).replace('"', "%22")
        title = (
            f"image &quot;{_escaped(name)}&quot;; "
            f"bbox 0 0 {facts.image_width} {facts.image_height}; ppageno {page.page_number - 1}; "
            f"scan_res {round(facts.dpi)} {round(facts.dpi)}"
        )
        number = self._num_pages
        blocks = "".join(
            _block(block, page, f"{number}_{order}") for order, block in enumerate(page.blocks, 1)
        )
        status = f'data-status="{page.status}"'
        return (
            f'{head}<div class="ocr_page" id="page_{number}" {status} title="{title}">\n'
            f"{blocks}</div>\n"
        )

    def document(self, document: Document) -> str:
        """Return nothing: pages are enough."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no part of a page."""
        return ""

    def end(self) -> str:
        """Return the end of the document."""
        return "</body>\n</html>\n" if self._num_pages else f"{_HEAD}</body>\n</html>\n"


def _block(block: Block, page: Page, number: str) -> str:
    box = block_box(block, page)
    kind = _CLASSES.get(block.type, "ocr_carea")
    # hOCR counts the angle of text counter-clockwise: as far as the page was turned back.
    angle = f"; textangle {page.rotation}" if page.rotation else ""
    lines = "".join(_line(line, angle) for line in placed_lines(block, page))
    paragraph = f'<p class="ocr_par" title="{_bbox(box)}">\n{lines}</p>\n' if lines else ""
    return f'<div class="{kind}" id="block_{number}" title="{_bbox(box)}">\n{paragraph}</div>\n'


def _line(line: PlacedLine, angle: str) -> str:
    words = " ".join(
        f'<span class="ocrx_word" title="{_bbox(box)}">{_escaped(word)}</span>'
        for word, box in line.words
    )
    return f'<span class="ocr_line" title="{_bbox(line.box)}{angle}">{words}</span>\n'


def _bbox(box: Rectangle) -> str:
    return f"bbox {' '.join(map(str, box))}"


def _escaped(text: str) -> str:
    return html.escape(xml_text(text))
