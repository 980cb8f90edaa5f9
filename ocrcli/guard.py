"""Whatever stops a command becomes at most one line on stderr and an exit code."""

import contextlib
import sys
import traceback
from collections.abc import Callable

from ocrcli.errors import ExitCode, OcrError, RunTimeoutError, printable
from ocrcli.interruption import Stopped, stoppable


def guarded(work: Callable[[], int], verbosity: int = 0, timeout_s: float | None = None) -> int:
    """Do the work and return its exit code, or that of what stopped it.

    Args:
        work: Returns an exit code.
        verbosity: From 2 on, tracebacks are printed.
        timeout_s: Seconds after which the work is stopped, or None.
    """
    try:
        with stoppable(timeout_s):
            return work()
    except OcrError as error:
        _print_traceback(verbosity)
        print_error(error)
        return error.exit_code
    except BrokenPipeError:
        return ExitCode.READER_GONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Stopped as stopped:
        if stopped.exit_code is ExitCode.TIMEOUT:
            print_error(RunTimeoutError(f"the run was stopped after {timeout_s:g} s"))
        return stopped.exit_code
    except Exception as error:
        _print_traceback(verbosity)
        advice = "" if verbosity > 1 else "-vv shows where"
        print_error(OcrError(f"unexpected {type(error).__name__}: {error}", next_action=advice))
        return ExitCode.UNEXPECTED


def print_error(error: OcrError) -> None:
    """Print an error in one line, and what to do about it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"ocrcli: error: {printable(str(error))}\n")
        sys.stderr.flush()


def _print_traceback(verbosity: int) -> None:
    if verbosity > 1:
        traceback.print_exc()
