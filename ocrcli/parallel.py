"""Several inputs at once, each worked on by a process of its own (`--jobs`).

Workers write outputs and journals; the account of the folder and everything that is said stay with
the process that the user started.
"""

import copy
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from ocrcli import recogniser as recognisers
from ocrcli.batch import Batch, BatchObserver, BatchRun, Task
from ocrcli.document import Document, Page
from ocrcli.errors import DeviceError, EarlierFailureError, OcrError
from ocrcli.interruption import shielded, stoppable
from ocrcli.journal import journal_path
from ocrcli.manifest import Entry
from ocrcli.options import Options
from ocrcli.outputs import output_sha256, remove_stale
from ocrcli.pipeline import Transcript
from ocrcli.resumption import Resumption
from ocrcli.writers import TextWriter

_Event = tuple[str, tuple[object, ...]]


@dataclass(frozen=True)
class _Work:
    """What a worker needs to know of an input."""

    task: Task
    index: int
    count: int
    settings: str | None
    resumes: bool


class ParallelRun:
    """Works off the inputs of one run, several at once."""

    def __init__(self, options: Options, observer: BatchObserver, resumption: Resumption) -> None:
        """Keep what all inputs share.

        Args:
            options: The settings.
            observer: Told of everything, input by input as they are finished.
            resumption: Knows what is finished.
        """
        threads = options.threads or max(1, (os.cpu_count() or 1) // options.jobs)
        self._options = replace(options, threads=threads)
        self._observer, self._resumption = observer, resumption

    def run(self, tasks: Sequence[Task], unreadable: Sequence[OcrError] = ()) -> Batch:
        """Transcribe every input to its file and return the account of it.

        Args:
            tasks: The inputs and their outputs, none of them standard output.
            unreadable: Errors of inputs of which nothing could even be listed.

        Raises:
            ModelError: There is no usable model.
            DeviceError: The same for the device, or a worker was killed.
            Stopped: The run was told to stop.
        """
        batch = Batch(len(unreadable) + len(tasks), strict=self._options.strict)
        for error in unreadable:
            batch.errors.append(error)
            with shielded():
                self._resumption.failed(error)
            self._observer.file_failed(error)
        if batch.errors and self._options.fail_fast:
            batch.num_skipped = len(tasks)
            return batch
        count, resumption = batch.num_inputs, self._resumption
        work = [
            _Work(task, index, count, resumption.settings, resumption.resumes)
            for index, task in enumerate(tasks, start=len(unreadable) + 1)
            if not self._is_finished(task, batch)
        ]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            min(self._options.jobs, max(len(work), 1)), context, _start, (self._options,)
        ) as pool:
            futures = [pool.submit(_work, piece) for piece in work]
            try:
                self._collect(futures, batch)
            except BaseException as error:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in multiprocessing.active_children():
                    process.terminate()
                if isinstance(error, BrokenProcessPool):
                    raise DeviceError(
                        "a worker was killed, most likely for want of memory",
                        next_action="use fewer --jobs",
                    ) from error
                raise
        return batch

    def _collect(
        self, futures: "Sequence[Future[tuple[Batch, list[_Event]]]]", batch: Batch
    ) -> None:
        for future in as_completed(futures):
            if future.cancelled():
                continue
            part, events = future.result()
            with shielded():
                self._record(part)
            for name, arguments in events:
                getattr(self._observer, name)(*arguments)
            batch.documents += part.documents
            batch.errors += part.errors
            batch.write_seconds += part.write_seconds
            if part.errors and self._options.fail_fast:
                batch.num_skipped += sum(other.cancel() for other in futures)

    def _record(self, part: Batch) -> None:
        for error in part.errors:
            self._resumption.failed(error)
        for document in part.documents:
            if document.output is not None and self._resumption.manifest is not None:
                settings = self._resumption.settings or ""
                target = Path(document.output)
                self._resumption.manifest.done(document, target, settings)
                if document.status != "failed":
                    journal_path(target).unlink(missing_ok=True)

    def _is_finished(self, task: Task, batch: Batch) -> bool:
        assert task.target is not None, "standard output belongs to one process"
        if self._resumption.manifest is not None:
            remove_stale(task.target)
            if task.figures is not None:
                remove_stale(task.figures.stem)
        entry = self._resumption.finished(
            task.target, output_sha256(task.input.path) or "", task.figures
        )
        if entry is None:
            return False
        batch.resumed.append(entry)
        self._observer.file_resumed(task.input.name, entry)
        if entry.status == "failed":
            error = EarlierFailureError(source=task.input.name)
            batch.errors.append(error)
            self._observer.file_failed(error)
        return True


class _Recorder:
    """Writes down what an observer would be told."""

    def __init__(self, index: int, count: int) -> None:
        self.events: list[_Event] = []
        self._place = index, count

    def file_started(self, document: Document, index: int, count: int) -> None:
        self.events.append(("file_started", (copy.deepcopy(document), *self._place)))

    def page_done(self, document: Document, page: Page) -> None:
        self.events.append(("page_done", (copy.deepcopy(document), page)))

    def file_done(self, document: Document) -> None:
        self.events.append(("file_done", (document,)))

    def file_failed(self, error: OcrError) -> None:
        self.events.append(("file_failed", (error,)))

    def file_resumed(self, name: str, entry: Entry) -> None:
        self.events.append(("file_resumed", (name, entry)))


@dataclass
class _Worker:
    """What the inputs of one worker share: above all, one loaded model."""

    options: Options
    recogniser: recognisers.Recogniser


_worker: list[_Worker] = []


def _start(options: Options) -> None:
    _worker[:] = [_Worker(options, recognisers.ModelRecogniser(options))]


def _work(work: _Work) -> tuple[Batch, list[_Event]]:
    (worker,) = _worker
    recorder = _Recorder(work.index, work.count)
    resumption = Resumption(
        None, work.settings, work.resumes, worker.options.retry, keeps_journals=True
    )
    nowhere = Transcript(TextWriter(), lambda text: None)
    run = BatchRun(worker.options, worker.recogniser, nowhere, recorder, resumption)
    with stoppable():
        return run.run([work.task]), recorder.events
