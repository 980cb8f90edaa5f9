"""Pictures in every colour mode, frame by frame, as a user hands them in."""

import pymupdf
import pytest
from PIL import Image, features

MODES = [
    ("L", "PNG"),
    ("1", "PNG"),
    ("P", "PNG"),
    ("RGBA", "PNG"),
    ("CMYK", "JPEG"),
    ("RGB", "WEBP"),
    ("P", "GIF"),
    ("L", "JPEG2000"),
    ("I;16", "PNG"),
    ("F", "TIFF"),
    ("I", "TIFF"),
]


@pytest.fixture
def seen(run_script):
    """Return what the scripted recogniser sees of each page."""

    def see(path, *arguments):
        done = run_script("transcribe", path, *arguments)
        assert done.code == 0, done.stderr
        return done.stdout.split("\f")

    return see


def recoloured(picture, mode):
    if mode == "I;16":
        return picture.point(lambda value: value * 257, "I").convert("I;16")
    if mode == "RGBA":
        ink = picture.point(lambda value: 255 - value)
        black = Image.new("L", picture.size)
        return Image.merge("RGBA", (black, black, black, ink))
    return picture.convert(mode)


def test_every_colour_mode_shows_the_same(seen, fakes, tmp_path):
    paths = []
    for mode, format_ in MODES:
        paths.append(tmp_path / f"{mode.replace(';', '')}-{format_}.dat")
        recoloured(fakes.text_picture(), mode).save(paths[-1], format_)
    (tmp_path / "list").write_text("\n".join(map(str, paths)))
    sights = seen("--files-from", tmp_path / "list")
    assert len(sights) == len(MODES)
    assert len({sight.strip() for sight in sights}) == 1
    assert "#" in sights[0]


@pytest.mark.parametrize("format_", ["JPEG2000", "CMYK", "G4"])
def test_pictures_inside_pdfs_show_the_same(seen, fakes, tmp_path, format_):
    picture = fakes.text_picture()
    if format_ == "G4":
        picture.convert("1").save(tmp_path / "a.tif", compression="group4")
        content = (tmp_path / "a.tif").read_bytes()
    elif format_ == "CMYK":
        content = fakes.encoded(picture.convert("CMYK"), "JPEG")
    else:
        content = fakes.encoded(picture, format_)
    pdf = pymupdf.open()
    pdf.new_page(width=640, height=480).insert_image((0, 0, 640, 480), stream=content)
    pdf.save(tmp_path / "a.pdf")
    picture.save(tmp_path / "a.png", dpi=(108, 108))
    assert seen(tmp_path / "a.pdf") == seen(tmp_path / "a.png")


def test_jbig2_inside_a_pdf_shows_the_same(seen, fakes, tmp_path):
    picture = fakes.text_picture("1")
    size = b"/Width 640 /Height 480 /ColorSpace /DeviceGray "
    packed = fakes.pdf_with_picture(
        size + b"/BitsPerComponent 1 /Filter /JBIG2Decode", fakes.jbig2(picture)
    )
    plain = fakes.pdf_with_picture(size + b"/BitsPerComponent 8", picture.convert("L").tobytes())
    (tmp_path / "packed.pdf").write_bytes(packed)
    (tmp_path / "plain.pdf").write_bytes(plain)
    sight = seen(tmp_path / "packed.pdf", "--pages", "2")
    assert "#" in sight[0]
    assert sight == seen(tmp_path / "plain.pdf", "--pages", "2")


def test_every_frame_of_a_tiff_is_a_page(seen, fakes, tmp_path):
    picture = fakes.text_picture()
    picture.save(tmp_path / "a.tif", save_all=True, append_images=[picture])
    assert len(seen(tmp_path / "a.tif")) == 2


