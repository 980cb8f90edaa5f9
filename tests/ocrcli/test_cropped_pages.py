"""Pages are drawn without their margins, and what is known of them is that of the whole page."""

import io
import math

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageOps

from ocrcli.ink import ink_map
from ocrcli.pages import open_pages
from ocrcli.pdf_file import PdfFile
from ocrcli.pictures import PictureError, PictureFile
from ocrcli.raster import PageSize

A4 = (595, 842)
A4_AT_1280 = (1280, 905)


def only_page(path, **options):
    with open_pages(path, **options) as pages:
        (page,) = pages
    return page


def codes(page):
    return [notice.code for notice in page.facts.warnings]


def difference(pixels, others):
    return np.abs(pixels.astype(int) - others).mean()


def exact_dpi(page):
    """Return the resolution of a crop, which its facts give rounded."""
    _, top, _, bottom = page.crop
    facts = page.facts
    dpi = 1280 * 72 / max(facts.width_pt, facts.height_pt)
    return dpi * page.pixels.shape[0] / ((bottom - top) * facts.ink.height)


def drawn_whole(path, dpi):
    """Return the pixels of a PDF's only page, as the library draws all of it."""
    with pymupdf.open(path) as pdf:
        matrix = pymupdf.Matrix(dpi / 72, dpi / 72)
        pixmap = pdf[0].get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY)
        return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)


def area_of(page, whole):
    """Return the part of a page drawn whole that a cropped one shows."""
    left, top = page.crop[0] * page.facts.width_pt, page.crop[1] * page.facts.height_pt
    first_row = math.floor(top * exact_dpi(page) / 72 + 0.001)
    first_column = math.floor(left * exact_dpi(page) / 72 + 0.001)
    height, width = page.pixels.shape
    return whole[first_row : first_row + height, first_column : first_column + width]


@pytest.fixture
def sheet(tmp_path):
    """A PDF page with lines of text and wide margins, and the given entries."""

    def write(size=A4, ink=(0, 0, 0), paper=None, **entries):
        path = tmp_path / "sheet.pdf"
        with pymupdf.open() as pdf:
            page = pdf.new_page(width=size[0], height=size[1])
            if paper is not None:
                page.draw_rect(page.rect, fill=paper)
            for row in range(20):
                page.insert_text(
                    (100, 150 + 24 * row), f"A line {row} of words", fontsize=11, color=ink
                )
            page.insert_text((330, 250), "to the right", fontsize=20, color=ink)
            for key, value in entries.items():
                pdf.xref_set_key(page.xref, key, str(value))
            pdf.save(path)
        return path

    return write


@pytest.fixture
def scan(tmp_path):
    """A PNG file of a PDF's only page."""

    def write(path, dpi=300):
        picture = Image.fromarray(drawn_whole(path, dpi))
        picture.save(tmp_path / "scan.png", dpi=(dpi, dpi))
        return tmp_path / "scan.png"

    return write


class TestPixels:
    def test_pdf_is_drawn_at_150_dpi_without_its_margins(self, sheet):
        path = sheet()
        page = only_page(path)
        assert page.facts.dpi == 150
        left, top, right, bottom = page.crop
        assert 50 < left * A4[0] < 100
        assert 80 < top * A4[1] < 140
        assert 440 < right * A4[0] < 500
        assert 606 < bottom * A4[1] < 660
        assert np.array_equal(page.pixels, area_of(page, drawn_whole(path, exact_dpi(page))))

    def test_scan_is_cropped_like_the_pdf(self, sheet, scan):
        path = sheet()
        pdf, picture = only_page(path), only_page(scan(path))
        assert picture.crop == pytest.approx(pdf.crop, abs=0.02)
        assert picture.facts.dpi == pdf.facts.dpi
        # Four times as sharp, so that an area need not begin on a whole pixel of the crop.
        sharp = Image.fromarray(drawn_whole(path, 600))
        area = [side * length for side, length in zip(picture.crop, sharp.size * 2, strict=True)]
        height, width = picture.pixels.shape
        direct = sharp.resize((width, height), Image.Resampling.BOX, area)
        assert difference(picture.pixels, direct) < 1.5

    @pytest.mark.parametrize(
        "entries",
        [
            {"Rotate": 90},
            {"Rotate": 180},
            {"Rotate": 270},
            {"CropBox": "[40 100 560 800]"},
            {"CropBox": "[40 100 560 800]", "Rotate": 90},
            {"MediaBox": "[-70 -50 640 842]"},
        ],
        ids=str,
    )
    def test_area_is_that_of_the_page_as_displayed(self, sheet, entries):
        path = sheet(**entries)
        page = only_page(path)
        assert page.crop is not None
        assert np.array_equal(page.pixels, area_of(page, drawn_whole(path, exact_dpi(page))))
        assert page.pixels.min() == 0

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("format_", ["JPEG", "PNG", "TIFF"])
    def test_turned_pictures_are_cropped_as_they_are_displayed(
        self, fakes, tmp_path, format_, orientation
    ):
        exif = Image.Exif()
        exif[274] = orientation
        stored = fakes.text_picture(size=(700, 950))
        data = fakes.encoded(stored, format_, exif=exif, dpi=(101, 101))
        (tmp_path / "a.img").write_bytes(data)
        page = only_page(tmp_path / "a.img", size=PageSize(long_side=900))
        displayed = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        assert page.crop is not None
        area = [side * n for side, n in zip(page.crop, displayed.size * 2, strict=True)]
        height, width = page.pixels.shape
        expected = displayed.resize((width, height), Image.Resampling.BICUBIC, area)
        assert difference(page.pixels, expected) < 3

    def test_fax_is_cropped_to_square_pixels(self, tmp_path):
        fax = np.full((1320, 2040), 255, np.uint8)
        # Two inches by two.
        fax[300:540, 500:980] = 0
        Image.fromarray(fax).save(tmp_path / "fax.png", dpi=(240, 120))
        page = only_page(tmp_path / "fax.png")
        assert page.crop is not None
        rows, columns = np.nonzero(page.pixels < 128)
        assert np.ptp(rows) + 1 == pytest.approx(2 * exact_dpi(page), abs=2)
        assert np.ptp(columns) + 1 == pytest.approx(2 * exact_dpi(page), abs=2)

    def test_blurred_scan_is_hardly_enlarged(self, sheet, scan):
        page = only_page(scan(sheet(), dpi=104))
        assert page.facts.dpi == 130

    def test_inverted_page_is_cropped(self, sheet):
        path = sheet(ink=(1, 1, 1), paper=(0, 0, 0))
        page = only_page(path)
        assert codes(page) == ["inverted"]
        direct = area_of(page, drawn_whole(path, exact_dpi(page)))
        assert np.median(direct) == 0
        assert np.array_equal(page.pixels, 255 - direct)
        assert page.crop == only_page(sheet()).crop


