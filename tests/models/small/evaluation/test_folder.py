"""The way of a page through the folder: prepared, read, scored, reported."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ocrcli.models.small.evaluation.baselines import lines_from_top
from ocrcli.models.small.evaluation.card import card
from ocrcli.models.small.evaluation.evaluate import main, page_counts
from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    Grey,
    PageReading,
    ReadBlock,
    Readings,
    ReferenceBlock,
    load_pixels,
    read_all_readings,
    read_json,
    read_pages,
    read_readings,
    save_pixels,
    write_pages,
    write_readings,
)
from ocrcli.models.small.evaluation.scoring import score_folder
from ocrcli.models.small.evaluation.sets import DESCRIPTIONS, SETS, Ingredients, clean
from ocrcli.pages import open_pages

READER_WITHOUT_PDF = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pymupdf", "fitz", "rapidfuzz", "fpdf", "fontTools", "lxml"}:
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Absent())
from ocrcli.models.small.evaluation.evaluate import main

main(["--work", sys.argv[1], "--read", "--threads", "1"])
"""


def test_pixels_travel_without_loss(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (70, 50), dtype=np.uint8)
    size = save_pixels(tmp_path / "page.webp", noise)
    assert size == (tmp_path / "page.webp").stat().st_size
    assert np.array_equal(load_pixels(tmp_path / "page.webp"), noise)


def test_references_and_readings_come_back_as_they_were(tmp_path: Path) -> None:
    blocks = (
        ReferenceBlock("title", "Größe", (1.5, 2.0, 3.0, 4.0), level=2),
        ReferenceBlock("table", "a", None, html="<table></table>"),
    )
    pages = [EvaluationPage("0001", "Größe", 612, 792, 116, blocks, "de", "a note", 1)]
    write_pages(tmp_path, "clean", pages)
    assert read_pages(tmp_path, "clean") == pages
    read = PageReading(
        "clean", "0001", "ok", "text", "# text", (ReadBlock("title", "t", (1.0, 2.0, 3.0, 4.0)),)
    )
    readings = Readings({"reader": "x", "seconds_per_page": {}}, {("clean", "0001"): read})
    write_readings(tmp_path / "readings" / "x.jsonl", readings)
    assert read_readings(tmp_path / "readings" / "x.jsonl") == readings


def test_parts_of_a_reading_are_put_together(tmp_path: Path) -> None:
    for name in ("clean", "tables"):
        read = PageReading(name, "0001", "ok", name)
        readings = Readings(
            {"reader": "x", "seconds_per_page": {name: 1.0}}, {(name, "0001"): read}
        )
        write_readings(tmp_path / "readings" / f"ocrcli.{name}.jsonl", readings)
    (reader,) = read_all_readings(tmp_path).items()
    assert reader[0] == "ocrcli"
    assert set(reader[1].pages) == {("clean", "0001"), ("tables", "0001")}
    assert reader[1].reader["seconds_per_page"] == {"clean": 1.0, "tables": 1.0}


def prepared(work: Path, text: Path, fonts: Path) -> Path:
    command = ["--work", str(work), "--prepare", "--sets", "clean,turned,files,debian-docs"]
    main([*command, "--text", str(text), "--fonts", str(fonts), "--pages", "3"])
    return work


