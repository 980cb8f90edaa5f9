"""Broken, encrypted, empty and blank inputs: code, stdout, stderr, files left behind."""

import shutil

import pymupdf
import pytest
from PIL import Image

LOCKED = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "sesame", "owner_pw": "boss"}


@pytest.fixture
def refused(run_script, tmp_path, leftovers, one_line):
    """Check that a file is refused with a code and a message, and that nothing is written."""

    def check(path, code, *words):
        done = run_script("transcribe", path.name, "-o", "out.txt", cwd=tmp_path)
        assert (done.code, done.stdout) == (code, "")
        one_line(done, path.name, *words)
        assert leftovers(tmp_path) == [path.name]

    return check


def test_file_that_is_no_pdf(tmp_path, refused):
    (tmp_path / "invalid.pdf").write_bytes(b"%PDF-1.4\nnothing of the kind")
    refused(tmp_path / "invalid.pdf", 4, "damaged beyond repair")


def test_cut_pdf_without_a_page(tmp_path, refused, fakes):
    whole = fakes.write_pdf(tmp_path / "whole.pdf", ["x" * 90] * 40, deflate=False).read_bytes()
    (tmp_path / "whole.pdf").unlink()
    (tmp_path / "cut.pdf").write_bytes(whole[:200])
    refused(tmp_path / "cut.pdf", 4)


def test_empty_file(tmp_path, refused):
    (tmp_path / "empty.pdf").touch()
    refused(tmp_path / "empty.pdf", 4, "empty")


def test_pdf_with_zero_pages(tmp_path, refused, fakes):
    content = fakes.raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"
    )
    (tmp_path / "zero.pdf").write_bytes(content)
    refused(tmp_path / "zero.pdf", 4, "zero pages")


@pytest.mark.parametrize("suffix", [".png", ".ppm", ".txt", ""])
def test_content_of_no_supported_type_is_3_whatever_the_name(tmp_path, refused, suffix):
    path = tmp_path / f"notes{suffix}"
    path.write_bytes(b"just text")
    refused(path, 3, "no supported type")


def test_text_that_is_named_like_a_pdf_is_4(tmp_path, refused):
    (tmp_path / "notes.PDF").write_bytes(b"just text")
    refused(tmp_path / "notes.PDF", 4, "named like a PDF")


def test_missing_file(run_script, tmp_path, one_line):
    done = run_script("transcribe", "none.pdf", cwd=tmp_path)
    assert (done.code, done.stdout) == (3, "")
    one_line(done, "none.pdf", "No such file")


def test_cut_picture(run_script, tmp_path, fakes, leftovers):
    (tmp_path / "cut.png").write_bytes(fakes.encoded(fakes.text_picture(), "PNG")[:300])
    done = run_script("transcribe", "cut.png", "-o", "out.txt", cwd=tmp_path)
    assert done.code == 10
    assert "page 1: the picture is damaged" in done.stderr
    assert leftovers(tmp_path) == ["cut.png"]


def test_bad_files_do_not_stop_a_folder(run_script, tmp_path, fakes, leftovers):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a-bad.pdf").write_bytes(b"%PDF-1.4 broken")
    fakes.write_pdf(folder / "b.pdf", ["x"])
    (folder / "c-empty.png").touch()
    fakes.write_pdf(folder / "d.pdf", ["x"])
    done = run_script("transcribe", folder, "-o", tmp_path / "out")
    assert done.code == 1
    assert leftovers(tmp_path / "out") == ["b.txt", "d.txt"]
    assert "4 files: 2 ok, 0 degraded, 2 failed; 2 pages" in done.stderr


def test_repaired_pdf_is_read_with_a_warning_and_refused_when_strict(run_script, tmp_path, fakes):
    whole = fakes.write_pdf(tmp_path / "a.pdf", ["x"] * 3, deflate=False).read_bytes()
    (tmp_path / "a.pdf").write_bytes(whole[:-200])
    done = run_script("transcribe", "a.pdf", "-f", "jsonl", cwd=tmp_path)
    assert done.code == 0
    assert "warning: a.pdf: the PDF is damaged and was repaired" in done.stderr
    assert '"repaired": true' in done.stdout
    strict = run_script("transcribe", "a.pdf", "--strict", cwd=tmp_path)
    assert (strict.code, strict.stdout) == (4, "")


