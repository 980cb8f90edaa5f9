"""hOCR and ALTO as the command writes them obey the grammar of their standards.

The grammar of ALTO 4.2 is its published XML Schema, written down here for the elements we use; that
of hOCR 1.2 is its text on XHTML, classes and properties.
"""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from ocrcli.document import Block, BlockType, Page, PageFacts, PageStatus, Source
from ocrcli.options import OutputFormat
from ocrcli.writers import new_writer

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
XHTML = "{http://www.w3.org/1999/xhtml}"
NAME = 'odd "name"; bbox & <x>.pdf'

# An element of ALTO: its children as a pattern, its required and its optional attributes.
BOX = {"HPOS", "VPOS", "WIDTH", "HEIGHT"}
BLOCK = BOX | {"ROTATION", "CS", "STYLEREFS", "TAGREFS", "PROCESSINGREFS", "IDNEXT"}
LINE = BOX | {"ID", "BASELINE", "LANG", "CS", "STYLEREFS", "TAGREFS", "PROCESSINGREFS"}
WORD = LINE - {"BASELINE"} | {"WC", "CC", "STYLE", "SUBS_TYPE", "SUBS_CONTENT"}
PAGE = {"WIDTH", "HEIGHT", "PRINTED_IMG_NR", "PAGECLASS", "PC", "ACCURACY", "QUALITY", "PROCESSING"}
SPACES = "(TopMargin )?(LeftMargin )?(RightMargin )?(BottomMargin )?(PrintSpace )?"
GRAMMAR = {
    "alto": ("(Description )?(Styles )?(Tags )?Layout ", set(), {"SCHEMAVERSION"}),
    "Description": ("MeasurementUnit (sourceImageInformation )?(Processing )*", set(), set()),
    "MeasurementUnit": ("", set(), set()),
    "sourceImageInformation": (
        "(fileName )?(fileIdentifier )*(documentIdentifier )*",
        set(),
        set(),
    ),
    "fileName": ("", set(), set()),
    "fileIdentifier": ("", set(), {"fileIdentifierLocation"}),
    "Processing": (
        "(processingCategory )?(processingDateTime )?(processingAgency )?"
        "(processingStepDescription )*(processingStepSettings )?(processingSoftware )?",
        {"ID"},
        set(),
    ),
    "processingStepDescription": ("", set(), set()),
    "processingStepSettings": ("", set(), set()),
    "processingSoftware": (
        "(softwareCreator )?(softwareName )?(softwareVersion )?(applicationDescription )?",
        set(),
        set(),
    ),
    "softwareName": ("", set(), set()),
    "softwareVersion": ("", set(), set()),
    "Layout": ("(Page )+", set(), {"STYLEREFS"}),
    "Page": (SPACES, {"ID", "PHYSICAL_IMG_NR"}, PAGE),
    "PrintSpace": (
        "((TextBlock|Illustration|GraphicalElement|ComposedBlock) )*",
        set(),
        BOX | {"ID"},
    ),
    "TextBlock": ("(Shape )?(TextLine )*", {"ID"}, BLOCK | {"LANG"}),
    "Illustration": ("(Shape )?", {"ID"}, BLOCK | {"TYPE", "FILEID"}),
    "TextLine": ("(Shape )?(String (SP )?)+(HYP )?", set(), LINE),
    "String": ("(Shape )?(ALTERNATIVE )*(Glyph )*", {"CONTENT"}, WORD),
    "SP": ("", set(), BOX | {"ID"}),
}
NUMBERS = BOX | {"PHYSICAL_IMG_NR", "WC", "PC", "ACCURACY", "ROTATION"}

# A property of hOCR: its name and its values.
PROPERTIES = {
    "bbox": r"\d+ \d+ \d+ \d+",
    "image": r'"[^"]*"',
    "ppageno": r"\d+",
    "scan_res": r"\d+ \d+",
    "x_wconf": r"(100|\d{1,2})",
    "textangle": r"-?\d+(\.\d+)?",
}
LAYOUT = {"ocr_page", "ocr_carea", "ocr_par", "ocr_line", "ocrx_word"}
FLOATS = {"ocr_header", "ocr_footer", "ocr_pageno", "ocr_caption", "ocr_display", "ocr_photo"}


