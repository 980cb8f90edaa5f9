r"""Measures whether the program knows what it cannot read, and fits the threshold that decides.

    python -m ocrcli.models.small.evaluation.limits --text data/text/heldout \
        --fonts data/fonts/heldout --scripts data/limits/scripts \
        --handwriting data/limits/handwriting --photos data/limits/photos --out limits.json

Pages in scripts that were not taught, in hands and in type too small to resolve must be marked as
doubtful; blank sheets, lines, textures and photographs must give no text; clean pages must not be
doubted. Every page is read by the shipped engine and judged by the shipped rules. Half of each set
is for fitting: the report's figures are those of the other half. `--scripts` holds a folder of
fonts per script. A table goes to stderr, one JSON object per set to stdout.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.models.small.evaluation import textless_pages, untaught_pages

if TYPE_CHECKING:
    from ocrcli.document import PageImage

DOUBTED = (*untaught_pages.LANGUAGES, "handwriting", "tiny")
"""Sets whose pages must be marked."""

TEXTLESS = ("blank", "ruled", "textures", "photos")
"""Sets whose pages hold no text."""

CLEAN = "clean"
MAX_FALSE_DOUBTS = 0.02
"""Share of clean pages that may be marked."""

_NOT_MARKED = ("ok", "blank")


@dataclass(frozen=True)
class Verdict:
    """What the program made of one page.

    Attributes:
        file: The document.
        page: Place in the file, from 1.
        fitting: Whether the page belongs to the half that thresholds are fitted on.
        status: Status of the page's record.
        characters: Characters of its text that are not blank.
        written: Characters the model wrote, kept or not.
        confidence: Mean probability of the tokens of the text the model wrote, 1 if there is none.
        warnings: Codes of the record's warnings.
    """

    file: str
    page: int
    fitting: bool
    status: str
    characters: int
    written: int
    confidence: float
    warnings: tuple[str, ...]

    @property
    def is_marked(self) -> bool:
        """Whether the page's reader is told to doubt it."""
        return self.status not in _NOT_MARKED


Reader = Callable[[Path], Iterator[Verdict]]


def judge(files: Sequence[Path], reader: Reader) -> list[Verdict]:
    """Return the verdicts on all pages of some files.

    Args:
        files: Documents.
        reader: Reads and judges one.
    """
    return [verdict for file in files for verdict in reader(file)]


def is_fitting(page_number: int) -> bool:
    """Return whether a page belongs to the half that thresholds are fitted on.

    The kinds of textless pages take turns. Two pages in, two pages out puts all kinds on both
    sides; every other page would not.

    Args:
        page_number: Place in the file, from 1.
    """
    return page_number % 4 in (1, 2)


def threshold(clean: Sequence[Verdict], share: float = MAX_FALSE_DOUBTS) -> float:
    """Return the highest mean confidence below which at most `share` of clean pages lie.

    Args:
        clean: Verdicts on clean pages.
        share: Part of them that may be doubted.

    Raises:
        ValueError: There is no page.
    """
    if not clean:
        raise ValueError("clean must hold a page, got none")
    values = sorted(verdict.confidence for verdict in clean)
    return values[int(share * len(values))]


def figures(name: str, verdicts: Sequence[Verdict], fitted: float | None) -> dict[str, object]:
    """Return the figures of the half of a set that nothing was fitted on.

    Args:
        name: Name of the set.
        verdicts: Verdicts on all its pages.
        fitted: Threshold fitted on the other half, or None.
    """
    kept = [verdict for verdict in verdicts if not verdict.fitting]
    below = [fitted is not None and verdict.confidence < fitted for verdict in kept]
    count = max(len(kept), 1)
    return {
        "set": name,
        "pages": len(kept),
        "marked": round(sum(verdict.is_marked for verdict in kept) / count, 4),
        "invented_characters": sum(v.characters for v in kept) if name in TEXTLESS else None,
        "written_characters": sum(v.written for v in kept),
        "lowest_confidence": round(min((v.confidence for v in kept), default=1.0), 4),
        "highest_confidence": round(max((v.confidence for v in kept), default=1.0), 4),
        "below_fitted_threshold": round(sum(below) / count, 4),
        "statuses": _counts(verdict.status for verdict in kept),
        "warnings": _counts(code for verdict in kept for code in verdict.warnings),
    }


def table(report: Sequence[dict[str, object]]) -> str:
    """Return the figures as lines for people."""
    rows = [f"{'set':<12} {'pages':>5} {'marked':>8} {'invented':>8}   statuses"]
    for row in report:
        marked = row["marked"]
        assert isinstance(marked, float), "figures makes it a share"
        invented = "" if row["invented_characters"] is None else row["invented_characters"]
        rows.append(
            f"{row['set']:<12} {row['pages']:>5} {marked:>8.1%} {invented:>8}   {row['statuses']}"
        )
    return "\n".join(rows) + "\n"


