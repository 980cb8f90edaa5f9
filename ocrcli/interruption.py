"""How a run is stopped from outside: by signals and by the time limit for the whole run.

The first request to stop unwinds the stack as soon as nothing is half-written; a second one does so
at once. Signals belong to the process, and so does the state here.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from ocrcli.errors import ExitCode

_ALARM: int | None = getattr(signal, "SIGALRM", None)
_CODES: dict[int, ExitCode] = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
}
if hasattr(signal, "SIGHUP"):
    _CODES[signal.SIGHUP] = ExitCode.HUNG_UP


class Stopped(BaseException):
    """The run was told to stop.

    Attributes:
        exit_code: What the command ends with.
    """

    def __init__(self, exit_code: ExitCode) -> None:
        """Store the exit code."""
        super().__init__(exit_code.name.lower())
        self.exit_code = exit_code


@dataclass
class _State:
    shields: int = 0
    requests: int = 0
    pending: ExitCode | None = None


_state = _State()


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Keep the first request to stop waiting until a short piece of work is complete."""
    _state.shields += 1
    try:
        yield
    finally:
        _state.shields -= 1
        if not _state.shields and _state.pending is not None:
            code, _state.pending = _state.pending, None
            raise Stopped(code)


@contextlib.contextmanager
def stoppable(timeout_s: float | None = None) -> Iterator[None]:
    """Turn requests to stop into `Stopped` while this context lasts.

    A signal that the process was started to ignore (by `nohup`, for example) stays ignored. Only
    the main thread hears signals; elsewhere this context changes nothing.

    Args:
        timeout_s: Wall time after which the run is stopped, or None. Systems without SIGALRM
            notice it only between two pages.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.shields, _state.requests, _state.pending = 0, 0, None
    numbers = [*_CODES, *([_ALARM] if _ALARM is not None else [])]
    before = {
        number: signal.signal(number, _on_signal)
        for number in numbers
        if number == _ALARM or signal.getsignal(number) is not signal.SIG_IGN
    }
    timer = _start_timer(timeout_s)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        if _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _start_timer(timeout_s: float | None) -> threading.Timer | None:
    if timeout_s is None:
        return None
    if _ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        return None
    timer = threading.Timer(timeout_s, _on_time)
    timer.daemon = True
    timer.start()
    return timer


def _on_time() -> None:
    _state.pending = ExitCode.TIMEOUT


def _on_signal(number: int, frame: FrameType | None) -> None:
    code = _CODES.get(signal.Signals(number), ExitCode.TIMEOUT)
    _state.requests += 1
    if _state.shields and _state.requests == 1:
        _state.pending = code
        return
    _state.pending = None
    raise Stopped(code)
