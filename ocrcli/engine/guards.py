"""When to stop a page that does not stop itself: repetition and length.

A model that loses its place repeats itself until the token limit. The period search below finds
that early, and stays silent on what real pages repeat: leaders, rules, blank table rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Loop:
    """A periodic tail.

    Attributes:
        period: Tokens in one repetition.
        span: Tokens from the first repetition's start to the end.
    """

    period: int
    span: int


@dataclass(frozen=True)
class LoopGuard:
    """Finds a tail that repeats with a fixed period.

    A tail counts as a loop when it holds at least `min_periods` whole periods and spans at least
    `min_span` tokens. Periods under `short_period` tokens must span `short_span`, because a line of
    dots, a ruled line or the blank rows of a form are short patterns that real pages repeat often;
    a repeated sentence is longer than that and no page prints one four times in a row.

    Attributes:
        min_span: Shortest loop, in tokens.
        min_periods: Fewest repetitions.
        short_period: Periods below this many tokens are held to `short_span`.
        short_span: Shortest loop of a short period, in tokens.
        max_period: Longest period searched for, in tokens.
        interval: Tokens between two searches of a growing page.
    """

    min_span: int = 200
    min_periods: int = 4
    short_period: int = 32
    short_span: int = 640
    max_period: int = 400
    interval: int = 16

    def due(self, count: int) -> bool:
        """Return whether a page of `count` tokens is searched now.

        The answer depends on the page alone, never on the pages decoded beside it.
        """
        return count >= self.min_span and count % self.interval == 0

    def find(self, token_ids: Sequence[int]) -> Loop | None:
        """Return the loop at the end of `token_ids` with the shortest period, or None."""
        longest = max(self.short_span, self.min_span, self.min_periods * self.max_period)
        tail = np.asarray(token_ids[-longest:], dtype=np.int64)[::-1]
        if tail.size < self.min_span:
            return None
        periods = [int(p) + 1 for p in np.flatnonzero(tail[1 : self.max_period + 1] == tail[0])]
        for period in periods:
            needed = self._needed(period)
            if not _repeats(tail, period, needed):
                continue
            # Three rows of a form are a long period too; only their own, shorter one counts.
            if any(
                _repeats(tail, p, needed) for p in periods if p < min(self.short_period, period)
            ):
                continue
            return Loop(period, _span(token_ids, period))
        return None

    def _needed(self, period: int) -> int:
        span = self.short_span if period < self.short_period else self.min_span
        return max(span, self.min_periods * period)


def _repeats(tail: NDArray[np.int64], period: int, span: int) -> bool:
    """Return whether the first `span` ids of a reversed tail have the given period."""
    return tail.size >= span and np.array_equal(tail[: span - period], tail[period:span])


def _span(token_ids: Sequence[int], period: int) -> int:
    start = len(token_ids) - period
    while start > 0 and token_ids[start - 1] == token_ids[start - 1 + period]:
        start -= 1
    return len(token_ids) - start
