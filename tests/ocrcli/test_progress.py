"""Progress in logs, for programs and on terminals."""

import io
import json

import pytest

from ocrcli.batch import Batch
from ocrcli.console import new_progress
from ocrcli.document import Document, Page, PageSeconds, PageStatus, Source, TokenCounts
from ocrcli.errors import DamagedError, OutputError
from ocrcli.options import ProgressStyle
from ocrcli.progress import JsonProgress, NoProgress, PlainProgress, duration, summary
from ocrcli.progress_bar import BarProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def page(number):
    return Page(
        number,
        PageStatus.OK,
        tokens=TokenCounts(100, 50),
        seconds=PageSeconds(decode=0.5),
    )


def play(progress, count=3, after_page=lambda: None):
    """Let a document of some pages and a failing one go by."""
    document = Document(Source("a\nb.pdf", "0" * 64, count, count), seconds=3.0)
    progress.file_started(document, 1, 2)
    for number in range(1, count + 1):
        document.add(page(number))
        progress.page_done(document, page(number))
        after_page()
    progress.file_done(document)
    error = DamagedError("broken", source="c.pdf")
    progress.file_failed(error)
    progress.finished(Batch(2, [document], [error]), 4.0)
    progress.close()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (250, "4 min 10 s"), (7260, "2 h 1 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_summary_counts_files_and_pages():
    good, poor = (Document(Source(name, "0" * 64, 2, 2)) for name in ("a", "b"))
    good.add(Page(1, PageStatus.BLANK))
    good.add(Page(2, PageStatus.OK))
    poor.add(Page(1, PageStatus.LOOP))
    batch = Batch(3, [good, poor], [DamagedError("x")])
    assert summary(batch, 250) == (
        "3 files: 1 ok, 1 degraded, 1 failed; 3 pages, 1 blank; 4 min 10 s"
    )


def test_summary_counts_a_degraded_file_that_could_not_be_written_once():
    lost = Document(Source("a", "0" * 64, 1, 1), is_unwritten=True)
    lost.add(Page(1, PageStatus.LOOP))
    assert summary(Batch(1, [lost], [OutputError("x")]), 1).startswith(
        "1 files: 0 ok, 0 degraded, 1 failed; "
    )


def test_plain_progress_is_a_line_per_file_without_control_characters():
    stream = io.StringIO()
    play(PlainProgress(stream))
    assert stream.getvalue().splitlines() == [
        r"ocrcli: info: a\nb.pdf: 3 pages (3 ok) in 3.0 s, 1.00 s/page, 100 tok/s",
        "ocrcli: info: 2 files: 1 ok, 0 degraded, 1 failed; 3 pages, 0 blank; 4.0 s",
    ]


def test_plain_progress_reports_on_long_files_every_30_seconds():
    now = [0.0]
    stream = io.StringIO()
    progress = PlainProgress(stream, clock=lambda: now[0])
    document = Document(Source("a.pdf", "0" * 64, 10, 10))
    progress.file_started(document, 1, 1)
    for number in range(1, 11):
        now[0] += 20.0
        document.add(page(number))
        progress.page_done(document, page(number))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[0] == (
        "ocrcli: info: a.pdf: page 2/10, 20.00 s/page, 100 tok/s, about 2 min 40 s left"
    )


def test_json_progress_is_an_object_per_event():
    stream = io.StringIO()
    play(JsonProgress(stream))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "file_start",
        "page_done",
        "page_done",
        "page_done",
        "file_done",
        "file_failed",
        "summary",
    ]
    assert events[1]["source"] == "a\nb.pdf"
    assert events[1]["done"] == 1
    assert events[-1]["failed"] == 1


def test_bar_shows_file_page_and_pace():
    terminal = Terminal()
    progress = BarProgress(terminal)
    shown = []

    def note():
        progress._bar.refresh()
        shown.append(terminal.getvalue())

    play(progress, after_page=note)
    assert "file 1/2" in shown[-1]
    assert "page 3/3" in shown[-1]
    assert "tok/s" in shown[-1]
    assert terminal.getvalue().endswith("4.0 s\n")


def test_bar_makes_room_for_other_text():
    progress = BarProgress(Terminal())
    progress.file_started(Document(Source("a.pdf", "0" * 64, 1, 1)), 1, 1)
    with progress.paused():
        assert not progress._bar.live.is_started
    assert progress._bar.live.is_started
    progress.close()
    assert not progress._bar.live.is_started


@pytest.mark.parametrize(
    ("style", "terminal", "variables", "kind"),
    [
        ("auto", True, {}, BarProgress),
        ("auto", True, {"TERM": "dumb"}, PlainProgress),
        ("auto", False, {"FORCE_COLOR": "1"}, PlainProgress),
        ("bar", True, {}, BarProgress),
        ("bar", False, {}, PlainProgress),
        ("plain", True, {}, PlainProgress),
        ("json", True, {}, JsonProgress),
        ("none", True, {}, NoProgress),
    ],
)
def test_display_suits_the_stream(style, terminal, variables, kind):
    stream = Terminal() if terminal else io.StringIO()
    assert type(new_progress(ProgressStyle(style), stream, variables)) is kind


def test_quiet_hides_progress_unless_it_was_asked_for():
    stream = io.StringIO()
    assert type(new_progress(ProgressStyle.AUTO, stream, {}, quiet=True)) is NoProgress
    assert type(new_progress(ProgressStyle.JSON, stream, {}, quiet=True)) is JsonProgress
