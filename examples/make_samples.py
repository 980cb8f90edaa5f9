"""Draws the sample PDFs of this folder, and beside each the text that is printed on it.

    python examples/make_samples.py --font-dir DIR

DIR holds Carlito and Caladea, two free font families, as `Carlito-Regular.ttf` and so on.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

MARGIN_PT = 72.0
PAGE_SIZE = "A4"
# A fixed date keeps the files the same from run to run.
DRAWN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Block:
    """One block of a page.

    Attributes:
        text: Running text; it is broken into lines when it is drawn.
        size_pt: Size of the letters.
        style: "" or "B" for bold.
        indent_pt: Distance from the left margin.
        bullet: Sign before the first line, inside the indent.
        gap_pt: Distance from the block above.
        is_broken: Whether line breaks in `text` are kept and nothing else is broken.
    """

    text: str
    size_pt: float = 11.0
    style: str = ""
    indent_pt: float = 0.0
    bullet: str = ""
    gap_pt: float = 12.0
    is_broken: bool = False


def title(text: str) -> Block:
    """Return a heading."""
    return Block(text, size_pt=18.0, style="B", gap_pt=20.0)


def items(*texts: str, numbered: bool = False) -> list[Block]:
    """Return the items of a list, close together."""
    return [
        Block(
            text,
            indent_pt=18.0,
            bullet=f"{number}." if numbered else "\u2022",
            gap_pt=12.0 if number == 1 else 2.0,
        )
        for number, text in enumerate(texts, start=1)
    ]


LETTER = [
    [
        Block("Mill Lane Bookbindery\n14 Mill Lane\nHarrowby", is_broken=True),
        Block("3 March 2025", gap_pt=24.0),
        Block("Dear Ms Okafor,", gap_pt=24.0),
        Block(
            "Thank you for the parcel, which reached us on Monday without so much as a bent corner."
            " All six volumes are here, and we have now looked at each of them in good light."
        ),
        Block(
            "The leather of the first four books is sound. It is dry, as one would expect after "
            "sixty years on a shelf above a stove, but it can be cleaned and fed with wax. The "
            "sewing holds, and the gold on the spines needs no more than a soft brush. We would "
            "leave these volumes as they are."
        ),
        Block(
            "The fifth book has been opened too wide at some time. Its back is broken between "
            "pages 212 and 213, and three gatherings hang by a single thread. We suggest taking "
            "it apart, mending the folds with thin paper, and sewing it again on the old cords. "
            "The covers can be used once more."
        ),
        Block(
            "The sixth book is the one you asked about. The stains near the end are not ink but "
            "tea, and most of them will come out in a bath of clean water. One page, number 87, "
            "is missing. If you can lend us another copy, we will make a facsimile of it."
        ),
    ],
    [
        Block(
            "As to the cost, cleaning comes to 18 pounds a volume, the new sewing to 140 pounds, "
            "and the washing to 95 pounds. We would need about seven weeks, and we would send you "
            "photographs of every step."
        ),
        Block(
            "You wrote that the books belonged to your grandfather, who kept the weather station "
            "on Gull Head. We found a slip of paper in the third volume with wind speeds noted in "
            "pencil, one for each day of November 1961. We have put it into an envelope, and it "
            "will travel back with the books."
        ),
        Block(
            "Please let us know by the end of the month whether we may begin. You are welcome to "
            "visit the workshop on any weekday between nine and five; the kettle is usually on."
        ),
        Block("Yours sincerely,", gap_pt=18.0),
        Block("Edmund Thrale\nMaster binder", gap_pt=36.0, is_broken=True),
    ],
]

HEADING_AND_LIST = [
    [
        title("Looking After a Garden Pond"),
        Block(
            "A pond the size of a dining table is enough to bring frogs, dragonflies and thirsty "
            "birds into a garden. It asks for little work if it is set up well, and most of that "
            "work falls in two weekends of the year."
        ),
        Block(
            "Choose a place that gets six hours of sun and stands clear of large trees. Make one "
            "side slope gently, so that whatever falls in can climb out again. Fill the pond with "
            "rain water if you can: tap water feeds the green threads that choke a young pond."
        ),
        Block("In spring you should", gap_pt=14.0),
        *items(
            "lift out the dead leaves before they sink,",
            "divide plants that have filled their baskets,",
            "check the edge of the liner for places where the water creeps out, and",
            "leave the frogspawn where it is.",
        ),
        Block("In autumn, in this order:", gap_pt=14.0),
        *items(
            "Stretch a net over the water before the leaves come down.",
            "Cut the reeds to a hand above the surface.",
            "Take the pump indoors and store it in a bucket of water.",
            numbered=True,
        ),
        Block(
            "Never break the ice with a hammer. The shock harms the fish below. A ball left "
            "floating on the water keeps a hole open for air, and on cold mornings a pan of hot "
            "water set on the ice will do the same.",
            gap_pt=14.0,
        ),
    ]
]

REPORT = [
    [
        title("The Ferry at Stane Narrows"),
        Block(
            "This short report looks at one year of the rope ferry that crosses the river at "
            "Stane Narrows. It was written for the parish council, which must decide whether to "
            "renew the licence when it ends in June."
        ),
        title("How the ferry works"),
        Block(
            "The boat is flat and carries up to twelve people or two small cars. It has no engine. "
            "A steel rope lies across the bed of the river, and a hand winch on deck pulls the "
            "boat along it. A crossing takes four minutes in summer and up to nine when the river "
            "is high."
        ),
        Block(
            "One ferryman works from seven in the morning until dusk. A bell on the far bank calls "
            "him over. When the water stands more than two metres above the mark on the landing "
            "stage, the ferry stops and a red board is hung out."
        ),
    ],
    [
        title("What was counted"),
        Block(
            "From April to March the ferryman kept a tally of every crossing. There were 9,416 "
            "crossings in all. The quietest month was January with 212, the busiest was August "
            "with 1,730. Seven out of ten travellers came on foot, two brought a bicycle, and one "
            "came by car."
        ),
        Block(
            "The red board hung for 31 days, most of them in February. Without the ferry the way "
            "round by the bridge at Corley is eleven miles, which is why the school on the east "
            "bank closes when the river is up."
        ),
        Block("Three things were said again and again by those we asked:"),
        *items(
            "The steps on the west bank are slippery when wet.",
            "The fare, 80 pence, is fair.",
            "Nobody knows in the morning whether the ferry will run that night.",
        ),
    ],
    [
        title("What we suggest"),
        Block(
            "The licence should be renewed for five years. The income covers the wages and the "
            "yearly test of the rope, and leaves about 600 pounds for repairs."
        ),
        *items(
            "Roughen the stone steps before the winter.",
            "Put a second bell beside the school gate.",
            "Send a message to all families at noon when the water is rising.",
            numbered=True,
        ),
        Block(
            "We thank the ferryman, Mr Jory Pell, for a year of careful pencil strokes in a damp "
            "notebook.",
            gap_pt=14.0,
        ),
    ],
]

SAMPLES = {
    "letter": ("Carlito", LETTER),
    "heading_and_list": ("Caladea", HEADING_AND_LIST),
    "report": ("Caladea", REPORT),
}


def wrapped(pdf: FPDF, text: str, width_pt: float) -> list[str]:
    """Return text broken into lines that fit, in the font that is set."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and pdf.get_string_width(longer) <= width_pt:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def draw_block(pdf: FPDF, family: str, block: Block, top_pt: float) -> tuple[float, list[str]]:
    """Draw a block and return where it ends, and its lines as printed."""
    pdf.set_font(family, style=block.style, size=block.size_pt)
    left = MARGIN_PT + block.indent_pt
    width = pdf.w - MARGIN_PT - left
    lines = block.text.split("\n") if block.is_broken else wrapped(pdf, block.text, width)
    if block.bullet:
        pdf.text(MARGIN_PT, top_pt + block.size_pt, block.bullet)
    for line in lines:
        pdf.text(left, top_pt + block.size_pt, line)
        top_pt += 1.35 * block.size_pt
    if block.bullet:
        lines[0] = f"{block.bullet} {lines[0]}"
    return top_pt, lines


