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

MAX_DIFFERENCE = 0.08
"""Share of lines that only one of two readings holds above which neither is trusted.

Of 127 pages that were read twice, 13 were above it; in 8 of these the better reading had more than
2 % of wrong characters, in 27 of the others.
"""

# Shorter lines may well stand on a page twice, or look alike.
_LONG_LINE = 18
_COMPARED_LINE = 12
_ALIKE = 0.6
# What is longer, or makes more pairs, would take seconds to compare letter by letter.
_MOST_CHARACTERS = 200
_MOST_PAIRS = 2000
# Larger letters make the model surer, whether it reads them better or not, so faults weigh much. On
# 208 pages of all kinds that were read twice, 5,299 characters are wrong with this weight, 5,346
# with 0.25, 5,701 with 0.2, and 4,570 if the better reading is always known.
_CLEARLY_SURER = 0.001
_WEIGHT_OF_FAULTS = 0.3


def is_doubtful(page: Page) -> bool:
    """Return whether a page that was read to its end had better be read once more.

    Args:
        page: The record of the first reading.
    """
    if page.status not in (PageStatus.OK, PageStatus.SUSPECT) or not page.text:
        return False
    if page.status is PageStatus.SUSPECT or _repeated(_lines(page)) or _is_off_its_ink(page):
        return True
    sure = [block.confidence.mean for block in page.blocks if block.text and block.confidence]
    return _text_confidence(page) < MIN_SURE_CONFIDENCE or min(sure, default=1.0) < MIN_SURE_BLOCK


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

    What share of its lines a reading repeats and lacks that the other does not, and how sure the
    model was of it, decide together.

    Args:
        first: The record of the first reading.
        second: That of the second one; without a result, or cut, it counts for nothing.
    """
    if second.status not in (PageStatus.OK, PageStatus.SUSPECT) or not second.text:
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
    if not faults and not faults_there:
        # Both hold the same longer lines, but one may lack a short one.
        faults, faults_there = _skipped(first), _skipped(second)
    gain = _text_confidence(second) - _text_confidence(first)
    share = (faults - faults_there) / max(1, len(ours), len(theirs))
    return gain + _WEIGHT_OF_FAULTS * share > _CLEARLY_SURER


def one_of_two(first: Page, second: Page, is_second: bool) -> Page:
    """Return one of two readings of a page, as one that was read twice.

    Where the two differ much, neither is trusted.

    Args:
        first: The record of the first reading.
        second: That of the second one.
        is_second: Whether the second one is taken.
    """
    difference = 0.0
    if second.status in (PageStatus.OK, PageStatus.SUSPECT) and second.text:
        ours, theirs = _lines(first), _lines(second)
        unlike = _missing(ours, theirs) + _missing(theirs, ours)
        difference = unlike / max(1, len(ours) + len(theirs))
    chosen = second if is_second else first
    warnings = chosen.warnings
    if chosen is first:
        # What is said once, of the run, must not get lost with a reading.
        lost = (notice for notice in second.warnings if notice.code.startswith("memory_"))
        warnings = tuple(dict.fromkeys((*warnings, *lost)))
    # Each has the time of one drawing.
    chosen = replace(
        chosen,
        attempts=first.attempts + second.attempts,
        seconds=first.seconds + second.seconds,
        warnings=warnings,
    )
    if difference <= MAX_DIFFERENCE:
        return chosen
    detail = f"two readings of the page differ in {difference:.0%} of their lines"
    notices = (*chosen.warnings, Notice("readings_differ", detail))
    return replace(chosen, status=PageStatus.SUSPECT, warnings=notices)


def _skipped(page: Page) -> int:
    """Return how many rows of ink beside the lines of a page no line stands on."""
    return sum(line.skipped for block in page.blocks for line in block.lines or ())


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
