"""ALTO 4: the transcript as the XML that libraries keep beside their scans."""

import html

from ocrcli import __version__
from ocrcli.document import Block, BlockType, Document, Page, Source
from ocrcli.errors import OcrError, printable
from ocrcli.writers.lines import NOTE, PlacedLine, Rectangle, block_box, placed_lines, xml_text

_NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
_SCHEMA = "http://www.loc.gov/standards/alto/v4/alto-4-2.xsd"


class AltoWriter:
    """One document per output, one `Page` per page."""

    def __init__(self) -> None:
        """Start an output."""
        self._num_pages = 0

    def page(self, source: Source, page: Page) -> str:
        """Return the page's element."""
        head = "" if self._num_pages else _head(source.name)
        self._num_pages += 1
        facts, number = page.facts, self._num_pages
        size = f'WIDTH="{facts.image_width}" HEIGHT="{facts.image_height}"'
        label = facts.label or str(page.page_number)
        blocks = "".join(
            _block(block, page, f"{number}_{order}") for order, block in enumerate(page.blocks, 1)
        )
        return (
            f'{head}<Page ID="page_{number}" PHYSICAL_IMG_NR="{page.page_number}" '
            f'PRINTED_IMG_NR="{_escaped(label)}" {size}>\n'
            f'<PrintSpace HPOS="0" VPOS="0" {size}>\n{blocks}</PrintSpace>\n</Page>\n'
        )

    def document(self, document: Document) -> str:
        """Return nothing: pages are enough."""
        return ""

    def failure(self, error: OcrError) -> str:
        """Return nothing: failures are no part of a page."""
        return ""

    def end(self) -> str:
        """Return the end of the document; one without pages is none."""
        return "</Layout>\n</alto>\n" if self._num_pages else ""


def _head(source: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<alto xmlns="{_NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="{_NAMESPACE} {_SCHEMA}">
<Description>
<MeasurementUnit>pixel</MeasurementUnit>
<sourceImageInformation><fileName>{_escaped(printable(source))}</fileName></sourceImageInformation>
<Processing ID="ocr">
<processingStepDescription>{NOTE}</processingStepDescription>
<processingSoftware><softwareName>ocrcli</softwareName>\
<softwareVersion>{__version__}</softwareVersion></processingSoftware>
</Processing>
</Description>
<Layout>
"""


def _block(block: Block, page: Page, number: str) -> str:
    place = _place(block_box(block, page))
    if page.rotation:
        # Counter-clockwise: as far as the page was turned back.
        place += f' ROTATION="{page.rotation}"'
    if block.type is BlockType.FIGURE and not block.text.strip():
        return f'<Illustration ID="block_{number}" {place} />\n'
    lines = "".join(_line(line) for line in placed_lines(block, page))
    return f'<TextBlock ID="block_{number}" {place}>\n{lines}</TextBlock>\n' if lines else ""


def _line(line: PlacedLine) -> str:
    words = "<SP />".join(
        f'<String CONTENT="{_escaped(word)}" {_place(box)} />' for word, box in line.words
    )
    return f"<TextLine {_place(line.box)}>{words}</TextLine>\n"


def _place(box: Rectangle) -> str:
    left, top, right, bottom = box
    return f'HPOS="{left}" VPOS="{top}" WIDTH="{right - left}" HEIGHT="{bottom - top}"'


def _escaped(text: str) -> str:
    return html.escape(xml_text(text))
