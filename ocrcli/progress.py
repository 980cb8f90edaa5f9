"""How far the work has come: lines for logs and events for programs."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from ocrcli.batch import Batch
from ocrcli.document import Document, Page, PageStatus
from ocrcli.errors import OcrError, json_text, printable
from ocrcli.manifest import Entry

_LINE_EVERY_SECONDS = 30.0


class Progress(Protocol):
    """A display of how far the work has come.

    Attributes:
        tells_failures: Whether it says itself what failed, so that no line need be printed.
    """

    tells_failures: bool

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Show that input `index` of `count`, from 1, was opened."""

    def page_done(self, document: Document, page: Page) -> None:
        """Show that a page is finished."""

    def file_done(self, document: Document) -> None:
        """Show that an input is finished."""

    def file_failed(self, error: OcrError) -> None:
        """Show that an input failed."""

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Show that an earlier run has finished an input."""

    def finished(self, batch: Batch, seconds: float) -> None:
        """Show that all is done."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which other text may be printed."""

    def close(self) -> None:
        """Leave nothing moving behind."""


def duration(seconds: float) -> str:
    """Return seconds as people write them.

    Args:
        seconds: A time span.

    Example:
        >>> duration(250)
        '4 min 10 s'
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def summary(batch: Batch, seconds: float) -> str:
    """Return the account of a run in one line.

    Args:
        batch: The run.
        seconds: Its wall time.
    """
    failed, degraded, skipped = len(batch.errors), batch.num_degraded, batch.num_skipped
    pages = sum(document.num_pages for document in batch.documents)
    blank = sum(document.count(PageStatus.BLANK) for document in batch.documents)
    fully = batch.num_inputs - failed - degraded - skipped
    before = f" ({len(batch.resumed)} before)" if batch.resumed else ""
    missing = f", {skipped} skipped" if skipped else ""
    return (
        f"{batch.num_inputs} files: {fully} ok{before}, {degraded} degraded, {failed} failed"
        f"{missing}; {pages} pages, {blank} blank; {duration(seconds)}"
    )


def pace(document: Document, seconds: float) -> str:
    """Return seconds per page and generated tokens per second.

    Args:
        document: The account so far.
        seconds: Time since the document was opened.
    """
    per_page = seconds / max(document.num_pages, 1)
    if not document.stages.decode:
        return f"{per_page:.2f} s/page"
    rate = document.tokens.output / document.stages.decode
    return f"{per_page:.2f} s/page, {rate:.0f} tok/s"


def _print(stream: IO[str], line: str) -> None:
    """Print a line; work goes on when nobody can be told of it any more."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"{line}\n")
        stream.flush()


class NoProgress:
    """Shows nothing."""

    tells_failures = False

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Show nothing."""

    def page_done(self, document: Document, page: Page) -> None:
        """Show nothing."""

    def file_done(self, document: Document) -> None:
        """Show nothing."""

    def file_failed(self, error: OcrError) -> None:
        """Show nothing."""

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Show nothing."""

    def finished(self, batch: Batch, seconds: float) -> None:
        """Show nothing."""

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Return a context that changes nothing."""
        yield

    def close(self) -> None:
        """Do nothing."""


class PlainProgress(NoProgress):
    """A line per finished input, and one every 30 seconds while a long one is worked on."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        """Create a display.

        Args:
            stream: Where lines go.
            clock: Seconds since any fixed moment.
        """
        self._stream, self._clock = stream, clock
        self._started = self._spoke = clock()

    def _say(self, name: str, text: str) -> None:
        _print(self._stream, f"ocrcli: info: {printable(name)}: {text}")

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Start the clock of an input."""
        self._started = self._spoke = self._clock()

    def page_done(self, document: Document, page: Page) -> None:
        """Say how far a long input has come."""
        now, total = self._clock(), document.source.pages_selected
        done = document.num_pages
        if now - self._spoke >= _LINE_EVERY_SECONDS and done < total:
            self._spoke = now
            rest = (now - self._started) / done * (total - done)
            self._say(
                document.source.name,
                f"page {done}/{total}, {pace(document, now - self._started)}, "
                f"about {duration(rest)} left",
            )

    def file_done(self, document: Document) -> None:
        """Say how an input ended."""
        counts = ", ".join(f"{count} {status}" for status, count in document.statuses.items())
        noun = "page" if document.num_pages == 1 else "pages"
        self._say(
            document.source.name,
            f"{document.num_pages} {noun} ({counts}) in {duration(document.seconds)}, "
            f"{pace(document, document.seconds)}",
        )

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Say that an earlier run has finished an input."""
        self._say(name, f"finished before ({entry.status}, {entry.output})")

    def finished(self, batch: Batch, seconds: float) -> None:
        """Sum up a run over several inputs."""
        if batch.num_inputs > 1:
            _print(self._stream, f"ocrcli: info: {summary(batch, seconds)}")


class JsonProgress(NoProgress):
    """One JSON object per event and line; failures are events, too."""

    tells_failures = True

    def __init__(self, stream: IO[str]) -> None:
        """Create a display.

        Args:
            stream: Where lines go.
        """
        self._stream = stream

    def _emit(self, event: str, **fields: object) -> None:
        safe = {
            name: json_text(value) if isinstance(value, str) else value
            for name, value in fields.items()
        }
        _print(self._stream, json.dumps({"event": event, **safe}))

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Emit `file_start`."""
        source = document.source
        self._emit(
            "file_start", source=source.name, file=index, files=count, pages=source.pages_selected
        )

    def page_done(self, document: Document, page: Page) -> None:
        """Emit `page_done`, with the reason if the page has no result."""
        reason = {"error": page.error} if page.status.is_missing else {}
        self._emit(
            "page_done",
            source=document.source.name,
            page=page.page_number,
            done=document.num_pages,
            pages=document.source.pages_selected,
            status=str(page.status),
            tokens=page.tokens.output,
            seconds=round(page.seconds.total, 3),
            **reason,
        )

    def file_done(self, document: Document) -> None:
        """Emit `file_done`."""
        self._emit(
            "file_done",
            source=document.source.name,
            output=document.output,
            status=document.status,
            pages=document.num_pages,
            seconds=round(document.seconds, 3),
        )

    def file_failed(self, error: OcrError) -> None:
        """Emit `file_failed`."""
        self._emit(
            "file_failed",
            source=error.source,
            code=int(error.exit_code),
            kind=error.kind,
            message=error.message,
            next_action=error.next_action,
        )

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Emit `file_resumed`."""
        self._emit("file_resumed", source=name, output=entry.output, status=entry.status)

    def finished(self, batch: Batch, seconds: float) -> None:
        """Emit `summary`."""
        self._emit(
            "summary",
            files=batch.num_inputs,
            failed=len(batch.errors),
            degraded=batch.num_degraded,
            resumed=len(batch.resumed),
            skipped=batch.num_skipped,
            pages=sum(document.num_pages for document in batch.documents),
            seconds=round(seconds, 3),
        )