def test_animation_is_its_first_frame_unless_all_are_asked_for(seen, run_script, fakes, tmp_path):
    frames = [
        fakes.text_picture(size=(640, 480 + 9 * step)).crop((0, 0, 640, 480)) for step in (0, 1)
    ]
    frames[1].putpixel((5, 5), 0)
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert len(seen(tmp_path / "a.gif")) == 1
    assert len(seen(tmp_path / "a.gif", "--all-frames")) == 2
    assert "only the first of 2 frames" in run_script("transcribe", tmp_path / "a.gif").stderr


def test_heic_names_the_package_it_needs(run_script, tmp_path, one_line):
    pytest.importorskip("PIL")
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64))
    try:
        import pi_heif  # noqa: F401
    except ImportError:
        done = run_script("transcribe", tmp_path / "a.heic")
        assert (done.code, done.stdout) == (3, "")
        one_line(done, "pip install pi-heif")
    else:
        pytest.skip("the package is installed")


class TestHeifAndAvif:
    def same(self, seen, fakes, folder, path, **options):
        picture = fakes.text_picture("RGB")
        picture.save(folder / "a.png")
        picture.save(path, quality=95, **options)
        assert seen(path) == seen(folder / "a.png")

    def test_heic_shows_the_same(self, seen, fakes, tmp_path):
        pytest.importorskip("pi_heif", reason="the package that reads HEIC is absent")
        writer = pytest.importorskip("pillow_heif", reason="the package that writes HEIC is absent")
        writer.register_heif_opener()
        self.same(seen, fakes, tmp_path, tmp_path / "a.heic", format="HEIF")

    def test_orientation_noted_in_a_heic_turns_nothing(self, seen, fakes, tmp_path):
        """The container itself says how it is turned; the camera's note would turn it twice."""
        pytest.importorskip("pi_heif", reason="the package that reads HEIC is absent")
        writer = pytest.importorskip("pillow_heif", reason="the package that writes HEIC is absent")
        writer.register_heif_opener()
        exif = Image.Exif()
        exif[0x0112] = 6
        self.same(seen, fakes, tmp_path, tmp_path / "a.heic", format="HEIF", exif=exif)

    @pytest.mark.skipif(not features.check("avif"), reason="Pillow was built without AVIF")
    def test_avif_shows_the_same(self, seen, fakes, tmp_path):
        self.same(seen, fakes, tmp_path, tmp_path / "a.avif")


@pytest.mark.parametrize("turn", range(1, 9))
def test_orientation_of_cameras_is_undone(seen, fakes, tmp_path, turn):
    upright = fakes.text_picture()
    turns = Image.Transpose
    undo = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_90,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_270,
    }
    upright.save(tmp_path / "upright.png")
    turned = upright.transpose(undo[turn]) if turn in undo else upright
    exif = Image.Exif()
    exif[0x0112] = turn
    turned.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    assert seen(tmp_path / "turned.jpg") == seen(tmp_path / "upright.png")


class TestTextLayer:
    TEXT = "The quick brown fox jumps over the lazy dog"

    def test_is_ignored_unless_asked_for(self, seen, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", [self.TEXT])
        assert self.TEXT[:9] not in seen(path)[0]

    def test_is_taken_where_it_is_sound(self, run_script, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["Sound text of a page"])
        done = run_script("transcribe", path, "-f", "jsonl", "--text-layer", "auto")
        assert '"text": "Sound text of a page"' in done.stdout
        assert '"mode": "text-layer"' in done.stdout

    def test_is_not_trusted_where_it_is_rubbish_or_covered_by_a_scan(self, seen, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["\x02\x03?!.;:\x04 -- ++"])
        assert seen(path, "--text-layer", "auto")[0].startswith("1 o")
        pdf = pymupdf.open()
        page = pdf.new_page(width=640, height=480)
        page.insert_image(page.rect, stream=fakes.encoded(fakes.text_picture(), "PNG"))
        page.insert_text((20, 470), "a stamp at the foot")
        pdf.save(tmp_path / "scan.pdf")
        assert "#" in seen(tmp_path / "scan.pdf", "--text-layer", "auto")[0]
        assert "stamp" in seen(tmp_path / "scan.pdf", "--text-layer", "prefer")[0]