def test_prepared_pixels_are_those_the_engine_sees(
    fonts: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = prepared(tmp_path / "work", text, fonts)
    assert "debian-docs: not run: needs --packages" in capsys.readouterr().err
    record = read_json(work / "sets.json")["sets"]
    assert record["clean"]["pages"] == 3
    assert record["files"] == {"not_run": "needs --files, a folder of documents with their texts"}
    sources = clean(Ingredients(text, fonts, None, None, tmp_path / "again", 3, 1))
    with open_pages(sources[0].file) as opened:
        images = list(opened)
    for page, source, image in zip(read_pages(work, "clean"), sources, images, strict=True):
        pixels = load_pixels(work / "pages" / "clean" / f"{page.name}.webp")
        assert np.array_equal(pixels, image.pixels)
        assert (page.text, page.dpi) == (source.text, image.facts.dpi)
        with Image.open(work / "prints" / "clean" / f"{page.name}.png") as print_:
            inches = print_.width / round(print_.info["dpi"][0])
        assert inches * 72 == pytest.approx(page.width_pt, abs=0.3)


def on_whole_page(page: EvaluationPage, pixels: Grey) -> Grey:
    """Return the whole of a page, a pixel a point, without what a crop leaves out."""
    across, down = round(page.width_pt), round(page.height_pt)
    left, top, right, bottom = page.crop or (0.0, 0.0, 1.0, 1.0)
    place = round(left * across), round(top * down), round(right * across), round(bottom * down)
    size = place[2] - place[0], place[3] - place[1]
    sheet = Image.new("L", (across, down), 255)
    sheet.paste(Image.fromarray(pixels).resize(size, Image.Resampling.BOX), place[:2])
    return np.array(sheet)


def test_turned_pages_are_upright_after_their_turns(
    fonts: Path, text: Path, tmp_path: Path
) -> None:
    work = prepared(tmp_path / "work", text, fonts)
    pages = {name: read_pages(work, name) for name in ("clean", "turned")}
    assert [page.turn for page in pages["turned"]] == [1, 2, 3]
    for upright, turned in zip(pages["clean"], pages["turned"], strict=True):
        assert upright.text == turned.text
        before, after = (
            on_whole_page(page, load_pixels(work / "pages" / name / f"{page.name}.webp"))
            for name, page in (("clean", upright), ("turned", turned))
        )
        back = np.rot90(after, -turned.turn)
        assert back.shape == before.shape
        others = [np.abs(np.rot90(back, 2).astype(float) - before).mean()]
        assert np.abs(back.astype(float) - before).mean() < 0.5 * min(others)


def test_lost_pages_count_in_full_and_missing_sets_are_named(tmp_path: Path) -> None:
    pages = [
        EvaluationPage("0001", "first page", 612, 792, 116),
        EvaluationPage("0002", "second page", 612, 792, 116),
    ]
    write_pages(tmp_path, "clean", pages)
    record = {"sets": {"debian-docs": {"not_run": "needs --packages"}, "clean": {"pages": 2}}}
    (tmp_path / "sets.json").write_text(json.dumps(record), encoding="utf-8")
    read = PageReading("clean", "0001", "loop", "first page")
    readings = Readings({"reader": "ocrcli", "device": "cpu"}, {("clean", "0001"): read})
    write_readings(tmp_path / "readings" / "ocrcli.jsonl", readings)
    scores = score_folder(tmp_path, seed=1)
    found = scores["sets"]["clean"]["readers"]["ocrcli"]
    assert found["statuses"] == {"loop": 1, "missing": 1}
    assert found["cer"] == pytest.approx(11 / 21, abs=1e-6)
    assert found["rates"]["loop"] == 0.5
    assert json.loads(json.dumps(scores)) == scores
    table = card(scores)
    assert [line for line in table.splitlines() if "debian-docs" in line and "not run" in line]
    assert "| 2 / 21 | this model | 52.38% |" in table


def test_tables_of_contents_are_also_left_out(tmp_path: Path) -> None:
    contents = "\n".join(f"Chapter {number} .... {number}" for number in range(9))
    pages = [
        EvaluationPage("0001", contents, 612, 792, 116),
        EvaluationPage("0002", "second page", 612, 792, 116),
    ]
    write_pages(tmp_path, "debian-docs", pages)
    read = PageReading("debian-docs", "0002", "ok", "second page")
    readings = Readings({"reader": "tesseract"}, {("debian-docs", "0002"): read})
    write_readings(tmp_path / "readings" / "tesseract.jsonl", readings)
    scores = score_folder(tmp_path, seed=1)
    found = scores["sets"]["debian-docs"]["readers"]["tesseract"]
    assert found["cer"] > 0.9
    assert (found["pages_with_leaders"], found["cer_without_leaders"]) == (1, 0.0)
    assert "without 1 pages of contents (rows of dots) |  | Tesseract | 0.00% |" in card(scores)


@pytest.mark.weights
@pytest.mark.slow
def test_prepared_pages_are_read_without_the_libraries_that_made_them(
    fonts: Path, text: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    order = ["--work", str(work), "--prepare", "--sets", "clean", "--pages", "1", "--no-prints"]
    main([*order, "--text", str(text), "--fonts", str(fonts)])
    assert not (work / "prints").exists()
    command = [sys.executable, "-P", "-c", READER_WITHOUT_PDF, str(work)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    readings = read_readings(work / "readings" / "ocrcli.jsonl")
    assert readings.pages["clean", "0001"].status
    assert len(readings.reader["weights_sha256"]) == 64


def test_every_set_is_described() -> None:
    assert list(DESCRIPTIONS) == list(SETS)
    assert next(iter(SETS)) == "debian-docs"


def test_page_counts() -> None:
    names = ["clean", "tables"]
    assert page_counts("50,tables=20", names) == {"clean": 50, "tables": 20}
    for wrong in ("0", "tables", "ducks=3", ""):
        with pytest.raises(ValueError, match="pages must be like"):
            page_counts(wrong, names)


def test_single_steps_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--score"])
    assert "single steps need --work" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prepare", "--sets", "ducks"], "sets must be among debian-docs"),
        (["--read"], "folder must hold pages/SET/pages.jsonl"),
        (["--read", "--model", "nowhere", "--sets", "clean"], "no such model"),
        (["--baseline", "ducks", "--sets", "clean"], "baseline must be one of"),
        (["--score", "--sets", "clean"], "folder must hold readings/READER.jsonl"),
    ],
)
def test_wrong_orders_get_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "clean" in arguments:
        write_pages(tmp_path, "clean", [EvaluationPage("0001", "first page", 612, 792, 116)])
    with pytest.raises(SystemExit):
        main(["--work", str(tmp_path), *arguments])
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_pieces_at_one_height_are_one_line() -> None:
    pieces = [
        (102.0, 300.0, 20.0, "right"),
        (100.0, 10.0, 20.0, "left"),
        (130.0, 5.0, 20.0, "next"),
    ]
    assert lines_from_top(pieces) == ["left right", "next"]
    assert lines_from_top([]) == []
