"""A very long page is one record, whatever became of its bands."""

import dataclasses
import re
import time

import pymupdf
import pytest

from ocrcli.document import BlockType, PageStatus
from ocrcli.journal import Journal
from ocrcli.options import Device, Options
from ocrcli.page_reading import Reading, read_pages
from ocrcli.pages import open_pages
from ocrcli.recogniser import ModelRecogniser
from ocrcli.second_reading import SecondReading
from ocrcli.textstyle import TextStyle

LONG = 3000
"""Height in points of the long page, which makes six bands."""


@pytest.fixture
def path(tmp_path):
    """A long page between two short ones."""
    with pymupdf.open() as pdf:
        pdf.new_page(width=300, height=200).insert_text((30, 60), "Before", fontsize=20)
        page = pdf.new_page(width=200, height=LONG)
        for index in range(120):
            page.insert_text((20, 30 + 24 * index), f"Line {index}", fontsize=12)
        pdf.new_page(width=300, height=200).insert_text((30, 60), "After", fontsize=20)
        pdf.save(tmp_path / "a.pdf")
    return tmp_path / "a.pdf"


@pytest.fixture
def reader(fakes):
    """Answers bands by their order, through `answers`; further keywords change all answers."""

    class Reader(fakes.ScriptedRecogniser):
        def __init__(self, answers=(), ahead=1, again=None, **changes):
            super().__init__(ahead=ahead)
            self.answers, self.changes, self.second = dict(answers), changes, again
            self.bands, self.sizes = 0, []

        def transcribe(self, pages):
            waiting = []
            for page in pages:
                self.sizes.append(page.pixels.shape)
                waiting.append(self.answer(page))
                if len(waiting) >= self.ahead:
                    yield waiting.pop(0)
            yield from waiting

        def answer(self, page):
            if page.page_number != 2:
                return fakes.result(page.page_number, fakes.block(f"Page {page.page_number}"))
            self.bands += 1
            markup = fakes.block(f"Band {self.bands}", "title", "100, 10, 900, 990")
            result = fakes.result(2, markup)
            return dataclasses.replace(result, **self.changes, **self.answers.get(self.bands, {}))

        def again(self, page, first):
            self.retried.append(page.pixels.shape)
            return self.second

    return Reader


def read(path, reader, reading=None, second=None):
    with open_pages(path) as pages:
        if second:
            second = SecondReading(pages, reader, None)
        return list(read_pages(pages, reader, reading, second))


@pytest.mark.parametrize("ahead", [1, 2, 3, 50])
def test_pages_in_are_records_out(path, reader, ahead):
    first, page, last = read(path, reader(ahead=ahead))
    assert (first.text, last.text) == ("Page 1", "Page 3")
    assert page.page_number == 2
    assert page.status is PageStatus.OK
    assert page.text.split("\n\n") == [f"Band {number}" for number in range(1, 7)]
    (tiled,) = [notice for notice in page.warnings if notice.code == "tiled"]
    assert "6 tiles at 150 dpi" in tiled.detail
    assert not any(notice.code == "downscaled" for notice in page.warnings)


def test_document_that_is_one_long_page(path, reader, tmp_path):
    with pymupdf.open(path) as pdf:
        pdf.select([1])
        pdf.save(tmp_path / "one.pdf")
    (page,) = read(tmp_path / "one.pdf", reader(ahead=9))
    assert (page.page_number, page.status) == (1, PageStatus.OK)
    assert page.text.count("Page 1") == 6


def test_bands_are_never_larger_than_a_page(path, reader):
    recogniser = reader()
    read(path, recogniser)
    assert len(recogniser.sizes) == 8
    assert max(max(size) for size in recogniser.sizes) <= 1280


def test_places_are_those_of_the_page(path, reader):
    _, page, _ = read(path, reader())
    with open_pages(path) as pages:
        bands = list(list(pages)[1].bands())
    for block, band in zip(page.blocks, bands, strict=True):
        left, top, right, bottom = block.bbox
        assert left == pytest.approx(20, abs=0.2)
        assert right == pytest.approx(180, abs=0.5)
        height = band.image.facts.height_pt
        assert top == pytest.approx(max(0, band.top_pt + 10 / 999 * height), abs=0.1)
        assert bottom == pytest.approx(min(LONG, band.top_pt + 990 / 999 * height), abs=0.1)
    boxes = re.findall(r"\[[^]]*\]", page.markup)
    assert len(boxes) == 6
    assert all(0 <= int(number) <= 999 for box in boxes for number in box[1:-1].split(","))


def test_tokens_seconds_and_confidence_are_those_of_all_bands(path, reader):
    _, page, _ = read(path, reader())
    assert page.tokens.prompt == 6 * 1200
    assert page.seconds.decode == 6.0
    assert page.seconds.render < 5.0
    assert page.confidence.mean == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("finish", "status"),
    [("loop", "loop"), ("length", "truncated"), ("error", "error"), ("timeout", "timeout")],
)
def test_status_is_the_worst_of_the_bands(path, reader, finish, status):
    first, page, last = read(path, reader({3: {"finish": finish, "error": finish}}))
    assert str(page.status) == status
    assert {first.status, last.status} == {PageStatus.OK}
    told = [page.error] if page.error else [notice.detail for notice in page.warnings]
    assert any("tile 3 of 6" in line or "(tile 3" in line for line in told)


