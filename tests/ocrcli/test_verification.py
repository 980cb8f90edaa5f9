"""Readings are held against known texts, each kind of text against its like."""

import pytest

from ocrcli.cli import main
from ocrcli.errors import InputError, OcrError
from ocrcli.options import Options
from ocrcli.verification import Comparison, KnownPage, compared, known_pages, report


@pytest.fixture
def folder(fakes, tmp_path):
    for name in ("a", "b", "c"):
        fakes.text_picture().save(tmp_path / f"{name}.png")
    return tmp_path


def compare(folder, fakes, name, markup, reference):
    path = folder / name
    path.write_text(reference, encoding="utf-8")
    recogniser = fakes.ScriptedRecogniser({1: fakes.result(1, markup)})
    return compared(KnownPage(folder / "a.png", path), Options(), recogniser)


def test_images_meet_their_references_by_name(folder, tmp_path_factory):
    (folder / "a.txt").write_text("x")
    (folder / "b.gold.txt").write_text("x")
    (folder / "d.txt").write_text("x")
    found = known_pages(folder)
    assert [(page.image.name, page.reference.name) for page in found] == [
        ("a.png", "a.txt"),
        ("b.png", "b.gold.txt"),
    ]
    other = tmp_path_factory.mktemp("texts")
    (other / "c.md").write_text("x")
    assert [page.image.name for page in known_pages(folder, other)] == ["c.png"]


def test_folder_without_references_is_an_input_error(folder):
    with pytest.raises(InputError, match="no page image has a reference"):
        known_pages(folder)
    with pytest.raises(InputError, match="cannot be read"):
        known_pages(folder / "missing")


def test_text_is_compared_with_text(folder, fakes):
    markup = fakes.block("One  two") + "\n" + fakes.block("three")
    found = compare(folder, fakes, "a.txt", markup, "One two\n\nthree!\n")
    assert found == Comparison("a.png", "text", "ok", len("One two three!"), 1)
    assert found.cer == 1 / 14


def test_markdown_is_compared_with_markdown(folder, fakes):
    found = compare(folder, fakes, "a.md", fakes.block("Head", "title"), "# Head")
    assert (found.kind, found.edits) == ("markdown", 0)


@pytest.mark.parametrize("start", ["", "<PAGE>", "<PAGE>\n"])
def test_markup_is_compared_with_markup_whatever_it_begins_with(folder, fakes, start):
    markup = fakes.block("One", box="1, 2, 3, 4")
    assert compare(folder, fakes, "a.md", markup, start + markup).edits == 0
    moved = fakes.block("One", box="1, 2, 3, 5")
    found = compare(folder, fakes, "a.md", markup, start + moved)
    assert (found.kind, found.edits) == ("markup", 1)


def test_report_sums_edits_and_counts_exact_pages():
    comparisons = [Comparison("a", "text", "ok", 90, 0), Comparison("b", "text", "loop", 10, 20)]
    lines = list(report(iter(comparisons)))
    assert lines[1] == "b: CER 2.0000, 20 edits in 10 characters of text, loop"
    assert lines[2].startswith("total: CER 0.2000, 20 edits in 100 characters, 1 of 2 exact")


def test_command_without_references_is_3(folder, capfd):
    assert main(["verify", "--pages", str(folder)]) == 3
    assert "put the text of name.png into name.txt" in capfd.readouterr().err


def test_missing_package_is_named(folder, monkeypatch):
    import sys

    from ocrcli.verification import verify

    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(OcrError, match="needs the package rapidfuzz"):
        next(verify([], Options()))


def cut_short(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_lone_image_that_cannot_be_read_is_10(fakes, tmp_path, capfd):
    fakes.text_picture().save(tmp_path / "a.png")
    cut_short(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("x")
    assert main(["verify", "--pages", str(tmp_path), "--device", "cpu"]) == 10
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "a.png: not compared, error",
        "total: nothing to compare; 1 failed and not counted",
    ]
    assert "a.png: 1 of 1 pages could not be transcribed (page 1): " in err


def test_one_of_several_that_cannot_be_read_is_1_and_counts_for_nothing(
    folder, fakes, monkeypatch, capfd
):
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text("One two")
    cut_short(folder / "a.png")
    (folder / "c.txt").write_bytes(b"\xff")
    recogniser = fakes.ScriptedRecogniser({1: fakes.result(1, fakes.block("One two"))})
    monkeypatch.setattr("ocrcli.verification.ModelRecogniser", lambda options: recogniser)
    assert main(["verify", "--pages", str(folder)]) == 1
    out, err = capfd.readouterr()
    total = out.splitlines()[-1]
    assert total.startswith("total: CER 0.0000, 0 edits in 7 characters, 1 of 1 exact")
    assert total.endswith("; 2 failed and not counted")
    assert [line.partition("cannot be read")[1] for line in err.splitlines()] == [
        "",
        "cannot be read",
    ]


@pytest.mark.weights
@pytest.mark.slow
def test_shipped_model_reads_what_the_text_says(fakes, tmp_path, capfd):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["Page one"])
    path.with_suffix(".txt").write_text("Page one")
    assert main(["verify", "--pages", str(tmp_path), "--device", "cpu"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("a.pdf: CER ")
    assert float(lines[1].split()[2].rstrip(",")) < 0.5
