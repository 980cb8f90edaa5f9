"""Requests to stop: once, twice, and while something is being written."""

import os
import signal

import pytest

from ocrcli.errors import ExitCode
from ocrcli.interruption import Stopped, shielded, stoppable


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
)
def test_signal_stops_the_work(number, code):
    with pytest.raises(Stopped) as caught, stoppable():
        os.kill(os.getpid(), number)
    assert caught.value.exit_code == code


def test_first_signal_waits_for_what_is_being_written():
    done = []
    with pytest.raises(Stopped), stoppable():
        with shielded():
            interrupt()
            done.append("written")
        done.append("went on")
    assert done == ["written"]


def test_second_signal_does_not_wait():
    done = []
    with pytest.raises(Stopped), stoppable(), shielded():
        interrupt()
        interrupt()
        done.append("written")
    assert done == []


def test_time_limit_stops_the_work():
    with pytest.raises(Stopped) as caught, stoppable(timeout_s=0.01):
        signal.pause()
    assert caught.value.exit_code == ExitCode.TIMEOUT


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with stoppable(timeout_s=60):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
