"""Formats that say where text stands: hOCR, ALTO and searchable PDF; and the JSON Schema."""

import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocrcli.blocks import parse_markup
from ocrcli.document import Page, PageFacts, PageStatus, Source
from ocrcli.searchable_pdf import _is_searchable
from ocrcli.writers import AltoWriter, HocrWriter, json_schema
from ocrcli.writers.lines import placed_lines

SOURCE = Source('a "b" & <c>.pdf', "0" * 64, 2, 2)
MARKUP = (
    "<|det|>title [100, 100, 899, 200]<|/det|>Fish & <Chips>\n"
    "<|det|>image [100, 300, 500, 600]<|/det|>\n"
    "<|det|>text [100, 700, 899, 800]<|/det|>two lines\nof text\x01"
)


def page(number, markup=MARKUP, rotation=0):
    facts = PageFacts(number, None, 600.0, 800.0, 960, 1280, 115.2)
    blocks = parse_markup(markup, 600, 800, rotation=rotation).blocks
    return Page(number, PageStatus.OK, blocks=blocks, facts=facts, rotation=rotation)


def tree(writer, pages):
    text = "".join(writer.page(SOURCE, item) for item in pages) + writer.end()
    return ElementTree.fromstring(text), text


def box(title):
    return [int(number) for number in re.search(r"bbox ((?:\d+ ?){4})", title)[1].split()]


def test_hocr_is_well_formed_and_nests_its_boxes():
    root, text = tree(HocrWriter(), [page(1), page(2, "")])
    pages = [item for item in root.iter() if item.get("class") == "ocr_page"]
    assert len(pages) == 2
    words = [item.text for item in root.iter() if item.get("class") == "ocrx_word"]
    assert words == ["Fish", "&", "<Chips>", "two", "lines", "of", "text"]
    for area in pages[0]:
        left, top, right, bottom = box(area.get("title"))
        for inner in area.iter():
            if inner.get("title"):
                x1, y1, x2, y2 = box(inner.get("title"))
                assert left <= x1 <= x2 <= right
                assert top <= y1 <= y2 <= bottom
    assert "estimated" in text


def lines_of(baselines, text="one\ntwo\nthree\nfour"):
    (block,) = parse_markup(f"<|det|>text [100, 100, 899, 500]<|/det|>{text}", 600, 800).blocks
    facts = PageFacts(1, None, 600.0, 800.0, 999, 999, 115.2)
    sheet = Page(1, PageStatus.OK, blocks=(replace(block, baselines=baselines),), facts=facts)
    return [(line.box[1], line.box[3]) for line in placed_lines(sheet.blocks[0], sheet)]


def test_lines_stand_where_the_model_says_they_do():
    # A gap between the second line and the third, as between the terms of a list.
    assert lines_of((205, 420, 480)) == [(100, 160), (160, 220), (375, 435), (435, 500)]
    assert lines_of((450,), "one\ntwo") == [(100, 300), (300, 500)]


@pytest.mark.parametrize("last", [488, 499, 500, 506])
def test_last_line_may_be_said_to_begin_at_the_lower_edge(last):
    assert lines_of((205, 420, last))[-1][1] == 500
    assert lines_of((205, 420, last)) != lines_of(None)


def test_lines_that_lie_evenly_are_placed_by_the_box():
    # Distances of lines that are off add up, up to two lines in a long column.
    assert lines_of((250, 340, 430)) == lines_of(None)
    assert lines_of((250, 340, 480)) != lines_of(None)


@given(data=st.data())
def test_lines_lie_in_order_and_apart_wherever_they_are_said_to_begin(data):
    count = data.draw(st.integers(2, 8))
    places = data.draw(
        st.lists(st.integers(101, 520), min_size=count - 1, max_size=count - 1, unique=True)
    )
    edges = lines_of(tuple(sorted(places)), "\n".join("abcdefgh"[:count]))
    assert [edges[0][0], edges[-1][1]] == [100, 500]
    for (upper, lower), (next_upper, _) in itertools.pairwise(edges):
        assert upper <= lower <= next_upper


