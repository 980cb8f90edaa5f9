"""What an earlier run has finished, and how this run keeps account for the next one."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ocrcli.document import Document
from ocrcli.errors import OcrError
from ocrcli.figures import FigurePlace
from ocrcli.fingerprint import fingerprint
from ocrcli.journal import Journal, NoJournal, journal_path
from ocrcli.manifest import Entry, Manifest
from ocrcli.options import Options, Retry
from ocrcli.outputs import is_special, remove_stale

_RETRIED = {
    Retry.FAILED: ("failed",),
    Retry.DEGRADED: ("degraded",),
    Retry.ALL: ("failed", "degraded"),
}


def is_resumed(options: Options, *, mirrors: bool) -> bool:
    """Return whether finished work is skipped.

    Args:
        options: The settings.
        mirrors: Whether an input is a folder, which is resumed unless told otherwise.
    """
    wanted = mirrors if options.resume is None else options.resume
    return wanted and not options.force


@dataclass
class Resumption:
    """The account of finished work, if there is one.

    Attributes:
        manifest: Account of the output folder, or None when there is no folder.
        settings: Fingerprint of the settings, or None when no account is kept.
        resumes: Whether finished work is skipped.
        retry: What is tried again all the same.
        keeps_journals: Whether journals are left to whoever keeps the account.
    """

    manifest: Manifest | None = None
    settings: str | None = None
    resumes: bool = False
    retry: Retry = Retry.FAILED
    keeps_journals: bool = False

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls, options: Options, folder: Path | None, *, mirrors: bool
    ) -> "Iterator[Resumption]":
        """Open the account of an output folder, and close it in the end.

        Args:
            options: The settings.
            folder: The output folder, or None.
            mirrors: Whether an input is a folder, which is resumed unless told otherwise.

        Raises:
            OutputError: The account cannot be written, or another process is at work.
            ModelError: The model's files cannot be read.
        """
        resumes = is_resumed(options, mirrors=mirrors)
        if folder is None:
            settings = fingerprint(options) if options.resume and options.output else None
            yield cls(None, settings, resumes, options.retry)
            return
        with Manifest(folder) as manifest:
            yield cls(manifest, fingerprint(options), resumes, options.retry)

    def finished(
        self, target: Path | None, source_sha256: str, figures: FigurePlace | None = None
    ) -> Entry | None:
        """Return what is known of an input that need not be read again, or None.

        Args:
            target: Its output.
            source_sha256: Hash of the input as it is now.
            figures: Where its figures are, or None for none.
        """
        if not self.resumes or self.manifest is None or self.settings is None or target is None:
            return None
        entry = self.manifest.finished(
            target, source_sha256, self.settings, None if figures is None else figures.sha256()
        )
        return None if entry is None or entry.status in _RETRIED[self.retry] else entry

    @contextlib.contextmanager
    def journal(
        self, target: Path, document: Document, figures: FigurePlace | None = None
    ) -> Iterator[Journal | NoJournal]:
        """Open the journal of a document, and close it in the end.

        What a run that was killed has left of the output is removed.

        Args:
            target: The document's output.
            document: The document.
            figures: Where its figures go, or None.
        """
        if self.manifest is not None:
            remove_stale(target)
            if figures is not None:
                remove_stale(figures.stem)
        if self.settings is None or is_special(target):
            yield NoJournal()
            return
        path = journal_path(target)
        if not self.resumes:
            path.unlink(missing_ok=True)
        journal = Journal(path, document.source.sha256, self.settings)
        try:
            yield journal
        finally:
            journal.close()

    def done(self, document: Document, target: Path, journal: Journal | NoJournal) -> None:
        """Record that an output was written.

        The journal of a document with failed pages stays: only these are read again.
        """
        if self.manifest is not None and self.settings is not None:
            self.manifest.done(document, target, self.settings)
        if document.status != "failed" and not self.keeps_journals:
            journal.remove()

    def failed(self, error: OcrError) -> None:
        """Record that an input came to nothing."""
        if self.manifest is not None:
            self.manifest.failed(error)