def _counts(names: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _reader(arguments: argparse.Namespace) -> Reader:
    from ocrcli.blocks import parse_markup
    from ocrcli.engine import PageResult
    from ocrcli.options import Device, Options
    from ocrcli.page_reading import read_pages
    from ocrcli.pages import open_pages
    from ocrcli.recogniser import ModelRecogniser
    from ocrcli.second_reading import SecondReading

    class Tapped(ModelRecogniser):
        """Keeps what the model wrote at first, some of which is dropped from the record."""

        first: dict[int, PageResult] = {}

        def transcribe(self, pages: "Iterable[PageImage]") -> Iterator[PageResult]:
            for result in super().transcribe(pages):
                self.first.setdefault(result.page_number, result)
                yield result

    recogniser = Tapped(
        Options(model=arguments.model, device=Device(arguments.device), threads=arguments.threads)
    )

    def read(file: Path) -> Iterator[Verdict]:
        recogniser.first.clear()
        with open_pages(file) as pages:
            second = SecondReading(pages, recogniser, None)
            for record in read_pages(pages, recogniser, None, second):
                result = recogniser.first.get(record.page_number)
                markup = parse_markup(result.markup, 1, 1, trace=result.trace) if result else None
                certain = markup.text_trace.confidence if markup else None
                yield Verdict(
                    file=file.name,
                    page=record.page_number,
                    fitting=is_fitting(record.page_number),
                    status=str(record.status),
                    characters=_signs(record.text),
                    written=sum(_signs(block.text) for block in markup.blocks) if markup else 0,
                    confidence=certain.mean if certain else 1.0,
                    warnings=tuple(notice.code for notice in record.warnings),
                )
        sys.stderr.write(f"read {file}\n")

    return read


def _signs(text: str) -> int:
    return sum(not sign.isspace() for sign in text)


def _files(name: str, arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Make the pages of a set, unless an earlier run did, and return its documents."""
    count, seed = arguments.pages, arguments.seed
    if not folder.is_dir():
        if name in untaught_pages.LANGUAGES:
            fonts = _content(arguments.scripts / name)
            untaught_pages.script_pages(name, fonts, count, seed, folder)
        elif name == "handwriting":
            books = _paragraphs(arguments.text)
            untaught_pages.plain_pages(_content(arguments.handwriting), books, count, seed, folder)
        elif name == "tiny":
            books = _paragraphs(arguments.text)
            untaught_pages.tiny_pages(_fonts(arguments.fonts), books, count, seed, folder)
        elif name == CLEAN:
            books = _paragraphs(arguments.text)
            untaught_pages.plain_pages(
                _fonts(arguments.fonts), books, arguments.textless, seed, folder
            )
        elif name == "photos":
            photos = _content(arguments.photos)
            textless_pages.photo_pages(photos, arguments.textless, seed, folder)
        elif name in TEXTLESS:
            draw = {
                "blank": textless_pages.blank_pages,
                "ruled": textless_pages.ruled_pages,
                "textures": textless_pages.texture_pages,
            }[name]
            draw(arguments.textless, seed, folder)
        else:
            known = (CLEAN, *DOUBTED, *TEXTLESS)
            raise ValueError(f'sets must name some of {known}, got "{name}"')
    return _content(folder)


def _paragraphs(folder: Path) -> list[str]:
    # Folders of other text lie beside the books.
    books = [path for path in _content(folder) if path.suffix == ".txt"]
    return [line for path in books for line in path.read_text(encoding="utf-8").splitlines()]


def _fonts(folder: Path) -> list[Path]:
    return [path for path in _content(folder) if path.suffix in (".ttf", ".otf")]


def _content(folder: Path | None) -> list[Path]:
    if folder is None or not folder.is_dir():
        raise ValueError(f"every set needs its folder, got {folder}; see the module's head")
    return sorted(folder.iterdir())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure what is marked, doubted and invented.")
    parser.add_argument("--text", type=Path, help="folder of held-out books")
    parser.add_argument("--fonts", type=Path, help="folder of held-out fonts")
    parser.add_argument("--scripts", type=Path, help="folder with a folder of fonts per script")
    parser.add_argument("--handwriting", type=Path, help="folder of fonts that look hand-written")
    parser.add_argument("--photos", type=Path, help="folder of photographs")
    everything = ",".join((CLEAN, *DOUBTED, *TEXTLESS))
    parser.add_argument("--sets", default=everything, help=f"comma-separated: {everything}")
    parser.add_argument("--pages", type=int, default=50, help="pages of a set of doubtful pages")
    parser.add_argument("--textless", type=int, default=200, help="pages of the other sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="model folder (default: the shipped one)")
    parser.add_argument("--device", default="cpu", help='"cpu", "cuda" or "auto"')
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--keep", type=Path, help="folder to keep the pages in and to reuse")
    parser.add_argument("--out", type=Path, help="JSON file with every page's verdict")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    arguments = _parser().parse_args(argv)
    reader = _reader(arguments)
    verdicts: dict[str, list[Verdict]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets.split(","):
            files = _files(name, arguments, (arguments.keep or Path(scratch)) / name)
            verdicts[name] = judge(files, reader)
            _save(arguments.out, verdicts)
    fitting = [verdict for verdict in verdicts.get(CLEAN, []) if verdict.fitting]
    fitted = threshold(fitting) if fitting else None
    report = [figures(name, found, fitted) for name, found in verdicts.items()]
    for row in report:
        sys.stdout.write(json.dumps({**row, "fitted_threshold": fitted}) + "\n")
    sys.stderr.write(table(report))


def _save(out: Path | None, verdicts: dict[str, list[Verdict]]) -> None:
    if out:
        rows = {name: [asdict(verdict) for verdict in found] for name, found in verdicts.items()}
        out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