@pytest.mark.parametrize("baselines", [None, (180,), (90, 200, 300), (180, 300, 600)])
def test_lines_lie_evenly_where_their_places_are_unknown_or_outside(baselines):
    assert lines_of(baselines) == [(100, 200), (200, 300), (300, 400), (400, 500)]


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_turned_text_is_placed_on_the_page_as_it_lies(rotation):
    """The first word stands where the turned page's upper left corner was."""
    hocr, _ = tree(HocrWriter(), [page(1, rotation=rotation)])
    alto, _ = tree(AltoWriter(), [page(1, rotation=rotation)])
    (sheet,) = (item for item in hocr.iter() if item.get("class") == "ocr_page")
    assert box(sheet.get("title")) == [0, 0, 960, 1280]
    words = [item for item in hocr.iter() if item.get("class") == "ocrx_word"]
    left, top, right, bottom = box(words[0].get("title"))
    assert {
        90: left < 300 and bottom > 1100 and bottom - top > right - left,
        180: right > 800 and bottom > 1100 and bottom - top < right - left,
        270: right > 700 and top < 200 and bottom - top > right - left,
    }[rotation]
    lines = [item for item in hocr.iter() if item.get("class") == "ocr_line"]
    assert all(f"textangle {rotation}" in line.get("title") for line in lines)
    space = "{http://www.loc.gov/standards/alto/ns-v4#}"
    first = next(alto.iter(f"{space}String"))
    assert (int(first.get("HPOS")), int(first.get("VPOS"))) == (left, top)
    for kind in ("TextBlock", "Illustration"):
        assert next(alto.iter(f"{space}{kind}")).get("ROTATION") == str(rotation)


def test_alto_is_well_formed_and_complete():
    root, _ = tree(AltoWriter(), [page(1), page(2, "")])
    space = "{http://www.loc.gov/standards/alto/ns-v4#}"
    assert root.tag == f"{space}alto"
    assert [child.tag.removeprefix(space) for child in root] == ["Description", "Layout"]
    strings = [item.get("CONTENT") for item in root.iter(f"{space}String")]
    assert strings == ["Fish", "&", "<Chips>", "two", "lines", "of", "text"]
    assert len(list(root.iter(f"{space}Page"))) == 2
    assert len(list(root.iter(f"{space}Illustration"))) == 1
    ids = [item.get("ID") for item in root.iter() if item.get("ID")]
    assert len(ids) == len(set(ids))
    for item in root.iter():
        for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT"):
            assert int(item.get(name, "0")) >= 0


