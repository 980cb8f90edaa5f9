"""One document, from file to transcript."""

import itertools
import time

import numpy as np
import pytest

import ocrcli
from ocrcli.document import PageFacts, PageFailure, PageImage, PageStatus
from ocrcli.errors import InputError, ModelError, UsageError
from ocrcli.page_reading import Reading, read_pages
from ocrcli.pages import open_pages


def statuses(pages):
    return [(page.page_number, str(page.status)) for page in pages]


def test_every_page_has_a_record_in_order(fakes, tmp_path):
    path = fakes.write_pdf(tmp_path / "a.pdf", [None, "2", None, "4", "5", None])
    script = {4: fakes.result(4, finish="error", error="x")}
    recogniser = fakes.ScriptedRecogniser(script)
    with open_pages(path) as pages:
        found = statuses(read_pages(pages, recogniser))
    assert found == [
        (1, "blank"),
        (2, "ok"),
        (3, "blank"),
        (4, "error"),
        (5, "ok"),
        (6, "blank"),
    ]
    assert recogniser.pulled == [2, 4, 5]


@pytest.mark.parametrize("ahead", [1, 2, 3, 10])
def test_order_does_not_depend_on_how_many_pages_are_in_flight(fakes, tmp_path, ahead):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["1", None, "3", None, None, "6", "7"])
    with open_pages(path) as pages:
        found = statuses(read_pages(pages, fakes.ScriptedRecogniser(ahead=ahead)))
    assert [number for number, _ in found] == [1, 2, 3, 4, 5, 6, 7]


def test_pages_are_not_pulled_before_they_are_needed(fakes, tmp_path):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3", "4"])
    recogniser = fakes.ScriptedRecogniser(ahead=2)
    with open_pages(path) as pages:
        records = read_pages(pages, recogniser)
        next(records)
        assert recogniser.pulled == [1, 2]


def test_document_of_blank_pages_needs_no_model(fakes, tmp_path):
    path = fakes.write_pdf(tmp_path / "a.pdf", [None, None])
    recogniser = fakes.ScriptedRecogniser()
    with open_pages(path) as pages:
        assert statuses(read_pages(pages, recogniser)) == [(1, "blank"), (2, "blank")]
    assert recogniser.facts is None


class TestLongRunsOfBlankPages:
    @pytest.fixture
    def endless(self):
        """Pages without end, of which only the given ones carry ink; `drawn` holds the others."""

        def make(inked, drawn):
            for number in itertools.count(1):
                drawn.append(number)
                ink = 5000 if number in inked else 0
                pixels = np.zeros((8, 8), np.uint8)
                yield PageImage(pixels, PageFacts(number, dpi=100.0, ink_pixels=ink))

        return make

    def test_each_is_handed_on_before_the_next_is_drawn(self, fakes, endless):
        drawn = []
        records = read_pages(endless((), drawn), fakes.ScriptedRecogniser())
        assert statuses(itertools.islice(records, 3)) == [(n, "blank") for n in (1, 2, 3)]
        assert drawn == [1, 2, 3]

    def test_a_page_does_not_wait_for_the_next_inked_one(self, fakes, endless):
        drawn = []
        records = read_pages(endless((1,), drawn), fakes.ScriptedRecogniser(ahead=9))
        assert statuses(itertools.islice(records, 200))[:2] == [(1, "ok"), (2, "blank")]
        assert len(drawn) == 200

    def test_few_records_wait_behind_a_page_that_is_being_read(self, fakes, endless):
        drawn = []
        inked = set(range(1, 10_000, 10))
        records = read_pages(endless(inked, drawn), fakes.ScriptedRecogniser(ahead=100))
        for done, page in enumerate(itertools.islice(records, 2000)):
            assert (page.status is PageStatus.OK) == (page.page_number in inked)
            assert len(drawn) - done < 100


def test_page_that_cannot_be_drawn_is_an_error_record(fakes):
    (page,) = read_pages([PageFailure(PageFacts(7), "broken")], fakes.ScriptedRecogniser())
    assert (page.page_number, page.status, page.error) == (7, PageStatus.ERROR, "broken")


def test_page_the_engine_forgot_is_an_error_record(fakes, tmp_path):
    class Forgetful(fakes.ScriptedRecogniser):
        def transcribe(self, pages):
            for page in pages:
                if page.page_number == 1:
                    yield fakes.result(1, fakes.block("One"))

    path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", None])
    with open_pages(path) as pages:
        found = statuses(read_pages(pages, Forgetful()))
    assert found == [(1, "ok"), (2, "error"), (3, "blank")]


