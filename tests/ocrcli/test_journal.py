"""A page that comes back from the journal is the page that went in."""

from dataclasses import replace

from ocrcli.confidence import TokenTrace
from ocrcli.document import PageFacts
from ocrcli.journal import Journal
from ocrcli.line_boxes import Line
from ocrcli.records import finished_page
from ocrcli.textstyle import TextStyle

FACTS = PageFacts(1, None, 600.0, 800.0, 960, 1280, 115.0, ink_pixels=50_000)
MARKUP = "<|det|>title [0, 0, 999, 99]<|/det|>Head\n<|det|>image [0, 200, 500, 300]<|/det|>"


def reopened(path):
    journal = Journal(path, "0" * 64, "sha256:1")
    pages = journal.pages(TextStyle())
    journal.close()
    return pages


def test_page_survives_whole(fakes, tmp_path):
    path = tmp_path / ".a.txt.journal"
    result = fakes.result(1, MARKUP, rotation=90)
    probabilities = tuple(1 - n / 1000 for n in range(len(MARKUP)))
    trace = TokenTrace(tuple(range(1, len(MARKUP) + 1)), probabilities)
    page = finished_page(FACTS, replace(result, trace=trace))
    assert len({block.confidence for block in page.blocks}) == 2
    lines = (
        Line((100.5, 100, 300, 120), ((100.5, 180), (200, 300))),
        Line((1, 2, 3, 4), (), False),
    )
    page = replace(page, blocks=(replace(page.blocks[0], lines=lines), *page.blocks[1:]))
    journal = Journal(path, "0" * 64, "sha256:1")
    journal.add(page)
    journal.close()
    assert reopened(path) == {1: page}


def test_line_with_too_few_confidences_is_not_believed(fakes, tmp_path):
    path = tmp_path / ".a.txt.journal"
    journal = Journal(path, "0" * 64, "sha256:1")
    journal.add(finished_page(FACTS, fakes.result(1, MARKUP)))
    journal.close()
    text = path.read_text()
    start = text.index('"block_confidence": [') + len('"block_confidence": [')
    path.write_text(text[:start] + text[text.index("]", start) :])
    assert reopened(path) == {}
