"""Whether the program knows what it cannot read, and how that is measured."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from ocrcli.models.small.evaluation import textless_pages, untaught_pages
from ocrcli.models.small.evaluation.limits import (
    Verdict,
    figures,
    is_fitting,
    main,
    table,
    threshold,
)

SURE = Verdict("a.pdf", 1, False, "ok", 900, 900, 0.99, ())


def test_threshold_doubts_at_most_the_wanted_share():
    clean = [replace(SURE, confidence=(n + 1) / 100) for n in range(100)]
    found = threshold(clean, 0.02)
    assert sum(verdict.confidence < found for verdict in clean) == 2
    assert threshold(clean, 0.0) == 0.01
    with pytest.raises(ValueError, match="must hold a page"):
        threshold([])


@pytest.mark.parametrize("kinds", [5, 6, 10])
def test_all_kinds_of_pages_are_on_both_sides(kinds):
    pages = [(is_fitting(index + 1), index % kinds) for index in range(20)]
    assert {kind for fitting, kind in pages if fitting} == set(range(kinds))
    assert {kind for fitting, kind in pages if not fitting} == set(range(kinds))


def test_figures_are_those_of_pages_nothing_was_fitted_on():
    verdicts = [
        SURE,
        replace(SURE, status="suspect", confidence=0.5, warnings=("low_confidence",)),
        replace(SURE, status="blank", characters=0),
        replace(SURE, status="empty", characters=0),
        replace(SURE, fitting=True, status="suspect", characters=7),
    ]
    found = figures("ruled", verdicts, 0.9)
    assert (found["pages"], found["marked"]) == (4, 0.5)
    assert found["invented_characters"] == 1800
    assert found["below_fitted_threshold"] == 0.25
    assert found["statuses"] == {"blank": 1, "empty": 1, "ok": 1, "suspect": 1}
    assert found["warnings"] == {"low_confidence": 1}
    assert figures("greek", verdicts, None)["invented_characters"] is None
    # Where nothing was fitted, they are those of all pages.
    assert (figures("ruled", verdicts, None)["pages"], found["pages"]) == (5, 4)
    assert figures("ruled", verdicts, None)["invented_characters"] == 1807
    assert "50.0%     1800" in table([found])


@pytest.mark.parametrize(
    "draw", [textless_pages.blank_pages, textless_pages.ruled_pages, textless_pages.texture_pages]
)
def test_textless_pages_differ_and_come_again(draw, tmp_path):
    sheets = []
    for name in ("one", "two"):
        draw(3, 7, tmp_path / name)
        with Image.open(tmp_path / name / "pages-000.tif") as file:
            assert file.n_frames == 3
            sheets.append([np.asarray(_frame(file, index)) for index in range(3)])
    for first, second in zip(*sheets, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(sheets[0][0], sheets[0][1])


def _frame(file, index):
    file.seek(index)
    return file.copy()


def test_photographs_are_cut_to_pages(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "photo.png")
    textless_pages.photo_pages([tmp_path / "photo.png"], 2, 1, tmp_path / "out")
    with Image.open(tmp_path / "out" / "pages-000.tif") as file:
        assert file.n_frames == 2
        assert max(file.size) == 1280


def test_words_are_printed_in_the_fonts_given(tmp_path):
    import pymupdf

    font = tmp_path / "Some-Regular.ttf"
    font.write_bytes(pymupdf.Font("cjk").buffer)
    paragraph = "a paragraph of words \u0e01 that is long enough to be printed on a page of its own"
    untaught_pages.plain_pages([font], [paragraph + "." * 30], 2, 1, tmp_path / "out")
    with pymupdf.open(tmp_path / "out" / "pages-000.pdf") as pdf:
        assert pdf.page_count == 2
        text = pdf[0].get_text()
        assert "paragraph of words that" in " ".join(text.split())


def test_unknown_scripts_are_refused_with_the_choices(tmp_path):
    with pytest.raises(ValueError, match=r"one of \['arabic', .* got \"thai\""):
        untaught_pages.script_pages("thai", [tmp_path / "a.ttf"], 1, 1, tmp_path)


def test_pages_that_were_drawn_are_read_without_their_documents(tmp_path, monkeypatch):
    kept = ["--sets", "blank", "--textless", "3", "--keep", str(tmp_path)]
    main([*kept, "--out", str(tmp_path / "documents.json")])
    main([*kept, "--draw"])
    monkeypatch.setattr("ocrcli.pages.open_pages", None)
    main([*kept, "--out", str(tmp_path / "drawn.json")])
    documents, drawn = (
        json.loads((tmp_path / f"{name}.json").read_text())["blank"]
        for name in ("documents", "drawn")
    )
    assert len(drawn) == 3
    assert [page | {"file": "blank"} for page in documents] == drawn


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--draw"], "--draw needs --keep"),
        (["--sets", "thai"], "must name some of"),
        (["--sets", "greek"], "every set needs its folder"),
        (["--dtype", "int4"], "dtype"),
        (["--sets", "greek", "--fit"], '--fit needs the set "clean"'),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(arguments, complaint, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert complaint in capsys.readouterr().err
