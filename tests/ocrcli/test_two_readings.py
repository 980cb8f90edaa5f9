"""Which of two or three readings of a page is kept."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import LINES, NO_RESULTS, RESULTS, WORDS, block, lines, page

from ocrcli.confidence import Confidence
from ocrcli.document import (
    BlockType,
    Notice,
    Page,
    PageFacts,
    PageSeconds,
    PageStatus,
    TokenCounts,
)
from ocrcli.ink import ink_map
from ocrcli.line_boxes import Line
from ocrcli.two_readings import (
    MAX_DIFFERENCE,
    MIN_FIRST_CONFIDENCE,
    doubted_as_first,
    is_second_better,
    one_of,
)


def better(first, second):
    if is_second_better(first, second):
        return one_of(second, [first])
    return one_of(first, [second])


def codes(record):
    return [notice.code for notice in record.warnings]


def is_kept(record, chosen):
    """Return whether a record holds one reading's text."""
    return (record.text, record.blocks) == (chosen.text, chosen.blocks)


class TestRepeatedLines:
    def test_reading_that_does_not_repeat_is_better(self):
        once, twice = lines(*LINES[:20]), lines(*LINES[:20], LINES[7])
        assert is_kept(better(twice, once), once)
        assert is_kept(better(once, twice), once)

    def test_unless_the_model_was_much_less_sure_of_it(self):
        twice = lines(*LINES[:9], *LINES[5:8])
        once, unsure = (lines(*LINES[:9], confidence=sure) for sure in (0.97, 0.9))
        assert is_kept(better(twice, once), once)
        assert is_kept(better(once, twice), once)
        assert is_kept(better(twice, unsure), twice)
        assert is_kept(better(unsure, twice), twice)

    def test_fewer_repetitions_are_better(self):
        twice, thrice = lines(*LINES[:9], LINES[7]), lines(*LINES[:9], LINES[7], LINES[7])
        assert is_kept(better(thrice, twice), twice)
        assert is_kept(better(twice, thrice), twice)

    def test_lines_that_both_repeat_are_printed_twice(self):
        printed = (*LINES[:9], LINES[3], LINES[4])
        usual, surer, unsure = (
            lines(*printed, tail, confidence=sure)
            for tail, sure in (("One", 0.99), ("Two", 0.995), ("Three", 0.96))
        )
        assert is_kept(better(usual, unsure), usual)
        assert is_kept(better(usual, surer), surer)

    def test_what_both_repeat_excuses_no_further_repetition(self):
        printed = (*LINES[:9], LINES[3])
        first, second = lines(*printed, LINES[4]), lines(*printed)
        assert is_kept(better(first, second), second)

    def test_what_one_repeats_the_other_does_not_lack(self):
        twice, once = lines(*LINES[:20], *LINES[5:7]), lines(*LINES[:20])
        for record in (better(twice, once), better(once, twice)):
            assert is_kept(record, once)
            assert record.status is PageStatus.OK


