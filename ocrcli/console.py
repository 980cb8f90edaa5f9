"""Everything the command says on stderr: a line per problem, and progress around them."""

import contextlib
from collections.abc import Mapping
from typing import IO

from ocrcli.batch import Batch
from ocrcli.document import Document, Page, PageStatus
from ocrcli.errors import OcrError, printable
from ocrcli.manifest import Entry
from ocrcli.options import ProgressStyle
from ocrcli.progress import JsonProgress, NoProgress, PlainProgress, Progress


class Console:
    """One line per problem on stderr, and progress around them."""

    def __init__(self, progress: Progress, stream: IO[str], verbosity: int = 0) -> None:
        """Create a console.

        Args:
            progress: Shows how the work is getting on; lines are printed above it.
            stream: Usually stderr.
            verbosity: -1 for errors only, 1 for more detail.
        """
        self._progress, self._stream, self._verbosity = progress, stream, verbosity
        self._warned: set[tuple[str, str]] = set()

    def line(self, text: str) -> None:
        """Print a line as it is."""
        with contextlib.suppress(OSError, ValueError), self._progress.paused():
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def error(self, error: OcrError) -> None:
        """Print an error in one line, and what to do about it."""
        self.line(f"ocrcli: error: {printable(str(error))}")

    def warning(self, source: str, page_number: int | None, detail: str) -> None:
        """Print a warning unless the console is quiet."""
        self._say("warning", source, page_number, detail, level=0)

    def _say(
        self, kind: str, source: str, page_number: int | None, detail: str, level: int
    ) -> None:
        if self._verbosity >= level:
            place = "" if page_number is None else f"page {page_number}: "
            self.line(f"ocrcli: {kind}: {printable(source)}: {place}{printable(detail)}")

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Show that an input was opened, and what is wrong with it as a whole."""
        self._warned.clear()
        for notice in document.source.warnings:
            self.warning(document.source.name, None, notice.detail)
        self._progress.file_started(document, index, count)

    def page_done(self, document: Document, page: Page) -> None:
        """Show that a page is finished, and what its reader should know.

        What is said of every page of a document is said once, unless more detail was asked for.
        """
        name = document.source.name
        if not self._progress.tells_failures:
            self._page_failed(name, page)
        for notice in page.warnings:
            key = (name, notice.code)
            if page.status.is_degraded or key not in self._warned or self._verbosity > 0:
                self.warning(name, page.page_number, notice.detail)
            self._warned.add(key)
        self._progress.page_done(document, page)

    def _page_failed(self, name: str, page: Page) -> None:
        if page.status.is_failed:
            self._say("error", name, page.page_number, page.error or "failed", level=-1)
        elif page.status is PageStatus.SKIPPED and ("", "skipped") not in self._warned:
            self._warned.add(("", "skipped"))
            detail = f"skipped, with all that follow: {page.error}"
            self._say("error", name, page.page_number, detail, level=-1)

    def file_done(self, document: Document) -> None:
        """Show that an input is finished."""
        self._progress.file_done(document)

    def file_failed(self, error: OcrError) -> None:
        """Show why an input failed."""
        if not self._progress.tells_failures:
            self.error(error)
        self._progress.file_failed(error)

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Show that an earlier run has finished an input."""
        self._progress.file_resumed(name, entry)

    def batch_done(self, batch: Batch, seconds: float) -> None:
        """Close the progress display and sum up.

        Args:
            batch: The account of the run.
            seconds: Wall time of the run.
        """
        self._progress.finished(batch, seconds)

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which a terminal is free for other text."""
        return self._progress.paused()

    def close(self) -> None:
        """Remove what moves from the terminal."""
        self._progress.close()


def new_progress(
    style: ProgressStyle, stream: IO[str], variables: Mapping[str, str], *, quiet: bool = False
) -> Progress:
    """Return the progress display that suits the stream.

    Bars are for terminals only: anywhere else their control characters would spoil a log.

    Args:
        style: What the user asked for.
        stream: Where it is shown.
        variables: The environment.
        quiet: Whether nothing but errors is wanted.
    """
    if style is ProgressStyle.NONE or (quiet and style is ProgressStyle.AUTO):
        return NoProgress()
    if style is ProgressStyle.JSON:
        return JsonProgress(stream)
    is_terminal = stream.isatty() and variables.get("TERM") != "dumb"
    if is_terminal and style in (ProgressStyle.AUTO, ProgressStyle.BAR):
        # Rich takes a while to load, and only terminals need it.
        from ocrcli.progress_bar import BarProgress

        return BarProgress(stream)
    return PlainProgress(stream)
