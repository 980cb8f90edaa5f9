"""Where transcripts go: a map from inputs to files, settled before any work, and whole files.

A file appears under its name when it is complete, or not at all.
"""

import contextlib
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Self

from ocrcli.errors import OutputError, UsageError

STDOUT = "-"
"""Given as an output, this means standard output."""


def plan_outputs(
    inputs: Sequence[str], output: str | None, suffix: str, *, force: bool
) -> list[Path | None]:
    """Return the file each input is transcribed to, None for standard output.

    Without `output`, or with "-", every transcript goes to standard output. A folder (one that
    exists, a path that ends in a slash, or any path when there are several inputs) gets one file
    per input: its name with the suffix replaced, or added where that would make two names equal.

    Args:
        inputs: Paths as the user gave them.
        output: What the user asked for.
        suffix: Suffix of the format, such as ".txt".
        force: Whether existing files may be replaced.

    Raises:
        UsageError: Two inputs would share a file, or an input would be overwritten.
        OutputError: A file exists already, or its folder cannot be made or written to.
    """
    if output is None or output == STDOUT:
        return [None] * len(inputs)
    is_folder = len(inputs) > 1 or output.endswith(("/", os.sep)) or Path(output).is_dir()
    if is_folder and Path(output).exists() and not Path(output).is_dir():
        raise OutputError("is not a folder", source=output, next_action="choose another folder")
    paths = _names_in(Path(output), inputs, suffix) if is_folder else [Path(output)]
    _refuse_inputs(paths, inputs)
    for path in paths:
        _check_target(path, force)
    return list(paths)


def _names_in(folder: Path, inputs: Sequence[str], suffix: str) -> list[Path]:
    short = [Path(name).stem + suffix for name in inputs]
    taken = _group(short)
    names = [
        short[index] if len(taken[_key(short[index])]) == 1 else Path(name).name + suffix
        for index, name in enumerate(inputs)
    ]
    for clashing in _group(names).values():
        if len(clashing) > 1:
            pair = " and ".join(inputs[index] for index in clashing[:2])
            raise UsageError(
                f'{pair} would both be written to "{folder / names[clashing[0]]}"',
                next_action="transcribe them into different folders",
            )
    return [folder / name for name in names]


def _group(names: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        groups[_key(name)].append(index)
    return groups


def _key(name: str) -> str:
    """Return what must differ for two names to be two files on every file system."""
    return unicodedata.normalize("NFC", name).casefold()


def _refuse_inputs(paths: Sequence[Path], inputs: Sequence[str]) -> None:
    sources = {Path(name).resolve() for name in inputs}
    for path in paths:
        if path.resolve() in sources:
            raise UsageError(
                "is an input and must not be overwritten",
                source=str(path),
                next_action="choose another output",
            )


def _check_target(path: Path, force: bool) -> None:
    if path.is_dir():
        raise OutputError("is a folder", source=str(path), next_action="choose another output")
    if _is_special(path):
        return
    if path.exists() and not force:
        raise OutputError(
            "exists already", source=str(path), next_action="use --force to replace it"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError("cannot be written: the folder is read-only", source=str(path))


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot be written: {error.strerror or error}", source=str(path))


class WholeFile:
    """A text file that gets its name when it is complete.

    Until then its content is in a hidden file beside it, which is removed if anything goes wrong.
    Devices and pipes, which cannot be replaced, are written to directly.
    """

    def __init__(self, path: Path) -> None:
        """Open the file for writing.

        Args:
            path: The name it will have.

        Raises:
            OutputError: It cannot be created.
        """
        self.path = path
        self._hidden: Path | None = None
        if not _is_special(path):
            self._hidden = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
        with self._reported():
            self._file: IO[str] = (self._hidden or path).open(
                "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            )

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def write(self, text: str) -> None:
        """Add text.

        Raises:
            OutputError: The disk is full, or the like.
        """
        with self._reported():
            self._file.write(text)

    def finish(self) -> None:
        """Make sure that the content is on the disk, and give the file its name.

        Raises:
            OutputError: The disk is full, or the like.
        """
        with self._reported():
            self._file.flush()
            if self._hidden is not None:
                os.fsync(self._file.fileno())
            self._file.close()
            if self._hidden is not None:
                self._hidden.replace(self.path)
                self._hidden = None

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is incomplete."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)
