"""One run of `ocrcli transcribe`: from options to an exit code."""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.errors import ExitCode, UsageError, printable
from ocrcli.hub import local_model
from ocrcli.inputs import Inputs, find_inputs
from ocrcli.journal import is_sealed
from ocrcli.manifest import written_unchanged
from ocrcli.options import Options, OutputFormat, ProgressStyle
from ocrcli.outputs import STDOUT, check_report_path, output_folder, plan_outputs
from ocrcli.resumption import is_resumed
from ocrcli.streams import guarded_stdout, write_stdout
from ocrcli.writers import new_writer, suffix_of

if TYPE_CHECKING:
    from ocrcli.batch import Batch, Task
    from ocrcli.console import Console
    from ocrcli.figures import FigurePlace
    from ocrcli.recogniser import Recogniser
    from ocrcli.resumption import Resumption


def run(names: Sequence[str], files_from: str | None, options: Options) -> int:
    """Transcribe what the arguments stand for and return the exit code.

    Args:
        names: Files, folders, or "-".
        files_from: A file with more of them, or None.
        options: The settings.

    Raises:
        OcrError: The run as a whole cannot go on.
        Stopped: It was told to stop.
    """
    to_stdout = options.output is None or options.output == STDOUT
    if to_stdout and options.split_pages:
        raise UsageError("--split-pages needs a folder", next_action="give one with -o")
    if options.split_pages and options.format is OutputFormat.PDF:
        raise UsageError(
            "--split-pages writes text formats, not pdf",
            next_action="leave it out, or choose another format with -f",
        )
    if to_stdout and not options.dry_run:
        # Formats that are no text are refused before any work.
        new_writer(options.format)
    with tempfile.TemporaryDirectory(prefix="ocrcli-") as spool:
        inputs = find_inputs(names, files_from, sys.stdin.buffer, Path(spool))
        _tell_left_out(inputs, options)
        if options.dry_run:
            return _dry_run(names, inputs, options)
        options = replace(options, model=local_model(options.model, _say(options)))
        folder = output_folder(options.output, inputs.count, mirrors=inputs.mirrors)
        targets = plan(inputs, options)
        # Reading files takes a second to load; what is wrong with the outputs is said before.
        from ocrcli.batch import Task
        from ocrcli.resumption import Resumption

        figures = plan_pictures(names, inputs, targets, options)
        tasks = [Task(*each) for each in zip(inputs.files, targets, figures, strict=True)]
        with Resumption.opened(options, folder, mirrors=inputs.mirrors) as resumption:
            return _transcribe(tasks, inputs, options, resumption)


def _say(options: Options) -> Callable[[str], None] | None:
    if options.verbosity < 0:
        return None

    def say(line: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"ocrcli: {line}\n")

    return say


def _tell_left_out(inputs: Inputs, options: Options) -> None:
    say = _say(options)
    # Programs that read events are told of inputs only.
    if say is None or options.progress in (ProgressStyle.JSON, ProgressStyle.NONE):
        return
    for name in inputs.special:
        say(f"info: {printable(name)}: left out, it is no regular file")
    if inputs.left_out and options.verbosity > 0:
        counts = ", ".join(f"{count} {reason}" for reason, count in inputs.left_out.items())
        say(f"info: {sum(inputs.left_out.values())} files in folders left out: {counts}")


def plan(inputs: Inputs, options: Options) -> list[Path | None]:
    """Return the output of each input, None for standard output.

    Args:
        inputs: The inputs.
        options: The settings.

    Raises:
        UsageError: Two inputs would share an output, or an input would be overwritten.
        OutputError: An output exists already, or cannot be written.
    """
    folder = output_folder(options.output, inputs.count, mirrors=inputs.mirrors)
    resumed = folder is not None and is_resumed(options, mirrors=inputs.mirrors)
    targets = plan_outputs(
        [file.name for file in inputs.files],
        options.output,
        "" if options.split_pages else suffix_of(options.format),
        force=options.force,
        places=[file.place for file in inputs.files],
        mirrors=inputs.mirrors,
        is_ours=lambda path: (
            resumed and (written_unchanged(folder or Path(), path) or is_sealed(path))
        ),
        makes_folders=not options.dry_run,
    )
    if options.benchmark_output is not None:
        names = [file.name for file in inputs.files]
        check_report_path(options.benchmark_output, names, targets)
    return targets