class TestEncryption:
    @pytest.fixture
    def locked(self, tmp_path, fakes):
        return fakes.write_pdf(tmp_path / "locked.pdf", ["x"], **LOCKED)

    def test_without_password(self, refused, locked):
        refused(locked, 6, "--password-file")

    def test_with_a_wrong_password_that_is_not_shown(self, run_script, locked, one_line):
        done = run_script("transcribe", locked, OCRCLI_PDF_PASSWORD="guess-me", cwd=locked.parent)
        assert (done.code, done.stdout) == (6, "")
        one_line(done, "wrong")
        assert "guess-me" not in done.stderr

    def test_with_the_password_from_stdin(self, run_script, locked):
        done = run_script("transcribe", locked, "--password-stdin", stdin=b"sesame\n")
        assert done.code == 0

    def test_password_and_input_cannot_share_stdin(self, run_script, locked):
        done = run_script("transcribe", "-", "--password-stdin", stdin=b"sesame\n")
        assert done.code == 2

    def test_password_is_in_no_file(self, run_script, locked, tmp_path):
        done = run_script(
            *("transcribe", locked, "-o", f"{tmp_path}/out/", "-vv", "--progress", "json"),
            OCRCLI_PDF_PASSWORD="sesame",
        )
        assert done.code == 0
        written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        assert written
        assert not any(b"sesame" in path.read_bytes() for path in written)
        assert "sesame" not in done.stderr

    def test_owner_password_alone_needs_nothing(self, run_script, tmp_path, fakes):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["x"], **{**LOCKED, "user_pw": ""})
        assert run_script("transcribe", path).code == 0

    @pytest.mark.filterwarnings("ignore:Encryption R=5 is deprecated")
    @pytest.mark.parametrize("revision", [2, 3, 4, 5, 6])
    def test_every_revision(self, run_script, tmp_path, fakes, revision):
        pikepdf = pytest.importorskip("pikepdf")
        plain = fakes.write_pdf(tmp_path / "plain.pdf", ["x"])
        for user in ("sesame", ""):
            protection = pikepdf.Encryption(
                owner="boss", user=user, R=revision, aes=revision >= 4, metadata=revision >= 4
            )
            with pikepdf.open(plain) as pdf:
                pdf.save(tmp_path / "a.pdf", encryption=protection)
            assert run_script("transcribe", tmp_path / "a.pdf").code == (6 if user else 0)
        for password in ("sesame", "boss"):
            with pikepdf.open(plain) as pdf:
                protection = pikepdf.Encryption(
                    owner="boss", user="sesame", R=revision, aes=revision >= 4, metadata=False
                )
                pdf.save(tmp_path / "a.pdf", encryption=protection)
            done = run_script("transcribe", tmp_path / "a.pdf", OCRCLI_PDF_PASSWORD=password)
            assert done.code == 0, done.stderr

    @pytest.mark.parametrize(
        ("name", "code"), [("r6-user-password.pdf", 6), ("r6-empty-password.pdf", 0)]
    )
    def test_files_of_others(self, run_script, test_data, name, code):
        assert run_script("transcribe", test_data / name).code == code


class TestBlankPages:
    def test_blank_pdf(self, run_script, tmp_path, fakes):
        path = fakes.write_pdf(tmp_path / "a.pdf", [None])
        done = run_script("transcribe", path, "-f", "jsonl")
        assert done.code == 0
        assert '"status": "blank"' in done.stdout
        assert '"text": ""' in done.stdout

    def test_pdf_without_contents(self, run_script, test_data):
        done = run_script("transcribe", test_data / "no_contents.pdf")
        assert (done.code, done.stdout) == (0, "\n")

    def test_black_picture(self, run_script, tmp_path):
        Image.new("L", (640, 480), 0).save(tmp_path / "black.jpg")
        done = run_script("transcribe", tmp_path / "black.jpg", "-f", "jsonl")
        assert done.code == 0
        assert '"status": "blank"' in done.stdout


def test_folder_without_documents_is_a_usage_error(run_script, tmp_path, one_line):
    (tmp_path / "in").mkdir()
    shutil.copy(__file__, tmp_path / "in" / "notes.py")
    done = run_script("transcribe", tmp_path / "in")
    assert (done.code, done.stdout) == (2, "")
    one_line(done, "no file to transcribe")