def test_band_without_text_makes_the_page_doubtful_not_empty(path, reader):
    _, page, _ = read(path, reader({2: {"markup": "", "token_ids": ()}}))
    assert page.status is PageStatus.SUSPECT
    assert "Band 1" in page.text


def test_blank_bands_are_not_read(reader, tmp_path):
    with pymupdf.open() as pdf:
        for text in ("x", None):
            page = pdf.new_page(width=200, height=LONG)
            if text:
                page.insert_text((20, 2000), "Lonely words", fontsize=12)
        pdf.save(tmp_path / "a.pdf")
    recogniser = reader()
    words, blank = read(tmp_path / "a.pdf", recogniser)
    assert (words.status, len(recogniser.sizes)) == (PageStatus.OK, 1)
    assert (blank.status, blank.text) == (PageStatus.BLANK, "")


def test_headers_and_feet_are_only_at_the_ends(path, reader, fakes):
    whole = fakes.block("Top", "header", "0, 20, 999, 90") + fakes.block(
        "Foot", "footer", "0, 920, 999, 980"
    )
    result = fakes.result(2, whole)
    changes = {"markup": result.markup, "trace": result.trace, "token_ids": result.token_ids}
    _, page, _ = read(path, reader(**changes))
    kinds = [block.type for block in page.blocks]
    assert (kinds[0], kinds[-1]) == (BlockType.HEADER, BlockType.FOOTER)
    assert set(kinds[1:-1]) == {BlockType.TEXT}


def test_upside_down_page_is_put_together_from_its_foot(path, reader):
    _, page, _ = read(path, reader(rotation=180))
    assert (page.rotation, page.status) == (180, PageStatus.OK)
    assert page.text.split("\n\n") == [f"Band {number}" for number in range(6, 0, -1)]
    tops = [block.bbox[1] for block in page.blocks]
    assert tops == sorted(tops, reverse=True)
    assert [block.box[1] for block in page.blocks] == sorted(block.box[1] for block in page.blocks)


def test_bands_that_disagree_about_the_way_up_are_doubted(path, reader):
    _, page, _ = read(path, reader({3: {"rotation": 90}}))
    assert page.status is PageStatus.SUSPECT
    assert "tiles_turned" in [notice.code for notice in page.warnings]


def test_band_that_loops_is_read_again_smaller(path, reader, fakes):
    again = fakes.result(2, fakes.block("Better"))
    recogniser = reader({2: {"finish": "loop"}}, again=again)
    _, page, _ = read(path, recogniser, second=True)
    assert (page.status, page.attempts) == (PageStatus.OK, 2)
    assert "Better" in page.text
    assert recogniser.retried == [tuple(side * 9 // 10 for side in recogniser.sizes[2])]


def test_page_whose_time_is_over_is_a_timeout(path, reader):
    first, page, last = read(path, reader(), Reading(page_timeout_s=2.0))
    assert page.status is PageStatus.OK

    class Slow(reader):
        def answer(self, page):
            if page.page_number == 2:
                time.sleep(2.5)
            return super().answer(page)

    recogniser = Slow()
    first, page, last = read(path, recogniser, Reading(page_timeout_s=2.0))
    assert (first.status, page.status, last.status) == ("ok", "timeout", "ok")
    assert recogniser.bands == 1


def test_page_survives_in_the_journal(path, reader, tmp_path):
    _, page, _ = read(path, reader())
    assert len({block.box for block in page.blocks}) == 6
    journal = Journal(tmp_path / ".j", "0" * 64, "sha256:1")
    journal.add(page)
    journal.close()
    again = Journal(tmp_path / ".j", "0" * 64, "sha256:1")
    found = again.pages(TextStyle())
    again.close()
    assert found == {2: page}


def test_same_bytes_alone_and_in_a_document(path, tiny_model, tmp_path):
    with pymupdf.open(path) as pdf:
        pdf.select([1])
        pdf.save(tmp_path / "one.pdf")

    def markup(file, number, **options):
        options = Options(model=tiny_model, device=Device.CPU, max_tokens=12, **options)
        with open_pages(file) as pages:
            found = list(read_pages(pages, ModelRecogniser(options)))
        page = found[number]
        # Two threads share a product differently when it lies elsewhere in memory: the last bits
        # of a probability may differ, and no output shows them.
        means = [round(value, 6) for value in dataclasses.astuple(page.confidence)]
        return page.markup, means, page.tokens

    alone = markup(tmp_path / "one.pdf", 0)
    assert alone[2].output > 12
    assert markup(path, 1) == alone
    assert markup(path, 1, pages_in_flight=1) == alone
