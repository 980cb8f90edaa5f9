"""Prepared pages come to the engine as those of the file would, cropped ones included."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pymupdf
import pytest

from ocrcli.document import PageImage
from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    read_pages,
    read_readings,
    save_pixels,
)
from ocrcli.models.small.evaluation.prepare import Order, prepare
from ocrcli.models.small.evaluation.prepared_pages import PreparedPages
from ocrcli.models.small.evaluation.reading import read_sets
from ocrcli.options import Device, Options
from ocrcli.pages import open_pages

MARGINS, GREY, DARK, LOW, WHOLE, SMALL = range(6)
CROPPED = (MARGINS, GREY, DARK, LOW)
HIGH = (MARGINS, GREY, DARK, WHOLE)


def write_documents(folder: Path) -> Path:
    """Write a PDF of six pages, and the text that belongs to it."""
    folder.mkdir()
    with pymupdf.open() as pdf:
        for kind in (MARGINS, GREY, DARK, LOW, WHOLE, SMALL):
            size = (300, 200) if kind == SMALL else (595, 842)
            page = pdf.new_page(width=size[0], height=size[1])
            if kind in (GREY, DARK):
                paper = (0.9,) * 3 if kind == GREY else (0.0,) * 3
                page.draw_rect(page.rect, color=paper, fill=paper)
            ink = (1, 1, 1) if kind == DARK else (0, 0, 0)
            for row in range({LOW: 4, SMALL: 1}.get(kind, 20)):
                place = (30, 60) if kind == SMALL else (100, 150 + 24 * row)
                page.insert_text(place, f"A line {row} of words", fontsize=14, color=ink)
            if kind == WHOLE:
                page.insert_text((20, 30), "Head", fontsize=14)
                page.insert_text((530, 830), "Foot", fontsize=14)
        pdf.save(folder / "a.pdf")
    (folder / "a.txt").write_text("\f".join(f"Page {number}" for number in range(1, 7)))
    return folder


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a PDF and its text."""
    return write_documents(tmp_path_factory.mktemp("source") / "documents")


@pytest.fixture(scope="module")
def work(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, prepared."""
    folder = tmp_path_factory.mktemp("work")
    prepare(Order(["files"], {"files": 6}, files=documents, with_prints=False), folder)
    return folder


@pytest.fixture(scope="module")
def opened(documents: Path) -> list[PageImage]:
    """The pages of the PDF as the command sees them."""
    with open_pages(documents / "a.pdf") as pages:
        return [page for page in pages if isinstance(page, PageImage)]


@pytest.fixture
def prepared(work: Path) -> PreparedPages:
    """The prepared pages."""
    return PreparedPages(work, "files", read_pages(work, "files"))


def test_pixels_crops_and_sizes_are_those_of_the_file(
    prepared: PreparedPages, opened: list[PageImage]
) -> None:
    pages = list(prepared)
    assert [page.page_number for page in pages] == [1, 2, 3, 4, 5, 6]
    assert [kind for kind, page in enumerate(pages) if page.crop is not None] == list(CROPPED)
    for page, image in zip(pages, opened, strict=True):
        assert np.array_equal(page.pixels, image.pixels)
        assert page.crop == image.crop
        found, wanted = page.facts, image.facts
        assert (found.width_pt, found.height_pt) == (wanted.width_pt, wanted.height_pt)
        assert found.dpi == wanted.dpi
        assert found.image_width == pytest.approx(wanted.image_width, abs=1)
        assert found.image_height == pytest.approx(wanted.image_height, abs=1)


def test_ink_is_that_of_the_whole_page(prepared: PreparedPages, opened: list[PageImage]) -> None:
    for page, image in zip(prepared, opened, strict=True):
        found, wanted = page.facts.ink, image.facts.ink
        assert found is not None and wanted is not None
        assert (found.height, found.width) == (wanted.height, wanted.width)
        assert page.facts.ink_pixels == found.total
        assert found.total == pytest.approx(wanted.total, rel=0.1)
        assert found.print_total == pytest.approx(wanted.print_total, rel=0.1)
        # Ink and its place, cell by cell: hardly any of it is elsewhere.
        assert np.abs(found.counts - wanted.counts).sum() < 0.2 * wanted.total


def test_smaller_pages_are_a_tenth_smaller(prepared: PreparedPages) -> None:
    for kind, page in enumerate(prepared):
        smaller = prepared.smaller(page.page_number)
        rows, columns = smaller.pixels.shape
        height, width = page.pixels.shape
        assert columns == width * 9 // 10
        if kind in HIGH:
            assert rows % 64 == 0
            assert height * 9 // 10 - 64 < rows <= height * 9 // 10
        else:
            assert rows == height * 9 // 10
        # What it shows stays the same, and so does what is known of it.
        assert smaller.crop == page.crop
        assert smaller.facts.ink_pixels == page.facts.ink_pixels
        assert (smaller.pixels < 128).mean() == pytest.approx((page.pixels < 128).mean(), rel=0.5)


def test_pages_can_be_drawn_again(prepared: PreparedPages) -> None:
    for page in prepared:
        assert page.redraw is not None
        same, smaller, smallest = (page.redraw(tenths) for tenths in (0, 1, 2))
        assert isinstance(same, PageImage) and isinstance(smaller, PageImage)
        assert isinstance(smallest, PageImage) and smaller.redraw is not None
        assert np.array_equal(same.pixels, page.pixels)
        assert np.array_equal(smaller.pixels, prepared.smaller(page.page_number).pixels)
        assert smallest.pixels.shape < smaller.pixels.shape < page.pixels.shape


def test_tiniest_pages_keep_a_pixel(tmp_path: Path) -> None:
    save_pixels(tmp_path / "pages" / "dots" / "0001.webp", np.zeros((1, 1), np.uint8))
    pages = PreparedPages(tmp_path, "dots", [EvaluationPage("0001", "", 1, 1, 72)])
    assert pages.smaller(1).pixels.shape == (1, 1)


def test_doubtful_pages_of_a_set_are_read_twice(
    fakes: ModuleType, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recogniser = fakes.ScriptedRecogniser(
        {
            1: fakes.result(1, fakes.block("Secand"), confidence=0.97),
            2: fakes.result(2, fakes.block("First"), finish="loop"),
            6: fakes.result(6, fakes.block("Secand"), confidence=0.97),
        },
        ahead=3,
        retries={2: fakes.result(2, fakes.block("Again"))},
        later={number: fakes.result(number, fakes.block("Second")) for number in (1, 6)},
    )
    monkeypatch.setattr("ocrcli.recogniser.ModelRecogniser", lambda options: recogniser)
    output = work / "readings" / "ocrcli.jsonl"
    readings = read_sets(work, ["files"], Options(), output)
    texts = [readings.pages["files", f"{number:04d}"].text for number in range(1, 7)]
    assert texts == ["Second", "Again", "Page 3", "Page 4", "Page 5", "Second"]
    assert (sorted(recogniser.pulled), recogniser.retried) == ([1, 1, 2, 3, 4, 5, 6, 6], [2])
    assert [page.status for page in readings.pages.values()] == ["ok"] * 6
    assert readings.reader["model"] == "scripted"
    assert read_readings(output) == readings


def test_engine_reads_every_page_of_a_set(tiny_model: Path, work: Path, tmp_path: Path) -> None:
    options = Options(model=tiny_model, device=Device.CPU, max_tokens=4, threads=1)
    readings = read_sets(work, ["files"], options, tmp_path / "x.jsonl")
    assert list(readings.pages) == [("files", f"{number:04d}") for number in range(1, 7)]
    assert readings.reader["device"] == "cpu"