@pytest.fixture(params=["command", "every block"])
def written(request, run_script, fakes, tmp_path):
    """What is written of pages that are read, blank, cut and failed; and of every kind of block."""

    def by_command(format_):
        fakes.write_pdf(tmp_path / NAME, ["1", None, "3", "4"])
        script = {"loop": [3], "error": [4]}
        done = run_script("transcribe", NAME, "-f", format_, script=script, cwd=tmp_path)
        assert done.code == 10, done.stderr
        return done.stdout

    def every_block(format_):
        facts = PageFacts(1, "iv", 600.0, 800.0, 960, 1280, 115.2)
        source = Source(NAME, "0" * 64, 1, 1)
        blocks = tuple(
            Block(kind, "two words\n& <more>", (100, 50 * n, 900, 50 * n + 40))
            for n, kind in enumerate(BlockType)
        )
        figure = Block(BlockType.FIGURE, "", (0, 900, 999, 999))
        page = Page(1, PageStatus.OK, blocks=(*blocks, figure), facts=facts)
        writer = new_writer(OutputFormat(format_))
        return writer.page(source, page) + writer.end()

    return by_command if request.param == "command" else every_block


def test_alto_obeys_its_schema(written):
    root = ElementTree.fromstring(written("alto"))
    assert root.tag == f"{ALTO}alto"
    assert root.findtext(f"{ALTO}Description/{ALTO}MeasurementUnit") in (
        "pixel",
        "mm10",
        "inch1200",
    )
    for element in root.iter():
        name = element.tag.removeprefix(ALTO)
        children, required, optional = GRAMMAR[name]
        found = "".join(child.tag.removeprefix(ALTO) + " " for child in element)
        assert re.fullmatch(children, found), f"{name}: {found}"
        given = {key for key in element.attrib if not key.startswith("{")}
        assert required <= given <= required | optional, f"{name}: {given}"
        assert all(float(element.get(key)) >= 0 for key in given & NUMBERS)
        assert all(0 <= float(element.get(key)) <= 1 for key in given & {"WC", "PC"})
        text = (element.text or "").strip() + (element.tail or "").strip()
        assert not text or not len(element), f"{name}: {text}"
    names = [element.get("ID") for element in root.iter() if element.get("ID")]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[A-Za-z_][\w.-]*", name) for name in names)
    assert len(list(root.iter(f"{ALTO}Page"))) in (1, 4)


def test_hocr_is_xhtml_with_the_properties_of_the_standard(written):
    text = written("hocr")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{XHTML}html"
    assert [child.tag for child in root] == [f"{XHTML}head", f"{XHTML}body"]
    assert root.find(f"{XHTML}head/{XHTML}title") is not None
    meta = {item.get("name"): item.get("content") for item in root.iter(f"{XHTML}meta")}
    assert meta["ocr-system"].startswith("ocrcli ")
    capabilities = set(meta["ocr-capabilities"].split())
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in root.iter():
        kind = element.get("class", "")
        if not kind.startswith("ocr"):
            continue
        assert kind in LAYOUT | FLOATS | {"ocr_table"}
        assert kind in capabilities, f"{kind} is not announced"
        properties = dict(properties_of(element.get("title")))
        assert "bbox" in properties
        left, top, right, bottom = map(int, properties["bbox"].split())
        assert left <= right
        assert top <= bottom
        expected = {"ocrx_word": "ocr_line", "ocr_line": "ocr_par", "ocr_page": ""}
        assert expected.get(kind, parents[element].get("class", "")) == parents[element].get(
            "class", ""
        )
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))


def properties_of(title):
    """Yield the properties in a title; a semicolon between quotation marks ends none."""
    for part in re.findall(r'(?:[^;"]|"[^"]*")+', title):
        name, _, values = part.strip().partition(" ")
        assert re.fullmatch(PROPERTIES[name], values), f"{name}: {values}"
        yield name, values
