"""The command line: arguments to options, exceptions to one line and an exit code.

Nothing heavy is imported here before a command runs, so that `--help` answers at once.
"""

import contextlib
import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ocrcli import __version__
from ocrcli.errors import ExitCode, InputError, OcrError, UsageError, printable
from ocrcli.options import (
    Device,
    Dtype,
    Environment,
    Options,
    OutputFormat,
    PageSelection,
    ProgressStyle,
    ReadingMode,
)

if TYPE_CHECKING:
    from ocrcli.batch import Batch
    from ocrcli.console import Console
    from ocrcli.recogniser import Recogniser

# Typer brings its own copy of click or uses the installed one; either way this is the base class.
_BadUsage: type[Exception] = typer.BadParameter.__mro__[1]

_EXIT_CODES = (
    "Exit codes: 0 complete; 1 several inputs, at least one failed; 2 usage; 3 input missing or "
    "unsupported; 4 input damaged; 5 output; 6 password; 7 model; 8 device; 10 pages failed; "
    "70 unexpected; 130 interrupted; 141 reader gone; 143 terminated."
)

app = typer.Typer(
    help="Turn PDFs and pictures of printed pages into text, offline.",
    epilog=_EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
models = typer.Typer(help="Show what is known of a model.", rich_markup_mode=None)
app.add_typer(models, name="models")


class _Terminated(BaseException):
    """SIGTERM arrived."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        argv: Arguments without the program's name; None for those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        code = app(arguments or ["--help"], prog_name="ocrcli", standalone_mode=False)
    except _BadUsage as problem:
        message = getattr(problem, "format_message", problem.__str__)()
        _print_error(UsageError(message.rstrip(".")))
        return ExitCode.USAGE
    except OcrError as error:
        _print_error(error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    return int(code or 0)


def _open_streams() -> None:
    """Make sure that descriptors 0 to 2 are taken, and that stderr can print any name.

    With a closed one, the next file to be opened would take its place. Writing to a standard output
    that was closed still fails, as it should.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"ocrcli {__version__}")
        raise typer.Exit


@app.command(epilog=_EXIT_CODES)
def transcribe(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="PDF, PNG, JPEG, TIFF, WebP, BMP, GIF.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="File to write; or folder, if it exists, ends in a slash or there are several "
            "inputs: then each input becomes NAME.txt (.md, .jsonl) in it. Without -o, every "
            "transcript goes to standard output, in the order of the inputs.",
        ),
    ] = None,
    pages: Annotated[
        str | None, typer.Option(metavar="LIST", help="Pages to read, such as 1-3,7.")
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", "-f", help="What to write.")
    ] = Options.format,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Folder, safetensors file or org/name[@revision]."),
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="Where the model runs [default: auto].")
    ] = None,
    dtype: Annotated[
        Dtype,
        typer.Option(help="auto is float32 on CPU, bfloat16 on GPU; int8 saves memory."),
    ] = Options.dtype,
    progress: Annotated[
        ProgressStyle, typer.Option(help="How progress is shown on stderr.")
    ] = Options.progress,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Report times and rates on stderr.")
    ] = False,
    benchmark_output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the report's JSON to FILE, not to stderr."),
    ] = None,
    pages_in_flight: Annotated[
        int | None, typer.Option(metavar="N", help="Pages worked on at once.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Cut a page after N tokens.")
    ] = None,
    mode: Annotated[
        ReadingMode,
        typer.Option(help="Large models: a lone page in tiles, or many pages in one pass."),
    ] = Options.mode,
    pages_per_window: Annotated[
        int | None, typer.Option(metavar="N", help="Large models: most pages in one pass.")
    ] = None,
    max_crops: Annotated[
        int | None, typer.Option(metavar="N", help="Large models: most tiles of a lone page.")
    ] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="CPU threads.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing outputs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="More detail; -vv: tracebacks.",
        ),
    ] = 0,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="First line is the PDFs' password.")
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
) -> int:
    """Transcribe documents.

    The transcript goes to standard output or to files, everything else to stderr. An encrypted
    PDF's password may also be set in OCRCLI_PDF_PASSWORD.
    """
    environment = Environment.read()
    options = Options(
        output=output,
        pages=PageSelection() if pages is None else PageSelection.parse(pages),
        format=format_,
        model=model or environment.model,
        device=device or environment.device or Options.device,
        dtype=dtype,
        progress=progress,
        benchmark=benchmark or benchmark_output is not None,
        benchmark_output=benchmark_output,
        pages_in_flight=pages_in_flight,
        max_tokens=max_tokens,
        mode=mode,
        pages_per_window=pages_per_window,
        max_crops=max_crops,
        threads=threads,
        force=force,
        verbosity=-1 if quiet else verbose,
        password=_password(password_file, password_stdin) or environment.password,
    )
    return _guarded(lambda: _transcribe(inputs, options), options.verbosity)


