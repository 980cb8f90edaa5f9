"""Several inputs, one after the other: a failure is recorded and the next input goes on."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ocrcli.document import Document
from ocrcli.errors import DeviceError, ExitCode, ModelError, OcrError, OutputError, PagesFailedError
from ocrcli.options import Options
from ocrcli.outputs import WholeFile
from ocrcli.pages import Pages, open_pages
from ocrcli.pipeline import Observer, Transcript, transcribe_document
from ocrcli.recogniser import Recogniser
from ocrcli.writers import Writer, new_writer


class BatchObserver(Observer, Protocol):
    """Someone who wants to know how a batch is getting on."""

    def file_started(self, document: Document, index: int, count: int) -> None:
        """Hear that input `index` of `count`, from 1, was opened."""

    def file_done(self, document: Document) -> None:
        """Hear that an input is finished; some of its pages may have failed."""

    def file_failed(self, error: OcrError) -> None:
        """Hear that an input failed, in part or as a whole."""


@dataclass
class Batch:
    """The account of a run.

    Attributes:
        num_inputs: Inputs given.
        documents: Inputs that could be opened and were worked on.
        errors: One per input that failed.
        write_seconds: Time spent on writing.
    """

    num_inputs: int
    documents: list[Document] = field(default_factory=list)
    errors: list[OcrError] = field(default_factory=list)
    write_seconds: float = 0.0

    @property
    def exit_code(self) -> ExitCode:
        """What the run ends with."""
        if not self.errors:
            return ExitCode.OK
        return self.errors[0].exit_code if self.num_inputs == 1 else ExitCode.INPUTS_FAILED


def run_batch(
    inputs: Sequence[str],
    targets: Sequence[Path | None],
    options: Options,
    recogniser: Recogniser,
    stdout: Transcript,
    observer: BatchObserver,
) -> Batch:
    """Transcribe every input and return the account of it.

    Args:
        inputs: Paths as the user gave them.
        targets: Output of each input, None for standard output.
        options: The settings.
        recogniser: Reads the pages that carry ink.
        stdout: The transcript on standard output.
        observer: Told of everything.

    Raises:
        ModelError: There is no usable model; no other input would fare better.
        DeviceError: The same for the device.
        OutputError: Standard output cannot be written.
    """
    batch = Batch(len(inputs))
    for index, (name, target) in enumerate(zip(inputs, targets, strict=True), start=1):
        try:
            with open_pages(name, options.pages, options.password, recogniser.page_size) as pages:
                document = Document(pages.source, output=None if target is None else str(target))
                batch.documents.append(document)
                observer.file_started(document, index, len(inputs))
                if target is None:
                    transcribe_document(pages, recogniser, stdout, document, observer)
                else:
                    writer = new_writer(options.format)
                    batch.write_seconds += _to_file(
                        target, writer, pages, recogniser, document, observer
                    )
            observer.file_done(document)
            if document.failed_pages:
                failed = tuple(document.failed_pages)
                raise PagesFailedError(failed, document.num_pages, source=name)
        except OcrError as error:
            if isinstance(error, ModelError | DeviceError) or _is_stdout(error, target):
                raise
            error.source = error.source or name
            batch.errors.append(error)
            observer.file_failed(error)
            if target is None and not isinstance(error, PagesFailedError):
                stdout.failure(error)
    batch.write_seconds += stdout.seconds
    return batch


def _is_stdout(error: OcrError, target: Path | None) -> bool:
    return target is None and isinstance(error, OutputError)


def _to_file(
    target: Path,
    writer: Writer,
    pages: Pages,
    recogniser: Recogniser,
    document: Document,
    observer: BatchObserver,
) -> float:
    """Write a document to a file of its own and return the seconds that took.

    The file stays away if not a single page could be transcribed.
    """
    with WholeFile(target) as file:
        transcript = Transcript(writer, file.write)
        transcribe_document(pages, recogniser, transcript, document, observer)
        transcript.end()
        started = time.perf_counter()
        if len(document.failed_pages) < document.num_pages:
            file.finish()
        else:
            document.output = None
        return transcript.seconds + time.perf_counter() - started
