"""Two readings of one page: when a second one is worth its time, and which of the two is better.

The small model's mistakes are mostly of one kind: a line is read twice, or skipped. They depend on
little things, such as how large the page is drawn, so two readings seldom make the same one. Of 292
pages read at two sizes, the better ones had 6,431 wrong characters, the first ones 14,815.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ocrcli.document import Notice, Page, PageStatus
from ocrcli.estimated_lines import lines_of
from ocrcli.ink_placement import ROW_BY_ROW
from ocrcli.line_boxes import Line

MIN_SURE_CONFIDENCE = 0.985
"""Mean probability of a page's text below which it is read twice.

With this and the rules below, 153 of 393 pages of the evaluation were; of the others 14 had more
than 2 % of wrong characters.
"""

MIN_SURE_BLOCK = 0.95
"""The same for each of its blocks."""

READINGS_DIFFER = "readings_differ"
"""Code of the notice that no two readings of a page are much alike."""

MAX_DIFFERENCE = 0.08
"""Share of lines that only one of two readings holds above which neither is trusted.

Of 127 pages that were read twice, 13 were above it; in 8 of these the better reading had more than
2 % of wrong characters, in 27 of the others.
"""

MIN_FIRST_CONFIDENCE = 0.9
"""Mean probability of the first reading's text below which a better one is not trusted either.

