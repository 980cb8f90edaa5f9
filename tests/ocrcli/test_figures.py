"""Figures that are cut out of pages: what is in them, how they are named, what never survives."""

import json

import pymupdf
import pytest
from PIL import Image, ImageDraw

RED, BLUE = (255, 0, 0), (0, 0, 255)
LEFT, RIGHT = [100, 200, 400, 800], [600, 200, 900, 800]


def squares(size=(600, 400)):
    """Return a red and a blue square, and where they are in thousandths: `LEFT` and `RIGHT`."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for box, colour in ((LEFT, RED), (RIGHT, BLUE)):
        edges = [edge / 999 * side for edge, side in zip(box, (*size, *size), strict=True)]
        draw.rectangle([round(edge) for edge in edges], fill=colour)
    draw.text((20, 10), "Some words of text " * 3, fill="black")
    return image


@pytest.fixture
def pdf(tmp_path, fakes):
    """Two pages with two squares each."""
    document = pymupdf.open()
    for _ in range(2):
        page = document.new_page(width=300, height=200)
        page.insert_image(page.rect, stream=fakes.encoded(squares(), "PNG"))
    document.save(tmp_path / "a.pdf")
    return tmp_path / "a.pdf"


@pytest.fixture
def found():
    """A model that finds both squares on page 1 and one of them on page 2."""
    return {"figures": {"1": [LEFT, RIGHT], "2": [RIGHT]}}


def colour(path):
    """Return the colour in the middle of a picture."""
    with Image.open(path) as image:
        return image.convert("RGB").getpixel((image.width // 2, image.height // 2))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


FIGURES = ["a-p001-1.png", "a-p001-2.png", "a-p002-1.png"]


def test_every_figure_of_a_pdf_becomes_a_file_at_200_dpi(run_script, pdf, found, tmp_path):
    done = run_script(
        *("transcribe", pdf, "-o", tmp_path / "a.md", "-f", "md", "--figures", tmp_path / "figs"),
        script=found,
    )
    assert done.code == 0, done.stderr
    assert names(tmp_path / "figs") == FIGURES
    assert [colour(tmp_path / "figs" / name) for name in FIGURES] == [RED, BLUE, BLUE]
    with Image.open(tmp_path / "figs" / FIGURES[0]) as image:
        # 300/999 of 300 points and 600/999 of 200 points.
        assert image.size == pytest.approx((300 * 0.3 / 72 * 200, 200 * 0.6 / 72 * 200), abs=2)
        assert image.info["dpi"] == pytest.approx((200, 200), abs=0.1)
    text = (tmp_path / "a.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("![")] == [
        f"![Figure](figs/{name})" for name in FIGURES
    ]


def test_pictures_keep_their_pixels(run_script, tmp_path):
    squares((900, 600)).save(tmp_path / "my scan.png")
    (tmp_path / "out").mkdir()
    done = run_script(
        *("transcribe", tmp_path / "my scan.png", "-o", tmp_path / "out/", "-f", "md"),
        *("--figures", tmp_path / "figs"),
        script={"figures": {"1": [LEFT]}},
    )
    assert done.code == 0, done.stderr
    with Image.open(tmp_path / "figs" / "my scan-p001-1.png") as image:
        assert image.size == pytest.approx((270, 360), abs=2)
        assert image.convert("RGB").getcolors() == [(image.width * image.height, RED)]
    assert (
        "![Figure](../figs/my%20scan-p001-1.png)" in (tmp_path / "out" / "my scan.md").read_text()
    )


def test_figure_of_a_turned_page_is_upright(run_script, tmp_path, fakes):
    # The page lies on its side: turned by 90 degrees clockwise it reads well, red on top.
    upright = Image.new("RGB", (400, 600), "white")
    ImageDraw.Draw(upright).rectangle((100, 60, 299, 119), fill=RED)
    ImageDraw.Draw(upright).rectangle((100, 120, 299, 179), fill=BLUE)
    upright.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "a.png")
    done = run_script(
        *("transcribe", tmp_path / "a.png", "-o", tmp_path / "a.md", "-f", "md"),
        *("--figures", tmp_path),
        script={"figures": {"1": [[250, 100, 750, 300]]}, "turned": {"1": 90}},
    )
    assert done.code == 0, done.stderr
    with Image.open(tmp_path / "a-p001-1.png") as image:
        assert image.width > image.height
        middle = image.width // 2
        assert image.getpixel((middle, image.height // 4)) == RED
        assert image.getpixel((middle, 3 * image.height // 4)) == BLUE


def test_json_names_the_picture_of_a_block(run_script, pdf, found, tmp_path):
    arguments = ("transcribe", pdf, "-o", tmp_path / "a.jsonl", "-f", "jsonl")
    run_script(*arguments, "--figures", tmp_path / "figs", script=found)
    page = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert [block["picture"] for block in page["blocks"]] == [
        None,
        *(f"figs/{name}" for name in FIGURES[:2]),
    ]
    assert f"![Figure](figs/{FIGURES[0]})" in page["markdown"]
    run_script(*arguments, "--force", script=found)
    page = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert [block["picture"] for block in page["blocks"]] == [None] * 3


def test_links_of_split_pages_start_at_their_folder(run_script, pdf, found, tmp_path):
    run_script(
        *("transcribe", pdf, "-o", f"{tmp_path}/out/", "-f", "md", "--split-pages"),
        *("--figures", tmp_path / "figs"),
        script=found,
    )
    text = (tmp_path / "out" / "a" / "page-0002.md").read_text()
    assert f"(../../figs/{FIGURES[2]})" in text


def test_standard_output_names_pictures_from_the_current_folder(run_script, pdf, found, tmp_path):
    done = run_script(
        *("transcribe", pdf, "-f", "md", "--figures", "figs"), script=found, cwd=tmp_path
    )
    assert f"![Figure](figs/{FIGURES[0]})" in done.stdout
    assert names(tmp_path / "figs") == FIGURES


def test_inputs_of_one_name_get_figures_of_different_names(run_script, pdf, found, tmp_path):
    squares().save(tmp_path / "a.png")
    done = run_script(
        *("transcribe", pdf, tmp_path / "a.png", "-o", tmp_path / "out", "-f", "md"),
        *("--figures", tmp_path / "figs"),
        script=found,
    )
    assert done.code == 0, done.stderr
    assert names(tmp_path / "figs") == sorted(
        [name.replace("a-", "a.pdf-") for name in FIGURES]
        + [name.replace("a-", "a.png-") for name in FIGURES[:2]]
    )


def test_folders_are_mirrored_by_several_jobs(run_script, pdf, found, tmp_path):
    for folder in ("x", "y"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "a.pdf").write_bytes(pdf.read_bytes())
    arguments = ("transcribe", tmp_path / "in", "-o", tmp_path / "out", "-f", "md", "--jobs", "2")
    arguments += ("--figures", tmp_path / "out" / "figs")
    done = run_script(*arguments, script=found)
    assert done.code == 0, done.stderr
    assert f"(../figs/x/{FIGURES[0]})" in (tmp_path / "out" / "x" / "a.md").read_text()
    assert names(tmp_path / "out" / "figs" / "y") == FIGURES
    again = run_script(*arguments, script=found)
    assert "2 ok (2 before)" in again.stderr


def test_existing_files_are_only_replaced_with_force(run_script, pdf, found, tmp_path):
    (tmp_path / "figs").mkdir()
    (tmp_path / "figs" / FIGURES[1]).write_text("mine")
    arguments = ("transcribe", pdf, "-o", tmp_path / "a.md", "--figures", tmp_path / "figs")
    done = run_script(*arguments, script=found)
    assert done.code == 5
    assert "exists already" in done.stderr
    assert not (tmp_path / "a.md").exists()
    assert run_script(*arguments, "--force", script=found).code == 0
    assert colour(tmp_path / "figs" / FIGURES[1]) == BLUE


def test_force_removes_own_figures_that_are_no_longer_found(run_script, pdf, found, tmp_path):
    arguments = ("transcribe", pdf, "-o", tmp_path / "a.md", "--figures", tmp_path / "figs")
    run_script(*arguments, script=found)
    (tmp_path / "figs" / "a-p099-1.png").write_text("not ours")
    run_script(*arguments, "--force", script={"figures": {"1": [RIGHT]}})
    assert names(tmp_path / "figs") == ["a-p001-1.png", "a-p099-1.png"]
    assert colour(tmp_path / "figs" / "a-p001-1.png") == BLUE


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_resumed_run_makes_figures_whole_again(run_script, pdf, found, tmp_path, change):
    arguments = ("transcribe", pdf, "-o", f"{tmp_path}/out/", "-f", "md", "--resume")
    arguments += ("--figures", tmp_path / "out" / "figs")
    run_script(*arguments, script=found)
    assert "finished before" in run_script(*arguments, script=found).stderr
    path = tmp_path / "out" / "figs" / FIGURES[1]
    if change == "removed":
        path.unlink()
    else:
        with Image.open(path) as image:
            facts = {"pnginfo": _text_of(image)}
            image.resize((9, 9)).save(path, "PNG", **facts)
    again = run_script(*arguments, script=found)
    assert "finished before" not in again.stderr
    assert names(tmp_path / "out" / "figs") == FIGURES
    with Image.open(path) as image:
        assert image.width > 9


def _text_of(image):
    from PIL.PngImagePlugin import PngInfo

    facts = PngInfo()
    for key, value in image.text.items():
        facts.add_text(key, value)
    return facts


@pytest.mark.parametrize("moment", [{"kill": 1}, {"kill_after_rename": True}])
def test_killed_run_leaves_no_half_and_its_resumption_all(run_script, pdf, found, tmp_path, moment):
    arguments = ("transcribe", pdf, "-o", f"{tmp_path}/out/", "-f", "md", "--resume")
    arguments += ("--figures", tmp_path / "figs")
    killed = run_script(*arguments, script=found | moment)
    assert killed.code == -9
    shown = [name for name in names(tmp_path / "figs") if name in FIGURES]
    assert shown == (FIGURES if "kill_after_rename" in moment else [])
    done = run_script(*arguments, script=found)
    assert done.code == 0, done.stderr
    # A hidden folder of the killed run is gone, too.
    assert names(tmp_path / "figs") == FIGURES
    assert (tmp_path / "out" / "a.md").read_text().count("![") == 3


def test_stopped_run_leaves_no_figures(run_script, pdf, found, tmp_path):
    done = run_script(
        *("transcribe", pdf, "-o", tmp_path / "a.md", "--figures", tmp_path / "figs"),
        script=found | {"signal": [1, 2]},
    )
    assert done.code == 130
    assert names(tmp_path / "figs") == []


def test_figures_never_replace_an_input(run_script, pdf, found, tmp_path):
    squares().save(tmp_path / "a-p001-1.png")
    before = (tmp_path / "a-p001-1.png").read_bytes()
    done = run_script(
        *("transcribe", pdf, tmp_path / "a-p001-1.png", "-o", tmp_path / "out", "--force"),
        *("--figures", tmp_path),
        script=found,
    )
    assert done.code == 2
    assert "must not become a figure" in done.stderr
    assert (tmp_path / "a-p001-1.png").read_bytes() == before


def test_folder_for_figures_must_not_be_searched_for_inputs(run_script, pdf, found, tmp_path):
    (tmp_path / "in").mkdir()
    pdf.rename(tmp_path / "in" / "a.pdf")
    done = run_script(
        *("transcribe", tmp_path / "in", "-o", tmp_path / "out"),
        *("--figures", tmp_path / "in" / "figs"),
        script=found,
    )
    assert done.code == 2
    assert "is searched for inputs" in done.stderr


def test_folder_for_figures_that_is_a_file_is_5(run_script, pdf, tmp_path):
    (tmp_path / "figs").write_text("")
    done = run_script("transcribe", pdf, "-o", tmp_path / "a.md", "--figures", tmp_path / "figs")
    assert done.code == 5
    assert done.stderr.count("\n") == 1


def test_dry_run_makes_no_folder(run_script, pdf, tmp_path):
    done = run_script("transcribe", pdf, "--dry-run", "--figures", tmp_path / "figs")
    assert done.code == 0
    assert not (tmp_path / "figs").exists()


def test_box_without_extent_still_is_a_picture(run_script, pdf, tmp_path):
    done = run_script(
        *("transcribe", pdf, "-o", tmp_path / "a.md", "--figures", tmp_path / "figs"),
        script={"figures": {"1": [[999, 999, 999, 999], [300, 300, 300, 300]]}},
    )
    assert done.code == 0, done.stderr
    for name in names(tmp_path / "figs"):
        with Image.open(tmp_path / "figs" / name) as image:
            assert image.width >= 1 and image.height >= 1
            image.load()
    assert len(names(tmp_path / "figs")) == 2


def test_caption_stands_for_the_picture():
    from ocrcli.document import Block, BlockType
    from ocrcli.writers import page_markdown, page_text

    blocks = (
        Block(BlockType.FIGURE, "", picture="f/a-p001-1.png"),
        Block(BlockType.CAPTION, "Figure 2: growth\n[1]"),
    )
    first = page_markdown(blocks).split("\n\n")[0]
    assert first == r"![Figure 2: growth \[1\]](f/a-p001-1.png)"
    assert page_text(blocks) == "Figure 2: growth\n[1]"


def test_page_that_cannot_be_drawn_again_keeps_its_text(tmp_path, pdf, monkeypatch):
    from ocrcli.blocks import parse_markup
    from ocrcli.document import Page, PageStatus
    from ocrcli.figures import FigurePlace, Figures
    from ocrcli.pages import open_pages
    from ocrcli.pictures import PictureError
    from ocrcli.textstyle import TextStyle

    blocks = parse_markup("<|det|>image [1, 1, 9, 9]<|/det|>", 300, 200).blocks
    page = Page(1, PageStatus.OK, text="kept", blocks=blocks)
    place = FigurePlace(tmp_path / "a", tmp_path, "owner")
    with open_pages(pdf) as pages, Figures(place, pages, TextStyle()) as figures:

        def fail(*_):
            raise PictureError("no memory")

        monkeypatch.setattr(pages, "cutouts", fail)
        cut = figures.cut(page)
    assert (cut.text, [notice.code for notice in cut.warnings]) == ("kept", ["figure_lost"])
    assert not list(tmp_path.glob("a-p*"))
