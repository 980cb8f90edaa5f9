import gzip
import re
from pathlib import Path

import pymupdf
import pytest

from ocrcli.models.small.evaluation.debian_docs import (
    RECORD,
    find_package,
    is_usable,
    lines_of,
    sha256_of,
)
from ocrcli.models.small.evaluation.language_texts import paragraphs
from ocrcli.models.small.evaluation.page_set import read_json
from ocrcli.models.small.training.corpus import LANGUAGES

PROSE = "Nothing of ours drew this page, and nothing of it was seen before. " * 2


def document(lines: list[tuple[float, float, str]]) -> pymupdf.Page:
    pdf = pymupdf.open()
    page = pdf.new_page(width=612, height=792)
    for x, y, text in lines:
        page.insert_text((x, y), text, fontsize=10)
    return page


def test_record_names_enough_pages_of_enough_software() -> None:
    packages = read_json(RECORD)["packages"]
    files = [file for package in packages for file in package["files"]]
    assert sum(len(file["pages"]) for file in files) >= 200
    assert len(packages) >= 15
    assert {file["made_by"] for file in files} >= {"pdfTeX", "xdvipdfmx", "FOP", "groff"}
    for package in packages:
        assert re.fullmatch("[0-9a-f]{64}", package["sha256"]) and package["version"]
        assert all(len(set(file["pages"])) == len(file["pages"]) for file in package["files"])


def test_pieces_on_one_baseline_are_one_line_and_leaders_are_short() -> None:
    page = document([(300, 100, "7"), (72, 100, "1. Contents . . . . . . . ."), (72, 130, "Text")])
    assert [line.text for line in lines_of(page)] == ["1. Contents .... 7", "Text"]
    assert not any(line.gaps for line in lines_of(page))


def test_prose_is_taken_and_other_pages_are_not() -> None:
    prose = [(72, 100 + 14 * n, PROSE[:90]) for n in range(12)]
    assert is_usable(document(prose))
    assert not is_usable(document(prose[:3]))
    columns = [(x, 100 + 14 * n, PROSE[:30]) for n in range(30) for x in (72, 350)]
    assert not is_usable(document(columns))
    assert not is_usable(document([*prose, (560, 300, PROSE[:60])]))
    turned = document(prose)
    turned.insert_text((300, 600), "turned", fontsize=10, rotate=90)
    assert not is_usable(turned)


def test_package_of_another_version_is_refused(tmp_path: Path) -> None:
    package = {"name": "some-doc", "version": "1.0", "sha256": "0" * 64}
    (tmp_path / "some-doc_1.1_all.deb").write_bytes(b"another version")
    with pytest.raises(ValueError, match="must hold some-doc 1.0"):
        find_package(tmp_path, package)
    right = {**package, "sha256": sha256_of(tmp_path / "some-doc_1.1_all.deb")}
    assert find_package(tmp_path, right).name == "some-doc_1.1_all.deb"


def test_manual_pages_become_paragraphs(tmp_path: Path) -> None:
    pytest.importorskip("wordfreq")
    source = r"""
.TH PRINTF 1
.SH BESCHREIBUNG
Das Programm gibt die Argumente unter der Kontrolle des \fIFormats\fP aus, so wie es in der
Programmiersprache \(Bqüblich ist, und beendet sich danach.
.PP
Die Option
.B \-v
gibt die Version des Programms aus; danach wird nichts mehr getan, auch wenn weitere folgen.
.PP
This paragraph was never translated into the language of the page, and so it is left out here.
.nf
int main(void) { return 0; } and so on, a line that is far too long to be left out for length.
.fi
"""
    folder = tmp_path / "usr/share/man/de/man1"
    folder.mkdir(parents=True)
    (folder / "printf.1.gz").write_bytes(gzip.compress(source.encode()))
    assert paragraphs(tmp_path, "de") == [
        "Die Option -v gibt die Version des Programms aus; danach wird nichts mehr getan, auch "
        "wenn weitere folgen."
    ]
    with pytest.raises(ValueError, match="manual pages in pl"):
        paragraphs(tmp_path, "pl")
    assert set(LANGUAGES) == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "pl"}


def test_pages_whose_text_layer_is_not_what_is_printed_are_left_out() -> None:
    prose = [(72, 72 + 12 * row, PROSE[:80]) for row in range(40)]
    page = document(prose)
    page.draw_line((72, 600), (300, 600), width=0.4)
    assert is_usable(page)
    # TeX draws the underscores of some fonts.
    page.draw_line((100, 640), (103, 640), width=0.4)
    assert not is_usable(page)
    # An index in two columns would be read across.
    entries = [
        (x, 80 + 15 * row, "name of an entry" + ". " * 20 + str(row))
        for row in range(30)
        for x in (72, 300)
    ]
    assert not is_usable(document(entries))
    assert is_usable(document([entry for entry in entries if entry[0] == 72]))
