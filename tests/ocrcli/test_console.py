"""Messages on stderr and the guard around stdout."""

import io
import os

import pytest

from ocrcli.console import Console
from ocrcli.document import Document, Notice, Page, PageStatus, Source
from ocrcli.errors import InputError, OutputError
from ocrcli.progress import NoProgress
from ocrcli.streams import guarded_stdout, write_stdout


@pytest.fixture
def document() -> Document:
    return Document(Source("a.pdf", "0" * 64, 9, 9, (Notice("repaired", "was repaired"),)))


def said(document, pages, verbosity=0):
    stream = io.StringIO()
    console = Console(NoProgress(), stream, verbosity)
    console.file_started(document, 1, 1)
    for page in pages:
        console.page_done(document, page)
    return stream.getvalue().splitlines()


def noted(number, status=PageStatus.OK, code="downscaled"):
    return Page(number, status, warnings=(Notice(code, "is small"),))


def test_errors_take_one_line():
    stream = io.StringIO()
    Console(NoProgress(), stream).error(InputError("odd\nname", source="a\nb"))
    assert stream.getvalue() == "ocrcli: error: a\\nb: odd\\nname\n"


def test_page_warnings_name_file_and_page(document):
    assert said(document, [noted(3)]) == [
        "ocrcli: warning: a.pdf: was repaired",
        "ocrcli: warning: a.pdf: page 3: is small",
    ]


def test_what_holds_for_every_page_is_said_once(document):
    assert len(said(document, [noted(1), noted(2), noted(3)])) == 2
    assert len(said(document, [noted(1), noted(2), noted(3)], verbosity=1)) == 4


def test_every_doubtful_page_is_named(document):
    pages = [noted(number, PageStatus.LOOP, "loop") for number in (1, 2)]
    assert len(said(document, pages)) == 3


def test_quiet_console_prints_errors_only(document):
    failed = Page(2, PageStatus.ERROR, error="broken")
    assert said(document, [noted(1), failed], verbosity=-1) == [
        "ocrcli: error: a.pdf: page 2: broken"
    ]


def test_stderr_that_fails_does_not_stop_the_work():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    Console(NoProgress(), Gone()).line("x")


def test_only_the_transcript_reaches_stdout(capfd):
    with guarded_stdout() as stream:
        write_stdout(stream, "é\n")
        print("chatter")
        os.write(1, b"from below\n")
    os.write(1, b"after\n")
    out, err = capfd.readouterr()
    assert out == "é\nafter\n"
    assert "from below" in err
    assert "chatter" in err


def test_stdout_comes_back_after_an_error(capfd):
    with pytest.raises(KeyError), guarded_stdout():
        raise KeyError
    os.write(1, b"back\n")
    assert capfd.readouterr().out == "back\n"


def test_full_stdout_is_an_output_error():
    class Full(io.StringIO):
        def flush(self):
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="standard output: cannot be written: No space"):
        write_stdout(Full(), "x")


def test_closed_pipe_is_passed_on():
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write_stdout(Closed(), "x")
