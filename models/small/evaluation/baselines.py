"""Other programs reading the same pages at 300 dpi, for comparison.

Tesseract is called as a command, with its page segmentation at the default (3) and, for turned
pages, with orientation detection (1). RapidOCR runs from its own package with the models in it.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    PageReading,
    Readings,
    read_pages,
    write_readings,
)

_TESSERACT_LANGUAGES = {
    "en": "eng",
    "de": "deu",
    "fr": "fra",
    "es": "spa",
    "it": "ita",
    "pt": "por",
    "nl": "nld",
    "sv": "swe",
    "da": "dan",
    "pl": "pol",
}

Reader = Callable[[Path, EvaluationPage], str]


class MissingBaselineError(RuntimeError):
    """A baseline is not installed; the message says how to get it."""


def read_sets(name: str, folder: Path, sets: Sequence[str], output: Path) -> Readings:
    """Read sets with another program, and write the file after every one of them.

    Args:
        name: "tesseract" or "rapidocr".
        folder: A prepared folder with 300-dpi pictures.
        sets: Names of its sets.
        output: File to write; see `page_set`.

    Raises:
        MissingBaselineError: The program is not installed.
        ValueError: `name` is unknown, or a set has no 300-dpi pictures.
    """
    if name not in BASELINES:
        raise ValueError(f"baseline must be one of {', '.join(BASELINES)}, got {name}")
    read, about = BASELINES[name]()
    readings = Readings({"reader": name, "version": about, "seconds_per_page": {}})
    for set_name in sets:
        started = time.perf_counter()
        pages = read_pages(folder, set_name)
        for page in pages:
            picture = folder / "prints" / set_name / f"{page.name}.png"
            if not picture.is_file():
                raise ValueError(
                    f"baselines read prints/{set_name}/{page.name}.png, which is missing; prepare "
                    "the set without --no-prints"
                )
            begun = time.perf_counter()
            text = read(picture, page)
            seconds = round(time.perf_counter() - begun, 3)
            status = "ok" if text.strip() else "empty"
            readings.pages[set_name, page.name] = PageReading(
                set_name, page.name, status, text, seconds=seconds
            )
            sys.stderr.write(f"\r{name} {set_name} {page.name}")
        each = (time.perf_counter() - started) / len(pages)
        readings.reader["seconds_per_page"][set_name] = round(each, 3)
        sys.stderr.write(f"\r{name} {set_name}: {len(pages)} pages, {each:.2f} s each\n")
        write_readings(output, readings)
    return readings


def _tesseract() -> tuple[Reader, str]:
    if shutil.which("tesseract") is None:
        raise MissingBaselineError("tesseract is not installed: apt-get install tesseract-ocr")
    told = subprocess.run(
        ["tesseract", "--version"], check=True, capture_output=True, text=True
    ).stdout
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def read(picture: Path, page: EvaluationPage) -> str:
        language = _TESSERACT_LANGUAGES[page.language]
        segmentation = "1" if page.turn else "3"
        command = ["tesseract", str(picture), "-", "-l", language, "--psm", segmentation]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout.replace("\f", "")

    return read, told.splitlines()[0].removeprefix("tesseract ")


def _rapidocr() -> tuple[Reader, str]:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        message = "rapidocr is not installed: pip install rapidocr onnxruntime"
        raise MissingBaselineError(message) from error
    threads = {"EngineConfig.onnxruntime.intra_op_num_threads": 1}
    engine = RapidOCR(params={**threads, "Global.log_level": "critical"})

    def read(picture: Path, page: EvaluationPage) -> str:
        found: Any = engine(str(picture))
        if found.boxes is None or found.txts is None:
            return ""
        pieces = [
            (
                float(box[:, 1].mean()),
                float(box[:, 0].min()),
                float(box[:, 1].max() - box[:, 1].min()),
                text,
            )
            for box, text in zip(found.boxes, found.txts, strict=True)
        ]
        return "\n".join(lines_from_top(pieces))

    return read, version("rapidocr")


def lines_from_top(pieces: Sequence[tuple[float, float, float, str]]) -> list[str]:
    """Return pieces of text as lines: those at one height are one line, from left to right.

    Args:
        pieces: Middle, left edge, height and text of each piece.
    """
    if not pieces:
        return []
    height = median(piece[2] for piece in pieces)
    rows: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(pieces):
        if rows and piece[0] - rows[-1][0][0] < 0.5 * height:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [" ".join(p[3] for p in sorted(row, key=lambda p: p[1])) for row in rows]


BASELINES: dict[str, Callable[[], tuple[Reader, str]]] = {
    "tesseract": _tesseract,
    "rapidocr": _rapidocr,
}
"""Programs to compare with; each starts itself and says its version."""