Of 1,800 pages in taught languages none was below 0.92. Of two pages in type of at most 4 pt that
became fluent when they were drawn larger, one still had 6 % of wrong characters.
"""

# Shorter lines may well stand on a page twice, or look alike.
_LONG_LINE = 18
_COMPARED_LINE = 12
_ALIKE = 0.6
# What is longer, or makes more pairs, would take seconds to compare letter by letter.
_MOST_CHARACTERS = 200
_MOST_PAIRS = 2000
# Larger letters make the model surer, whether it reads them better or not, so faults weigh much. Of
# 605 pairs of readings of 561 pages of all kinds, 12,892 characters are wrong with these weights,
# 14,127 with 0.3 and 0, and 10,085 if the better reading is always known. On either half of the
# pages they do no worse than those fitted on the other.
_CLEARLY_SURER = 0.001
_WEIGHT_OF_FAULTS = 0.2
_WEIGHT_OF_INK = 0.1
# Lines of a block of which hardly any was found say less: its place may be wrong.
_UNPLACED = 0.3


def is_doubtful(page: Page) -> bool:
    """Return whether a page that was read to its end had better be read once more.

    Args:
        page: The record of the first reading.
    """
    if not _is_read(page):
        return False
    if page.status is PageStatus.SUSPECT or _repeated(_lines(page)) or _is_off_its_ink(page):
        return True
    sure = [block.confidence.mean for block in page.blocks if block.text and block.confidence]
    return _text_confidence(page) < MIN_SURE_CONFIDENCE or min(sure, default=1.0) < MIN_SURE_BLOCK


def is_still_doubtful(page: Page) -> bool:
    """Return whether a page that was read twice had better be read a third time.

    That is so where one line stands there twice, or has no ink, some ink has no line, or the two
    readings differ: of 1,500 pages one in six, with more than half of all wrong characters.

    Args:
        page: The record of both readings.
    """
    if not _is_read(page):
        return False
    differs = any(notice.code == READINGS_DIFFER for notice in page.warnings)
    return differs or bool(_repeated(_lines(page))) or _is_off_its_ink(page)


def _is_off_its_ink(page: Page) -> bool:
    """Return whether some line stands on no ink of its own, or some ink has no line.

    That is so where a line is read twice, or skipped.

    Of 55 pages of manuals that the model was sure of, twelve had lines without ink, among them the
    seven with the most wrong characters; of 114 pages in one column three had.
    """
    if page.facts.ink is None:
        return False
    found = []
    for block in page.blocks:
        if block.box is not None and block.text and block.type not in ROW_BY_ROW:
            lines = block.lines or (Line(block.box, is_found=False),) * len(lines_of(block))
            found += [line.is_found and not line.skipped for line in lines]
    # Where hardly any line has ink, it is the places that are wrong.
    return not all(found) and 2 * sum(found) >= len(found)


def is_second_better(first: Page, second: Page) -> bool:
    """Return whether the second of two readings of a page is the better one.

    What share of its lines a reading repeats and lacks that the other does not, how many of them
    stand on no ink, or are missing where there is some, and how sure the model was of it, decide
    together.

    Args:
        first: The record of the first reading.
        second: That of the second one; without a result, or cut, it counts for nothing.
    """
    if not _is_read(second):
        return False
    ours, theirs = _lines(first), _lines(second)
    repeated, repeated_there = _repeated(ours), _repeated(theirs)
    # Lines that both repeat are printed twice.
    repeated, repeated_there = (
        max(0, repeated - repeated_there),
        max(0, repeated_there - repeated),
    )
    # What one reading repeats the other does not lack.
    # Nor is a line without ink missing where it is not.
    seen, seen_there = _lines(first, only_on_ink=True), _lines(second, only_on_ink=True)
    faults = repeated + max(0, _missing(ours, seen_there) - repeated_there)
    faults_there = repeated_there + max(0, _missing(theirs, seen) - repeated)
    gain = _text_confidence(second) - _text_confidence(first)
    fewer_faults = _WEIGHT_OF_FAULTS * (faults - faults_there)
    nearer_to_ink = _WEIGHT_OF_INK * (_off_ink(first) - _off_ink(second))
    share = (fewer_faults + nearer_to_ink) / max(1, len(ours), len(theirs))
    return gain + share > _CLEARLY_SURER


def one_of(best: Page, others: Sequence[Page]) -> Page:
    """Return the best of all readings of a page, as one that was read so often.

    Where every other reading differs from it much, none is trusted.

    Args:
        best: The record of the reading that is taken.
        others: Those of the other readings.
    """
    if not others:
        return best
    # What is said once, of the run, must not get lost with a reading.
    lost = [
        notice for other in others for notice in other.warnings if notice.code.startswith("memory_")
    ]
    # Each has the time of one drawing, and the tokens of one reading.
    page = replace(
        best,
        attempts=best.attempts + sum(other.attempts for other in others),
        tokens=sum((other.tokens for other in others), best.tokens),
        seconds=sum((other.seconds for other in others), best.seconds),
        warnings=tuple(dict.fromkeys((*best.warnings, *lost))),
    )
    difference = min((_difference(best, o) for o in others if _is_read(o)), default=0.0)
    if difference <= MAX_DIFFERENCE:
        return page
    detail = f"two readings of the page differ in {difference:.0%} of their lines"
    notices = (*page.warnings, Notice(READINGS_DIFFER, detail))
    return replace(page, status=PageStatus.SUSPECT, warnings=notices)


def doubted_as_first(page: Page, first: Page) -> Page:
    """Return the record of all readings, doubtful where the first one was far from sure.

    Args:
        page: The record of all readings.
        first: That of the first one.
    """
    sure = first.confidence.mean if first.text and first.confidence else 1.0
    if page.status is not PageStatus.OK or sure >= MIN_FIRST_CONFIDENCE:
        return page
    detail = f"the mean confidence of the first reading was only {sure:.2f}"
    notices = (*page.warnings, Notice("low_confidence", detail))
    return replace(page, status=PageStatus.SUSPECT, warnings=notices)


def _is_read(page: Page) -> bool:
    return page.status in (PageStatus.OK, PageStatus.SUSPECT) and bool(page.text)


def _difference(page: Page, other: Page) -> float:
    """Return the share of the lines of two readings that only one of them holds."""
    ours, theirs = _lines(page), _lines(other)
    unlike = _missing(ours, theirs) + _missing(theirs, ours)
    return unlike / max(1, len(ours) + len(theirs))


def _off_ink(page: Page) -> float:
    """Return how many lines of a page have no ink of their own, or are missing where there is ink.

    Lines of blocks that were not found count in part.
    """
    count = 0.0
    for block in page.blocks:
        if block.type in ROW_BY_ROW or block.box is None or not block.text:
            continue
        if block.lines is not None:
            count += sum(line.skipped + (not line.is_found) for line in block.lines)
        elif page.facts.ink is not None:
            count += _UNPLACED * len(lines_of(block))
    return count


def _lines(page: Page, *, only_on_ink: bool = False) -> list[str]:
    """Return the lines of a page without blanks; short ones only where there are no others.

    Args:
        page: The page.
        only_on_ink: Whether lines are left out that are known to stand on no ink of their own.
    """
    texts = []
    for block in page.blocks:
        found = lines_of(block)
        if only_on_ink and block.lines is not None and len(block.lines) == len(found):
            places = zip(found, block.lines, strict=True)
            found = [text for text, line in places if line.is_found]
        texts += found
    lines = [line for text in texts if (line := "".join(text.split())[:_MOST_CHARACTERS])]
    return [line for line in lines if len(line) >= _COMPARED_LINE] or lines


def _repeated(lines: Sequence[str]) -> int:
    """Return how many long lines stand there once more."""
    counts = Counter(line for line in lines if len(line) >= _LONG_LINE)
    return sum(count - 1 for count in counts.values())


def _missing(lines: Sequence[str], others: Sequence[str]) -> int:
    """Return how many of the other lines have nothing like them among these."""
    own = Counter(lines)
    unlike = []
    for line in others:
        if own[line]:
            own[line] -= 1
        else:
            unlike.append(line)
    rest = list(own.elements())
    missing, is_long = 0, len(unlike) * len(rest) > _MOST_PAIRS
    for line in unlike:
        best, best_place = _ALIKE, None
        matcher = SequenceMatcher(None, "", line, False)
        for place, candidate in enumerate(rest):
            matcher.set_seq1(candidate)
            if matcher.real_quick_ratio() <= best:
                continue
            likeness = matcher.quick_ratio()
            if likeness > best and not is_long:
                likeness = matcher.ratio()
            if likeness > best:
                best, best_place = likeness, place
        if best_place is None:
            missing += 1
        else:
            del rest[best_place]
    return missing


def _text_confidence(page: Page) -> float:
    """Return how sure the model was of a page's text, its blocks weighed by their length."""
    sure = [
        (len(block.text), block.confidence.mean)
        for block in page.blocks
        if block.text and block.confidence
    ]
    total = sum(length for length, _ in sure)
    return sum(length * mean for length, mean in sure) / total if total else 1.0
