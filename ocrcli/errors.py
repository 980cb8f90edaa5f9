"""What can go wrong for a user, each with its exit code and what to do about it.

Every module raises these; only the command line prints them and turns them into an exit status, so
that a library caller can catch `OcrError` and read the same facts.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The documented exit codes of `ocrcli`; scripts rely on them, so they never change.

    Attributes:
        OK: Every input produced a complete result.
        INPUTS_FAILED: Several inputs were given and at least one failed.
        USAGE: A bad option, a bad page range, or outputs that would collide.
        INPUT: The input is missing, unreadable or of no supported type.
        DAMAGED: The input is damaged or has no pages.
        OUTPUT: The output exists already or cannot be written.
        ENCRYPTED: A password is missing or wrong.
        MODEL: The model is missing or does not fit.
        DEVICE: The device is unavailable or out of memory.
        DEGRADED: With --strict: complete, but pages are doubtful.
        PAGES_FAILED: Pages of a single input could not be transcribed.
        UNEXPECTED: An error that is ours.
        TIMEOUT: The time limit for the whole run was reached.
        HUNG_UP: Stopped because the terminal was closed (SIGHUP).
        INTERRUPTED: Stopped by Ctrl-C.
        READER_GONE: The program reading the transcript closed the pipe.
        TERMINATED: Stopped by SIGTERM.
    """

    OK = 0
    INPUTS_FAILED = 1
    USAGE = 2
    INPUT = 3
    DAMAGED = 4
    OUTPUT = 5
    ENCRYPTED = 6
    MODEL = 7
    DEVICE = 8
    DEGRADED = 9
    PAGES_FAILED = 10
    UNEXPECTED = 70
    TIMEOUT = 124
    HUNG_UP = 129
    INTERRUPTED = 130
    READER_GONE = 141
    TERMINATED = 143


def printable(text: str) -> str:
    """Return text that stays on one line and moves no cursor: anything else is shown escaped.

    Args:
        text: Names of files, for example, which may hold any character.
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def json_text(text: str) -> str:
    """Return text that JSON can hold: bytes of names that are no UTF-8 are shown as escapes.

    Args:
        text: Names of files, for example.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class OcrError(Exception):
    """Anything a user or a file can cause.

    Attributes:
        exit_code: Exit status of the command when this is the only failure.
        kind: Short name for records, such as "encrypted".
        message: What was wrong, without the file's name.
        source: The file concerned as the user named it, or None.
        next_action: A sentence on what to do about it; may be empty.
    """

    exit_code = ExitCode.UNEXPECTED
    kind = "error"
    default_action = ""

    def __init__(
        self, message: str, *, source: str | None = None, next_action: str | None = None
    ) -> None:
        """Store the facts.

        Args:
            message: What was wrong, in one sentence without a full stop.
            source: The file concerned.
            next_action: What to do about it; None for the advice that fits every error of its kind.
        """
        super().__init__(message)
        self.message = message
        self.source = source
        self.next_action = self.default_action if next_action is None else next_action

    def __reduce__(self) -> tuple[object, ...]:
        """Let errors travel between processes, whatever their constructors ask for."""
        return _restored, (type(self), dict(self.__dict__))

    def __str__(self) -> str:
        """Return `FILE: message; next action`, leaving out what is unknown."""
        where = f"{self.source}: " if self.source else ""
        advice = f"; {self.next_action}" if self.next_action else ""
        return f"{where}{self.message}{advice}"


def _restored(kind: type[OcrError], facts: dict[str, object]) -> OcrError:
    error = kind.__new__(kind)
    error.__dict__.update(facts)
    return error


class UsageError(OcrError):
    """The command was called in a way that has no meaning."""

    exit_code = ExitCode.USAGE
    kind = "usage"
    default_action = "see ocrcli --help"


class InputError(OcrError):
    """An input that is missing, unreadable or of no supported type."""

    exit_code = ExitCode.INPUT
    kind = "input"


class DamagedError(OcrError):
    """An input of a supported type that holds no page that can be read."""

    exit_code = ExitCode.DAMAGED
    kind = "damaged"


class OutputError(OcrError):
    """An output that exists already or cannot be written."""

    exit_code = ExitCode.OUTPUT
    kind = "output"


class EncryptedError(OcrError):
    """A PDF whose password is missing or wrong."""

    exit_code = ExitCode.ENCRYPTED
    kind = "encrypted"
    default_action = (
        "give the password with --password-file, --password-stdin or OCRCLI_PDF_PASSWORD"
    )


class ModelError(OcrError):
    """A model that is missing, or whose files do not fit."""

    exit_code = ExitCode.MODEL
    kind = "model"


class DeviceError(OcrError):
    """A device that is unavailable or out of memory."""

    exit_code = ExitCode.DEVICE
    kind = "device"
    default_action = "use --device cpu"


class PagesFailedError(OcrError):
    """A document of which at least one page could not be transcribed.

    Attributes:
        page_numbers: The pages concerned.
    """

    exit_code = ExitCode.PAGES_FAILED
    kind = "pages_failed"

    def __init__(
        self, page_numbers: tuple[int, ...], pages_total: int, *, source: str | None = None
    ) -> None:
        """Store which of how many pages failed."""
        self.page_numbers = page_numbers
        shown = ", ".join(str(number) for number in page_numbers[:10])
        more = ", …" if len(page_numbers) > 10 else ""
        super().__init__(
            f"{len(page_numbers)} of {pages_total} pages could not be transcribed "
            f"(page {shown}{more})",
            source=source,
        )


class EarlierFailureError(PagesFailedError):
    """A document whose pages failed in an earlier run, and that is not tried again."""

    def __init__(self, *, source: str | None = None) -> None:
        """Say so; which pages it were is in the output."""
        super().__init__((), 0, source=source)
        self.message = "pages failed in an earlier run"
        self.next_action = "use --retry failed"


class DegradedError(OcrError):
    """A document with doubtful pages, where none was to be tolerated."""

    exit_code = ExitCode.DEGRADED
    kind = "degraded"

    def __init__(self, num_degraded: int, pages_total: int, *, source: str | None = None) -> None:
        """Store how many pages are doubtful."""
        super().__init__(f"{num_degraded} of {pages_total} pages are doubtful", source=source)


class RunTimeoutError(OcrError):
    """The whole run took too long."""

    exit_code = ExitCode.TIMEOUT
    kind = "timeout"
    default_action = "give --timeout more seconds, or go on with --resume"
