"""What is shown to the model when a page is read a second time, beside pages read in bands."""

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocrcli.page_reading import read_pages
from ocrcli.pages import open_pages
from ocrcli.second_reading import SecondReading

UNSURE = 0.97


def read(pages, recogniser):
    return list(
        read_pages(pages, recogniser, None, SecondReading(pages, recogniser, None, attempts=2))
    )


class TestLongPages:
    @pytest.fixture
    def path(self, tmp_path):
        """A page of six bands between short ones."""
        with pymupdf.open() as pdf:
            for number in range(1, 6):
                page = pdf.new_page(width=200, height=3000 if number == 3 else 300)
                for row in range(120 if number == 3 else 1):
                    page.insert_text((20, 30 + 24 * row), f"Line {row}", fontsize=12)
            pdf.save(tmp_path / "a.pdf")
        return tmp_path / "a.pdf"

    @pytest.mark.parametrize("ahead", [1, 2, 5, 50])
    def test_stay_between_doubtful_pages(self, fakes, doubtful, path, ahead):
        answers = doubtful(1, 2, 4, 5)
        markup = fakes.block("Band", box="100, 10, 900, 990")
        answers["script"][3] = fakes.result(3, markup, confidence=UNSURE)
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **answers)
        with open_pages(path) as pages:
            records = read(pages, recogniser)
        assert [record.attempts for record in records] == [2, 2, 1, 2, 2]
        assert [record.text for record in records if record.page_number != 3] == ["Second"] * 4
        assert records[2].text.split() == ["Band"] * 6
        assert [recogniser.pulled.count(number) for number in range(1, 6)] == [2, 2, 6, 2, 2]


class TestSecondPicture:
    def test_is_a_tenth_smaller(self, fakes, doubtful, tmp_path):
        class Noting(fakes.ScriptedRecogniser):
            def __init__(self, **answers):
                super().__init__(**answers)
                self.images = []

            def transcribe(self, pages):
                for page in pages:
                    self.images.append(page)
                    yield self._answer(page.page_number)

        with pymupdf.open() as pdf:
            page = pdf.new_page(width=595, height=842)
            for row in range(20):
                page.insert_text((100, 150 + 24 * row), f"A line {row} of words", fontsize=11)
            pdf.save(tmp_path / "a.pdf")
        recogniser = Noting(**doubtful(1))
        with open_pages(tmp_path / "a.pdf") as pages:
            (record,) = read(pages, recogniser)
            usual, smaller = recogniser.images
            assert smaller.facts.dpi == pytest.approx(0.9 * usual.facts.dpi)
            # Where memory is short, it is drawn smaller still.
            assert smaller.redraw(1).facts.dpi == pytest.approx(0.81 * usual.facts.dpi)
            assert np.array_equal(smaller.redraw(0).pixels, smaller.pixels)
        assert record.facts is usual.facts

    @pytest.mark.parametrize("size", [(363, 272), (240, 160), (298, 420)])
    def test_small_pages_become_smaller_too(self, tmp_path, size):
        with pymupdf.open() as pdf:
            pdf.new_page(width=size[0], height=size[1]).insert_text((20, 60), "Words")
            pdf.save(tmp_path / "a.pdf")
        with open_pages(tmp_path / "a.pdf") as pages:
            (usual,) = pages
            smaller = pages.smaller(1)
        assert smaller.facts.dpi == pytest.approx(0.9 * usual.facts.dpi, rel=0.03)

    @pytest.mark.parametrize("size", [(875, 625), (960, 720), (500, 400), (850, 1100)])
    @pytest.mark.parametrize("dpi", [None, (120, 120)])
    def test_pictures_become_smaller_too(self, tmp_path, size, dpi):
        pixels = np.full(size[::-1], 255, np.uint8)
        pixels[::24, ::3] = 0
        options = {} if dpi is None else {"dpi": dpi}
        Image.fromarray(pixels).save(tmp_path / "a.png", **options)
        with open_pages(tmp_path / "a.png") as pages:
            (usual,) = pages
            smaller = pages.smaller(1)
        shares = np.divide(smaller.pixels.shape, usual.pixels.shape)
        assert shares.min() > 0.8 and shares.max() < 0.95
