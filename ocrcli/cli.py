"""The command line: arguments to options, exceptions to one line and an exit code.

Nothing heavy is imported here before a command runs, so that `--help` answers at once.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ocrcli import __version__
from ocrcli.errors import ExitCode, OcrError, UsageError
from ocrcli.guard import print_error
from ocrcli.info_commands import config, doctor, models, schema
from ocrcli.interruption import Stopped
from ocrcli.model_commands import calibrate_router
from ocrcli.transcribe_command import transcribe

# Typer brings its own copy of click or uses the installed one; either way this is the base class.
_BadUsage: type[Exception] = typer.BadParameter.__mro__[1]

_EXIT_CODES = (
    "Exit codes: 0 complete; 1 several inputs, at least one failed; 2 usage; 3 input missing or "
    "unsupported; 4 input damaged; 5 output; 6 password; 7 model; 8 device; 9 doubtful pages and "
    "--strict; 10 pages failed; 70 unexpected; 124 time limit of the run; 130 interrupted; "
    "141 reader gone; 143 terminated."
)

app = typer.Typer(
    help="Turn PDFs and pictures of printed pages into text, offline.",
    epilog=_EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(epilog=_EXIT_CODES)(transcribe)
app.command("calibrate-router")(calibrate_router)
app.command()(schema)
app.command()(doctor)
app.add_typer(models, name="models")
app.add_typer(config, name="config")


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
        print_error(UsageError(message.rstrip(".")))
        return ExitCode.USAGE
    except OcrError as error:
        print_error(error)
        return error.exit_code
    except Stopped as stopped:
        return stopped.exit_code
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
