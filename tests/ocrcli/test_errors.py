"""Errors say what was wrong and what to do, on one line."""

import inspect

import pytest

from ocrcli import errors
from ocrcli.errors import EncryptedError, ExitCode, OcrError, PagesFailedError, printable

KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if OcrError in kind.__bases__
]


def test_exit_codes_are_frozen():
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "INPUTS_FAILED": 1,
        "USAGE": 2,
        "INPUT": 3,
        "DAMAGED": 4,
        "OUTPUT": 5,
        "ENCRYPTED": 6,
        "MODEL": 7,
        "DEVICE": 8,
        "DEGRADED": 9,
        "PAGES_FAILED": 10,
        "UNEXPECTED": 70,
        "TIMEOUT": 124,
        "HUNG_UP": 129,
        "INTERRUPTED": 130,
        "READER_GONE": 141,
        "TERMINATED": 143,
    }


def test_every_kind_of_error_has_a_code_and_a_name_of_its_own():
    assert len({kind.exit_code for kind in KINDS}) == len(KINDS)
    assert len({kind.kind for kind in KINDS}) == len(KINDS)


def test_message_names_the_file_and_the_next_step():
    error = EncryptedError("needs a password", source="a.pdf")
    assert str(error).startswith("a.pdf: needs a password; give the password with --password-file")


def test_next_step_can_be_left_out():
    assert str(OcrError("odd", next_action="")) == "odd"


def test_failed_pages_are_listed_but_not_endlessly():
    assert "(page 3, 5)" in str(PagesFailedError((3, 5), 9))
    assert str(PagesFailedError(tuple(range(1, 40)), 99)).endswith("9, 10, …)")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\nb", r"a\nb"), ("\x1b[31m", r"\x1b[31m"), ("é ü", "é ü"), ("\udcff", r"\udcff")],
)
def test_printable_text_stays_on_its_line(name, shown):
    assert printable(name) == shown
