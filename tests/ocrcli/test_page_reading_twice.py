"""Doubtful pages take a second turn among the others, and every record still comes in its place."""

import itertools
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocrcli.document import Document, Notice, PageFacts, PageFailure, PageImage, PageStatus, Source
from ocrcli.journal import Journal
from ocrcli.page_reading import Reading, read_pages
from ocrcli.pipeline import transcribe_document
from ocrcli.raster import PageSize
from ocrcli.second_reading import SecondReading

UNSURE = 0.97
"""A confidence that makes a page doubtful, but not suspect."""


class Book:
    """Pages that can be drawn again.

    Attributes:
        page_numbers: Numbers of the pages.
        blank: Those of them without ink.
        broken: Those that cannot be drawn.
        once: Those that cannot be drawn again.
        drawn: Numbers of pages as they were drawn.
        redrawn: Page and tenths, as they were drawn again.
    """

    def __init__(self, page_numbers, blank=(), broken=(), once=()):
        self.page_numbers = page_numbers
        self.blank, self.broken, self.once = set(blank), set(broken), set(once)
        self.drawn, self.redrawn = [], []
        self.source = Source("book", "0" * 64, 0, 0)

    def __iter__(self):
        yield from self.without(())

    def without(self, known):
        for number in self.page_numbers:
            if number not in known:
                self.drawn.append(number)
                yield self._page(number, number in self.broken)

    def smaller(self, number):
        return self._redrawn(number, 1)

    def _redrawn(self, number, tenths):
        self.redrawn.append((number, tenths))
        return self._page(number, number in self.once)

    def _page(self, number, is_broken):
        if is_broken:
            return PageFailure(PageFacts(number), "broken")
        ink = 0 if number in self.blank else 5000
        facts = PageFacts(number, width_pt=600, height_pt=800, dpi=100.0, ink_pixels=ink)
        return PageImage(np.zeros((8, 8), np.uint8), facts, redraw=partial(self._redrawn, number))


def read(book, recogniser, reading=None, timeout=None):
    second = SecondReading(book, recogniser, timeout, attempts=2)
    return list(read_pages(book, recogniser, reading, second))


def outcomes(records):
    return [(record.page_number, record.text or str(record.status)) for record in records]


def attempts(records):
    return [record.attempts for record in records]