class TestTime:
    def test_page_that_the_engine_gave_up_is_a_timeout(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2"])
        script = {1: fakes.result(1, finish="timeout", error="too slow")}
        with open_pages(path) as pages:
            first, second = read_pages(pages, fakes.ScriptedRecogniser(script))
        assert (first.status, first.error, first.text) == (PageStatus.TIMEOUT, "too slow", "")
        assert second.status is PageStatus.OK

    def test_page_that_takes_too_long_to_draw_never_reaches_the_model(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1"])
        recogniser = fakes.ScriptedRecogniser()
        with open_pages(path) as pages:
            (page,) = read_pages(pages, recogniser, Reading(page_timeout_s=1e-9))
        assert page.status is PageStatus.TIMEOUT
        assert recogniser.pulled == []

    def test_pages_carry_the_nearer_of_both_limits(self, fakes, tmp_path):
        class Noting(fakes.ScriptedRecogniser):
            def transcribe(self, pages):
                for page in pages:
                    self.deadline = page.deadline
                    yield self._answer(page.page_number)

        path = fakes.write_pdf(tmp_path / "a.pdf", ["1"])
        recogniser = Noting()
        for limits, low, high in (({}, None, None), ({"page_timeout_s": 50}, 40, 51)):
            with open_pages(path) as pages:
                list(read_pages(pages, recogniser, Reading(file_timeout_s=900, **limits)))
            left = recogniser.deadline - time.monotonic()
            assert (low or 850) < left < (high or 901)

    @pytest.mark.parametrize("limit", ["page_timeout_s", "file_timeout_s"])
    def test_loading_the_model_counts_against_no_page_and_no_file(self, fakes, tmp_path, limit):
        class Slow(fakes.ScriptedRecogniser):
            def __init__(self):
                super().__init__()
                self.left, self.load_seconds = [], 0.0

            def load(self):
                if not self.load_seconds:
                    started = time.monotonic()
                    time.sleep(1.5)
                    self.load_seconds = time.monotonic() - started

            def transcribe(self, pages):
                for page in pages:
                    self.left.append(page.deadline - time.monotonic())
                    yield self._answer(page.page_number)

        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2"])
        recogniser = Slow()
        with open_pages(path) as pages:
            found = statuses(read_pages(pages, recogniser, Reading(**{limit: 1.0})))
        assert found == [(1, "ok"), (2, "ok")]
        assert all(0 < left <= 1.0 for left in recogniser.left)

    def test_blank_pages_load_no_model(self, fakes, tmp_path):
        class Unwanted(fakes.ScriptedRecogniser):
            def load(self):
                raise AssertionError("no page has ink")

        with open_pages(fakes.write_pdf(tmp_path / "a.pdf", [None])) as pages:
            assert statuses(read_pages(pages, Unwanted())) == [(1, "blank")]


class TestPythonInterface:
    @pytest.fixture(autouse=True)
    def scripted(self, fakes, monkeypatch):
        self.seen = []

        def recogniser(options):
            self.seen.append(options)
            return fakes.ScriptedRecogniser()

        monkeypatch.setattr("ocrcli.pipeline.ModelRecogniser", recogniser)

    def test_pages_are_yielded(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])
        pages = list(ocrcli.transcribe(path, pages="1,3"))
        assert [page.text for page in pages] == ["Page 1", "Page 3"]

    def test_settings_are_passed_on(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", [None])
        list(
            ocrcli.transcribe(
                path, model="m", device="cpu", dtype="float32", pages_in_flight=2, max_tokens=9
            )
        )
        (options,) = self.seen
        assert (str(options.model), options.device, options.max_tokens) == ("m", "cpu", 9)

    def test_bad_file_is_reported_at_once(self, tmp_path):
        with pytest.raises(InputError):
            ocrcli.transcribe(tmp_path / "none.pdf")

    def test_bad_page_list_is_reported_at_once(self, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", [None])
        with pytest.raises(UsageError):
            ocrcli.transcribe(path, pages="3")

    def test_unknown_device_names_the_choices(self, tmp_path):
        with pytest.raises(UsageError, match="auto, cpu, cuda"):
            ocrcli.transcribe(tmp_path / "a.pdf", device="tpu")


def test_missing_model_is_reported_at_once(tmp_path):
    with pytest.raises(ModelError, match="no such model"):
        ocrcli.transcribe(tmp_path / "a.pdf", model=tmp_path / "none")
