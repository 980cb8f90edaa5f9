"""The account of an output folder: what was finished, from which content, with which settings.

A file is only skipped if this account vouches for it: same content, same settings, an output that
is still as it was written. Lines are only ever appended, so a run that is killed loses nothing.
"""

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from ocrcli import __version__
from ocrcli.document import Document
from ocrcli.errors import OcrError, OutputError, printable
from ocrcli.outputs import output_sha256, unwritable

NAME = "ocrcli-manifest.jsonl"
"""Name of the account, in the output folder."""

SCHEMA = "ocrcli-manifest/1"
"""Name and version of its format."""


@dataclass(frozen=True)
class Entry:
    """What became of an input.

    Attributes:
        output: Path of the output inside the folder.
        output_sha256: Hash of its bytes.
        source_sha256: Hash of the input's bytes.
        settings: Fingerprint of everything else that the output depends on.
        status: "ok", "degraded" or "failed".
        pages: Pages transcribed.
        degraded: Pages that are doubtful.
        figures_sha256: Hash of its figures, or None where none were asked for.
    """

    output: str
    output_sha256: str
    source_sha256: str
    settings: str
    status: str
    pages: int
    degraded: int
    figures_sha256: str | None = None


class Manifest:
    """The account of one output folder, locked against other processes while it is open."""

    def __init__(self, folder: Path) -> None:
        """Open or begin the account.

        Args:
            folder: The output folder; it is made if need be.

        Raises:
            OutputError: It cannot be written, or another process is at work there.
        """
        self.folder = folder
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("a+", encoding="utf-8", newline="\n")
        except OSError as error:
            raise unwritable(path, error) from error
        if not _lock(self._file):
            self._file.close()
            raise OutputError(
                "another ocrcli is writing to this folder",
                source=str(folder),
                next_action="wait for it, or choose another folder",
            )
        self.entries = self._read()

    def _read(self) -> dict[str, Entry]:
        self._file.seek(0)
        content = self._file.read()
        if content and not content.endswith("\n"):
            # The line that a killed run left behind must not swallow the next one.
            self._file.write("\n")
        return _entries(content)

    def finished(
        self, target: Path, source_sha256: str, settings: str, figures_sha256: str | None = None
    ) -> Entry | None:
        """Return the entry of an output that is as a new run would make it, or None.

        Args:
            target: The output.
            source_sha256: Hash of the input as it is now.
            settings: Fingerprint of the settings as they are now.
            figures_sha256: Hash of the figures as they are now, or None for none.
        """
        entry = self.entries.get(_key(self.folder, target))
        if entry is None or (entry.source_sha256, entry.settings) != (source_sha256, settings):
            return None
        is_whole = entry.figures_sha256 == figures_sha256
        return entry if is_whole and output_sha256(target) == entry.output_sha256 else None

    def done(self, document: Document, target: Path, settings: str) -> None:
        """Record that an output was written.

        Args:
            document: The account of its input.
            target: The output.
            settings: Fingerprint of the settings.
        """
        fields = {
            "output": _key(self.folder, target),
            "output_sha256": output_sha256(target) or "",
            "source_sha256": document.source.sha256,
            "settings": settings,
            "status": document.status,
            "pages": document.num_pages,
            "degraded": document.num_degraded,
        }
        if document.figures_sha256 is not None:
            fields["figures_sha256"] = document.figures_sha256
        self._append("done", source=printable(document.source.name), **fields, **_stat(document))
        self.entries[str(fields["output"])] = Entry(**fields)  # type: ignore[arg-type]

    def failed(self, error: OcrError) -> None:
        """Record that an input came to nothing."""
        self._append(
            "failed",
            source=printable(error.source or ""),
            code=int(error.exit_code),
            kind=error.kind,
            message=error.message,
        )

    def _append(self, event: str, **fields: object) -> None:
        line = {"schema": SCHEMA, "event": event, "version": __version__, **fields}
        line["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.folder / NAME, error) from error

    def __enter__(self) -> Self:
        """Return the account."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the account and let other processes in."""
        with contextlib.suppress(OSError):
            self._file.close()


def written_unchanged(folder: Path, target: Path) -> bool:
    """Return whether this program wrote an output, and nobody changed it since.

    Args:
        folder: The output folder; its account is only looked at.
        target: A file or folder in it.
    """
    try:
        content = (folder / NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    entry = _entries(content).get(_key(folder, target))
    return entry is not None and output_sha256(target) == entry.output_sha256


def _key(folder: Path, target: Path) -> str:
    return printable(os.path.relpath(target, folder))


def _entries(content: str) -> dict[str, Entry]:
    entries = {}
    for line in content.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            fields = json.loads(line)
            if fields["event"] == "done":
                known = Entry.__dataclass_fields__.keys() & fields.keys()
                entry = Entry(**{name: fields[name] for name in known})
                entries[entry.output] = entry
    return entries


def _stat(document: Document) -> dict[str, object]:
    try:
        status = Path(document.source.name).stat()
    except (OSError, ValueError):
        return {"size": None, "mtime": None}
    return {"size": status.st_size, "mtime": status.st_mtime}


def _lock(file: IO[Any]) -> bool:
    """Take the file for this process alone; where the system has no such locks, just go on."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems know no locks.
        return True
    return True
