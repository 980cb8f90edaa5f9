"""Several inputs, one after the other: a failure is recorded and the next input goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ocrcli.document import Document
from ocrcli.errors import (
    DamagedError,
    DegradedError,
    DeviceError,
    EarlierFailureError,
    ExitCode,
    ModelError,
    OcrError,
    OutputError,
    PagesFailedError,
)
from ocrcli.figures import FigurePlace, opened_figures
from ocrcli.inputs import Input
from ocrcli.interruption import shielded
from ocrcli.manifest import Entry
from ocrcli.options import Options
from ocrcli.outputs import STDOUT, output_sha256
from ocrcli.page_reading import Reading
from ocrcli.pages import Pages, open_pages
from ocrcli.pipeline import Observer, Transcript, transcribe_document
from ocrcli.recogniser import Recogniser
from ocrcli.resumption import Resumption
from ocrcli.sinks import new_sink


@dataclass(frozen=True)
class Task:
    """An input, where its transcript goes (None is standard output), and its figures, if any."""

    input: Input
    target: Path | None
    figures: FigurePlace | None = None


class BatchObserver(Observer, Protocol):
    """Someone who wants to know how a batch is getting on."""

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Hear that input `index` of `count`, from 1, was opened."""

    def file_done(self, document: Document) -> None:
        """Hear that an input is finished; some of its pages may have failed."""

    def file_failed(self, error: OcrError) -> None:
        """Hear that an input failed, in part or as a whole."""

    def file_resumed(self, name: str, entry: Entry) -> None:
        """Hear that an input was finished by an earlier run."""


@dataclass
class Batch:
    """The account of a run.

    Attributes:
        num_inputs: Inputs given.
        documents: Inputs that could be opened and were worked on.
        errors: One per input that failed.
        write_seconds: Time spent on writing.
        resumed: Results of earlier runs that were kept.
        num_skipped: Inputs that were not attempted, because an earlier one failed.
        strict: Whether doubtful pages make the run a failure.
    """

    num_inputs: int
    documents: list[Document] = field(default_factory=list)
    errors: list[OcrError] = field(default_factory=list)
    write_seconds: float = 0.0
    resumed: list[Entry] = field(default_factory=list)
    num_skipped: int = 0
    strict: bool = False

    @property
    def num_degraded(self) -> int:
        """Inputs with doubtful pages, and no worse."""
        kept = sum(entry.status == "degraded" for entry in self.resumed)
        return kept + sum(document.status == "degraded" for document in self.documents)

    @property
    def exit_code(self) -> ExitCode:
        """What the run ends with."""
        if self.errors:
            return self.errors[0].exit_code if self.num_inputs == 1 else ExitCode.INPUTS_FAILED
        return ExitCode.DEGRADED if self.strict and self.num_degraded else ExitCode.OK