class TestOrder:
    @pytest.mark.parametrize("ahead", [1, 2, 3, 5, 50])
    def test_doubtful_pages_stay_between_the_others(self, fakes, doubtful, ahead):
        book = Book(range(1, 13), blank=(1, 4, 5, 12), broken=(6,))
        answers = doubtful(2, 7, 8, 10)
        answers["script"][9] = fakes.result(9, finish="error", error="x")
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **answers)
        records = read(book, recogniser)
        assert outcomes(records) == [
            (1, "blank"),
            (2, "Second"),
            (3, "Page 3"),
            (4, "blank"),
            (5, "blank"),
            (6, "error"),
            (7, "Second"),
            (8, "Second"),
            (9, "error"),
            (10, "Second"),
            (11, "Page 11"),
            (12, "blank"),
        ]
        assert [record.page_number for record in records if record.attempts == 2] == [2, 7, 8, 10]
        assert sorted(book.redrawn) == [(2, 1), (7, 1), (8, 1), (10, 1)]
        assert sorted(recogniser.pulled) == [2, 2, 3, 7, 7, 8, 8, 9, 10, 10, 11]

    def test_doubtful_page_is_next_in_turn(self, fakes, doubtful):
        recogniser = fakes.ScriptedRecogniser(ahead=3, **doubtful(2))
        read(Book(range(1, 8)), recogniser)
        assert recogniser.pulled == [1, 2, 3, 4, 2, 5, 6, 7]

    @pytest.mark.parametrize("ahead", [1, 3, 50])
    def test_last_page_may_be_doubtful(self, fakes, doubtful, ahead):
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(2, 3))
        records = read(Book(range(1, 4)), recogniser)
        assert outcomes(records) == [(1, "Page 1"), (2, "Second"), (3, "Second")]
        assert attempts(records) == [1, 2, 2]
        if ahead == 50:
            assert recogniser.pulled == [1, 2, 3, 2, 3]

    @pytest.mark.parametrize("ahead", [1, 2, 7, 40, 500])
    def test_all_of_many_pages_may_be_doubtful(self, fakes, doubtful, ahead):
        numbers = range(1, 101)
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(*numbers))
        book = Book(numbers)
        records = read(book, recogniser)
        assert outcomes(records) == [(number, "Second") for number in numbers]
        assert attempts(records) == [2] * 100
        assert sorted(book.redrawn) == [(number, 1) for number in numbers]

    @given(
        st.lists(
            st.sampled_from(
                ["sure", "doubtful", "worse", "lost", "stuck", "once", "loop", "error"]
                + ["blank", "broken"]
            ),
            max_size=60,
        ),
        st.integers(1, 40),
    )
    def test_any_pages_come_in_their_order(self, fakes, kinds, ahead):
        pages = dict(enumerate(kinds, start=1))

        def numbers(*wanted):
            return [number for number, kind in pages.items() if kind in wanted]

        def answers(text, wanted, **fields):
            return {n: fakes.result(n, fakes.block(text), **fields) for n in numbers(*wanted)}

        unsure = ("doubtful", "worse", "lost", "stuck", "once")
        book = Book(list(pages), numbers("blank"), numbers("broken"), numbers("once"))
        recogniser = fakes.ScriptedRecogniser(
            {
                **answers("sure", ("sure",)),
                **answers("first", unsure, confidence=UNSURE),
                **answers("loop", ("loop",), finish="loop"),
                **answers("", ("error",), finish="error", error="x"),
            },
            ahead,
            answers("again", ("loop",), confidence=UNSURE),
            {
                **answers("second", ("doubtful",)),
                **answers("second", ("worse",), confidence=0.96),
                **answers("", ("lost",), finish="error", error="x"),
                **answers("second", ("stuck",), finish="loop"),
            },
        )
        told = {"doubtful": "second", "loop": "again", "broken": "error"}
        told |= dict.fromkeys(("worse", "lost", "stuck", "once"), "first")
        records = read(book, recogniser)
        assert outcomes(records) == [(n, told.get(kind, kind)) for n, kind in pages.items()]
        twice = ("doubtful", "worse", "lost", "stuck", "loop")
        assert attempts(records) == [1 + (kind in twice) for kind in kinds]


class TestMemory:
    @pytest.mark.parametrize("ahead", [1, 2, 8, 100])
    @pytest.mark.parametrize("blank", [(), range(2, 500)], ids=["inked", "blank"])
    def test_few_pages_are_drawn_ahead_of_one_that_is_read_twice(
        self, fakes, doubtful, ahead, blank
    ):
        book = Book(itertools.count(1), blank=blank)
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(1))
        second = SecondReading(book, recogniser, None, attempts=2)
        records = read_pages(book, recogniser, None, second)
        assert next(records).text == "Second"
        assert len(book.drawn) <= 32 + ahead

    @pytest.mark.parametrize("ahead", [1, 2, 8, 100])
    def test_few_pages_are_drawn_ahead_where_many_are_read_twice(self, fakes, ahead, doubtful):
        book = Book(itertools.count(1))
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(*range(1, 1000, 2)))
        records = read_pages(
            book, recogniser, None, SecondReading(book, recogniser, None, attempts=2)
        )
        for record in itertools.islice(records, 500):
            assert record.attempts == 1 + record.page_number % 2
            assert len(book.drawn) - record.page_number <= 32 + ahead

    def test_nothing_is_kept_back_behind_a_sure_page(self, fakes, doubtful):
        book = Book(itertools.count(1))
        recogniser = fakes.ScriptedRecogniser(**doubtful(3))
        records = read_pages(
            book, recogniser, None, SecondReading(book, recogniser, None, attempts=2)
        )
        assert outcomes(itertools.islice(records, 2)) == [(1, "Page 1"), (2, "Page 2")]
        assert book.drawn == [1, 2]


