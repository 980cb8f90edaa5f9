from pathlib import Path

import pytest

import ocrcli.models.small
from ocrcli.blocks import parse_markup
from ocrcli.models.small.training.composed import ComposedBlock, TableCell
from ocrcli.models.small.training.responses import response
from ocrcli.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_file(Path(ocrcli.models.small.__file__).with_name("tokenizer.json"))


def test_responses_parse_back_into_their_blocks(tokenizer):
    rows = [
        [TableCell("Name", True), TableCell("Both", True, columns=2)],
        [TableCell("a", rows=2), TableCell("1,50 €"), TableCell("")],
        [TableCell("2"), TableCell("<td>")],
    ]
    blocks = [
        ComposedBlock("title", ["One", "two"]),
        ComposedBlock("table", table=rows),
        ComposedBlock("figure"),
        ComposedBlock("code", ["if x:", "    return y"]),
    ]
    boxes = [(10, 20, 300, 60), (10, 80, 900, 300), (0, 310, 999, 500), (10, 520, 400, 600)]
    ids = response(tokenizer, blocks, boxes)
    assert ids[0] == tokenizer.page_id
    assert ids[-1] == tokenizer.eos_id
    page = parse_markup(tokenizer.decode(ids), 600, 800)
    assert not page.warnings
    assert [block.type for block in page.blocks] == ["title", "table", "figure", "code"]
    assert [block.box for block in page.blocks] == boxes
    assert page.blocks[0].text == "One\ntwo"
    assert page.blocks[2].text == ""
    assert page.blocks[3].text == "if x:\n    return y"
    html = page.blocks[1].html
    assert html.startswith('<table><tr><th>Name</th><th colspan="2">Both</th></tr>')
    assert '<td rowspan="2">a</td><td>1,50 €</td><td></td></tr>' in html


def test_lines_and_rows_say_where_they_begin(tokenizer):
    rows = [[TableCell("12", True)], [TableCell("b")]]
    blocks = [ComposedBlock("text", ["One", "2", "three"]), ComposedBlock("table", table=rows)]
    boxes = [(10, 20, 300, 60), (10, 80, 900, 300)]
    ids = response(tokenizer, blocks, boxes, [[24, 36, 48], [92, 112]])
    written = [ids[i + 1] for i, id_ in enumerate(ids) if id_ == tokenizer.newline_id]
    at = tokenizer.integer_id
    assert ids[:3] == [tokenizer.page_id, tokenizer.newline_id, tokenizer.det_id]
    assert written[1:] == [at(36), at(48), tokenizer.det_id]
    row = tokenizer.tag_ids["<tr>"]
    assert [ids[i + 1] for i, id_ in enumerate(ids) if id_ == row] == [at(92), at(112)]
    # What is said of places spells nothing.
    assert tokenizer.decode(ids[2:]) == tokenizer.decode(response(tokenizer, blocks, boxes)[1:])
    # A block may go without.
    ids = response(tokenizer, blocks, boxes, [[24, 36, 48], []])
    assert at(92) not in ids
    assert at(48) in ids


def test_blank_page_is_a_marker_and_an_end(tokenizer):
    assert response(tokenizer, [], []) == [tokenizer.page_id, tokenizer.eos_id]


def test_gaps_in_code_are_no_longer_than_can_be_counted(tokenizer):
    code = ComposedBlock("code", ["a" + 30 * " " + "b", 60 * " " + "c  d"])
    text = tokenizer.decode(response(tokenizer, [code], [(0, 0, 9, 9)]))
    assert text.endswith("a" + 8 * " " + "b\n" + 24 * " " + "c  d")
    page = parse_markup(text, 600, 800)
    assert len(page.blocks) == 1
