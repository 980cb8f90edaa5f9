"""Files of every supported kind become pages; bad ones become the right error."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocrcli.document import PageFailure
from ocrcli.errors import DamagedError, EncryptedError, ExitCode, InputError, UsageError
from ocrcli.options import PageSelection
from ocrcli.pages import open_pages

UNCROPPED = (1280, 960)
"""Size of a picture that is read as it is, whose ink reaches across it."""


def read(path, **options):
    with open_pages(path, **options) as pages:
        return list(pages)


def one(path, **options):
    (page,) = read(path, **options)
    assert not isinstance(page, PageFailure), page
    return page


def codes(page):
    return [notice.code for notice in page.facts.warnings]


@pytest.fixture
def save(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def geometry(tmp_path):
    """A PDF page with a black square at its lower left, and the given entries."""

    def write(media=(0, 0, 200, 300), **entries):
        pdf = pymupdf.open()
        page = pdf.new_page(width=200, height=300)
        page.draw_rect((20, 230, 70, 280), fill=(0, 0, 0))
        pdf.xref_set_key(page.xref, "MediaBox", f"[{' '.join(map(str, media))}]")
        for key, value in entries.items():
            pdf.xref_set_key(page.xref, key, str(value))
        path = tmp_path / "geometry.pdf"
        pdf.save(path)
        pdf.close()
        return path

    return write


def dark_corner(pixels):
    """Return where the dark square is: "top left" and so on."""
    rows, columns = np.nonzero(pixels < 100)
    vertical = "top" if rows.mean() < pixels.shape[0] / 2 else "bottom"
    return f"{vertical} {'left' if columns.mean() < pixels.shape[1] / 2 else 'right'}"


class TestPdf:
    def test_pages_come_in_order_with_size_and_ink(self, fakes, tmp_path):
        pages = read(fakes.write_pdf(tmp_path / "a.pdf", ["One", None, "Three"]))
        assert [page.page_number for page in pages] == [1, 2, 3]
        assert [page.facts.ink_pixels > 0 for page in pages] == [True, False, True]
        assert pages[0].pixels.dtype == np.uint8
        assert pages[0].facts.width_pt == 300

    def test_letter_page_has_a_long_side_of_1280(self, tmp_path):
        pdf = pymupdf.open()
        pdf.new_page(width=612, height=792)
        pdf.save(tmp_path / "letter.pdf")
        page = one(tmp_path / "letter.pdf")
        assert page.pixels.shape == (1280, 990)
        assert page.facts.dpi == pytest.approx(116.4, abs=0.1)

    def test_only_selected_pages_are_loaded(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])
        with open_pages(path, PageSelection.parse("2-3")) as pages:
            assert [page.page_number for page in pages] == [2, 3]
            assert (pages.source.pages_total, pages.source.pages_selected) == (3, 2)

    def test_missing_page_is_a_usage_error(self, fakes, tmp_path):
        with pytest.raises(UsageError):
            open_pages(fakes.write_pdf(tmp_path / "a.pdf", ["1"]), PageSelection.parse("2"))

    def test_pages_are_loaded_one_at_a_time(self, fakes, tmp_path, monkeypatch):
        loaded = []
        original = pymupdf.Document.load_page

        def load_page(self, number):
            loaded.append(number)
            return original(self, number)

        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])
        monkeypatch.setattr(pymupdf.Document, "load_page", load_page)
        with open_pages(path) as pages:
            next(iter(pages))
        assert loaded == [0]

    def test_page_labels_are_kept(self, tmp_path):
        pdf = pymupdf.open()
        pdf.new_page()
        pdf.set_page_labels([{"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 4}])
        pdf.save(tmp_path / "a.pdf")
        assert one(tmp_path / "a.pdf").facts.label == "iv"

    @pytest.mark.parametrize(
        ("rotate", "corner"),
        [(0, "bottom left"), (90, "top left"), (180, "top right"), (-90, "bottom right")]
        + [(450, "top left")],
    )
    def test_page_is_turned_as_a_viewer_shows_it(self, geometry, rotate, corner):
        page = one(geometry(Rotate=rotate))
        assert dark_corner(page.pixels) == corner
        assert page.facts.rotation == rotate % 360

    def test_crop_box_is_what_is_shown(self, geometry):
        page = one(geometry(CropBox="[0 0 100 100]"))
        assert (page.facts.width_pt, page.facts.height_pt) == (100, 100)

    def test_crop_box_outside_the_page_is_ignored_with_a_warning(self, geometry):
        page = one(geometry(CropBox="[500 500 600 600]"))
        assert (page.facts.width_pt, page.facts.height_pt) == (200, 300)
        assert page.facts.ink_pixels > 0
        assert codes(page) == ["crop_box_ignored"]

    @pytest.mark.parametrize("media", [(200, 300, 0, 0), (0, 0, 0, 0), (-50, -50, 150, 250)])
    def test_odd_media_boxes_still_show_the_page(self, geometry, media):
        assert one(geometry(media)).facts.ink_pixels > 0

    def test_endless_page_is_scaled_down_with_a_warning(self, geometry):
        page = one(geometry((0, 0, 200000, 300)))
        assert max(page.pixels.shape) <= 1280
        assert codes(page) == ["downscaled"]

    def test_page_of_three_points_is_no_problem(self, geometry):
        assert min(one(geometry((0, 0, 3, 3))).pixels.shape) >= 1

    def test_light_text_on_a_dark_page_is_inverted(self, tmp_path):
        pdf = pymupdf.open()
        page = pdf.new_page(width=300, height=200)
        page.draw_rect(page.rect, fill=(0, 0, 0))
        page.insert_text((30, 60), "Night", fontsize=20, color=(1, 1, 1))
        pdf.save(tmp_path / "dark.pdf")
        page = one(tmp_path / "dark.pdf")
        assert np.median(page.pixels) == 255
        assert codes(page) == ["inverted"]

    def test_page_with_a_broken_picture_is_an_error_and_the_others_go_on(self, fakes, save):
        entries = (
            b"/Width 100 /Height 100 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /DCTDecode"
        )
        pages = read(save("broken.pdf", fakes.pdf_with_picture(entries, b"no jpeg")))
        assert [isinstance(page, PageFailure) for page in pages] == [False, True, False]
        assert pages[1].page_number == 2

    def test_page_that_cannot_be_loaded_is_an_error_and_the_others_go_on(
        self, fakes, tmp_path, monkeypatch
    ):
        original = pymupdf.Document.load_page

        def load_page(self, number):
            if number == 1:
                raise RuntimeError("cycle in page tree")
            return original(self, number)

        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])
        monkeypatch.setattr(pymupdf.Document, "load_page", load_page)
        pages = read(path)
        assert [page.page_number for page in pages] == [1, 2, 3]
        assert "cycle in page tree" in pages[1].message

    def test_picture_bomb_is_refused_before_it_is_decoded(self, fakes, save):
        entries = b"/Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB"
        pages = read(save("bomb.pdf", fakes.pdf_with_picture(entries, b"")))
        assert [isinstance(page, PageFailure) for page in pages] == [False, True, False]
        assert "60,000 x 60,000" in pages[1].message

    @pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
    def test_memory_does_not_grow_with_the_number_of_pages(self, fakes, tmp_path):
        noise = np.random.default_rng(0)
        pdf = pymupdf.open()
        for _ in range(40):
            page = pdf.new_page()
            pixels = Image.fromarray(noise.integers(0, 255, (1200, 900, 3), dtype=np.uint8))
            page.insert_image(page.rect, stream=fakes.encoded(pixels, "JPEG"))
        pdf.save(tmp_path / "scans.pdf")

        def peak(pages):
            code = (
                "import resource\n"
                "from ocrcli.options import PageSelection\n"
                "from ocrcli.pages import open_pages\n"
                f"with open_pages('scans.pdf', PageSelection.parse('{pages}')) as pages:\n"
                "    print(sum(page.pixels.size > 0 for page in pages))\n"
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
            )
            done = subprocess.run(
                [sys.executable, "-P", "-c", code],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            return int(done.stdout.split()[-1])

        assert peak("1-40") < 1.2 * peak("1-5")


class TestBadPdf:
    def test_empty_file_is_damaged(self, save):
        with pytest.raises(DamagedError, match="empty"):
            open_pages(save("a.pdf", b""))

    def test_text_named_pdf_is_damaged(self, save):
        with pytest.raises(DamagedError, match="named like a PDF"):
            open_pages(save("a.pdf", b"just words"))

    def test_header_without_content_is_damaged(self, save):
        with pytest.raises(DamagedError):
            open_pages(save("a.pdf", b"%PDF-1.7\nnothing follows"))

    def test_zero_pages_are_said_to_be_zero(self, fakes, save):
        data = fakes.raw_pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"
        )
        with pytest.raises(DamagedError, match="zero pages") as caught:
            open_pages(save("zero.pdf", data))
        assert caught.value.exit_code == ExitCode.DAMAGED

    def test_file_cut_short_is_repaired_and_says_so(self, fakes, tmp_path, save):
        whole = fakes.write_pdf(tmp_path / "a.pdf", ["One"]).read_bytes()
        path = save("cut.pdf", whole[: whole.rindex(b"xref")])
        with open_pages(path) as pages:
            assert pages.source.is_repaired
            assert len(list(pages)) == 1

    def test_owner_password_alone_needs_none(self, fakes, tmp_path):
        options = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "boss", "user_pw": ""}
        assert one(fakes.write_pdf(tmp_path / "a.pdf", ["Open"], **options)).facts.ink_pixels

    def test_user_password_is_needed_and_checked(self, fakes, tmp_path):
        options = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "b", "user_pw": "sesame"}
        path = fakes.write_pdf(tmp_path / "a.pdf", ["Shut"], **options)
        with pytest.raises(EncryptedError, match="needs a password"):
            open_pages(path)
        with pytest.raises(EncryptedError, match="wrong"):
            open_pages(path, password="guess")
        assert one(path, password="sesame").facts.ink_pixels


class TestPictures:
    @pytest.mark.parametrize("format_", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
    def test_type_is_read_from_the_content(self, fakes, save, format_):
        picture = fakes.text_picture(size=UNCROPPED)
        page = one(save("picture.dat", fakes.encoded(picture, format_)))
        assert page.pixels.shape == (960, 1280)
        assert np.abs(page.pixels.astype(int) - np.asarray(picture)).mean() < 2

    def test_every_frame_of_a_tiff_is_a_page(self, fakes, save):
        frames = [fakes.text_picture(size=(640, 480)), fakes.text_picture(size=(600, 300))]
        data = fakes.encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:])
        pages = read(save("a.tif", data))
        assert [page.page_number for page in pages] == [1, 2]
        assert [page.pixels.shape for page in pages] == [(600, 800), (375, 750)]

    def test_previews_in_a_tiff_are_no_pages(self, fakes, tmp_path):
        path = tmp_path / "a.tif"
        with Image.new("L", (64, 48)) as preview:
            preview.encoderinfo = {"tiffinfo": {254: 1}}
            fakes.text_picture().save(path, save_all=True, append_images=[preview])
        assert len(read(path)) == 1

    def test_only_the_first_frame_of_an_animation_is_read(self, fakes, save):
        frames = [fakes.text_picture("P"), Image.new("P", (640, 480))]
        data = fakes.encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
        with open_pages(save("a.gif", data)) as pages:
            assert len(list(pages)) == 1
            assert [notice.code for notice in pages.source.warnings] == ["first_frame_only"]

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("format_", ["JPEG", "PNG", "TIFF", "WEBP"])
    def test_all_orientations_show_the_same_page(self, fakes, save, format_, orientation):
        upright = fakes.text_picture(size=UNCROPPED)
        undo = {
            2: Image.Transpose.FLIP_LEFT_RIGHT,
            3: Image.Transpose.ROTATE_180,
            4: Image.Transpose.FLIP_TOP_BOTTOM,
            5: Image.Transpose.TRANSPOSE,
            6: Image.Transpose.ROTATE_90,
            7: Image.Transpose.TRANSVERSE,
            8: Image.Transpose.ROTATE_270,
        }
        stored = upright.transpose(undo[orientation]) if orientation in undo else upright
        exif = Image.Exif()
        exif[274] = orientation
        page = one(save("a.img", fakes.encoded(stored, format_, exif=exif, dpi=(200, 200))))
        assert page.pixels.shape == (960, 1280)
        assert np.abs(page.pixels.astype(int) - np.asarray(upright)).mean() < 3

    def test_large_scan_is_scaled_down(self, fakes, save):
        picture = fakes.text_picture(size=(2550, 3300))
        # With ink at its foot, too, the page is not cropped.
        picture.paste(0, (40, 3200, 2500, 3260))
        page = one(save("a.png", fakes.encoded(picture, "PNG", dpi=(300, 300))))
        assert max(page.pixels.shape) == 1280
        assert page.facts.dpi == pytest.approx(116.4, abs=0.1)
        assert page.facts.width_pt == pytest.approx(612, abs=1)

    def test_sixteen_bits_are_not_clipped(self, fakes, save):
        grey = np.asarray(fakes.text_picture(size=UNCROPPED))
        deep = Image.fromarray(grey.astype(np.uint16) * 257)
        page = one(save("a.png", fakes.encoded(deep, "PNG")))
        assert np.array_equal(page.pixels, grey)

    def test_cmyk_jpeg_is_no_negative(self, fakes, save):
        data = fakes.encoded(fakes.text_picture("RGB").convert("CMYK"), "JPEG")
        assert one(save("a.jpg", data)).pixels[0, 0] > 240

    def test_cut_picture_is_a_page_error(self, fakes, save):
        data = fakes.encoded(fakes.text_picture(), "PNG")
        (page,) = read(save("a.png", data[: len(data) // 2]))
        assert isinstance(page, PageFailure)
        assert "damaged" in page.message

    def test_header_alone_is_damaged(self, save):
        with pytest.raises(DamagedError):
            open_pages(save("a.png", b"\x89PNG\r\n\x1a\n"))

    @pytest.mark.parametrize("side", [12_000, 20_000])
    def test_picture_with_too_many_pixels_is_refused_undecoded(self, fakes, save, side):
        data = fakes.encoded(Image.new("1", (side, side)), "PNG")
        (page,) = read(save("a.png", data))
        assert isinstance(page, PageFailure)
        assert "scale it down" in page.message


class TestOtherInputs:
    def test_missing_file(self, tmp_path):
        with pytest.raises(InputError, match="No such file"):
            open_pages(tmp_path / "nothing.pdf")

    def test_folder(self, tmp_path):
        with pytest.raises(InputError, match="folder"):
            open_pages(tmp_path)

    def test_unsupported_content_lists_what_is_supported(self, save):
        with pytest.raises(InputError, match="PDF, PNG"):
            open_pages(save("a.docx", b"PK\x03\x04 whatever"))

    def test_error_names_the_file_as_it_was_given(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError) as caught:
            open_pages("./nothing.pdf")
        assert caught.value.source == "./nothing.pdf"

    @pytest.mark.parametrize("name", ["a b.pdf", "a\nb.pdf", "#1[x]*.pdf", "é.pdf", b"\xff.pdf"])
    def test_odd_names_open(self, fakes, tmp_path, name):
        path = tmp_path / os.fsdecode(name)
        try:
            shutil.copy(fakes.write_pdf(tmp_path / "plain.pdf", ["Text"]), path)
        except OSError:
            pytest.skip("the file system does not take this name")
        assert one(path).facts.ink_pixels


class TestForeignFiles:
    def test_one_bit_page_of_35000_pixels_is_read_small(self, test_data):
        page = one(test_data / "hugemono.pdf")
        assert max(page.pixels.shape) == 1280
        assert codes(page) == ["downscaled"]

    def test_page_without_contents_has_no_ink(self, test_data):
        assert one(test_data / "no_contents.pdf").facts.ink_pixels == 0

    def test_smallest_pdf_opens(self, test_data):
        assert one(test_data / "trivial.pdf").facts.ink_pixels == 0

    def test_empty_password_opens_by_itself(self, test_data):
        assert one(test_data / "r6-empty-password.pdf").facts.ink_pixels

    def test_password_is_asked_for(self, test_data):
        with pytest.raises(EncryptedError):
            open_pages(test_data / "r6-user-password.pdf")
        assert one(test_data / "r6-user-password.pdf", password="asdfzxcv").facts.ink_pixels

    def test_small_scan_of_known_resolution_is_enlarged_a_little(self, test_data):
        page = one(test_data / "phototest.tif")
        assert page.pixels.shape == (600, 800)
        assert page.facts.dpi == 250
        assert (page.facts.width_pt, page.facts.height_pt) == pytest.approx((230.4, 172.8))

    def test_rotation_of_the_page_is_reported(self, test_data):
        page = one(test_data / "ocr_test_rotated_90.pdf")
        assert page.facts.rotation == 270
        assert page.facts.image_width > page.facts.image_height

    def test_cut_file_is_repaired_or_refused(self, test_data, save):
        whole = (test_data / "francais.pdf").read_bytes()
        with pytest.raises(DamagedError, match="no page could be recovered"):
            open_pages(save("short.pdf", whole[:4000]))
        with open_pages(save("long.pdf", whole[:300000])) as pages:
            assert pages.source.is_repaired