class TestMissingLines:
    def test_reading_that_skips_nothing_is_better(self):
        whole, part = lines(*LINES[:20]), lines(*LINES[:9], *LINES[10:20])
        assert is_kept(better(part, whole), whole)
        assert is_kept(better(whole, part), whole)

    def test_unless_the_model_was_much_less_sure_of_it(self):
        part = lines(*LINES[:6])
        whole, unsure = (lines(*LINES[:9], confidence=sure) for sure in (0.97, 0.85))
        assert is_kept(better(part, whole), whole)
        assert is_kept(better(whole, part), whole)
        assert is_kept(better(part, unsure), part)
        assert is_kept(better(unsure, part), part)

    @pytest.mark.parametrize("is_found", [True, False])
    def test_line_that_stands_on_no_ink_is_not_missing_elsewhere(self, is_found):
        part = lines(*LINES[:8])
        places = tuple(Line((0, n, 9, n + 1), is_found=is_found or n < 8) for n in range(10))
        text = replace(block(*LINES[:10]), box=(0, 0, 9, 10), lines=places)
        whole = page(replace(text, confidence=Confidence(0.985, 0.985)))
        kept = whole if is_found else part
        assert is_kept(better(part, whole), kept)
        assert is_kept(better(whole, part), kept)

    def test_rows_of_ink_tell_where_only_a_short_line_is_missing(self):
        places = tuple(Line((0, n, 9, n + 1)) for n in range(10))
        whole = page(replace(block(*LINES[:9], "Short"), box=(0, 0, 9, 10), lines=places))
        unread = (*places[:8], places[8]._replace(skipped=1))
        text = replace(block(*LINES[:9], confidence=0.995), box=(0, 0, 9, 10), lines=unread)
        assert is_kept(better(page(text), whole), whole)
        assert is_kept(better(whole, page(text)), whole)

    @pytest.mark.parametrize(("skipped", "is_found"), [(3, True), (0, False)])
    def test_reading_whose_lines_stand_on_their_ink_is_better(self, skipped, is_found):
        def printed(texts, *odd):
            places = (*(Line((0, n, 9, n + 1)) for n in range(len(texts) - len(odd))), *odd)
            return page(replace(block(*texts), box=(0, 0, 9, 19), lines=places))

        # Lines that are read again with other letters do not count as read twice.
        again = [line[2:] for line in LINES[5:7]]
        odd = [Line((0, 8, 9, 9), is_found=is_found, skipped=skipped)] * 2
        right, wrong = printed(LINES[:15]), printed([*LINES[:15], *again], *odd)
        assert is_kept(better(wrong, right), right)
        assert is_kept(better(right, wrong), right)

    def test_block_that_was_not_found_counts_in_part(self):
        ink = PageFacts(1, ink=ink_map(np.zeros((8, 8), np.uint8)))
        places = tuple(Line((0, n, 9, n + 1)) for n in range(6))
        text = replace(block(*LINES[:6], confidence=0.99), box=(0, 0, 9, 6))
        found = page(replace(text, lines=places), facts=ink)
        unplaced = replace(text, confidence=Confidence(0.995, 0.995))
        assert is_kept(better(page(unplaced, facts=ink), found), found)
        # Where there is no ink to look at, nothing is known against it.
        assert is_kept(better(found, page(unplaced)), page(unplaced))

    def test_reading_that_skips_fewer_lines_is_better(self):
        first, second = lines(*LINES[:9], *LINES[12:]), lines(*LINES[:10], *LINES[13:])
        assert is_kept(better(first, second), first)
        second = lines(*LINES[:11], *LINES[13:])
        assert is_kept(better(first, second), second)

    def test_line_with_wrong_letters_is_not_missing(self):
        right = lines(*LINES[:9])
        wrong = lines(*LINES[:8], LINES[8].replace("a", "o").replace("r", "n"))
        record = better(wrong, right)
        assert is_kept(record, wrong)
        assert record.status is PageStatus.OK
        surer = lines(*LINES[:9], confidence=0.995)
        assert is_kept(better(wrong, surer), surer)

    def test_one_line_stands_for_one_other(self):
        alike = [f"{LINES[10]} {number}" for number in range(6)]
        whole, part = lines(*LINES[:9], *alike), lines(*LINES[:9], LINES[10])
        assert is_kept(better(part, whole), whole)
        assert is_kept(better(whole, part), whole)

    def test_short_line_that_is_printed_twice_may_be_missing_once(self):
        whole, part = lines(*LINES[:9], "a" * 14, "a" * 14), lines(*LINES[:9], "a" * 14)
        assert is_kept(better(part, whole), whole)
        assert is_kept(better(whole, part), whole)

    def test_order_of_lines_does_not_matter(self):
        first, second = lines(*LINES[:9]), lines(*reversed(LINES[:9]))
        record = better(first, second)
        assert is_kept(record, first)
        assert record.warnings == ()

    def test_blocks_do_not_matter(self):
        first, second = page(block(*LINES[:9])), page(block(*LINES[:4]), block(*LINES[4:9]))
        assert better(first, second).warnings == ()
        whole = page(block(*LINES[:4]), block(*LINES[4:10]))
        assert is_kept(better(first, whole), whole)

    def test_row_that_was_skipped_is_missing(self):
        rows = [f"{word}\t{word[::-1]}\t{word[:3]}" for word in WORDS[:20]]
        whole, part = (
            page(block(*some, kind=BlockType.TABLE)) for some in (rows, rows[:4] + rows[5:])
        )
        assert is_kept(better(part, whole), whole)
        assert is_kept(better(whole, part), whole)


