"""Very long pages are cut between lines where that is possible, and drawn band by band."""

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocrcli.bands import MARGIN_ROWS, banding, gap, pieces
from ocrcli.pages import open_pages
from ocrcli.raster import PageSize

GREY = PageSize()


def lines(height, pitch=20, ink=14, width=200):
    """Return rows of dark bars on white."""
    pixels = np.full((height, width), 255, np.uint8)
    for top in range(4, height - ink, pitch):
        pixels[top : top + ink, 20:100] = 0
    return pixels


@pytest.mark.parametrize(
    ("width_pt", "height_pt"),
    [
        (595, 842),
        (842, 1191),
        (2384, 3370),  # A0
        (226, 680),  # a receipt that can be read as a whole
        (60_000, 200),
        (400, 1190),
        (200_000, 200_000),
        (200_000, 900_000),
        (100, 2_000_000),
    ],
)
def test_other_pages_are_read_as_they_were(width_pt, height_pt):
    assert banding(width_pt / 72, height_pt / 72, GREY) is None


def test_large_models_cut_pages_by_themselves():
    assert banding(200 / 72, 60_000 / 72, PageSize.full_color()) is None


def test_narrow_page_is_read_at_150_dpi():
    plan = banding(200 / 72, 60_000 / 72, GREY)
    assert (plan.dpi, plan.columns, plan.total_rows) == (150.0, 417, 125_000)
    assert plan.rows + 2 * MARGIN_ROWS == GREY.long_side


def test_screenshot_keeps_its_pixels():
    plan = banding(1000 / 72, 15_444 / 72, GREY, 72.0)
    assert (plan.dpi, plan.columns, plan.total_rows, plan.is_reduced) == (72.0, 1000, 15_444, False)


class TestCuts:
    def plan(self, rows):
        plan = banding(200 / 72, rows / 72, GREY, 72.0)
        assert plan.total_rows == rows
        return plan

    def cut(self, whole):
        drawn = []

        def draw(first, rows):
            drawn.append((first, rows))
            return whole[first : first + rows]

        return list(pieces(draw, self.plan(len(whole)))), drawn

    def test_no_line_is_cut_and_nothing_is_lost(self):
        whole = lines(9000)
        found, drawn = self.cut(whole)
        assert np.array_equal(np.concatenate([piece.pixels for piece in found]), whole)
        assert [piece.overlap for piece in found] == [0] * len(found)
        for piece in found[1:]:
            assert piece.pixels[0].min() == 255
        assert max(rows for _, rows in drawn) <= GREY.long_side

    def test_highest_gap_is_taken(self):
        pixels = lines(1200)
        pixels[900:950] = 255
        assert 900 < gap(pixels, 700) < 950

    def test_vertical_rules_and_specks_are_no_ink(self):
        pixels = lines(1200, width=1200)
        assert gap(pixels, 700) is not None
        pixels[:, 5:7] = 0
        pixels[::3, 600] = 0
        cut = gap(pixels, 700)
        assert lines(1200)[cut].min() == 255

    def test_bands_overlap_where_there_is_no_gap(self):
        noise = np.random.default_rng(0).integers(0, 2, (5000, 200)).astype(np.uint8) * 255
        found, _ = self.cut(noise)
        rows = found[0].pixels
        for before, piece in zip(found, found[1:], strict=False):
            assert piece.overlap > 100
            assert piece.first_row + piece.overlap == before.first_row + len(before.pixels)
            rows = np.concatenate((rows, piece.pixels[piece.overlap :]))
        assert np.array_equal(rows, noise)

    def test_no_sliver_remains(self):
        for rows in (2100, 2500, 2560, 3700, 5003):
            found, _ = self.cut(lines(rows))
            assert min(len(piece.pixels) for piece in found) > 300


class TestDrawing:
    def stacked(self, page):
        bands = [band.image.pixels[MARGIN_ROWS:-MARGIN_ROWS] for band in page.bands()]
        return np.concatenate(bands)

    @pytest.mark.parametrize("rotation", [0, 90])
    def test_bands_of_a_pdf_are_the_page(self, tmp_path, rotation):
        size = (200, 4000) if rotation == 0 else (4000, 200)
        with pymupdf.open() as pdf:
            page = pdf.new_page(width=size[0] + 100, height=size[1] + 100)
            for index in range(160):
                page.insert_text((60 + 9 * index, 60 + 22 * index), f"{index} words", fontsize=11)
            page.set_cropbox(pymupdf.Rect(50, 50, 50 + size[0], 50 + size[1]))
            page.set_rotation(rotation)
            pdf.save(tmp_path / "a.pdf")
        with open_pages(tmp_path / "a.pdf") as pages, pymupdf.open(tmp_path / "a.pdf") as pdf:
            (page,) = pages
            zoom = pymupdf.Matrix(150 / 72, 150 / 72)
            pixmap = pdf[0].get_pixmap(matrix=zoom, colorspace=pymupdf.csGRAY)
            whole = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, -1)
            found = self.stacked(page)
            assert np.array_equal(found, whole[: len(found)])
            assert len(whole) - len(found) <= 1
            assert whole.min() == 0

    def test_bands_of_a_picture_are_its_pixels(self, tmp_path):
        Image.fromarray(lines(5000)).save(tmp_path / "a.png")
        with open_pages(tmp_path / "a.png") as pages:
            (page,) = pages
            assert np.array_equal(self.stacked(page), lines(5000))
            assert [notice.code for notice in page.facts.warnings] == []

    def test_camera_orientation_is_applied(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6
        turned = Image.fromarray(np.rot90(lines(5000)))
        turned.save(tmp_path / "a.png", exif=exif)
        with open_pages(tmp_path / "a.png") as pages:
            (page,) = pages
            assert np.array_equal(self.stacked(page), lines(5000))

    def test_scan_at_300_dpi_is_scaled_to_150(self, tmp_path):
        Image.fromarray(lines(12_000, 40, 28, 600)).save(tmp_path / "a.png", dpi=(300, 300))
        with open_pages(tmp_path / "a.png") as pages:
            (page,) = pages
            assert (page.facts.dpi, page.facts.image_height) == (150.0, 6000)
            assert self.stacked(page).shape == (6000, 300)

    def test_usual_page_has_no_bands(self, fakes, tmp_path):
        with open_pages(fakes.write_pdf(tmp_path / "a.pdf", ["Text"])) as pages:
            assert next(iter(pages)).bands is None

    def test_light_text_on_dark_is_inverted(self, tmp_path):
        Image.fromarray(255 - lines(5000)).save(tmp_path / "a.png")
        with open_pages(tmp_path / "a.png") as pages:
            (page,) = pages
            for band in page.bands():
                assert [notice.code for notice in band.image.facts.warnings] == ["inverted"]
                assert np.median(band.image.pixels) == 255 or band.image.pixels[0].min() == 255
