"""Reads prepared pages with the engine; needs neither PDFs nor fonts nor the libraries for them.

On a machine with a GPU, PyTorch, NumPy, Pillow, safetensors and tokenizers are enough.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    PageReading,
    ReadBlock,
    Readings,
    read_pages,
    write_readings,
)
from ocrcli.models.small.evaluation.prepared_pages import PreparedPages

if TYPE_CHECKING:
    from ocrcli.document import Page
    from ocrcli.options import Options
    from ocrcli.recogniser import ModelRecogniser

_KEPT_EVERY = 25


def read_sets(folder: Path, names: Sequence[str], options: "Options", output: Path) -> Readings:
    """Read sets through the engine, and write the file now and then and after every one of them.

    Args:
        folder: A prepared folder.
        names: Names of its sets.
        options: Model, device and limits.
        output: File to write; see `page_set`.
    """
    from ocrcli.recogniser import ModelRecogniser

    recogniser = ModelRecogniser(options)
    readings = Readings({"reader": "ocrcli", "attempts": options.attempts})
    for name in names:
        pages = read_pages(folder, name)
        started = time.perf_counter()
        for page, read in zip(pages, _read(folder, name, pages, recogniser, options), strict=True):
            readings.pages[name, page.name] = _reading(name, page, read)
            sys.stderr.write(f"\r{name} {page.name} {read.status:<12}")
            if len(readings.pages) % _KEPT_EVERY == 0:
                write_readings(output, readings)
        seconds = time.perf_counter() - started
        sys.stderr.write(f"\r{name}: {len(pages)} pages, {seconds / len(pages):.2f} s each\n")
        readings.reader.setdefault("seconds_per_page", {})[name] = round(seconds / len(pages), 3)
        readings.reader |= _about(recogniser)
        write_readings(output, readings)
    return readings


def _read(
    folder: Path,
    name: str,
    pages: Sequence[EvaluationPage],
    recogniser: "ModelRecogniser",
    options: "Options",
) -> Iterator["Page"]:
    from ocrcli.page_reading import read_pages as read_images
    from ocrcli.second_reading import SecondReading

    prepared, second = PreparedPages(folder, name, pages), None
    if options.attempts > 1:
        second = SecondReading(prepared, recogniser, None, options.attempts)
    yield from read_images(prepared, recogniser, None, second)


def _reading(name: str, page: EvaluationPage, read: "Page") -> PageReading:
    blocks = tuple(
        ReadBlock(
            str(block.type),
            block.text,
            None if block.box is None else tuple(map(float, block.box)),  # type: ignore[arg-type]
            block.html,
            _confidence(block),
        )
        for block in read.blocks
    )
    return PageReading(
        page_set=name,
        name=page.name,
        status=str(read.status),
        text=read.text,
        markdown=read.markdown,
        blocks=blocks,
        seconds=round(read.seconds.total, 3),
        rotation=getattr(read, "rotation", None),
    )


def _confidence(block: object) -> float | None:
    """Return how sure the engine is of a block: the mean probability of its tokens."""
    found = getattr(block, "confidence", None)
    return None if found is None else float(getattr(found, "mean", found))


def _about(recogniser: "ModelRecogniser") -> dict[str, object]:
    facts = recogniser.facts
    if facts is None:
        return {}
    return {
        "model": Path(facts.id).name,
        "weights_sha256": facts.sha256,
        "dtype": facts.dtype,
        "device": facts.device,
    }
