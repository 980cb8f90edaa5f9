import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ocrcli.models.small.training.charset import CHARS
from ocrcli.models.small.evaluation.evaluate import (
    ReferencePage,
    clean_pages,
    file_pages,
    read_and_score,
    summary,
    table,
)
from ocrcli.models.small.evaluation.metrics import (
    bag_of_words_f1,
    interval,
    macro_cer,
    micro_cer,
    normalise,
    raw_cer,
    score,
    wer,
)

BOOK = "bram-stoker_dracula"


@dataclass(frozen=True)
class Read:
    page_number: int
    status: str
    text: str


def test_normalisation_unifies_marks_and_keeps_case() -> None:
    assert normalise(" “A”\n«b» – it’s c\u00ad\u200bo\u0301\u2212 ") == '"A" "b" - it\'s có-'
    assert normalise("Case") != normalise("case")


@pytest.mark.parametrize(
    ("reference", "reading", "edits", "word_edits", "common"),
    [
        ("the cat sat", "the cat sat", 0, 0, 3),
        ("the cat sat", "the cot sat", 1, 1, 2),
        ("the cat\nsat", "the  cat sat\n", 0, 0, 3),
        ("the cat sat", "", 11, 3, 0),
        ("ab cd", "cd ab", 4, 2, 2),
        ("", "invented", 8, 1, 0),
    ],
)
def test_edits_of_hand_cases(
    reference: str, reading: str, edits: int, word_edits: int, common: int
) -> None:
    counts = score(reference, reading)
    assert (counts.edits, counts.word_edits, counts.common_words) == (edits, word_edits, common)


def test_micro_weighs_by_length_and_macro_by_page() -> None:
    pages = [score("a" * 90, "a" * 90), score("b" * 10, "c" * 10)]
    assert micro_cer(pages) == pytest.approx(0.1)
    assert macro_cer(pages) == pytest.approx(0.5)
    assert wer(pages) == pytest.approx(0.5)


def test_bag_of_words_ignores_order_and_punishes_invention() -> None:
    assert bag_of_words_f1([score("one two three four", "four three two one")]) == 1.0
    assert bag_of_words_f1([score("one two", "one two two two")]) == pytest.approx(2 / 3)


def test_raw_rate_counts_what_normalisation_forgives() -> None:
    pages = [score("it’s\nso", "it's so")]
    assert micro_cer(pages) == 0.0
    assert raw_cer(pages) == pytest.approx(2 / 7)


def test_interval_is_repeatable_and_holds_the_mean() -> None:
    pages = [score("a" * 100, "a" * (100 - wrong)) for wrong in range(20)]
    low, high = interval(micro_cer, pages, seed=3)
    assert interval(micro_cer, pages, seed=3) == (low, high)
    assert low < micro_cer(pages) < high
    same = [score("abcd", "abcx")] * 5
    assert interval(micro_cer, same, seed=3) == (0.25, 0.25)
    with pytest.raises(ValueError, match="pages must hold at least one score"):
        interval(micro_cer, [], seed=3)


def test_page_that_the_engine_loses_counts_in_full() -> None:
    file = Path("two.pdf")
    pages = [ReferencePage(file, 1, "first page"), ReferencePage(file, 2, "second page")]

    def reader(_: Path) -> Iterator[Read]:
        yield Read(1, "loop", "first page")

    results = read_and_score(pages, reader)
    assert [result.status for result in results] == ["loop", "missing"]
    figures = summary(results, seed=1)
    assert (figures["pages"], figures["loops"], figures["truncated"]) == (2, 1, 0)
    assert figures["cer"] == pytest.approx(11 / 21, abs=1e-6)
    assert json.loads(json.dumps(figures)) == figures
    assert "two pages: 2 pages, 21 characters" in table("two pages", figures)


def test_documents_are_paired_with_their_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ftwo\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"document beside a\.txt"):
        file_pages(tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"")
    assert [(page.page_number, page.text.strip()) for page in file_pages(tmp_path)] == [
        (1, "one"),
        (2, "two"),
    ]


@pytest.fixture
def fonts(tmp_path: Path) -> Path:
    """A folder with one font of boxes: its widths differ by letter, its shapes do not."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    names = [".notdef", *(f"u{ord(char):04X}" for char in CHARS)]
    glyphs, metrics = {}, {}
    for index, name in enumerate(names):
        pen, width = TTGlyphPen(None), 350 + 37 * (index % 9)
        if name != "u0020":
            corners = [(40, 0), (40, 500), (width - 40, 500), (width - 40, 0)]
            pen.moveTo(corners[0])
            for corner in corners[1:]:
                pen.lineTo(corner)
            pen.closePath()
        glyphs[name], metrics[name] = pen.glyph(), (width, 40)
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(char): f"u{ord(char):04X}" for char in CHARS})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(metrics)
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200)
    builder.setupPost()
    folder = tmp_path / "fonts"
    folder.mkdir()
    builder.save(folder / "Boxes-Regular.ttf")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "heldout"
    folder.mkdir()
    lines = [
        f"Paragraph {n} was “read” with care—by nobody; it’s {n * 7} words. " * 5 for n in range(60)
    ]
    (folder / f"{BOOK}.txt").write_text("\n".join(map(str.strip, lines)) + "\n", encoding="utf-8")
    return folder


def test_reference_is_what_the_page_shows(fonts: Path, text: Path, tmp_path: Path) -> None:
    import pymupdf

    pages = clean_pages(text, fonts, 3, 5, tmp_path / "pdf")
    again = clean_pages(text, fonts, 3, 5, tmp_path / "again")
    assert [page.text for page in pages] == [page.text for page in again]
    with pymupdf.open(pages[0].file) as document:
        assert document.page_count == len(pages) == 3
        for page in pages:
            shown = document[page.page_number - 1]
            layer = shown.get_text("text", sort=True)
            assert score(page.text, layer).cer < 0.02
            # Every printed line lies on the paper.
            assert shown.rect.contains(pymupdf.Rect(shown.get_text("blocks")[-1][:4]))
            lines = [line for line in page.text.split("\n") if line]
            assert len(lines) > 5
            assert not any(line.endswith("-") for line in lines)
