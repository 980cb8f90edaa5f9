"""Where transcripts go: a map from inputs to files, settled before any work, and whole files.

A file appears under its name when it is complete, or not at all.
"""

import contextlib
import hashlib
import os
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Self

from ocrcli.errors import OutputError, UsageError
from ocrcli.paths import Kind, is_folder, kind_of, real_path

STDOUT = "-"
"""Given as an output, this means standard output."""

_LONGEST_NAME = 200


def output_folder(output: str | None, num_inputs: int, *, mirrors: bool = False) -> Path | None:
    """Return the folder that an output names, or None if it is a file or standard output.

    Args:
        output: What the user asked for.
        num_inputs: Number of inputs.
        mirrors: Whether an input is a folder, whose files get a folder in any case.
    """
    if output is None or output == STDOUT:
        return None
    means_folder = num_inputs > 1 or mirrors or output.endswith(("/", os.sep))
    return Path(output) if means_folder or is_folder(output) else None


def plan_outputs(
    inputs: Sequence[str],
    output: str | None,
    suffix: str,
    *,
    force: bool,
    places: Sequence[str] | None = None,
    mirrors: bool = False,
    is_ours: Callable[[Path], bool] = lambda path: False,
    makes_folders: bool = True,
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
        places: Path of each output inside a folder, before its suffix is replaced; None for the
            names of the inputs.
        mirrors: Whether an input is a folder.
        is_ours: Tells files that may be replaced without `force`.
        makes_folders: Whether the folders of the outputs are made and checked.

    Raises:
        UsageError: Two inputs would share a file, or an input would be overwritten.
        OutputError: A file exists already, or its folder cannot be made or written to.
    """
    if output is None or output == STDOUT:
        return [None] * len(inputs)
    if not output:
        raise UsageError("-o needs a name, got an empty one", next_action="- is standard output")
    folder = output_folder(output, len(inputs), mirrors=mirrors)
    if folder is not None and kind_of(folder) not in (Kind.ABSENT, Kind.FOLDER):
        raise OutputError("is not a folder", source=output, next_action="choose another folder")
    if folder is None:
        paths = [Path(output)]
    else:
        places = places or [Path(name).name for name in inputs]
        paths = names_in(folder, inputs, places, suffix)
    _refuse_inputs(paths, inputs)
    for path in paths:
        if not is_special(path):
            _check_existing(path, force=force, is_ours=is_ours, may_be_folder=not suffix)
            if makes_folders:
                check_folder(path)
    return list(paths)


def names_in(folder: Path, inputs: Sequence[str], places: Sequence[str], suffix: str) -> list[Path]:
    """Return a path inside a folder for each input, all of them different on every file system.

    Args:
        folder: The folder.
        inputs: Paths as the user gave them.
        places: Path of each output inside the folder, before its suffix is replaced.
        suffix: What replaces it, or is added where that would make two names equal.

    Raises:
        UsageError: Two names would be equal all the same.
    """
    short = [str(Path(place).with_suffix("")) + suffix for place in places]
    taken = _group(short)
    names = [
        short[index] if len(taken[_key(short[index])]) == 1 else place + suffix
        for index, place in enumerate(places)
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


def check_report_path(report: Path, inputs: Sequence[str], targets: Sequence[Path | None]) -> None:
    """Refuse a place for the benchmark's report before any work is done.

    Args:
        report: The file that is to be written, replacing an earlier report.
        inputs: The inputs as given.
        targets: The planned outputs, None for standard output.

    Raises:
        UsageError: The report would replace an input or a transcript.
        OutputError: It is a folder, or lies in one that does not exist.
    """
    _refuse_inputs([report], inputs)
    if real_path(report) in {real_path(target) for target in targets if target is not None}:
        raise UsageError(
            "is the output of an input, too",
            source=str(report),
            next_action="choose another --benchmark-output",
        )
    check_name(report)
    if is_folder(report) or not is_folder(report.parent):
        fault = "is a folder" if is_folder(report) else "lies in a folder that does not exist"
        raise OutputError(fault, source=str(report), next_action="choose another output")


def _refuse_inputs(paths: Sequence[Path], inputs: Sequence[str]) -> None:
    sources = {real_path(name) for name in inputs}
    for path in paths:
        if real_path(path) in sources:
            raise UsageError(
                "is an input and must not be overwritten",
                source=str(path),
                next_action="choose another output",
            )


def _check_existing(
    path: Path, *, force: bool, is_ours: Callable[[Path], bool], may_be_folder: bool
) -> None:
    """Refuse what is there already; a link counts, wherever it leads, and is never followed."""
    if is_folder(path) and not may_be_folder:
        raise OutputError("is a folder", source=str(path), next_action="choose another output")
    check_name(path)
    if kind_of(path) is not Kind.ABSENT and not force and not is_ours(path):
        raise OutputError(
            "exists already", source=str(path), next_action="use --force to replace it"
        )


def check_name(path: Path) -> None:
    """Refuse a name that the file system cannot hold, before any work is done.

    Args:
        path: The output.

    Raises:
        OutputError: The name is too long, or the like.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unwritable(path, error) from error


def check_folder(path: Path) -> None:
    """Make the folder of an output, and refuse one that cannot be written to.

    Args:
        path: The output.

    Raises:
        OutputError: It cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError("cannot be written: the folder is read-only", source=str(path))


def is_special(path: Path) -> bool:
    """Return whether a path names a device or a pipe, which cannot be replaced."""
    return kind_of(path) in (Kind.PIPE, Kind.DEVICE)


def unwritable(path: Path, error: OSError) -> OutputError:
    """Return what to raise when the system refuses to write a file."""
    return OutputError(f"cannot be written: {error.strerror or error}", source=str(path))


def hidden_name(target: Path) -> Path:
    """Return the name under which this process writes an output until it is whole.

    Args:
        target: The output.
    """
    return target.with_name(f".{short_name(target)}.{os.getpid()}.tmp")


def short_name(target: Path) -> str:
    """Return an output's name, cut so that a prefix and a suffix still fit beside it.

    Args:
        target: The output.
    """
    # File systems count bytes, not characters.
    return os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])


def remove_stale(target: Path) -> None:
    """Remove what processes that were killed have left of an output.

    Only for folders that are locked: another process may be writing elsewhere.

    Args:
        target: The output.
    """
    start = f".{short_name(target)}."
    if not is_folder(target.parent):
        return
    for path in target.parent.iterdir():
        name = path.name
        is_left = name.startswith(start) and name.endswith((".tmp", ".old"))
        if is_left and name[len(start) :].partition(".")[0].isdigit():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def output_sha256(path: Path) -> str | None:
    """Return the hash of a file, or of the names and contents of a folder; None if it is absent.

    Args:
        path: An output.
    """
    try:
        if not path.is_dir():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        whole = hashlib.sha256()
        for child in sorted(path.iterdir()):
            whole.update(child.name.encode("utf-8", "surrogateescape") + b"\0")
            whole.update((output_sha256(child) or "").encode())
        return whole.hexdigest()
    except OSError:
        return None


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
        if not is_special(path):
            self._hidden = hidden_name(path)
        with self._reported():
            self._file: IO[str] = (self._hidden or path).open(
                "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            )

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self.path, error) from error

    def write(self, text: str) -> None:
        """Add text.

        Raises:
            OutputError: The disk is full, or the like.
        """
        with self._reported():
            self._file.write(text)

    def seal(self) -> Path | None:
        """Make sure that the content is on the disk, and return where, or None for devices.

        Raises:
            OutputError: The disk is full, or the like.
        """
        with self._reported():
            if not self._file.closed:
                self._file.flush()
                if self._hidden is not None:
                    os.fsync(self._file.fileno())
                self._file.close()
        return self._hidden

    def finish(self) -> None:
        """Make sure that the content is on the disk, and give the file its name.

        Raises:
            OutputError: The disk is full, or the like.
        """
        self.seal()
        with self._reported():
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