def plan_pictures(
    names: Sequence[str], inputs: Inputs, targets: Sequence[Path | None], options: Options
) -> "Sequence[FigurePlace | None]":
    """Return where the figures of each input go, None where none are wanted.

    Args:
        names: What the user gave as inputs.
        inputs: The inputs.
        targets: The transcripts, None for standard output.
        options: The settings.

    Raises:
        UsageError: Two inputs would share names, or an input would be overwritten.
        OutputError: A figure exists already, or the folder cannot be written to.
    """
    if options.figures is None:
        return [None] * len(inputs.files)
    from ocrcli.figures import plan_figures

    return plan_figures(
        options.figures,
        names,
        [file.name for file in inputs.files],
        [file.place for file in inputs.files],
        targets,
        splits=options.split_pages,
        replaces=options.force,
        resumes=is_resumed(options, mirrors=inputs.mirrors),
        makes_folder=not options.dry_run,
    )


def _transcribe(
    tasks: "Sequence[Task]", inputs: Inputs, options: Options, resumption: "Resumption"
) -> int:
    from ocrcli.batch import BatchRun
    from ocrcli.console import Console, new_progress
    from ocrcli.pipeline import Transcript
    from ocrcli.recogniser import ModelRecogniser

    started = time.perf_counter()
    quiet = options.verbosity < 0
    progress = new_progress(options.progress, sys.stderr, os.environ, quiet=quiet)
    console = Console(progress, sys.stderr, options.verbosity)
    recogniser = ModelRecogniser(options)
    recogniser.say = None if quiet else console.line
    with guarded_stdout() as stream, contextlib.closing(console):

        def write(text: str) -> None:
            # A bar on the same terminal would be drawn into the transcript.
            with console.paused() if stream.isatty() else contextlib.nullcontext():
                write_stdout(stream, text)

        text_format = OutputFormat.TXT if options.format is OutputFormat.PDF else options.format
        stdout = Transcript(new_writer(text_format, options.page_marks), write)
        if options.jobs > 1 and len(tasks) > 1 and all(task.target for task in tasks):
            from ocrcli.parallel import ParallelRun

            batch = ParallelRun(options, console, resumption).run(tasks, inputs.unreadable)
        else:
            batch_run = BatchRun(options, recogniser, stdout, console, resumption)
            batch = batch_run.run(tasks, inputs.unreadable)
            if options.output is None or options.output == STDOUT:
                stdout.end()
        for key in recogniser.unknown_keys:
            console.warning("config.json", None, f'unknown setting "{key}" was ignored')
        console.batch_done(batch, time.perf_counter() - started)
        if options.benchmark:
            _report(batch, recogniser, options, console)
    return batch.exit_code


def _report(batch: "Batch", recogniser: "Recogniser", options: Options, console: "Console") -> None:
    from ocrcli.benchmark import build_report, format_report, save_report, seconds_since_start

    used = (document.model for document in batch.documents if document.model)
    model = recogniser.facts or next(used, None)
    report = build_report(batch, model, recogniser.load_seconds, seconds_since_start())
    console.line(format_report(report))
    if options.benchmark_output is None:
        console.line(json.dumps(report))
    else:
        save_report(report, options.benchmark_output)


def _dry_run(names: Sequence[str], inputs: Inputs, options: Options) -> int:
    from ocrcli.forecast import forecast

    targets = plan(inputs, options)
    plan_pictures(names, inputs, targets, options)
    tasks = list(zip(inputs.files, targets, strict=True))
    code: int = ExitCode.OK
    with guarded_stdout() as stream:
        for line in forecast(tasks, options, inputs.unreadable):
            write_stdout(stream, f"{line.text}\n")
            code = code or line.exit_code
    return ExitCode.INPUTS_FAILED if code and inputs.count > 1 else code