class TestFacts:
    @pytest.mark.parametrize("is_scan", [False, True])
    def test_size_and_ink_are_those_of_the_whole_page(self, sheet, scan, is_scan):
        path = sheet()
        facts = only_page(scan(path) if is_scan else path).facts
        assert (facts.width_pt, facts.height_pt) == pytest.approx(A4, abs=0.5)
        assert facts.image_width == pytest.approx(A4[0] * 150 / 72, abs=1)
        assert facts.image_height == pytest.approx(A4[1] * 150 / 72, abs=1)
        ink = ink_map(drawn_whole(path, 1280 / A4[1] * 72))
        assert (facts.ink.height, facts.ink.width) == (ink.height, ink.width) == A4_AT_1280
        assert facts.ink_pixels == facts.ink.total == pytest.approx(ink.total, rel=0.1)

    def test_page_that_was_too_coarse_as_a_whole_is_not_called_so(self, sheet):
        page = only_page(sheet(size=(842, 1191)))
        assert page.facts.dpi > 90
        assert codes(page) == []


class TestSmaller:
    @pytest.mark.parametrize("is_scan", [False, True])
    def test_crop_is_drawn_a_tenth_smaller(self, sheet, scan, is_scan):
        with open_pages(scan(sheet()) if is_scan else sheet()) as pages:
            (usual,) = pages
            smaller = pages.smaller(1)
        assert smaller.facts.dpi == pytest.approx(0.9 * usual.facts.dpi)
        assert smaller.facts.image_height == pytest.approx(0.9 * usual.facts.image_height, abs=1)
        assert smaller.crop == pytest.approx(usual.crop, abs=0.05)
        assert smaller.pixels.size == pytest.approx(0.81 * usual.pixels.size, rel=0.1)


class TestWholePages:
    def test_page_without_margins_is_drawn_once(self, tmp_path, monkeypatch):
        monkeypatch.delattr(PdfFile, "cropped")
        with pymupdf.open() as pdf:
            page = pdf.new_page(width=A4[0], height=A4[1])
            page.insert_text((40, 40), "Head", fontsize=20)
            page.insert_text((500, 820), "Foot", fontsize=20)
            pdf.save(tmp_path / "full.pdf")
        page = only_page(tmp_path / "full.pdf")
        assert (page.crop, page.pixels.shape) == (None, A4_AT_1280)

    def test_page_without_ink_is_read_whole(self, sheet):
        page = only_page(sheet(ink=(1, 1, 1)))
        assert (page.crop, page.pixels.shape) == (None, A4_AT_1280)

    def test_large_models_get_whole_pages(self, sheet):
        page = only_page(sheet(), size=PageSize.full_color())
        assert (page.crop, page.pixels.shape) == (None, (3509, 2480, 3))

    def test_long_page_is_read_in_bands_instead(self, sheet):
        page = only_page(sheet(size=(595, 8000)))
        assert page.bands is not None
        assert page.crop is None

    def test_pdf_page_that_fails_to_draw_again_is_read_whole(self, sheet, monkeypatch):
        def fails(*_):
            raise RuntimeError("no memory")

        monkeypatch.setattr("ocrcli.pdf_file._render_part", fails)
        page = only_page(sheet())
        assert (page.crop, page.pixels.shape) == (None, A4_AT_1280)
        assert page.facts.dpi == pytest.approx(109.5, abs=0.1)
        assert (page.facts.image_height, page.facts.image_width) == A4_AT_1280
        assert codes(page) == []

    def test_picture_that_fails_to_load_again_is_read_whole(self, sheet, scan, monkeypatch):
        def fails(*_):
            raise PictureError("gone")

        path = scan(sheet())
        monkeypatch.setattr(PictureFile, "upright", fails)
        page = only_page(path)
        assert (page.crop, page.pixels.shape) == (None, A4_AT_1280)
