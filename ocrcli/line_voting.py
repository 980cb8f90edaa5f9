"""Three readings of a page made one: what two of them hold stays, what one alone holds goes.

Readings of one page lose other lines, repeat others and make up others, so two seldom make the same
mistake. The method is that of ROVER (Fiscus, 1997), with lines in place of words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from ocrcli.line_merging import MIN_SURER
from ocrcli.markup_lines import Line, aligned, lines_of
from ocrcli.splicing import Splice
from ocrcli.sureness import line_sureness, text_sureness

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

_ROW, _TAG = re.compile(r"<tr>(.*?)</tr>", re.DOTALL), re.compile(r"<[^<>]*>")

Matches = Sequence[int | None]
"""Which line of another reading each line is, or None."""

# How much lines, and rows of tables, count that no other reading has, that both others have, or
# that stand there twice, as shares of all lines, against how sure the model was: fitted on 257
# pages that were read three times, and on 39 by other weights.
_WEIGHT_OF_LINES, _WEIGHT_OF_ROWS, _WEIGHT_OF_SURENESS = 1.0, 0.25, 1.0
# Shorter lines may well stand on a page twice.
_LONG_LINE = 18
# A line of which so much is part of a neighbour's has been joined with it.
_JOINED = 0.5
# A line that is so much shorter than ours may be a part of it.
_PART = 0.7


class _Ballot(NamedTuple):
    """A reading, its lines, and which lines of the next reading and of the one after they are."""

    result: "PageResult"
    lines: Sequence[Line]
    matches: tuple[Matches, Matches]


class _Edit(NamedTuple):
    """A part of the base and the part of another reading that takes its place, if any does."""

    start: int
    end: int
    source: "PageResult | None" = None
    source_start: int = 0
    source_end: int = 0


class Vote:
    """Three readings of a page that vote on every line.

    Attributes:
        base: Which of them the two others bear out most, 0 to 2.
    """

    def __init__(self, readings: "Sequence[PageResult]") -> None:
        """Find the lines that readings share.

        Args:
            readings: What came of reading a page three times, each time to its end.

        Raises:
            ValueError: There are not three.
        """
        if len(readings) != 3:
            raise ValueError(f"three readings can be voted on, got {len(readings)}")
        lines = [lines_of(reading.markup) for reading in readings]
        matches = {(i, j): aligned(lines[i], lines[j]) for i, j in ((0, 1), (0, 2), (1, 2))}
        matches |= {(j, i): _inverse(found, len(lines[j])) for (i, j), found in matches.items()}
        ballots = [
            _Ballot(readings[i], lines[i], (matches[i, (i + 1) % 3], matches[i, (i + 2) % 3]))
            for i in range(3)
        ]
        self.base = min(range(3), key=lambda i: _demerit(*ballots[i:], *ballots[:i]))
        self._ballots = ballots[self.base :] + ballots[: self.base]

    def result(self) -> "PageResult":
        """Return the base with the lines that the two others agree on.

        Its blocks and tables stay.
        """
        own, one, two = self._ballots
        edits = [*_changed(own, one, two), *_added(own, one, two), *_dropped(own, one, two)]
        splice, place = Splice(), 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < place:
                continue
            splice.take(own.result, place, edit.start)
            if edit.source is not None:
                splice.take(edit.source, edit.source_start, edit.source_end)
            place = edit.end
        splice.take(own.result, place, len(own.result.markup))
        return splice.result(own.result)


def _inverse(matches: Matches, count: int) -> list[int | None]:
    found: list[int | None] = [None] * count
    for index, match in enumerate(matches):
        if match is not None:
            found[match] = index
    return found


def _demerit(own: _Ballot, one: _Ballot, two: _Ballot) -> float:
    """Return how little the other readings bear one out."""
    lone = sum(first is None and second is None for first, second in zip(*own.matches, strict=True))
    lacking = sum(
        other is not None and mine is None for other, mine in zip(*one.matches, strict=True)
    )
    counts = Counter(key for line in own.lines if len(key := _key(line)) >= _LONG_LINE)
    repeated = sum(count - 1 for count in counts.values())
    rows, rows_of_one, rows_of_two = (_rows(ballot.result) for ballot in (own, one, two))
    odd_rows = rows - (rows_of_one | rows_of_two) + ((rows_of_one & rows_of_two) - rows)
    faults = _WEIGHT_OF_LINES * (lone + lacking + repeated) + _WEIGHT_OF_ROWS * odd_rows.total()
    most = max(1, *(len(ballot.lines) for ballot in (own, one, two)))
    return faults / most - _WEIGHT_OF_SURENESS * (text_sureness(own.result) or 0.0)


def _rows(result: "PageResult") -> Counter[str]:
    """Return the rows of all tables, without blanks."""
    found = _ROW.findall(result.markup)
    return Counter("".join(_TAG.sub("|", row).split()) for row in found)


def _key(line: Line) -> str:
    return "".join(line.text.split())


def _changed(own: _Ballot, one: _Ballot, two: _Ballot) -> Iterator[_Edit]:
    """Yield lines that both others read in the same other way, or one of them more surely."""
    present = {line.text for line in own.lines}
    for line, first, second in zip(own.lines, *own.matches, strict=True):
        rivals = [
            (ballot.result, ballot.lines[match])
            for ballot, match in ((one, first), (two, second))
            if match is not None
        ]
        keys = [_key(rival) for _, rival in rivals]
        # What stands elsewhere already was read in the wrong place.
        rivals = [rival for rival in rivals if rival[1].text not in present]
        if _key(line) in keys or not rivals:
            continue
        result, rival = max(rivals, key=lambda rival: line_sureness(*rival))
        is_outvoted = len(keys) == 2 and keys[0] == keys[1]
        is_surer = line_sureness(result, rival) - line_sureness(own.result, line) > MIN_SURER
        is_part = len(_key(rival)) < _PART * len(_key(line))
        if is_outvoted or (is_surer and not is_part):
            yield _Edit(line.start, line.end, result, rival.start, rival.end)


def _added(own: _Ballot, one: _Ballot, two: _Ballot) -> Iterator[_Edit]:
    """Yield lines that both others hold, behind or before a line that all three hold."""
    of_two, mine = one.matches

    def kind(index: int) -> tuple[bool, int]:
        match = of_two[index]
        is_missing = mine[index] is None and match is not None and two.matches[0][match] is None
        return is_missing, one.lines[index].block

    for (is_missing, _), run in groupby(range(len(one.lines)), kind):
        if not is_missing:
            continue
        indices = list(run)
        first, last = indices[0], indices[-1]
        before, after = _anchor(one, first - 1, first), _anchor(one, last + 1, last)
        neighbours = [own.lines[index] for index in (before, after) if index is not None]
        if any(_is_joined(one.lines[index], neighbours) for index in indices):
            continue
        if before is not None:
            place = own.lines[before].end
            yield _Edit(place, place, one.result, one.lines[first - 1].end, one.lines[last].end)
        elif after is not None:
            place = own.lines[after].start
            yield _Edit(place, place, one.result, one.lines[first].start, one.lines[last + 1].start)


def _anchor(one: _Ballot, index: int, neighbour: int) -> int | None:
    """Return which line of the base a neighbour in the same block is, or None."""
    if not 0 <= index < len(one.lines) or one.lines[index].block != one.lines[neighbour].block:
        return None
    return one.matches[1][index]


def _dropped(own: _Ballot, one: _Ballot, two: _Ballot) -> Iterator[_Edit]:
    """Yield lines that no other reading holds, where both hold those before and behind them."""
    lone = [first is None and second is None for first, second in zip(*own.matches, strict=True)]
    for is_lone, run in groupby(range(len(lone)), lone.__getitem__):
        if not is_lone:
            continue
        indices = list(run)
        before, after = indices[0] - 1, indices[-1] + 1
        around = [
            _between(matches, ballot.lines, before, after)
            for matches, ballot in zip(own.matches, (one, two), strict=True)
        ]
        if None in around:
            continue
        mine = [own.lines[index] for index in (before, after) if 0 <= index < len(lone)]
        if any(
            _is_joined(own.lines[index], found) and not _is_joined(own.lines[index], mine)
            for index in indices
            for found in around
            if found is not None
        ):
            continue
        if before >= 0 and own.lines[before].block == own.lines[after - 1].block:
            yield _Edit(own.lines[before].end, own.lines[after - 1].end)
        elif after < len(lone) and own.lines[after].block == own.lines[before + 1].block:
            yield _Edit(own.lines[before + 1].start, own.lines[after].start)


def _between(matches: Matches, lines: Sequence[Line], before: int, after: int) -> list[Line] | None:
    """Return the neighbours of a gap in another reading, or None if something stands there."""
    upper = matches[before] if before >= 0 else -1
    lower = matches[after] if after < len(matches) else len(lines)
    if upper is None or lower is None or lower != upper + 1:
        return None
    return [lines[index] for index in (upper, lower) if 0 <= index < len(lines)]


def _is_joined(line: Line, neighbours: Sequence[Line]) -> bool:
    """Return whether much of a line is part of one of its neighbours."""
    key = _key(line)
    matcher = SequenceMatcher(None, "", key, autojunk=False)
    for neighbour in neighbours:
        matcher.set_seq1(_key(neighbour))
        if matcher.find_longest_match().size >= _JOINED * len(key):
            return True
    return False
