"""Finished pages of a document that is still being worked on, kept beside its output.

A run that is killed loses at most the pages in flight: the next one takes the others from here.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from ocrcli.blocks import to_points
from ocrcli.confidence import Confidence
from ocrcli.document import (
    Box,
    Notice,
    Page,
    PageFacts,
    PageSeconds,
    PageStatus,
    TokenCounts,
)
from ocrcli.line_boxes import Line
from ocrcli.outputs import output_sha256, short_name, unwritable
from ocrcli.records import styled_page
from ocrcli.textstyle import TextStyle

SCHEMA = "ocrcli-journal/4"
"""Name and version of the journal's format."""


class NoJournal:
    """Knows nothing and keeps nothing."""

    def pages(self, style: TextStyle) -> dict[int, Page]:
        """Return no page."""
        return {}

    def add(self, page: Page) -> None:
        """Forget the page."""

    def seal(self, output_sha256: str | None) -> None:
        """Do nothing."""

    def remove(self) -> None:
        """Do nothing."""


class Journal:
    """The finished pages of one document, a JSON object per line.

    A journal of another content or of other settings is started anew.
    """

    def __init__(self, path: Path, source_sha256: str, settings: str) -> None:
        """Open a journal and read what it holds.

        Args:
            path: The file.
            source_sha256: Hash of the document's bytes.
            settings: Fingerprint of everything else that a page's record depends on.

        Raises:
            OutputError: The file cannot be written.
        """
        self.path = path
        header = {"schema": SCHEMA, "source_sha256": source_sha256, "settings": settings}
        self._known, length = _read(path, header)
        try:
            # What is known stays where it is; only a torn last line is cut off.
            self._file: IO[str] = path.open("a", encoding="utf-8", newline="\n")
            self._file.truncate(length)
            if not length:
                self._line(header)
        except OSError as error:
            raise unwritable(path, error) from error

    def pages(self, style: TextStyle) -> dict[int, Page]:
        """Return the finished pages by number.

        Args:
            style: What their text depends on.
        """
        return {number: _page(fields, style) for number, fields in self._known.items()}

    def add(self, page: Page) -> None:
        """Keep a page, unless it is known or has no result.

        Raises:
            OutputError: The file cannot be written.
        """
        if page.page_number in self._known or page.status.is_missing:
            return
        self._known[page.page_number] = {}
        try:
            self._line(_fields(page))
        except OSError as error:
            raise unwritable(self.path, error) from error

    def seal(self, output_sha256: str | None) -> None:
        """Note what the output will be, before it gets its name.

        Args:
            output_sha256: Hash of the whole output.

        Raises:
            OutputError: The file cannot be written.
        """
        try:
            self._line({"output_sha256": output_sha256})
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _line(self, fields: Mapping[str, object]) -> None:
        self._file.write(json.dumps(fields) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file, and keep it if it holds a page."""
        with contextlib.suppress(OSError):
            self._file.close()
            if not self._known:
                self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file: the document is finished."""
        self.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def journal_path(target: Path) -> Path:
    """Return where the journal of an output lies.

    Args:
        target: The output.
    """
    return target.with_name(f".{short_name(target)}.journal")


def is_sealed(target: Path) -> bool:
    """Return whether an output is what its journal announced just before the run was killed.

    Args:
        target: The output.
    """
    try:
        lines = journal_path(target).read_text(encoding="utf-8").splitlines()
        sealed = {json.loads(line).get("output_sha256") for line in lines[1:]} - {None}
    except (OSError, ValueError, AttributeError):
        return False
    return output_sha256(target) in sealed


def _read(path: Path, header: Mapping[str, object]) -> tuple[dict[int, dict[str, Any]], int]:
    """Return the pages of a journal and the length of its sound part; none if it does not fit."""
    known: dict[int, dict[str, Any]] = {}
    try:
        lines = path.read_bytes().splitlines(keepends=True)
        if not lines or json.loads(lines[0]) != header or not lines[0].endswith(b"\n"):
            return {}, 0
    except (OSError, ValueError):
        return {}, 0
    length = len(lines[0])
    for line in lines[1:]:
        try:
            fields = json.loads(line)
            if "output_sha256" not in fields:
                _page(fields, TextStyle())
                known[int(fields["page"])] = fields
        except (ValueError, KeyError, TypeError):
            # The run was killed in the middle of this line.
            break
        if not line.endswith(b"\n"):
            break
        length += len(line)
    return known, length


def _fields(page: Page) -> dict[str, object]:
    return {
        "page": page.page_number,
        "status": str(page.status),
        "markup": page.markup,
        "facts": asdict(replace(page.facts, ink=None)),
        "warnings": [asdict(notice) for notice in page.warnings],
        "tokens": asdict(page.tokens),
        "seconds": asdict(page.seconds),
        "confidence": page.confidence and asdict(page.confidence),
        "block_confidence": [
            block.confidence and asdict(block.confidence) for block in page.blocks
        ],
        # Those of a page that was read in bands are finer than its markup can say.
        "block_box": [block.box for block in page.blocks],
        "block_baselines": [block.baselines for block in page.blocks],
        "block_lines": [block.lines for block in page.blocks],
        "attempts": page.attempts,
        "rotation": page.rotation,
        "mode": page.mode,
    }


def _page(fields: Mapping[str, Any], style: TextStyle) -> Page:
    facts = dict(fields["facts"])
    facts["warnings"] = _notices(facts["warnings"])
    page = Page(
        page_number=int(fields["page"]),
        status=PageStatus(fields["status"]),
        markup=fields["markup"],
        facts=PageFacts(**facts),
        warnings=_notices(fields["warnings"]),
        tokens=TokenCounts(**fields["tokens"]),
        seconds=PageSeconds(**fields["seconds"]),
        confidence=_confidence(fields["confidence"]),
        attempts=fields["attempts"],
        rotation=fields["rotation"],
        mode=fields["mode"],
    )
    page = styled_page(page, style)
    kept = map(_confidence, fields["block_confidence"])
    boxes = map(_box, fields["block_box"])
    baselines = [below and tuple(below) for below in fields["block_baselines"]]
    lines = [found and tuple(map(_line, found)) for found in fields["block_lines"]]
    blocks = tuple(
        replace(
            block,
            box=box,
            bbox=box and to_points(box, page.facts.width_pt, page.facts.height_pt, page.rotation),
            confidence=confidence,
            baselines=below,
            lines=found,
        )
        for block, box, confidence, below, found in zip(
            page.blocks, boxes, kept, baselines, lines, strict=True
        )
    )
    return replace(page, blocks=blocks)


def _box(numbers: Sequence[float] | None) -> Box | None:
    return None if numbers is None else _place(numbers)


def _line(fields: Sequence[Any]) -> Line:
    box, words, is_found, skipped = fields
    return Line(_place(box), tuple((left, right) for left, right in words), is_found, skipped)


def _place(numbers: Sequence[float]) -> Box:
    left, top, right, bottom = numbers
    return left, top, right, bottom


def _confidence(fields: Mapping[str, float] | None) -> Confidence | None:
    return None if fields is None else Confidence(**fields)


def _notices(items: list[dict[str, str]]) -> tuple[Notice, ...]:
    return tuple(Notice(**item) for item in items)