class TestFirstReadingIsKept:
    @pytest.mark.parametrize("ahead", [1, 9])
    def test_where_the_page_cannot_be_drawn_again(self, fakes, doubtful, ahead):
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(1, 3, 4))
        records = read(Book(range(1, 5), once=(1, 4)), recogniser)
        expected = [(1, "First"), (2, "Page 2"), (3, "Second"), (4, "First")]
        assert outcomes(records) == expected
        assert attempts(records) == [1, 1, 2, 1]
        assert recogniser.pulled.count(1) == recogniser.pulled.count(4) == 1

    def test_where_the_engine_gives_no_second_answer(self, fakes, doubtful):
        class Forgetful(fakes.ScriptedRecogniser):
            def transcribe(self, pages):
                for page in pages:
                    self.pulled.append(page.page_number)
                    if self.pulled.count(page.page_number) == 1:
                        yield self._answer(page.page_number)

        recogniser = Forgetful(**doubtful(2))
        records = read(Book([1, 2, 3], blank=(1, 3)), recogniser)
        assert recogniser.pulled == [2, 2]
        assert outcomes(records) == [(1, "blank"), (2, "First"), (3, "blank")]
        assert attempts(records) == [1, 1, 1]

    @pytest.fixture
    def tired(self, fakes):
        """Answers so many pages at a time, however many it was given."""

        class Tired(fakes.ScriptedRecogniser):
            def __init__(self, most, **answers):
                super().__init__(ahead=2, **answers)
                self.most = most

            def transcribe(self, pages):
                yield from itertools.islice(super().transcribe(pages), self.most)

        return Tired

    def test_where_the_engine_ends_before_its_second_answer(self, tired, doubtful):
        records = read(Book(range(1, 6)), tired(4, **doubtful(3)))
        expected = [(1, "Page 1"), (2, "Page 2"), (3, "First"), (4, "Page 4"), (5, "Page 5")]
        assert outcomes(records) == expected
        assert attempts(records) == [1] * 5

    def test_but_not_where_it_ends_before_it_is_asked_again(self, tired, doubtful):
        records = read(Book(range(1, 6)), tired(3, **doubtful(3)))
        expected = [(1, "Page 1"), (2, "Page 2"), (3, "Second"), (4, "error"), (5, "Page 5")]
        assert outcomes(records) == expected

    @pytest.mark.parametrize(
        "fields",
        [
            {"finish": "error", "error": "scores are not finite"},
            {"finish": "timeout", "error": "too slow"},
            {"finish": "loop"},
            {"finish": "length"},
        ],
        ids=lambda fields: fields["finish"],
    )
    def test_where_the_second_one_has_no_result(self, fakes, doubtful, fields):
        recogniser = fakes.ScriptedRecogniser(**doubtful(1, **fields))
        (record,) = read(Book([1]), recogniser)
        assert (record.status, record.text, record.error) == (PageStatus.OK, "First", None)
        assert (record.attempts, record.warnings) == (2, ())
        assert recogniser.retried == []

    def test_where_the_second_one_is_empty(self, fakes):
        first = fakes.result(1, fakes.block("First"), confidence=UNSURE)
        recogniser = fakes.ScriptedRecogniser({1: first}, later={1: fakes.result(1)})
        (record,) = read(Book([1]), recogniser)
        assert (record.status, record.text, record.attempts) == (PageStatus.OK, "First", 2)

    def test_where_the_second_one_is_no_better(self, fakes, doubtful):
        recogniser = fakes.ScriptedRecogniser(**doubtful(1, second=UNSURE))
        (record,) = read(Book([1]), recogniser)
        assert (record.text, record.attempts) == ("First", 2)