class BatchRun:
    """Works off the inputs of one run."""

    def __init__(
        self,
        options: Options,
        recogniser: Recogniser,
        stdout: Transcript,
        observer: BatchObserver,
        resumption: Resumption,
    ) -> None:
        """Keep what all inputs share.

        Args:
            options: The settings.
            recogniser: Reads the pages that carry ink.
            stdout: The transcript on standard output.
            observer: Told of everything.
            resumption: Knows what is finished.
        """
        self._options, self._recogniser = options, recogniser
        self._stdout, self._observer, self._resumption = stdout, observer, resumption

    def run(self, tasks: Sequence[Task], unreadable: Sequence[OcrError] = ()) -> Batch:
        """Transcribe every input and return the account of it.

        Args:
            tasks: The inputs and their outputs.
            unreadable: Errors of inputs of which nothing could even be listed.

        Raises:
            ModelError: There is no usable model; no other input would fare better.
            DeviceError: The same for the device.
            OutputError: Standard output cannot be written.
            Stopped: The run was told to stop.
        """
        batch = Batch(len(unreadable) + len(tasks), strict=self._options.strict)
        to_stdout = self._options.output is None or self._options.output == STDOUT
        for error in unreadable:
            self._failed(error, batch, to_stdout=to_stdout)
        for index, task in enumerate(tasks, start=len(unreadable) + 1):
            if batch.errors and self._options.fail_fast:
                batch.num_skipped = batch.num_inputs - index + 1
                break
            try:
                self._transcribe(task, index, batch)
            except OcrError as error:
                if isinstance(error, ModelError | DeviceError) or _is_stdout(error, task):
                    raise
                error.source = error.source or task.input.name
                self._failed(error, batch, to_stdout=task.target is None)
        batch.write_seconds += self._stdout.seconds
        return batch

    def _failed(self, error: OcrError, batch: Batch, *, to_stdout: bool) -> None:
        if isinstance(error, DegradedError):
            self._observer.file_failed(error)
            return
        batch.errors.append(error)
        with shielded():
            self._resumption.failed(error)
        self._observer.file_failed(error)
        if to_stdout and not isinstance(error, PagesFailedError):
            self._stdout.failure(error)

    def _transcribe(self, task: Task, index: int, batch: Batch) -> None:
        options, source = self._options, task.input
        with open_pages(
            source.path,
            options.pages,
            options.password,
            self._recogniser.page_size,
            options.files,
            source.name,
        ) as pages:
            if options.strict and pages.source.is_repaired:
                raise DamagedError(
                    "the file is damaged and had to be repaired",
                    next_action="leave out --strict to read what is left of it",
                )
            entry = self._resumption.finished(task.target, pages.source.sha256, task.figures)
            if entry is not None:
                self._resumed(entry, source.name, batch)
                return
            document = Document(
                pages.source,
                output=None if task.target is None else str(task.target),
                settings=self._resumption.settings,
            )
            batch.documents.append(document)
            self._observer.file_started(document, index, batch.num_inputs)
            if task.target is None:
                reading = Reading.of(options)
                with opened_figures(task.figures, pages, options.style) as figures:
                    transcribe_document(
                        pages,
                        self._recogniser,
                        self._stdout,
                        document,
                        self._observer,
                        reading,
                        figures=figures,
                    )
            else:
                try:
                    batch.write_seconds += self._to_disk(task.target, task.figures, pages, document)
                except OcrError:
                    # It counts as failed, and not as degraded too.
                    document.output, document.is_unwritten = None, True
                    raise
        self._observer.file_done(document)
        self._judge(document)

    def _resumed(self, entry: Entry, name: str, batch: Batch) -> None:
        batch.resumed.append(entry)
        self._observer.file_resumed(name, entry)
        if entry.status == "failed":
            raise EarlierFailureError

    def _judge(self, document: Document) -> None:
        """Raise what an input with pages that failed, or are doubtful, is reported as."""
        if document.status == "failed":
            failed = tuple(document.failed_pages or document.skipped_pages)
            raise PagesFailedError(failed, document.num_pages)
        if self._options.strict and document.num_degraded:
            raise DegradedError(document.num_degraded, document.num_pages)

    def _to_disk(
        self, target: Path, place: FigurePlace | None, pages: Pages, document: Document
    ) -> float:
        """Write a document to an output of its own and return the seconds that took.

        There is no output if not a single page could be transcribed.
        """
        with (
            self._resumption.journal(target, document, place) as journal,
            opened_figures(place, pages, self._options.style) as figures,
            new_sink(target, pages, self._options) as sink,
        ):
            reading = Reading.of(self._options)
            transcribe_document(
                pages, self._recogniser, sink, document, self._observer, reading, journal, figures
            )
            if document.num_missing == document.num_pages:
                document.output = None
                return sink.seconds
            with shielded():
                sealed = sink.seal()
                journal.seal(None if sealed is None else output_sha256(sealed))
                # Pictures first: a transcript never names one that is not there.
                document.figures_sha256 = None if figures is None else figures.finish()
                sink.finish()
                self._resumption.done(document, target, journal)
            return sink.seconds


def _is_stdout(error: OcrError, task: Task) -> bool:
    return task.target is None and isinstance(error, OutputError)
