"""Turns sets into a folder of pictures and references that can be read anywhere."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ocrcli.models.small.evaluation.page_set import (
    PRINT_DPI,
    EvaluationPage,
    SourcePage,
    read_json,
    save_pixels,
    write_json,
    write_pages,
)
from ocrcli.models.small.evaluation.sets import (
    SCAN_LEVELS,
    SETS,
    Ingredients,
    MissingError,
    printed,
)
from ocrcli.models.small.evaluation.sources import sources


@dataclass(frozen=True)
class Order:
    """What is to be prepared.

    Attributes:
        names: Names of the sets.
        counts: Pages of each set.
        text: Folder of held-out books, or None.
        fonts: Folder of held-out fonts, or None.
        files: Folder of documents with their texts, or None.
        packages: Folder of Debian packages, or None.
        seed: Seed of all choices.
        with_prints: Whether 300-dpi pictures are kept for readers with a scaling of their own.
    """

    names: Sequence[str]
    counts: dict[str, int]
    text: Path | None = None
    fonts: Path | None = None
    files: Path | None = None
    packages: Path | None = None
    seed: int = 1
    with_prints: bool = True


def prepare(order: Order, folder: Path) -> None:
    """Make the sets of an order; those of an earlier one that it does not name are kept.

    Args:
        order: What to make.
        folder: Folder to fill; see `page_set`.

    Raises:
        ValueError: A set is unknown.
    """
    unknown = [name for name in order.names if name not in SETS]
    if unknown:
        raise ValueError(f"sets must be among {', '.join(SETS)}, got {', '.join(unknown)}")
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "sets.json"
    told = read_json(record) if record.is_file() else {"sets": {}, "sources": {}}
    made: dict[str, Any] = told["sets"]
    made_from = told["sources"] | sources(order.text, order.fonts, order.packages, order.files)
    for name in order.names:
        for part in ("pages", "prints"):
            shutil.rmtree(folder / part / name, ignore_errors=True)
        try:
            made[name] = _prepare_set(name, order, folder)
            answer = f"{made[name]['pages']} pages, {made[name]['bytes']} bytes"
        except MissingError as error:
            made[name] = {"not_run": str(error)}
            answer = f"not run: {error}"
        sys.stderr.write(f"{name}: {answer}\n")
        in_order = {known: made[known] for known in SETS if known in made}
        write_json(record, {"sets": in_order, "sources": made_from})


def _prepare_set(name: str, order: Order, folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        parts = Ingredients(
            order.text,
            order.fonts,
            order.files,
            order.packages,
            Path(scratch),
            order.counts[name],
            order.seed,
        )
        pages, size = [], 0
        for number, source in enumerate(SETS[name](parts), start=1):
            page, written = prepare_page(f"{number:04d}", source, folder, name)
            pages.append(page)
            size += written
            if order.with_prints:
                _print(source, folder / "prints" / name / f"{page.name}.png")
        write_pages(folder, name, pages)
    return {
        "pages": len(pages),
        "characters": sum(len(page.text) for page in pages),
        "bytes": size,
        "seed": order.seed,
    }


def prepare_page(
    name: str, source: SourcePage, folder: Path, set_name: str
) -> tuple[EvaluationPage, int]:
    """Write the pixels that the engine would see, and return the page and the file's size."""
    from ocrcli.document import PageImage
    from ocrcli.options import PageSelection
    from ocrcli.pages import open_pages

    selection = PageSelection.parse(str(source.page_number))
    with open_pages(source.file, selection) as opened:
        (image,) = opened
    if not isinstance(image, PageImage):
        raise ValueError(f"page {source.page_number} of {source.file.name}: {image.message}")
    pixels = image.pixels
    if set_name in SCAN_LEVELS:
        step = 255 / (SCAN_LEVELS[set_name] - 1)
        pixels = np.rint(np.rint(pixels / step) * step).astype(np.uint8)
    size = save_pixels(folder / "pages" / set_name / f"{name}.webp", pixels)
    page = EvaluationPage(
        name,
        source.text,
        image.facts.width_pt,
        image.facts.height_pt,
        image.facts.dpi,
        source.blocks,
        source.language,
        source.note,
        source.turn,
        image.crop,
    )
    return page, size


def _print(source: SourcePage, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if source.file.suffix == ".png":
        shutil.copyfile(source.file, path)
    elif source.file.suffix == ".pdf":
        sheet = Image.fromarray(printed(source))
        sheet.save(path, dpi=(PRINT_DPI, PRINT_DPI), compress_level=2)
    else:
        with Image.open(source.file) as picture:
            picture.seek(source.page_number - 1)
            picture.save(path)