@app.command("calibrate-router")
def calibrate_router(
    document: Annotated[str, typer.Argument(help="A PDF or picture whose transcript is known.")],
    reference: Annotated[
        Path, typer.Option(metavar="FILE", help="Its transcript, <PAGE> before each page.")
    ],
    model: Annotated[
        Path, typer.Option(metavar="MODEL", help="Unlimited-OCR of the second generation.")
    ],
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.AUTO,
) -> int:
    """Measure which of a large model's open settings make a known document most likely."""
    return _guarded(lambda: _calibrate(document, reference, model, device), 0)


@models.command("info")
def models_info(
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Folder, safetensors file or org/name[@revision]."),
    ] = None,
    verbose: Annotated[
        int,
        typer.Option("--verbose", "-v", count=True, show_default=False, help="-vv: tracebacks."),
    ] = 0,
) -> int:
    """Show a model's files, hashes, what it reads, and its settings."""
    chosen = model or Environment.read().model
    return _guarded(lambda: _models_info(chosen), verbose)


def _transcribe(inputs: Sequence[str], options: Options) -> int:
    from ocrcli.outputs import plan_outputs
    from ocrcli.writers import new_writer, suffix_of

    targets = plan_outputs(inputs, options.output, suffix_of(options.format), force=options.force)
    # Reading files takes a second to load; what is wrong with the outputs is said before.
    from ocrcli.batch import run_batch
    from ocrcli.console import Console, guarded_stdout, new_progress, write_stdout
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

        stdout = Transcript(new_writer(options.format), write)
        batch = run_batch(inputs, targets, options, recogniser, stdout, console)
        stdout.end()
        console.batch_done(batch, time.perf_counter() - started)
        if options.benchmark:
            _report(batch, recogniser, options, console)
    return batch.exit_code


def _report(batch: "Batch", recogniser: "Recogniser", options: Options, console: "Console") -> None:
    import json

    from ocrcli.benchmark import build_report, format_report, save_report, seconds_since_start

    report = build_report(batch, recogniser.facts, recogniser.load_seconds, seconds_since_start())
    console.line(format_report(report))
    if options.benchmark_output is None:
        console.line(json.dumps(report))
    else:
        save_report(report, options.benchmark_output)


def _models_info(model: Path | None) -> int:
    from ocrcli.model_info import describe_model

    with contextlib.suppress(BrokenPipeError):
        typer.echo(describe_model(model))
    return ExitCode.OK


def _calibrate(document: str, reference: Path, model: Path, device: Device) -> int:
    from ocrcli.known_document import calibration_report
    from ocrcli.recogniser import chosen_device

    for line in calibration_report(document, reference, model, chosen_device(device)):
        typer.echo(line)
    return ExitCode.OK


def _password(file: Path | None, from_stdin: bool) -> str | None:
    if file is not None and from_stdin:
        raise UsageError(
            "--password-file and --password-stdin exclude each other", next_action="use one"
        )
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if file is None:
        return None
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the password file cannot be read", source=str(file)) from error


def _guarded(work: Callable[[], int], verbosity: int) -> int:
    """Do the work; whatever stops it becomes at most one line and an exit code."""
    try:
        with _terminable():
            return work()
    except OcrError as error:
        _print_traceback(verbosity)
        _print_error(error)
        return error.exit_code
    except BrokenPipeError:
        return ExitCode.READER_GONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except _Terminated:
        return ExitCode.TERMINATED
    except Exception as error:
        _print_traceback(verbosity)
        advice = "" if verbosity > 1 else "-vv shows where"
        _print_error(OcrError(f"unexpected {type(error).__name__}: {error}", next_action=advice))
        return ExitCode.UNEXPECTED


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that unfinished files are removed."""

    def stop(number: int, frame: object) -> None:
        raise _Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:
        # Signals belong to the main thread; elsewhere they are somebody else's business.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_error(error: OcrError) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"ocrcli: error: {printable(str(error))}\n")
        sys.stderr.flush()


def _print_traceback(verbosity: int) -> None:
    if verbosity > 1:
        traceback.print_exc()