class TestConfidence:
    @pytest.mark.parametrize(
        ("second", "is_chosen"), [(0.95, False), (0.98, False), (0.9809, False), (0.982, True)]
    )
    def test_decides_between_equals_where_it_is_clear(self, second, is_chosen):
        first = lines(*LINES[:9], "One", confidence=0.98)
        other = lines(*LINES[:9], "Two", confidence=second)
        assert is_kept(better(first, other), other if is_chosen else first)

    def test_decides_where_both_repeat_one_line(self):
        first, second = lines(*LINES[:9], LINES[3]), lines(*LINES[:9], LINES[4], confidence=0.995)
        assert is_kept(better(first, second), second)

    def test_decides_on_pages_of_short_lines(self):
        first, second = lines("Total 12", confidence=0.97), lines("Total 17", confidence=0.98)
        assert is_kept(better(first, second), second)
        assert is_kept(better(second, first), second)
        assert better(first, second).warnings == ()

    def test_readings_without_any_are_equal(self):
        first, second = (lines(*LINES[:9], tail, confidence=None) for tail in ("One", "Two"))
        assert is_kept(better(first, second), first)
        whole = lines(*LINES[:10], confidence=None)
        assert is_kept(better(first, whole), whole)


class TestDifference:
    def test_readings_that_differ_much_are_not_trusted(self):
        record = better(lines(*LINES[:13]), lines(*LINES[:11]))
        assert is_kept(record, lines(*LINES[:13]))
        assert record.status is PageStatus.SUSPECT
        (notice,) = record.warnings
        assert notice.code == "readings_differ"
        assert notice.detail == "two readings of the page differ in 8% of their lines"

    def test_difference_at_the_limit_is_none(self):
        first, second = lines(*LINES[:27]), lines(*LINES[:23])
        assert MAX_DIFFERENCE == 4 / 50
        record = better(first, second)
        assert (record.status, record.warnings) == (PageStatus.OK, ())

    @pytest.mark.parametrize("is_second_better", [False, True])
    def test_other_warnings_are_those_of_the_reading_that_is_kept(self, is_second_better):
        few, many = (
            lines(*LINES[:count], warnings=(Notice(code, code),), status=PageStatus.SUSPECT)
            for count, code in ((5, "few"), (10, "many"))
        )
        record = better(few, many) if is_second_better else better(many, few)
        assert codes(record) == ["many", "readings_differ"]

    def test_status_is_that_of_the_reading_that_is_kept(self):
        doubted = lines(*LINES[:20], LINES[3], status=PageStatus.SUSPECT)
        sound = lines(*LINES[:20])
        assert better(doubted, sound).status is PageStatus.OK
        assert better(sound, doubted).status is PageStatus.OK
        surer = replace(doubted, blocks=sound.blocks)
        assert better(surer, sound).status is PageStatus.SUSPECT

    def test_page_of_one_line_may_differ_as_a_whole(self):
        first, second = lines(LINES[0], confidence=0.96), lines(LINES[1])
        record = better(first, second)
        assert is_kept(record, second)
        assert record.status is PageStatus.SUSPECT
        assert "differ in 100%" in record.warnings[-1].detail

    def test_pages_without_text_do_not_differ(self):
        first = page(status=PageStatus.SUSPECT)
        assert is_kept(better(first, page()), first)
        assert better(first, page()).warnings == ()


class TestThreeReadings:
    def test_one_that_another_confirms_is_trusted(self):
        good, bad = lines(*LINES[:13]), lines(*LINES[:9])
        assert one_of(good, [bad]).status is PageStatus.SUSPECT
        record = one_of(good, [bad, good])
        assert is_kept(record, good)
        assert (record.status, record.warnings, record.attempts) == (PageStatus.OK, (), 3)

    def test_one_that_none_confirms_is_not(self):
        record = one_of(lines(*LINES[:13]), [lines(*LINES[:9]), lines(*LINES[13:])])
        assert codes(record) == ["readings_differ"]
        assert "differ in 18% of" in record.warnings[0].detail

    def test_one_that_failed_has_no_say(self):
        failed = page(status=PageStatus.TIMEOUT)
        record = one_of(lines(*LINES[:13]), [lines(*LINES[:9]), failed])
        assert codes(record) == ["readings_differ"]


