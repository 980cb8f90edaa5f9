"""Which pages are read a second time, and which a third."""

from dataclasses import replace

import numpy as np
import pytest
from made_records import LINES, NO_RESULTS, RESULTS, TABLE, block, lines, page

from ocrcli.document import BlockType, Notice, PageFacts, PageStatus
from ocrcli.ink import ink_map
from ocrcli.line_boxes import Line
from ocrcli.two_readings import READINGS_DIFFER, is_doubtful, is_still_doubtful


class TestIsDoubtful:
    def test_page_that_the_model_was_sure_of_is_not(self):
        assert not is_doubtful(lines(*LINES[:5]))

    @pytest.mark.parametrize("status", NO_RESULTS)
    def test_page_that_was_not_read_to_its_end_is_not(self, status):
        doubtful = lines(LINES[0], LINES[0], confidence=0.5)
        assert is_doubtful(doubtful)
        assert not is_doubtful(replace(doubtful, status=status))

    @pytest.mark.parametrize("status", RESULTS)
    def test_page_without_text_is_not(self, status):
        figure = block(confidence=0.5, kind=BlockType.FIGURE)
        assert not is_doubtful(page(figure, status=status))
        assert not is_doubtful(page(status=status))

    @pytest.mark.parametrize(("is_found", "is_it"), [(True, False), (False, True), (None, True)])
    def test_page_with_a_line_that_stands_on_no_ink_is(self, is_found, is_it):
        box = (100, 100, 900, 140)
        placed = None
        if is_found is not None:
            placed = (Line((100, 100, 900, 120)), Line((100, 120, 900, 140), is_found=is_found))
        text = replace(block(*LINES[:2]), box=box, lines=placed)
        table = replace(block(TABLE, kind=BlockType.TABLE), box=(100, 200, 900, 300))
        known = tuple(Line((100, top, 900, top + 20)) for top in (400, 420, 440))
        more = replace(block(*LINES[2:5]), box=(100, 400, 900, 460), lines=known)
        ink = ink_map(np.full((40, 40), 255, np.uint8))
        assert is_doubtful(page(text, table, more, facts=PageFacts(1, ink=ink))) is is_it
        assert not is_doubtful(page(text, table, more, facts=PageFacts(1)))

    @pytest.mark.parametrize("skipped", [0, 1])
    def test_page_with_ink_beside_a_line_that_no_line_stands_on_is(self, skipped):
        places = tuple(Line((100, top, 900, top + 20)) for top in (100, 120, 140))
        places = (*places[:2], places[2]._replace(skipped=skipped))
        text = replace(block(*LINES[:3]), box=(100, 100, 900, 160), lines=places)
        ink = ink_map(np.full((40, 40), 255, np.uint8))
        assert is_doubtful(page(text, facts=PageFacts(1, ink=ink))) is bool(skipped)

    def test_page_of_which_hardly_any_line_has_ink_is_not(self):
        text = replace(block(*LINES[:2]), box=(100, 100, 900, 140))
        ink = ink_map(np.full((40, 40), 255, np.uint8))
        assert not is_doubtful(page(text, facts=PageFacts(1, ink=ink)))

    def test_suspect_page_is(self):
        assert is_doubtful(lines(LINES[0], status=PageStatus.SUSPECT))

    def test_page_that_repeats_a_long_line_is(self):
        assert is_doubtful(lines(*LINES[:5], LINES[2]))
        assert is_doubtful(page(block(LINES[0]), block(LINES[1]), block(LINES[0])))

    def test_blanks_do_not_tell_lines_apart(self):
        assert is_doubtful(lines(LINES[0], LINES[0].replace(" ", "  ")))

    def test_short_lines_may_stand_there_twice(self):
        assert not is_doubtful(lines("a" * 17, LINES[0], "a" * 17))
        assert is_doubtful(lines("a" * 18, LINES[0], "a" * 18))

    def test_page_is_as_sure_as_its_text(self):
        assert is_doubtful(lines(*LINES[:5], confidence=0.984))
        assert not is_doubtful(lines(*LINES[:5], confidence=0.985))

    def test_blocks_are_weighed_by_their_length(self):
        long, short = block(*LINES[:9], confidence=0.99), block("Tail", confidence=0.951)
        assert not is_doubtful(page(long, short))
        long, short = replace(long, confidence=short.confidence), block("Tail", confidence=0.999)
        assert is_doubtful(page(long, short))

    def test_one_unsure_block_is_enough(self):
        assert is_doubtful(page(block(*LINES[:9], confidence=0.999), block("x", confidence=0.949)))

    def test_figures_have_no_say(self):
        figure = block(confidence=0.3, kind=BlockType.FIGURE)
        assert not is_doubtful(page(figure, block(*LINES[:3])))

    def test_text_without_confidences_is_taken_for_sure(self):
        assert not is_doubtful(lines(*LINES[:3], confidence=None))
        mixed = page(block(*LINES[:3], confidence=None), block(LINES[4], confidence=0.98))
        assert is_doubtful(mixed)

    def test_rows_of_tables_are_lines(self):
        table = block(TABLE, kind=BlockType.TABLE)
        assert not is_doubtful(page(table))
        again = block(TABLE, "Name\tJanuary\tFebruary", kind=BlockType.TABLE)
        assert is_doubtful(page(again))


class TestIsStillDoubtful:
    def test_unsure_page_whose_lines_are_in_order_is_not(self):
        assert is_doubtful(lines(*LINES[:5], confidence=0.9))
        assert not is_still_doubtful(lines(*LINES[:5], confidence=0.9))
        assert not is_still_doubtful(lines(*LINES[:5], status=PageStatus.SUSPECT))

    def test_page_that_repeats_a_long_line_is(self):
        assert is_still_doubtful(lines(*LINES[:5], LINES[2]))

    def test_page_whose_readings_differ_is(self):
        notice = Notice(READINGS_DIFFER, "two readings differ")
        assert is_still_doubtful(lines(*LINES[:5], warnings=(notice,)))

    @pytest.mark.parametrize(("is_found", "skipped", "is_it"), [(1, 0, 0), (0, 0, 1), (1, 1, 1)])
    def test_page_with_a_line_off_its_ink_is(self, is_found, skipped, is_it):
        ink = ink_map(np.zeros((8, 8), np.uint8))
        places = [Line((0, 0, 9, 9)) for _ in range(4)]
        places.append(Line((0, 0, 9, 9), is_found=bool(is_found), skipped=skipped))
        found = replace(block(*LINES[:5]), box=(0, 0, 9, 9), lines=tuple(places))
        assert is_still_doubtful(page(found, facts=PageFacts(1, ink=ink))) == bool(is_it)

    @pytest.mark.parametrize("status", NO_RESULTS)
    def test_page_that_was_not_read_to_its_end_is_not(self, status):
        assert not is_still_doubtful(lines(*LINES[:5], LINES[2], status=status))
