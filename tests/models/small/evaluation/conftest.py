from pathlib import Path

import pytest

from ocrcli.models.small.training.charset import CHARS


@pytest.fixture
def fonts(tmp_path: Path) -> Path:
    """A folder with one font of boxes: its widths differ by letter, its shapes do not."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    names = [".notdef", *(f"u{ord(char):04X}" for char in CHARS)]
    glyphs, metrics = {}, {}
    for index, name in enumerate(names):
        pen, width = TTGlyphPen(None), 350 + 37 * (index % 9)
        if name != "u0020":
            corners = [(40, 0), (40, 500), (width - 40, 500), (width - 40, 0)]
            pen.moveTo(corners[0])
            for corner in corners[1:]:
                pen.lineTo(corner)
            pen.closePath()
        glyphs[name], metrics[name] = pen.glyph(), (width, 40)
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(char): f"u{ord(char):04X}" for char in CHARS})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(metrics)
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200)
    builder.setupPost()
    folder = tmp_path / "fonts"
    folder.mkdir()
    builder.save(folder / "Boxes-Regular.ttf")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with one book, named like one that is held out."""
    folder = tmp_path / "heldout"
    folder.mkdir()
    lines = [
        f"Paragraph {n} was “read” with care—by nobody; it’s {n * 7} words. " * 5 for n in range(60)
    ]
    lines.insert(0, "A Short Heading")
    book = folder / "bram-stoker_dracula.txt"
    book.write_text("\n".join(map(str.strip, lines)) + "\n", encoding="utf-8")
    return folder
