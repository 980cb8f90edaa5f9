"""What an evaluation consists of: pages with their references, and the folder they are kept in.

A prepared folder holds everything that reading and scoring need:

    sets.json                 which sets there are, made from what; which are missing and why
    pages/SET/pages.jsonl     one `EvaluationPage` a line
    pages/SET/NAME.webp       the pixels the engine sees, lossless
    prints/SET/NAME.png       the same page at 300 dpi, for readers that scale for themselves
    readings/READER.jsonl     what was read: one line about the reader, then one line a page;
                              READER.PART.jsonl where it was read in parts

Only `pages/` has to travel to the machine that reads.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Grey = NDArray[np.uint8]
"""Grey values 0 (black) to 255 (white), [height, width]."""

PRINT_DPI = 300
"""Resolution of the pictures that readers with a scaling of their own are given."""


@dataclass(frozen=True)
class ReferenceBlock:
    """One block of a page as it is printed.

    Attributes:
        label: One of the labels of `training/README.md`.
        text: Lines as printed; cells of a table separated by tabs.
        box: Left, top, right and bottom in thousandths of the page, or None when not known.
        html: Markup of a table.
        level: Level of a heading, from 1, or None.
    """

    label: str
    text: str
    box: tuple[float, float, float, float] | None = None
    html: str | None = None
    level: int | None = None


@dataclass(frozen=True)
class SourcePage:
    """A page of a document and what is printed on it.

    Attributes:
        file: A PDF or a picture.
        page_number: Place in the file, from 1.
        text: What is printed, in reading order.
        blocks: The same by block, where blocks are known.
        language: Two-letter code.
        note: How the page was made, for the list of the worst pages.
        turn: Quarter turns counter-clockwise by which the content lies on its side.
    """

    file: Path
    page_number: int
    text: str
    blocks: tuple[ReferenceBlock, ...] = ()
    language: str = "en"
    note: str = ""
    turn: int = 0


@dataclass(frozen=True)
class EvaluationPage:
    """A prepared page.

    Attributes:
        name: Name of its picture files, unique in the set.
        text: What is printed, in reading order.
        width_pt: Width in points.
        height_pt: Height in points.
        dpi: Resolution the engine reads it at.
        blocks: The text by block, where blocks are known.
        language: Two-letter code.
        note: How the page was made.
        turn: Quarter turns counter-clockwise by which the content lies on its side.
        crop: What the picture shows, as shares of the page; None: all of it.
    """

    name: str
    text: str
    width_pt: float
    height_pt: float
    dpi: float
    blocks: tuple[ReferenceBlock, ...] = ()
    language: str = "en"
    note: str = ""
    turn: int = 0
    crop: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class ReadBlock:
    """One block as a reader saw it; see `ReferenceBlock`.

    Attributes:
        confidence: Probability that the reader gives to the block's text, or None.
    """

    label: str
    text: str
    box: tuple[float, float, float, float] | None = None
    html: str | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class PageReading:
    """What a reader made of one page.

    Attributes:
        page_set: Name of the set.
        name: Name of the page.
        status: "ok", "loop", "truncated", "suspect", ….
        text: The plain text.
        markdown: The same as Markdown, where the reader writes it.
        blocks: The text by block, where the reader has blocks.
        seconds: Time spent on the page.
        rotation: Degrees clockwise by which the reader turned the page, or None if it does not say.
    """

    page_set: str
    name: str
    status: str
    text: str
    markdown: str = ""
    blocks: tuple[ReadBlock, ...] = ()
    seconds: float = 0.0
    rotation: int | None = None


@dataclass
class Readings:
    """All that one reader read, and which reader it was."""

    reader: dict[str, Any]
    pages: dict[tuple[str, str], PageReading] = field(default_factory=dict)


def set_names(folder: Path) -> list[str]:
    """Return the names of the sets that a prepared folder holds.

    Raises:
        ValueError: The folder is not a prepared one.
    """
    names = sorted(path.parent.name for path in (folder / "pages").glob("*/pages.jsonl"))
    if not names:
        raise ValueError(f"folder must hold pages/SET/pages.jsonl, found none in {folder}")
    return names


def read_pages(folder: Path, name: str) -> list[EvaluationPage]:
    """Return the pages of a prepared set."""
    lines = (folder / "pages" / name / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return [_page(json.loads(line)) for line in lines]


def write_pages(folder: Path, name: str, pages: Sequence[EvaluationPage]) -> None:
    """Write the references of a set."""
    target = folder / "pages" / name
    target.mkdir(parents=True, exist_ok=True)
    write_lines(target / "pages.jsonl", [asdict(page) for page in pages])


def _page(row: dict[str, Any]) -> EvaluationPage:
    blocks = tuple(
        ReferenceBlock(**{**block, "box": tuple(block["box"]) if block["box"] else None})
        for block in row.pop("blocks")
    )
    crop = row.pop("crop", None)
    return EvaluationPage(blocks=blocks, crop=crop and tuple(crop), **row)


def write_readings(path: Path, readings: Readings) -> None:
    """Write what a reader read; see `read_readings`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [readings.reader, *(asdict(page) for page in readings.pages.values())]
    write_lines(path, rows)


def read_readings(path: Path) -> Readings:
    """Return what a reader read."""
    first, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    readings = Readings(first)
    for row in rows:
        blocks = tuple(
            ReadBlock(**{**block, "box": tuple(block["box"]) if block["box"] else None})
            for block in row.pop("blocks")
        )
        page = PageReading(blocks=blocks, **row)
        readings.pages[page.page_set, page.name] = page
    return readings


def read_all_readings(folder: Path) -> dict[str, Readings]:
    """Return the readings in a prepared folder by reader.

    `readings/READER.PART.jsonl` are parts of what one reader read.
    """
    readers: dict[str, Readings] = {}
    for path in sorted((folder / "readings").glob("*.jsonl")):
        part = read_readings(path)
        whole = readers.setdefault(path.name.partition(".")[0], Readings({}))
        seconds = {
            **whole.reader.get("seconds_per_page", {}),
            **part.reader.get("seconds_per_page", {}),
        }
        whole.reader |= {**part.reader, "seconds_per_page": seconds}
        whole.pages |= part.pages
    return readers


def save_pixels(path: Path, pixels: Grey) -> int:
    """Write a grey picture without loss, as WebP, and return its size in bytes.

    Raises:
        ValueError: The picture would not come back as it is.
    """
    data = io.BytesIO()
    # WebP has no grey; three equal channels cost nothing after its colour transform.
    Image.fromarray(pixels).convert("RGB").save(data, "WEBP", lossless=True, quality=80, method=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.getvalue())
    if not np.array_equal(load_pixels(path), pixels):
        raise ValueError(f"pixels of {path.name} changed on the way through WebP")
    return len(data.getvalue())


def load_pixels(path: Path) -> Grey:
    """Return a picture that `save_pixels` wrote."""
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB"))[:, :, 0].copy()


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def write_json(path: Path, value: object) -> None:
    """Write a JSON file that people can read."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON object a line."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
