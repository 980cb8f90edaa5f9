"""`ocrcli transcribe`: its options, and how they become settings."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ocrcli.errors import EncryptedError, InputError, UsageError
from ocrcli.guard import guarded
from ocrcli.model_flags import DeviceFlag, DtypeFlag, MaxTokensFlag, ModelFlag, ThreadsFlag
from ocrcli.options import (
    Options,
    OutputFormat,
    PageSelection,
    ProgressStyle,
    ReadingMode,
    Retry,
    TextLayer,
)
from ocrcli.settings import resolve
from ocrcli.textstyle import Formulas, Hyphens, Layout, Margins, PageMarks, Tables


def transcribe(
    context: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="PDF, PNG, JPEG, TIFF, WebP, BMP, GIF, JPEG 2000, HEIC, AVIF; folders, with all "
            "that is in them; - for standard input.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="File to write; or folder, if it exists, ends in a slash or there are several "
            "inputs: then each input becomes NAME.txt (.md, .jsonl) in it, and an input folder is "
            "mirrored. Without -o, every transcript goes to standard output, in the order of the "
            "inputs.",
        ),
    ] = None,
    files_from: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read more inputs from FILE, one a line; - is stdin."),
    ] = None,
    pages: Annotated[
        str | None, typer.Option(metavar="LIST", help="Pages to read, such as 1-3,7.")
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", "-f", help="What to write.")
    ] = Options.format,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Cut figures out into DIR, as NAME-p003-1.png; Markdown and JSON name them.",
        ),
    ] = None,
    split_pages: Annotated[
        bool,
        typer.Option(
            "--split-pages", help="One file per page, in a folder per input; not for pdf."
        ),
    ] = False,
    page_marks: Annotated[
        PageMarks, typer.Option(help="What stands between pages.")
    ] = Options.page_marks,
    layout: Annotated[Layout, typer.Option(help="Order and place of blocks.")] = Options.layout,
    dehyphenate: Annotated[
        Hyphens, typer.Option(help="Mend words broken at line ends; auto: in Markdown.")
    ] = Options.dehyphenate,
    tables: Annotated[Tables, typer.Option(help="How tables are written.")] = Options.tables,
    math: Annotated[Formulas, typer.Option(help="How formulas are written.")] = Options.math,
    headers: Annotated[
        Margins, typer.Option(help="What to do with page headers, footers and numbers.")
    ] = Options.headers,
    raw: Annotated[bool, typer.Option("--raw", help="Keep ligatures as printed.")] = False,
    text_layer: Annotated[
        TextLayer, typer.Option(help="Take the text that a PDF carries: auto where it is sound.")
    ] = Options.text_layer,
    all_frames: Annotated[
        bool, typer.Option("--all-frames", help="Read every frame of GIF, WebP and PNG.")
    ] = False,
    max_pixels: Annotated[
        int, typer.Option(metavar="N", help="Refuse pictures with more pixels.")
    ] = Options.max_pixels,
    model: ModelFlag = None,
    device: DeviceFlag = Options.device,
    dtype: DtypeFlag = Options.dtype,
    pages_in_flight: Annotated[
        int | None, typer.Option(metavar="N", help="Pages worked on at once.")
    ] = None,
    max_tokens: MaxTokensFlag = None,
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
    rotate: Annotated[
        bool,
        typer.Option("--rotate/--no-rotate", help="Turn pages that lie on their side."),
    ] = Options.rotate,
    no_repeat_ngram: Annotated[
        str | None,
        typer.Option(metavar="N:M", help="Write no N tokens twice within M; off for never."),
    ] = None,
    instruction: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Large models: what follows the pages.")
    ] = None,
    threads: ThreadsFlag = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Inputs worked on at once, with -o and several inputs.")
    ] = Options.jobs,
    attempts: Annotated[
        int, typer.Option(metavar="N", help="Readings of a doubtful page at most, 1 to 3.")
    ] = Options.attempts,
    page_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Give a page up after this time.")
    ] = None,
    file_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Give a file up after this time.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop the run after this time.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on doubtful pages and repaired files.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure.")
    ] = False,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--no-resume", help="Skip what is finished [default: for folders only]."
        ),
    ] = None,
    retry: Annotated[Retry, typer.Option(help="What to try again when resuming.")] = Options.retry,
    force: Annotated[
        bool, typer.Option("--force", help="Replace existing outputs and redo finished work.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List pages, outputs and an estimate of the time.")
    ] = False,
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

    The transcript goes to standard output or to files, everything else to stderr. Most options can
    also be set in OCRCLI_NAME, in ./ocrcli.toml and in the user's own file; ocrcli config show
    tells where. An encrypted PDF's password may be set in OCRCLI_PDF_PASSWORD.
    """
    names = inputs or []
    if not names and files_from is None:
        raise UsageError("Missing argument 'INPUT...'")
    if password_stdin and ("-" in names or files_from == "-"):
        raise UsageError(
            "standard input cannot hold both the password and an input",
            next_action="use --password-file",
        )
    settings = resolve(_given(context), os.environ, Path())
    values = {name: setting.value for name, setting in settings.items()}
    options = Options(
        **{
            **values,
            "output": output,
            "figures": figures,
            "pages": PageSelection() if pages is None else PageSelection.parse(pages),
            "benchmark": bool(values["benchmark"]) or benchmark_output is not None,
            "benchmark_output": benchmark_output,
            "force": force,
            "dry_run": dry_run,
            "verbosity": -1 if quiet else verbose,
            "password": _password(password_file, password_stdin)
            or os.environ.get("OCRCLI_PDF_PASSWORD"),
        }  # type: ignore[arg-type]
    )

    def work() -> int:
        from ocrcli.run import run

        return run(names, files_from, options)

    return guarded(work, options.verbosity, options.timeout)


def _given(context: typer.Context) -> dict[str, object]:
    """Return what the command line said, by the names of the settings."""
    return {
        name.rstrip("_"): value
        for name, value in context.params.items()
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }


def _password(file: Path | None, from_stdin: bool) -> str | None:
    if file is not None and from_stdin:
        raise UsageError(
            "--password-file and --password-stdin exclude each other", next_action="use one"
        )
    if file is None and not from_stdin:
        return None
    source = "standard input" if file is None else str(file)
    try:
        if file is None:
            line = sys.stdin.buffer.readline()
        else:
            with file.open("rb") as stream:
                line = stream.readline()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"the password cannot be read: {reason}", source=source) from error
    # Bytes that are no UTF-8 are reported by the file that needs the password.
    password = os.fsdecode(line.rstrip(b"\r\n"))
    if not password:
        raise EncryptedError("there is no password on the first line", source=source)
    return password