class TestNeverTwice:
    def test_without_second_readings(self, fakes, doubtful):
        book, recogniser = Book(range(1, 4)), fakes.ScriptedRecogniser(ahead=2, **doubtful(1, 2, 3))
        records = list(read_pages(book, recogniser))
        assert outcomes(records) == [(1, "First"), (2, "First"), (3, "First")]
        assert (attempts(records), book.redrawn) == ([1, 1, 1], [])

    @pytest.mark.parametrize("count", [1, 2])
    def test_where_one_attempt_is_asked_for(self, fakes, doubtful, tmp_path, run_scripted, count):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2"])
        recogniser = fakes.ScriptedRecogniser(**doubtful(1))
        done = run_scripted(recogniser, ["transcribe", path, "-f", "jsonl", "--attempts", count])
        records = [json.loads(line) for line in done.stdout.splitlines()][:2]
        assert [record["attempts"] for record in records] == [count, 1]
        assert records[0]["text"] == ("First", "Second")[count - 1]
        assert done.code == 0

    def test_by_a_large_model(self, fakes, doubtful):
        recogniser = fakes.ScriptedRecogniser(**doubtful(1))
        recogniser.page_size = PageSize.full_color()
        book = Book([1])
        (record,) = read(book, recogniser)
        assert (record.text, record.attempts, book.redrawn) == ("First", 1, [])

    def test_where_nobody_can_draw_the_page_again(self, fakes, doubtful):
        facts = PageFacts(1, dpi=100.0, ink_pixels=5000)
        recogniser = fakes.ScriptedRecogniser(**doubtful(1))
        second = SecondReading(Book([1]), recogniser, None)
        page = PageImage(np.zeros((8, 8), np.uint8), facts)
        (record,) = read_pages([page], recogniser, None, second)
        assert (record.text, record.attempts) == ("First", 1)

    @pytest.mark.parametrize("finish", ["loop", "length"])
    def test_page_that_was_read_again_alone_is_not_read_a_third_time(self, fakes, finish):
        again = fakes.result(1, fakes.block("Again"), confidence=UNSURE)
        first = fakes.result(1, fakes.block("First"), finish)
        recogniser = fakes.ScriptedRecogniser({1: first}, retries={1: again})
        book = Book([1])
        (record,) = read(book, recogniser)
        assert (record.text, record.attempts) == ("Again", 2)
        assert record.tokens.output == first.output_tokens + again.output_tokens
        assert (recogniser.retried, recogniser.pulled, book.redrawn) == ([1], [1], [(1, 1)])

    @pytest.mark.parametrize("finish", ["loop", "length"])
    def test_page_that_loops_and_cannot_be_read_alone_is_given_up(self, fakes, finish):
        first = fakes.result(1, fakes.block("First"), finish, confidence=UNSURE)
        recogniser = fakes.ScriptedRecogniser({1: first})
        (record,) = read(Book([1]), recogniser)
        assert record.status in (PageStatus.LOOP, PageStatus.TRUNCATED)
        assert (recogniser.pulled, record.attempts) == ([1], 1)


class TestTime:
    @pytest.fixture
    def clock(self, monkeypatch):
        """A clock that only moves when it is told to."""
        clock = SimpleNamespace(now=1000.0)
        for module in ("page_reading", "second_reading"):
            monkeypatch.setattr(
                f"ocrcli.{module}.time", SimpleNamespace(monotonic=lambda: clock.now)
            )
        return clock

    @pytest.fixture
    def slow(self, fakes, clock):
        """Notes deadlines, and takes 30 s for a page."""

        class Slow(fakes.ScriptedRecogniser):
            def transcribe(self, pages):
                self.left = []
                for page in pages:
                    self.left.append((page.page_number, page.deadline - clock.now))
                    clock.now += 30
                    yield self._answer(page.page_number)

        return Slow

    def test_second_reading_has_a_limit_of_its_own(self, slow, doubtful):
        recogniser = slow(**doubtful(1))
        read(Book([1, 2]), recogniser, Reading(page_timeout_s=50), 50)
        assert recogniser.left == [(1, 50), (1, 50), (2, 50)]

    def test_time_of_the_file_goes_on(self, slow, doubtful):
        recogniser = slow(**doubtful(1, 2))
        records = read(Book(range(1, 9)), recogniser, Reading(file_timeout_s=100))
        assert recogniser.left == [(1, 100), (1, 70), (2, 40), (2, 10)]
        assert outcomes(records) == [(1, "Second"), (2, "Second")]


