"""The command line: arguments to options, exceptions to one line and an exit code.

Nothing heavy is imported here before a command runs, so that `--help` answers at once.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ocrcli import __version__
from ocrcli.errors import ExitCode, OcrError, UsageError
from ocrcli.guard import print_error
from ocrcli.info_commands import config, doctor, models, schema, show_model
from ocrcli.interruption import Stopped
from ocrcli.model_commands import calibrate_router, verify
from ocrcli.paths import Kind, kind_of
from ocrcli.streams import open_streams, settle_streams, undelivered
from ocrcli.transcribe_command import transcribe

# Typer brings its own copy of click or uses the installed one; either way this is the base class.
_BadUsage: type[Exception] = typer.BadParameter.__mro__[1]

_EXIT_CODES = (
    "Exit codes: 0 complete; 1 several inputs, at least one failed; 2 usage; 3 input missing or "
    "unsupported; 4 input damaged; 5 output; 6 password; 7 model; 8 device; 9 doubtful pages and "
    "--strict; 10 pages failed; 70 unexpected; 124 time limit of the run; 129 terminal closed; "
    "130 interrupted; 141 reader gone; 143 terminated."
)

app = typer.Typer(
    help="Turn PDFs and pictures of printed pages into text, offline.",
    epilog=_EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(epilog=_EXIT_CODES)(transcribe)
app.command("calibrate-router")(calibrate_router)
app.command()(verify)
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
    open_streams()
    try:
        return _run(arguments)
    finally:
        settle_streams()


def _run(arguments: Sequence[str]) -> int:
    try:
        code = app(arguments or ["--help"], prog_name="ocrcli", standalone_mode=False)
    except _BadUsage as problem:
        message = getattr(problem, "format_message", problem.__str__)()
        print_error(UsageError(message.rstrip("."), next_action=_advice(arguments)))
        return ExitCode.USAGE
    except OcrError as error:
        print_error(error)
        return error.exit_code
    except Stopped as stopped:
        return stopped.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.READER_GONE
    except SystemExit as end:
        # Typer ends the program so when the reader of a help text leaves.
        if isinstance(end.__context__, BrokenPipeError):
            return ExitCode.READER_GONE
        raise
    except OSError as error:
        # The only thing that is done outside of commands is printing help and the version.
        print_error(undelivered(error))
        return ExitCode.OUTPUT
    return int(code or 0)


def _advice(arguments: Sequence[str]) -> str | None:
    """Return what to do about a file whose name was taken for an option."""
    for argument in arguments:
        if argument.startswith("-") and argument != "-" and kind_of(argument) is not Kind.ABSENT:
            return f'a file of that name is written "./{argument}"'
    return None


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: name the model, too.")
    ] = False,
) -> None:
    if verbose and not version:
        raise UsageError(
            "-v before the command goes with --version only",
            next_action="write it after the command",
        )
    if version:
        typer.echo(f"ocrcli {__version__}")
        code = show_model() if verbose else ExitCode.OK
        raise typer.Exit(code)