def draw(family: str, pages: Sequence[Sequence[Block]], fonts: Path) -> tuple[bytes, str]:
    """Return a PDF and the text printed on it."""
    pdf = FPDF(unit="pt", format=PAGE_SIZE)
    pdf.set_creation_date(DRAWN)
    pdf.set_auto_page_break(False)
    for style, name in (("", "Regular"), ("B", "Bold")):
        pdf.add_font(family, style, fonts / f"{family}-{name}.ttf")
    texts = []
    for blocks in pages:
        pdf.add_page()
        top, printed, is_item = MARGIN_PT, "", False
        for block in blocks:
            top, lines = draw_block(pdf, family, block, top + (block.gap_pt if printed else 0))
            # The items of a list are one block of the transcript.
            separator = "\n" if is_item and block.bullet else "\n\n"
            printed += (separator if printed else "") + "\n".join(lines)
            is_item = bool(block.bullet)
        texts.append(f"{printed}\n")
    return bytes(pdf.output()), "\f".join(texts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw every sample."""
    parser = argparse.ArgumentParser(description="Draw the sample PDFs and their texts.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--font-dir", type=Path, required=True, help="folder with the fonts")
    parser.add_argument("--output-dir", type=Path, default=here, help="where to write")
    options = parser.parse_args(arguments)
    for name, (family, pages) in SAMPLES.items():
        pdf, text = draw(family, pages, options.font_dir)
        (options.output_dir / f"{name}.pdf").write_bytes(pdf)
        (options.output_dir / f"{name}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