class Account:
    """Takes finished pages, and ends of documents."""

    def __init__(self):
        self.records = []

    def page(self, source, page):
        self.records.append(page)

    def document(self, document):
        pass

    def page_done(self, document, page):
        pass


def transcribed(book, recogniser, **options):
    account = Account()
    document = Document(book.source)
    transcribe_document(book, recogniser, account, document, account, **options)
    assert document.num_pages == len(account.records)
    return account.records


class TestDocuments:
    @pytest.mark.parametrize("ahead", [1, 3, 9])
    def test_first_failure_ends_it_behind_a_doubtful_page(self, fakes, doubtful, ahead):
        answers = doubtful(1, 3)
        answers["script"][2] = fakes.result(2, finish="error", error="x")
        recogniser = fakes.ScriptedRecogniser(ahead=ahead, **answers)
        records = transcribed(Book(range(1, 5)), recogniser, reading=Reading(fail_fast=True))
        expected = [(1, "Second"), (2, "error"), (3, "skipped"), (4, "skipped")]
        assert outcomes(records) == expected

    def test_failed_second_reading_ends_nothing(self, fakes, doubtful):
        recogniser = fakes.ScriptedRecogniser(**doubtful(1, finish="error", error="x"))
        records = transcribed(Book([1, 2]), recogniser, reading=Reading(fail_fast=True))
        assert outcomes(records) == [(1, "First"), (2, "Page 2")]

    @pytest.mark.parametrize("ahead", [1, 3, 9])
    def test_pages_of_an_earlier_run_are_not_read_again(self, fakes, doubtful, tmp_path, ahead):
        def resumed(numbers):
            book = Book(numbers)
            recogniser = fakes.ScriptedRecogniser(ahead=ahead, **doubtful(2, 3, 5))
            journal = Journal(tmp_path / ".a.txt.journal", "0" * 64, "sha256:1")
            records = transcribed(book, recogniser, reading=Reading(attempts=2), journal=journal)
            journal.close()
            return records, sorted(recogniser.pulled)

        before, _ = resumed([1, 3, 5])
        after, pulled = resumed(range(1, 7))
        assert pulled == [2, 2, 4, 6]
        assert [after[number - 1] for number in (1, 3, 5)] == before
        assert attempts(after) == [1, 2, 2, 1, 2, 1]

    def test_doubt_survives_in_the_journal(self, fakes, tmp_path):
        first, second = (
            fakes.result(1, fakes.block(line), confidence=sure)
            for line, sure in (("What the first one says", UNSURE), ("Quite another text", 0.99))
        )
        recogniser = fakes.ScriptedRecogniser({1: first}, later={1: second})
        journal = Journal(tmp_path / ".a.txt.journal", "0" * 64, "sha256:1")
        (record,) = transcribed(Book([1]), recogniser, reading=Reading(attempts=2), journal=journal)
        journal.close()
        detail = "two readings of the page differ in 100% of their lines"
        assert record.warnings == (Notice("readings_differ", detail),)
        assert record.status is PageStatus.SUSPECT
        recogniser = fakes.ScriptedRecogniser()
        journal = Journal(tmp_path / ".a.txt.journal", "0" * 64, "sha256:1")
        assert transcribed(Book([1]), recogniser, journal=journal) == [record]
        journal.close()
        assert recogniser.pulled == []
