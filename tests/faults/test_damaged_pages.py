"""Files with lost or damaged pages: every page leaves a record, and none looks whole."""

import json
import struct
import zlib

import pytest

from ocrcli.pdf_file import _complaint

PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R >>"


@pytest.fixture
def statuses(run_script):
    """Return the exit code, the status of each page, and what is said on stderr."""

    def read(path, *arguments):
        done = run_script("transcribe", path, "-f", "jsonl", *arguments)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.code, [line["status"] for line in lines if line["type"] == "page"], done.stderr

    return read


@pytest.fixture
def pdf_of(fakes, tmp_path):
    """Write a PDF whose pages have the given streams for contents."""

    def write(*contents, end=None):
        first = 3 + len(contents)
        kids = b" ".join(b"%d 0 R" % number for number in range(3, first))
        content = fakes.raw_pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
            *(PAGE % (first + index) for index in range(len(contents))),
            *contents,
        )
        (tmp_path / "a.pdf").write_bytes(content[:end])
        return tmp_path / "a.pdf"

    return write


class TestTiffs:
    @pytest.fixture(params=[None, "tiff_lzw", "group4"])
    def tiff(self, request, fakes):
        """The bytes of a TIFF with five pages."""
        mode = "1" if request.param == "group4" else "L"
        pages = [fakes.text_picture(mode, (640, 480 + number)) for number in range(5)]
        return fakes.encoded(
            pages[0], "TIFF", save_all=True, append_images=pages[1:], compression=request.param
        )

    def test_whole_tiff_is_ok(self, statuses, tiff, tmp_path):
        (tmp_path / "a.tif").write_bytes(tiff)
        code, found, _ = statuses(tmp_path / "a.tif", "-q")
        assert (code, found) == (0, ["ok"] * 5)

    @pytest.mark.parametrize("share", [0.5, 0.95])
    def test_cut_tiff_has_a_record_for_what_is_missing(self, statuses, tiff, tmp_path, share):
        (tmp_path / "a.tif").write_bytes(tiff[: int(len(tiff) * share)])
        code, found, stderr = statuses(tmp_path / "a.tif", "-q")
        assert code == 10
        assert found[0] == "ok"
        assert "ok" not in found[found.index("error") :]
        assert stderr.count("ocrcli: error: ") == found.count("error") + 1 == stderr.count("\n")

    def test_damaged_strip_makes_a_page_doubtful(self, statuses, fakes, tmp_path):
        content = bytearray(fakes.encoded(fakes.text_picture("1"), "TIFF", compression="group4"))
        content[12:24] = b"\x55" * 12
        (tmp_path / "a.tif").write_bytes(content)
        code, found, stderr = statuses(tmp_path / "a.tif")
        assert (code, found) == (0, ["suspect"])
        assert "the page may be damaged: " in stderr
        assert all(line.startswith("ocrcli: ") for line in stderr.splitlines())

    def test_circle_of_pages_is_read_once_and_refused_when_strict(self, statuses, fakes, tmp_path):
        pages = [fakes.text_picture(size=(640, 480 + number)) for number in range(2)]
        content = bytearray(fakes.encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
        first = place = struct.unpack_from("<I", content, 4)[0]
        for _ in pages:
            link = place + 2 + 12 * struct.unpack_from("<H", content, place)[0]
            (place,) = struct.unpack_from("<I", content, link)
        struct.pack_into("<I", content, link, first)
        (tmp_path / "a.tif").write_bytes(content)
        code, found, stderr = statuses(tmp_path / "a.tif")
        assert (code, found) == (0, ["ok", "ok"])
        assert "runs in a circle" in stderr
        assert statuses(tmp_path / "a.tif", "--strict")[0] == 4


def test_animation_without_an_end_is_read_with_a_warning(statuses, fakes, tmp_path):
    frames = [fakes.text_picture(size=(640, 480 + 9 * step)) for step in (0, 1, 2)]
    content = fakes.encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    (tmp_path / "a.gif").write_bytes(content[: len(content) * 2 // 3])
    code, _, stderr = statuses(tmp_path / "a.gif", "--all-frames")
    assert code in (0, 10)
    assert "frames may be missing" in stderr


class TestPdfs:
    def test_damaged_content_is_neither_blank_nor_ok(self, statuses, pdf_of, fakes):
        packed = zlib.compress(b"20 20 50 50 re f " * 50)
        path = pdf_of(
            fakes.pdf_stream(b"", b"20 20 50 50 re f"),
            fakes.pdf_stream(b"/Filter /FlateDecode", b"nothing that can be unpacked"),
            fakes.pdf_stream(b"/Filter /FlateDecode", packed[: len(packed) // 2]),
            fakes.pdf_stream(b"", b""),
        )
        code, found, stderr = statuses(path)
        assert (code, found) == (0, ["ok", "suspect", "suspect", "blank"])
        assert stderr.count("the page may be damaged") == 2
        assert statuses(path, "--strict")[0] == 9

    def test_blank_page_of_a_repaired_file_is_doubtful(self, statuses, pdf_of, fakes):
        streams = fakes.pdf_stream(b"", b"20 20 50 50 re f"), fakes.pdf_stream(b"", b"")
        code, found, stderr = statuses(pdf_of(*streams, end=-60))
        assert (code, found) == (0, ["ok", "suspect"])
        assert "its content may be lost" in stderr


def test_odd_font_is_mentioned_and_no_more():
    (notice,) = _complaint("bogus font ascent/descent values (0 / 0)")
    assert notice.code == "unusual_content"
    (worst,) = _complaint("bogus font ascent/descent values (0 / 0)\nzlib error")
    assert worst.code == "damaged_content"
