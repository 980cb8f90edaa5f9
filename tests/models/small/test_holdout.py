import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from ocrcli.models.small.evaluation.prose_pages import font_files, read_books
from ocrcli.models.small.evaluation.sets import QUICK
from ocrcli.models.small.training.build_tokenizer import training_lines
from ocrcli.models.small.training.charset import untaught
from ocrcli.models.small.training.corpus import HELD_OUT_BOOKS, write_books
from ocrcli.models.small.training.fonts import FontRecord, build, read_records


@pytest.fixture(scope="module")
def records() -> tuple[FontRecord, ...]:
    return read_records()


@pytest.mark.parametrize("kin", ["family", "group"])
def test_no_typeface_is_in_two_roles(records: tuple[FontRecord, ...], kin: str) -> None:
    roles = defaultdict(set)
    for record in records:
        roles[getattr(record, kin)].add(record.role)
    assert {name: found for name, found in roles.items() if len(found) > 1} == {}


def test_no_original_file_is_in_two_roles(records: tuple[FontRecord, ...]) -> None:
    roles = defaultdict(set)
    for record in records:
        roles[record.sha256].add(record.role)
    assert all(len(found) == 1 for found in roles.values())


def test_enough_families_are_kept_apart(records: tuple[FontRecord, ...]) -> None:
    families = {
        role: {record.family for record in records if record.role == role}
        for role in ("train", "heldout", "sample")
    }
    assert len(families["train"]) >= 60
    assert len(families["heldout"]) >= 20
    assert families["sample"]
    kinds = {record.kind for record in records if record.role == "heldout"}
    assert kinds >= {"serif", "sans", "mono"}


def test_every_font_names_its_origin(records: tuple[FontRecord, ...]) -> None:
    assert len({record.file for record in records}) == len(records)
    for record in records:
        assert re.fullmatch(r"[A-Za-z0-9]+-[A-Za-z]+\.(ttf|otf)", record.file)
        assert record.path.startswith("usr/share/")
        assert record.licence and record.package
        assert re.fullmatch("[0-9a-f]{64}", record.sha256)


def test_held_out_books_never_reach_the_training_folder(tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.mkdir()
    for name in (*HELD_OUT_BOOKS, "some-other-book"):
        (books / f"{name}.txt").write_text("A line.\nAnother line.\n", encoding="utf-8")
    write_books(books, tmp_path / "text")
    assert [path.stem for path in (tmp_path / "text/train").iterdir()] == ["some-other-book"]
    assert set(read_books(tmp_path / "text/heldout")) == set(HELD_OUT_BOOKS)
    with pytest.raises(ValueError, match="held-out books .* only"):
        read_books(tmp_path / "text/train")


def test_tokenizer_refuses_to_learn_from_a_held_out_book(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / f"{HELD_OUT_BOOKS[0]}.txt").write_text("A line.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must keep held-out books out of train/"):
        next(training_lines(tmp_path, seed=1, characters=100))


def test_changed_font_file_is_refused(records: tuple[FontRecord, ...], tmp_path: Path) -> None:
    record = records[0]
    file = tmp_path / record.path
    file.parent.mkdir(parents=True)
    file.write_bytes(b"another version")
    with pytest.raises(ValueError, match=f"{record.package} named in fonts.json"):
        build([record], [tmp_path], tmp_path / "out")
    with pytest.raises(ValueError, match=f"install {record.package}"):
        build([record], [tmp_path / "empty"], tmp_path / "out")


def test_fonts_of_the_quick_set_are_held_out(records: tuple[FontRecord, ...]) -> None:
    roles = {record.file: record.role for record in records}
    fonts = font_files(QUICK / "fonts")
    assert len(fonts) == 3
    assert {font.name: roles.get(font.name) for font in fonts} == dict.fromkeys(
        (font.name for font in fonts), "heldout"
    )


def test_text_of_the_quick_set_is_no_book_of_the_training() -> None:
    (book,) = read_books(QUICK, allowed=("jargon-file",)).values()
    assert sum(map(len, book)) >= 200_000
    assert not any(untaught(line) for line in book)
    with pytest.raises(ValueError, match="held-out books"):
        read_books(QUICK)


def test_training_folder_shares_no_paragraph_with_what_is_measured() -> None:
    """With the training data at hand, nothing that is measured may be in it."""
    folder = os.environ.get("OCRCLI_TRAINING_DATA")
    if not folder:
        pytest.skip("OCRCLI_TRAINING_DATA names no folder with text/train and fonts/train")
    trained = {
        line
        for path in Path(folder, "text/train").glob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line) > 60
    }
    assert trained
    measured = {"quick": read_books(QUICK, allowed=("jargon-file",))}
    if Path(folder, "text/heldout").is_dir():
        measured["books"] = read_books(Path(folder, "text/heldout"))
    for books in measured.values():
        assert not [line for lines in books.values() for line in lines if line in trained]
    names = {role: _families(Path(folder, "fonts", role)) for role in ("train", "heldout")}
    assert names["train"] and not names["train"] & names["heldout"]
    assert not names["train"] & _families(QUICK / "fonts")


def _families(folder: Path) -> set[str]:
    return {path.stem.partition("-")[0] for path in folder.glob("*.?tf")}