def check(value, schema, where="$"):
    """Check a value against the part of JSON Schema that the published one uses."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if "oneOf" in schema:
        fitting = [part for part in schema["oneOf"] if fits(value, part)]
        assert len(fitting) == 1, where
    if "anyOf" in schema:
        assert any(fits(value, part) for part in schema["anyOf"]), where
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    types = schema.get("type", [])
    if types:
        names = [types] if isinstance(types, str) else types
        numbers = {"integer": int, "number": (int, float)}
        assert isinstance(value, tuple((kinds | numbers)[name] for name in names)) or any(
            isinstance(value, numbers[name]) for name in names if name in numbers
        ), where
    if "minimum" in schema:
        assert value >= schema["minimum"], where
    if "maximum" in schema:
        assert value <= schema["maximum"], where
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), where
    for name in schema.get("required", ()):
        assert name in value, f"{where}.{name}"
    for name, part in schema.get("properties", {}).items():
        check(value[name], part, f"{where}.{name}")
    if "items" in schema:
        assert len(value) >= schema.get("minItems", 0)
        assert len(value) <= schema.get("maxItems", len(value))
        for index, item in enumerate(value):
            check(item, schema["items"], f"{where}[{index}]")


def fits(value, schema):
    try:
        check(value, schema)
    except (AssertionError, KeyError, TypeError):
        return False
    return True


@pytest.fixture
def lines(run_script, fakes, tmp_path):
    fakes.write_pdf(tmp_path / "a.pdf", ["1", None, "3", "4"])
    script = {"loop": [3], "error": [4], "turned": {"1": 270}}
    done = run_script("transcribe", "a.pdf", "b.pdf", "-f", "jsonl", script=script, cwd=tmp_path)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_published_schema_describes_every_line(run_process, lines):
    schema = json.loads(run_process("schema").stdout)
    assert schema == json_schema()
    assert [line["type"] for line in lines] == ["page"] * 4 + ["document", "error"]
    for line in lines:
        check(line, schema)


def test_turned_page_says_how_far(lines):
    turned = lines[0]
    assert turned["rotation_applied"] == 270
    assert (turned["width"], turned["height"]) == (300, 200)
    assert [notice["code"] for notice in turned["warnings"]] == ["rotated"]
    assert turned["blocks"][0]["bbox"][2] <= 300
    assert lines[1]["rotation_applied"] == 0


def test_no_field_is_written_that_the_schema_does_not_name(lines):
    for line in lines:
        (part,) = (part for part in json_schema()["oneOf"] if fits(line, part))
        assert set(line) == set(part["properties"])


class TestSearchablePdf:
    @pytest.fixture
    def made(self, run_script, tmp_path):
        def make(path, *arguments, **script):
            target = tmp_path / "out.pdf"
            done = run_script(
                "transcribe", path, "-f", "pdf", "-o", target, *arguments, script=script
            )
            assert done.code == 0, done.stderr
            return pymupdf.open(target)

        return make

    def test_text_lies_unseen_on_its_block(self, made, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", [None, "Visible"])
        with made(path) as pdf, pymupdf.open(path) as before:
            assert pdf.page_count == 2
            words = pdf[1].get_text("words")
            (place,) = (word[:4] for word in words if word[4] == "2")
            width, height = pdf[1].rect.width, pdf[1].rect.height
            assert place[0] == pytest.approx(width * 50 / 999, abs=1)
            assert pymupdf.Rect(place).y1 < height * 0.95
            assert pdf[1].get_pixmap().samples == before[1].get_pixmap().samples
            assert "estimated" in pdf.metadata["keywords"]

    @pytest.mark.parametrize(
        ("read", "is_searchable"),
        [
            ("A line of print\nand another LINE", True),
            ("A line 0f print\nund another line", True),
            ("Something else stands on the scan", False),
            ("", False),
        ],
    )
    def test_what_can_be_searched_already_is_not_laid_over_it(
        self, fakes, tmp_path, read, is_searchable
    ):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["A line of print and another line"])
        with pymupdf.open(path) as pdf:
            assert _is_searchable(pdf[0], Page(1, PageStatus.OK, read)) is is_searchable

    def test_turned_pages_look_as_before(self, made, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["Turned"])
        with pymupdf.open(path) as pdf:
            pdf[0].set_rotation(90)
            pdf.save(tmp_path / "turned.pdf")
        with made(tmp_path / "turned.pdf") as pdf:
            assert (pdf[0].rect.width, pdf[0].rect.height) == (200, 300)
            assert "1 " in pdf[0].get_text()

    @pytest.mark.parametrize(
        ("rotation", "direction"), [(90, (0, -1)), (180, (-1, 0)), (270, (0, 1))]
    )
    def test_text_is_turned_with_the_content(self, made, fakes, tmp_path, rotation, direction):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["Turned"])
        with made(path, turned={"1": rotation}) as pdf, pymupdf.open(path) as before:
            assert pdf[0].get_pixmap().samples == before[0].get_pixmap().samples
            lines = [
                line
                for block in pdf[0].get_text("dict")["blocks"]
                for line in block["lines"]
                if "Turned" not in line["spans"][0]["text"]
            ]
            assert lines[0]["dir"] == pytest.approx(direction, abs=1e-6)
            place = pymupdf.Rect(lines[0]["bbox"])
            # The model's block leaves a twentieth free on every side, whichever way up.
            width, height = pdf[0].rect.width, pdf[0].rect.height
            assert place in pymupdf.Rect(0.04 * width, 0.04 * height, 0.96 * width, 0.96 * height)
            # The line begins at the upright page's left edge.
            start = {
                90: (place.y1, 0.95 * height),
                180: (place.x1, 0.95 * width),
                270: (place.y0, 0.05 * height),
            }[rotation]
            assert start[0] == pytest.approx(start[1], abs=2)

    def test_pictures_become_pages(self, made, fakes, tmp_path):
        fakes.text_picture("RGB").save(tmp_path / "a.png")
        with made(tmp_path / "a.png") as pdf:
            assert pdf.page_count == 1
            assert len(pdf[0].get_images()) == 1
            assert "1 " in pdf[0].get_text()

    def test_only_chosen_pages_are_kept(self, made, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])
        with made(path, "--pages", "2-3") as pdf:
            assert pdf.page_count == 2

    def test_pdf_does_not_go_to_stdout(self, run_script, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1"])
        done = run_script("transcribe", path, "-f", "pdf")
        assert (done.code, done.stdout) == (2, "")