class TestReadingThatCountsForNothing:
    @pytest.mark.parametrize("status", NO_RESULTS)
    def test_first_one_stays_as_it_is(self, status):
        first = lines(
            *LINES[:9],
            LINES[2],
            confidence=0.9,
            status=PageStatus.SUSPECT,
            warnings=(Notice("low_confidence", "x"),),
        )
        second = lines(*LINES[:20], confidence=1.0, status=status)
        record = better(first, second)
        assert record == replace(first, attempts=2)

    def test_its_time_and_tokens_count(self):
        first = lines(LINES[0], seconds=PageSeconds(1, 2, 3, 4), tokens=TokenCounts(5, 6))
        second = Page(
            1,
            PageStatus.TIMEOUT,
            seconds=PageSeconds(10, 20, 30, 40),
            tokens=TokenCounts(50, 0),
            error="slow",
        )
        record = better(first, second)
        assert (record.attempts, record.error) == (2, None)
        assert record.seconds == PageSeconds(11, 22, 33, 44)
        assert record.tokens == TokenCounts(55, 6)


@pytest.mark.parametrize("is_second_better", [False, True])
def test_attempts_and_seconds_are_those_of_both(is_second_better):
    few, many = (
        lines(*LINES[:count], seconds=PageSeconds(count, 1, 2, 3), facts=PageFacts(1))
        for count in (19, 20)
    )
    record = better(few, many) if is_second_better else better(many, few)
    assert is_kept(record, many)
    assert (record.attempts, record.seconds) == (2, PageSeconds(39, 2, 4, 6))


_texts = st.lists(st.sampled_from([*LINES[:6], "short", "", "a\tb"]) | st.text(max_size=30))
_blocks = st.builds(
    block,
    _texts.map("\n".join),
    confidence=st.none() | st.floats(0, 1),
    kind=st.sampled_from(BlockType),
)
_pages = st.builds(
    lambda blocks, status: page(*blocks, status=status),
    st.lists(_blocks, max_size=4),
    st.sampled_from(PageStatus),
)


@given(_pages)
def test_page_read_twice_alike_is_that_page(first):
    assert better(first, first) == replace(first, attempts=2)


@given(_pages, _pages)
def test_any_two_readings_make_one_of_them(first, second):
    record = better(first, second)
    assert is_kept(record, first) or is_kept(record, second)
    assert record.attempts == 2
    if second.status not in RESULTS:
        assert record == replace(first, attempts=2)


def test_reading_without_text_never_replaces_one_with_text():
    first = page(block("First", confidence=0.97))
    empty = page(block("", kind=BlockType.FIGURE, confidence=0.97))
    assert better(first, empty).blocks[0].text == "First"


def test_short_lines_count_where_there_are_no_others():
    first = page(block("12 34", "a b c", "x y z", confidence=0.97))
    second = page(block("12 34", confidence=0.99))
    assert better(first, second).blocks == first.blocks


def test_many_unlike_lines_are_compared_quickly():
    def unlike(seed):
        return page(block(*(f"{seed * 7919 + row * 104729:040d}"[::-1] for row in range(300))))

    started = time.perf_counter()
    better(unlike(1), unlike(2))
    assert time.perf_counter() - started < 20


def test_want_of_memory_in_a_reading_that_is_not_kept_is_said():
    told = Notice("memory_cpu", "on the CPU from here on")
    second = page(block("First", confidence=0.97), warnings=(told, Notice("rotated", "x")))
    assert better(page(block("First", confidence=0.97)), second).warnings == (told,)


class TestUnsureFirstReading:
    @pytest.mark.parametrize(
        ("sure", "status"),
        [(MIN_FIRST_CONFIDENCE, PageStatus.OK), (MIN_FIRST_CONFIDENCE - 0.01, PageStatus.SUSPECT)],
    )
    def test_makes_the_best_one_doubtful(self, sure, status):
        best = replace(lines(*LINES[:9]), confidence=Confidence(0.99, 0.9))
        first = replace(lines(*LINES[:9]), confidence=Confidence(sure, 0.1))
        record = doubted_as_first(best, first)
        assert record.status is status
        assert codes(record) == (["low_confidence"] if status is PageStatus.SUSPECT else [])
        assert is_kept(record, best)

    def test_says_nothing_new_of_a_page_that_is_marked(self):
        marked = lines(*LINES[:9], status=PageStatus.LOOP)
        first = replace(lines(*LINES[:9]), confidence=Confidence(0.5, 0.1))
        assert doubted_as_first(marked, first) is marked

    def test_without_text_or_confidence_raises_no_doubt(self):
        best = lines(*LINES[:9])
        assert doubted_as_first(best, page(confidence=Confidence(0.5, 0.1))) is best
        assert doubted_as_first(best, lines(*LINES[:9])) is best
