r"""Scores the shipped checkpoint, through the real engine, on pages it has never seen.

    python -m ocrcli.models.small.training.evaluate --text data/text/heldout \
        --fonts data/fonts/heldout --pages 200 --out results.json

Set "clean" prints one-column pages from held-out books in held-out typefaces. Set "files" takes
documents from `--files`: every `name.txt` is the text of `name.pdf`, `.png`, `.jpg` or `.tif`, with
form feeds between pages. A table goes to stderr, one JSON object per set to stdout.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from ocrcli.models.small.training.held_out_pages import PrintedPage, print_pages, read_books
from ocrcli.models.small.training.metrics import (
    NORMALISATION,
    PageScore,
    bag_of_words_f1,
    interval,
    macro_cer,
    micro_cer,
    raw_cer,
    score,
    wer,
)

_SUFFIXES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff")
_MEASURES: dict[str, Callable[[Sequence[PageScore]], float]] = {
    "cer": micro_cer,
    "cer_macro": macro_cer,
    "cer_raw": raw_cer,
    "wer": wer,
    "bag_of_words_f1": bag_of_words_f1,
}
_WORST = 5


class ReadPage(Protocol):
    """What the engine says about one page; `ocrcli.Page` is one."""

    @property
    def page_number(self) -> int:
        """Place in the file, from 1."""

    @property
    def status(self) -> str:
        """One of "ok", "loop", "truncated", ….."""

    @property
    def text(self) -> str:
        """The plain text of the page."""


Reader = Callable[[Path], Iterable[ReadPage]]


@dataclass(frozen=True)
class ReferencePage:
    """A page and what is printed on it.

    Attributes:
        file: The document.
        page_number: Place in the file, from 1.
        text: What is printed.
        note: How it was made, for the list of the worst pages.
    """

    file: Path
    page_number: int
    text: str
    note: str = ""


@dataclass(frozen=True)
class PageResult:
    """One page, read and scored."""

    page: ReferencePage
    status: str
    reading: str
    score: PageScore


def read_and_score(pages: Sequence[ReferencePage], reader: Reader) -> list[PageResult]:
    """Return the score of every page; one that the reader leaves out counts as read empty.

    Args:
        pages: Pages of any number of files.
        reader: Yields what is read on each page of a file.
    """
    results = []
    for file in dict.fromkeys(page.file for page in pages):
        read = {page.page_number: page for page in reader(file)}
        for page in pages:
            if page.file == file:
                found = read.get(page.page_number)
                status, text = (str(found.status), found.text) if found else ("missing", "")
                results.append(PageResult(page, status, text, score(page.text, text)))
    return results


def summary(results: Sequence[PageResult], seed: int) -> dict[str, object]:
    """Return the figures of a set of pages, ready for JSON.

    Args:
        results: Scored pages.
        seed: Seed of the bootstrap.
    """
    scores = [result.score for result in results]
    statuses = Counter(result.status for result in results)
    worst = sorted(results, key=lambda result: result.score.cer, reverse=True)[:_WORST]
    return {
        "pages": len(results),
        "characters": sum(page.characters for page in scores),
        **{name: round(measure(scores), 6) for name, measure in _MEASURES.items()},
        "interval_95": {
            name: [round(value, 6) for value in interval(measure, scores, seed)]
            for name, measure in _MEASURES.items()
        },
        "loops": statuses["loop"],
        "truncated": statuses["truncated"],
        "statuses": dict(sorted(statuses.items())),
        "worst_pages": [
            {
                "file": result.page.file.name,
                "page": result.page.page_number,
                "cer": round(result.score.cer, 4),
                "status": result.status,
                "note": result.page.note,
            }
            for result in worst
        ],
        "normalisation": NORMALISATION,
    }


def table(name: str, figures: dict[str, object]) -> str:
    """Return the figures as lines for people."""
    intervals = figures["interval_95"]
    assert isinstance(intervals, dict), "summary makes it a mapping"
    rows = [f"{name}: {figures['pages']} pages, {figures['characters']} characters"]
    for measure in _MEASURES:
        value, (low, high) = figures[measure], intervals[measure]
        rows.append(f"  {measure:<16} {value:>9.4%}   95 % interval {low:.4%} to {high:.4%}")
    rows.append(f"  statuses         {figures['statuses']}")
    return "\n".join(rows) + "\n"


def clean_pages(
    text: Path, fonts: Path, count: int, seed: int, output: Path
) -> list[ReferencePage]:
    """Print the pages of set "clean" and return their references; see `print_pages`."""
    files = sorted(path for path in fonts.iterdir() if path.suffix in (".ttf", ".otf"))
    printed = print_pages(read_books(text), files, count, seed, output)
    return [ReferencePage(page.file, page.page_number, page.text, _note(page)) for page in printed]


def file_pages(folder: Path) -> list[ReferencePage]:
    """Return the references of set "files".

    Raises:
        ValueError: A text has no document, or there is no text.
    """
    pages: list[ReferencePage] = []
    for text in sorted(folder.glob("*.txt")):
        documents = [path for suffix in _SUFFIXES if (path := text.with_suffix(suffix)).is_file()]
        if not documents:
            raise ValueError(f"files must hold a document beside {text.name}, one of {_SUFFIXES}")
        printed = text.read_text(encoding="utf-8").rstrip().split("\f")
        for number, page in enumerate(printed, start=1):
            pages.append(ReferencePage(documents[0], number, page))
    if not pages:
        raise ValueError(f"files must hold name.txt beside its document, found none in {folder}")
    return pages


def _note(page: PrintedPage) -> str:
    edges = "justified" if page.style.justified else "ragged"
    return f"{page.style.font.stem} {page.style.size:g} pt {edges} {page.style.paper} {page.book}"


def _engine(arguments: argparse.Namespace) -> Reader:
    import ocrcli

    def read(file: Path) -> Iterator[ReadPage]:
        yield from ocrcli.transcribe(
            file, model=arguments.model, device=arguments.device, threads=arguments.threads
        )
        sys.stderr.write(f"read {file.name}\n")

    return read


def _weights(model: Path | None) -> dict[str, str]:
    from ocrcli.models import find_model

    files = find_model(model).weights
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Score a checkpoint on held-out pages.")
    parser.add_argument("--text", type=Path, help="folder of held-out books")
    parser.add_argument("--fonts", type=Path, help="folder of held-out fonts")
    parser.add_argument("--files", type=Path, help="folder of documents with their texts")
    parser.add_argument("--sets", default="clean", help='comma-separated: "clean", "files"')
    parser.add_argument("--pages", type=int, default=200, help='pages of set "clean"')
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="model folder (default: the shipped one)")
    parser.add_argument("--device", default="cpu", help='"cpu", "cuda" or "auto"')
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--keep", type=Path, help="folder to keep the printed pages in")
    parser.add_argument("--out", type=Path, help="JSON file with every page's score")
    return parser


def _references(name: str, arguments: argparse.Namespace, folder: Path) -> list[ReferencePage]:
    if name == "clean" and arguments.text and arguments.fonts:
        return clean_pages(arguments.text, arguments.fonts, arguments.pages, arguments.seed, folder)
    if name == "files" and arguments.files:
        return file_pages(arguments.files)
    raise ValueError(
        f'sets must name "clean" (with --text and --fonts) or "files" (with --files), got "{name}"'
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    arguments = _parser().parse_args(argv)
    report = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets.split(","):
            pages = _references(name, arguments, arguments.keep or Path(scratch))
            started = time.perf_counter()
            results = read_and_score(pages, _engine(arguments))
            seconds = time.perf_counter() - started
            figures = {
                "set": name,
                **summary(results, arguments.seed),
                "seed": arguments.seed,
                "seconds_per_page": round(seconds / len(results), 3),
                "device": arguments.device,
                "model": "small" if arguments.model is None else arguments.model.name,
                "weights_sha256": _weights(arguments.model),
            }
            sys.stderr.write(table(name, figures))
            sys.stdout.write(json.dumps(figures, ensure_ascii=False) + "\n")
            report.append({**figures, "page_scores": [_row(result) for result in results]})
    if arguments.out:
        text = json.dumps(report, ensure_ascii=False, indent=1)
        arguments.out.write_text(text + "\n", encoding="utf-8")


def _row(result: PageResult) -> dict[str, object]:
    return {
        "file": result.page.file.name,
        "page": result.page.page_number,
        "status": result.status,
        "note": result.page.note,
        "cer": round(result.score.cer, 6),
        **asdict(result.score),
        "reference": result.page.text,
        "reading": result.reading,
    }


if __name__ == "__main__":
    main()
