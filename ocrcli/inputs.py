"""What the command's arguments stand for: files, the files of a folder, standard input."""

import codecs
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ocrcli.errors import InputError, UsageError
from ocrcli.paths import Kind, kind_of

STDIN = "-"
"""Given as an input, this means standard input."""

SUFFIXES = frozenset(
    f".{name}"
    for name in (
        *("pdf", "png", "jpg", "jpeg", "jpe", "tif", "tiff", "webp", "bmp", "gif"),
        *("jp2", "j2k", "jpx", "heic", "heif", "avif"),
    )
)
"""Files that are taken from a folder; files named one by one may have any name."""

_OWN_SUFFIX = ".ocr.pdf"


@dataclass(frozen=True)
class Input:
    """A file to transcribe.

    Attributes:
        name: What to call it.
        path: Where its bytes are.
        place: Where its output belongs below an output folder, before the suffix is replaced.
    """

    name: str
    path: Path
    place: str


@dataclass(frozen=True)
class Inputs:
    """What the arguments stand for.

    Attributes:
        files: All files to transcribe, in order.
        mirrors: Whether a folder was among the arguments.
        unreadable: An error for every folder that could not be searched.
        special: Pipes, devices and sockets inside folders, which are left out.
        left_out: How many other files inside folders are left out, by the reason.
    """

    files: tuple[Input, ...]
    mirrors: bool
    unreadable: tuple[InputError, ...] = ()
    special: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of inputs, those that have failed already among them."""
        return len(self.files) + len(self.unreadable)


def find_inputs(
    arguments: Sequence[str], files_from: str | None, stdin: IO[bytes], spool: Path
) -> Inputs:
    """Return the files that the arguments stand for.

    Folders are searched to the bottom, in the order of their names, for files with a suffix of
    `SUFFIXES`; links to folders are not followed. Hidden files and this program's own PDFs are left
    out, and so are pipes and devices, which could keep a search waiting for ever. A folder that
    cannot be read is an input that failed; the others are searched. Everything else is a file, be
    it there or not. Pipes that are named can be read only once, so what they hold is copied.

    Args:
        arguments: Files, folders, or "-" for standard input.
        files_from: A file with one more argument per line, or "-" for standard input.
        stdin: Standard input.
        spool: An existing folder for copies of standard input and of pipes.

    Raises:
        UsageError: There is no file at all, or standard input is asked for twice.
        InputError: The list or standard input cannot be read.
    """
    names = [*arguments, *_listed(files_from, stdin)]
    if names.count(STDIN) + (files_from == STDIN) > 1:
        raise UsageError("standard input can be read only once", next_action='give "-" once')
    files: list[Input] = []
    found = _Found()
    mirrors = False
    for name in names:
        if name == STDIN:
            files.append(Input(STDIN, _spooled(stdin, spool / "stdin"), "stdin"))
        elif (kind := kind_of(name)) is Kind.FOLDER:
            mirrors = True
            files += _in_folder(Path(name), found, prefixed=len(names) > 1)
        elif kind is Kind.PIPE:
            copy = _piped(Path(name), spool / f"pipe-{len(files)}")
            files.append(Input(name, copy, Path(name).name))
        else:
            files.append(Input(name, Path(name), Path(name).name))
    if not files and not found.unreadable:
        advice = "name files or folders"
        if found.left_out or found.special:
            advice = "folders are searched by suffix, so name the files themselves"
        raise UsageError("there is no file to transcribe", next_action=advice)
    return Inputs(
        tuple(files), mirrors, tuple(found.unreadable), tuple(found.special), found.left_out
    )


def _listed(files_from: str | None, stdin: IO[bytes]) -> list[str]:
    if files_from is None:
        return []
    try:
        content = stdin.read() if files_from == STDIN else Path(files_from).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", source=files_from) from error
    # Editors on Windows put a mark before the first name.
    content = content.removeprefix(codecs.BOM_UTF8)
    separator = b"\0" if b"\0" in content else b"\n"
    lines = (line.removesuffix(b"\r") for line in content.split(separator))
    return [os.fsdecode(line) for line in lines if line.strip()]


def _piped(pipe: Path, copy: Path) -> Path:
    try:
        with pipe.open("rb") as stream:
            return _spooled(stream, copy)
    except OSError:
        # Whoever opens the file will say why it cannot be read.
        return pipe


def _spooled(stream: IO[bytes], path: Path) -> Path:
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", source="standard input") from error
    return path


@dataclass
class _Found:
    """What a search met beside files to transcribe; the fields are those of `Inputs`."""

    unreadable: list[InputError] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def _in_folder(folder: Path, found: _Found, *, prefixed: bool) -> Iterator[Input]:
    """Yield the files of a folder, and note what else was met."""

    def note(error: OSError) -> None:
        reason = error.strerror or str(error)
        source = os.fsdecode(error.filename or folder)
        found.unreadable.append(InputError(f"the folder cannot be read: {reason}", source=source))

    prefix = folder.resolve().name if prefixed else ""
    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            if reason := _why_unwanted(name):
                found.left_out[reason] += 1
            elif kind_of(path) in (Kind.PIPE, Kind.DEVICE):
                found.special.append(str(path))
            else:
                place = str(Path(prefix) / path.relative_to(folder))
                yield Input(str(path), path, place)


def _why_unwanted(name: str) -> str:
    """Return why a search leaves a file out, to follow its number; empty if it does not."""
    lower = name.lower()
    if lower.startswith("."):
        return "hidden"
    if lower.endswith(_OWN_SUFFIX):
        return f"named {_OWN_SUFFIX}"
    return "" if Path(lower).suffix in SUFFIXES else "with other suffixes"
