"""Real prose in ten languages and real program text, gathered from packages at hand.

`texts.json` records the packages, their versions and licences, and the files that are read; none of
them is in the evaluation. Every fiftieth document goes to `heldout/`.
"""

import hashlib
import json
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ocrcli.models.small.training.charset import untaught
from ocrcli.models.small.training.corpus import clean_line
from ocrcli.models.small.training.paragraphs import extract
from ocrcli.models.small.training.typeset import (
    BOLD,
    PLAIN,
    SLANTED,
    TYPEWRITER,
    marked_words,
    unmarked,
)

RECORD = Path(__file__).with_name("texts.json")

_WIDEST = 88
_MARKS = re.compile(f"([{TYPEWRITER}{SLANTED}{BOLD}{PLAIN}])")
_DOCUMENTS = (".html", ".page", ".pod", ".info", ".info.gz")


@dataclass(frozen=True)
class TextRecord:
    """One package that text is taken from.

    Attributes:
        name: Debian package.
        version: The version that was read.
        licence: Short licence name, SPDX where one exists.
        prose: Patterns of the files whose paragraphs are taken, by language.
        code: Patterns of the files whose lines or code displays are taken, by kind.
    """

    name: str
    version: str
    licence: str
    prose: dict[str, list[str]]
    code: dict[str, list[str]]


def read_records(path: Path = RECORD) -> tuple[TextRecord, ...]:
    """Return the records of a list of packages.

    Raises:
        ValueError: An entry has missing or unknown keys.
    """
    wanted = {field.name for field in fields(TextRecord)}
    records = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["packages"]:
        if set(entry) != wanted:
            raise ValueError(
                f"path holds a package with keys {sorted(entry)}, expected {sorted(wanted)}"
            )
        records.append(TextRecord(**entry))
    return tuple(records)


def write_prose(
    roots: Sequence[Path], output: Path, common: dict[str, set[str]], most: int
) -> dict[str, int]:
    """Write `prose/<language>.txt` and `heldout/prose/<language>.txt` below `output`.

    Args:
        roots: Folders that hold installed or unpacked packages.
        output: Folder to fill.
        common: Common words of each language, to tell what was left untranslated.
        most: Characters wanted of each language at most.

    Returns:
        Characters written for training, by language.

    Raises:
        ValueError: A package is in none of `roots`.
    """
    texts: dict[str, _Split] = {}
    for record in read_records():
        for language, patterns in record.prose.items():
            split = texts.setdefault(language, _Split())
            for path in _files(record, roots, patterns):
                for text in extract(path).paragraphs:
                    line = clean_marked(text)
                    if _is_prose(line, language, common):
                        split.add(path, [line])
    return {
        language: split.write(output, f"prose/{language}.txt", most)
        for language, split in texts.items()
    }


def write_code(roots: Sequence[Path], output: Path, most: int) -> dict[str, int]:
    """Write `code/<kind>.txt` and `heldout/code/<kind>.txt` below `output`.

    Python is the standard library of the interpreter that runs this; the rest is in the record.
    Pieces are separated by blank lines.

    Args:
        roots: Folders that hold installed or unpacked packages.
        output: Folder to fill.
        most: Characters wanted of each kind at most.

    Returns:
        Characters written for training, by kind.

    Raises:
        ValueError: A package is in none of `roots`.
    """
    library = Path(sysconfig.get_path("stdlib"))
    python = [*sorted(library.glob("*.py")), *sorted(library.glob("*/*.py"))]
    kinds: dict[str, _Split] = {"python": _Split()}
    for path in python:
        if not {"site-packages", "test", "tests"} & set(path.parts):
            _add_code(kinds["python"], path)
    for record in read_records():
        for kind, patterns in record.code.items():
            for path in _files(record, roots, patterns):
                _add_code(kinds.setdefault(kind, _Split()), path)
    return {kind: split.write(output, f"code/{kind}.txt", most) for kind, split in kinds.items()}


def clean_marked(text: str) -> str:
    """Return a paragraph in taught characters, see `clean_line`, with its style marks."""
    parts = []
    # Signs that link to the paragraph itself.
    text = text.rstrip(" §¶#")
    for part in _MARKS.split(text):
        if _MARKS.match(part) or not part.strip():
            parts.append(part)
            continue
        cleaned = clean_line(part)
        if not cleaned:
            return ""
        before, after = part[:1].isspace(), part[-1:].isspace()
        parts.append(" " * before + cleaned + " " * after)
    words = marked_words("".join(parts))
    return " ".join(word for word in words if unmarked(word))


class _Split:
    """Pieces of text of one kind, some of them held out; nothing is kept twice."""

    def __init__(self) -> None:
        self._train: list[list[str]] = []
        self._held_out: list[list[str]] = []
        self._seen: set[str] = set()

    def add(self, path: Path, lines: list[str]) -> None:
        text = "\n".join(lines)
        if text in self._seen:
            return
        self._seen.add(text)
        # By name, so that the translations of a document fall on the same side.
        digest = hashlib.sha256(path.name.encode()).digest()
        (self._held_out if digest[0] % 50 == 0 else self._train).append(lines)

    def write(self, output: Path, name: str, most: int) -> int:
        between = "\n\n" if name.startswith("code/") else "\n"
        counts = []
        for folder, pieces in ((output, self._train), (output / "heldout", self._held_out)):
            pieces = list(pieces)
            random.Random(0).shuffle(pieces)
            wanted, count = [], 0
            for lines in pieces:
                if count > most:
                    break
                wanted.append("\n".join(lines))
                count += len(wanted[-1]) + len(between)
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(between.join(wanted) + "\n", encoding="utf-8")
            counts.append(count)
        return counts[0]


def _files(record: TextRecord, roots: Sequence[Path], patterns: Iterable[str]) -> Iterator[Path]:
    found = False
    for root in roots:
        for pattern in patterns:
            for path in sorted(root.glob(pattern)):
                if path.is_file() and not path.is_symlink():
                    found = True
                    yield path
    if not found:
        raise ValueError(
            f"roots must hold the files of {record.name} {record.version}; unpack it with "
            f"dpkg-deb -x below one of {[str(root) for root in roots]}"
        )


def _is_prose(line: str, language: str, common: dict[str, set[str]]) -> bool:
    words = [word.strip(".,;:!?()“”„«»\"'").lower() for word in unmarked(line).split()]
    if len(words) < 8 or len(line) > 2500 or sum(map(str.isalpha, words)) < 0.6 * len(words):
        return False
    hits = {name: sum(word in found for word in words) for name, found in common.items()}
    return hits[language] >= 0.25 * len(words) and hits[language] >= max(hits.values())


def _add_code(split: _Split, path: Path) -> None:
    if path.name.endswith(_DOCUMENTS):
        for display in extract(path).displays:
            lines = code_lines(display)
            if len(lines) == len(display):
                split.add(path, lines)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    piece: list[str] = []
    for line in [*text.split("\n"), None]:
        cleaned = code_lines([line]) if line else []
        if not cleaned or len(piece) >= 40:
            if len(piece) > 1:
                split.add(path, piece)
            piece = []
        piece += cleaned


def code_lines(lines: Iterable[str]) -> list[str]:
    """Return lines of a program with tabs expanded; empty, wide and untaught ones are left out."""
    found = []
    for line in lines:
        text = line.expandtabs(4).rstrip()
        if text and len(text) <= _WIDEST and not untaught(text):
            found.append(text)
    return found
