"""How far the work has come, on a terminal."""

import contextlib
import time
from collections.abc import Iterator
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ocrcli.batch import Batch
from ocrcli.document import Document, Page
from ocrcli.errors import OcrError, printable
from ocrcli.progress import NoProgress, pace, summary

_NAME_WIDTH = 32


class BarProgress(NoProgress):
    """A bar with file, page, pace and the time left."""

    def __init__(self, stream: IO[str]) -> None:
        """Create a display.

        Args:
            stream: A terminal.
        """
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("page {task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[pace]}"),
            TimeRemainingColumn(),
            console=Console(file=stream),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._stream = stream
        self._task: TaskID | None = None
        self._started = 0.0

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Begin a bar for the input."""
        self._remove()
        name = printable(document.source.name)
        short = name if len(name) <= _NAME_WIDTH else f"…{name[1 - _NAME_WIDTH :]}"
        place = f"file {index}/{count} " if count > 1 else ""
        self._started = time.monotonic()
        self._task = self._bar.add_task(
            place + short, total=document.source.pages_selected, pace=""
        )
        self._bar.start()

    def page_done(self, document: Document, page: Page) -> None:
        """Move the bar."""
        if self._task is not None:
            shown = pace(document, time.monotonic() - self._started)
            self._bar.update(self._task, completed=document.num_pages, pace=shown)

    def file_done(self, document: Document) -> None:
        """Take the bar away."""
        self._remove()

    def file_failed(self, error: OcrError) -> None:
        """Take the bar away."""
        self._remove()

    def finished(self, batch: Batch, seconds: float) -> None:
        """Sum up a run over several inputs."""
        self.close()
        if batch.num_inputs > 1:
            self._stream.write(f"ocrcli: info: {summary(batch, seconds)}\n")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bar away while other text is printed."""
        is_shown = self._bar.live.is_started
        if is_shown:
            self._bar.stop()
        try:
            yield
        finally:
            if is_shown:
                self._bar.start()

    def close(self) -> None:
        """Take the bar away."""
        self._remove()

    def _remove(self) -> None:
        self._bar.stop()
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
