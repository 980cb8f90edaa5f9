"""The three standard streams: there from the start, guarded while we work, settled in the end.

stdout is the transcript and nothing else, whatever libraries print.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import IO

from ocrcli.errors import OutputError


def open_streams() -> None:
    """Make sure that descriptors 0 to 2 are taken, and that stdout and stderr can print any name.

    With a closed one, the next file to be opened would take its place. Reading from a standard
    input that was closed yields nothing; writing to a standard output that was closed still fails,
    as it should.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def settle_streams() -> None:
    """Hand over what is left; what cannot be delivered is dropped without another word.

    Python would try once more when it exits, complain, and replace the exit code.
    """
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


@contextlib.contextmanager
def guarded_stdout() -> Iterator[IO[str]]:
    """Give the caller standard output and send everyone else's output to stderr.

    Libraries print, in Python and below it. Inside this context whatever they write to descriptor 1
    ends up on stderr; only the yielded stream reaches the reader of the transcript.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    kept = os.dup(1)
    stream = os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield stream
    finally:
        # What could not be delivered was reported when it was written.
        with contextlib.suppress(OSError, ValueError):
            stream.close()
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def write_stdout(stream: IO[str], text: str) -> None:
    """Write text and hand it over at once.

    Args:
        stream: Standard output.
        text: The text.

    Raises:
        BrokenPipeError: Nobody reads any more.
        OutputError: It cannot be written for another reason.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise undelivered(error) from error


def undelivered(error: OSError) -> OutputError:
    """Return what to raise when standard output cannot be written."""
    return OutputError(f"cannot be written: {error.strerror or error}", source="standard output")
