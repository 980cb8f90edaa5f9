r"""Measures whether the program knows what it cannot read, and fits the threshold that decides.

    python -m ocrcli.models.small.evaluation.limits --text data/text/heldout \
        --fonts data/fonts/heldout --scripts data/limits/scripts \
        --handwriting data/limits/handwriting --photos data/limits/photos --out limits.json

Pages in scripts that were not taught, in hands and in type too small to resolve must be marked as
doubtful; blank sheets, lines, textures and photographs must give no text; clean pages must not be
doubted. Every page is read by the shipped engine and judged by the shipped rules. With `--fit` half
of each set is for fitting, and the report's figures are those of the other half. `--scripts` holds
a folder of fonts per script. A table goes to stderr, one JSON object per set to stdout. With
`--keep DIR` the documents are kept in DIR, and `--draw` only draws their pages there; where it did,
pages are read without a library for PDFs, on a machine that has a GPU, say.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.errors import OcrError
from ocrcli.models.small.evaluation.limit_pages import (
    CLEAN,
    SETS,
    TEXTLESS,
    LimitSources,
    draw,
    drawn_pages,
)
from ocrcli.models.small.evaluation.page_set import EvaluationPage

if TYPE_CHECKING:
    from ocrcli.document import PageImage
    from ocrcli.models.small.evaluation.prepared_pages import PreparedPages
    from ocrcli.pages import Pages

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
    """Return the figures of a set, or of the half of it that nothing was fitted on.

    Args:
        name: Name of the set.
        verdicts: Verdicts on all its pages.
        fitted: Threshold fitted on the other half; None where nothing was, for all pages.
    """
    kept = [verdict for verdict in verdicts if fitted is None or not verdict.fitting]
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


class _Judge:
    """Reads pages with the shipped engine and says what the program makes of each."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from ocrcli.engine import PageResult
        from ocrcli.options import Device, Dtype, Options, choice
        from ocrcli.recogniser import ModelRecogniser

        class Tapped(ModelRecogniser):
            """Keeps what the model wrote at first, some of which is dropped from the record."""

            first: dict[int, PageResult] = {}

            def transcribe(self, pages: Iterable["PageImage"]) -> Iterator[PageResult]:
                for result in super().transcribe(pages):
                    self.first.setdefault(result.page_number, result)
                    yield result

        self._recogniser = Tapped(
            Options(
                model=arguments.model,
                device=choice(Device, "device", arguments.device),
                dtype=choice(Dtype, "dtype", arguments.dtype),
                threads=arguments.threads,
            )
        )

    def documents(self, files: Iterable[Path]) -> Iterator[Verdict]:
        """Yield the verdicts on all pages of some files."""
        from ocrcli.pages import open_pages

        for file in files:
            with open_pages(file) as pages:
                yield from self._verdicts(file.name, pages)
            sys.stderr.write(f"read {file}\n")

    def drawn(self, name: str, folder: Path, pages: Sequence[EvaluationPage]) -> Iterator[Verdict]:
        """Yield the verdicts on the pages of a set that `limit_pages.draw` has drawn."""
        from ocrcli.models.small.evaluation.prepared_pages import PreparedPages

        yield from self._verdicts(name, PreparedPages(folder, name, pages))
        sys.stderr.write(f"read {name}\n")

    def _verdicts(self, file: str, pages: "Pages | PreparedPages") -> Iterator[Verdict]:
        from ocrcli.blocks import parse_markup
        from ocrcli.page_reading import read_pages
        from ocrcli.second_reading import SecondReading

        first = self._recogniser.first
        first.clear()
        second = SecondReading(pages, self._recogniser, None)
        for record in read_pages(pages, self._recogniser, None, second):
            result = first.get(record.page_number)
            markup = parse_markup(result.markup, 1, 1, trace=result.trace) if result else None
            certain = markup.text_trace.confidence if markup else None
            yield Verdict(
                file=file,
                page=record.page_number,
                fitting=is_fitting(record.page_number),
                status=str(record.status),
                characters=_signs(record.text),
                written=sum(_signs(block.text) for block in markup.blocks) if markup else 0,
                confidence=certain.mean if certain else 1.0,
                warnings=tuple(notice.code for notice in record.warnings),
            )


def _signs(text: str) -> int:
    return sum(not sign.isspace() for sign in text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure what is marked, doubted and invented.")
    parser.add_argument("--text", type=Path, help="folder of held-out books")
    parser.add_argument("--fonts", type=Path, help="folder of held-out fonts")
    parser.add_argument("--scripts", type=Path, help="folder with a folder of fonts per script")
    parser.add_argument("--handwriting", type=Path, help="folder of fonts that look hand-written")
    parser.add_argument("--photos", type=Path, help="folder of photographs")
    everything = ",".join(SETS)
    parser.add_argument("--sets", default=everything, help=f"comma-separated: {everything}")
    parser.add_argument("--pages", type=int, default=50, help="pages of a set of doubtful pages")
    parser.add_argument("--textless", type=int, default=200, help="pages of the other sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="model folder (default: the shipped one)")
    parser.add_argument("--device", default="cpu", help='"cpu", "cuda" or "auto"')
    parser.add_argument("--dtype", default="auto", help='"auto", "float32" or "bfloat16"')
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--keep", type=Path, help="folder to keep the pages in and to reuse")
    parser.add_argument("--draw", action="store_true", help="only draw the pages, in --keep")
    parser.add_argument("--fit", action="store_true", help="fit a threshold on half of each set")
    parser.add_argument("--out", type=Path, help="JSON file with every page's verdict")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.draw and arguments.keep is None:
        parser.error("--draw needs --keep, the folder that gets the pages")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            _run(arguments, arguments.keep or Path(scratch))
        except (ValueError, OcrError) as error:
            parser.error(str(error))


def _run(arguments: argparse.Namespace, folder: Path) -> None:
    sources = LimitSources(
        arguments.text,
        arguments.fonts,
        arguments.scripts,
        arguments.handwriting,
        arguments.photos,
        arguments.pages,
        arguments.textless,
        arguments.seed,
    )
    names = arguments.sets.split(",")
    if arguments.fit and CLEAN not in names:
        raise ValueError(f'--fit needs the set "{CLEAN}", got {arguments.sets}')
    if arguments.draw:
        for name in names:
            draw(name, sources.documents(name, folder / name), folder)
        return
    judge = _Judge(arguments)
    verdicts: dict[str, list[Verdict]] = {}
    for name in names:
        pages = drawn_pages(name, folder)
        verdicts[name] = list(
            judge.drawn(name, folder, pages)
            if pages
            else judge.documents(sources.documents(name, folder / name))
        )
        _save(arguments.out, verdicts)
    fitted = None
    if arguments.fit:
        fitted = threshold([verdict for verdict in verdicts[CLEAN] if verdict.fitting])
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
