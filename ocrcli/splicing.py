"""A result put together from parts of several, with all that is said of them.

Parts are cut at offsets of a markup; tokens and starts of lines go with the text they belong to.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocrcli.confidence import TokenTrace
from ocrcli.line_starts import LineStart

if TYPE_CHECKING:
    from ocrcli.engine import PageResult


class Splice:
    """Takes parts of results, one behind the other."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._markup: list[str] = []
        self._length = 0
        self._ends: list[int] = []
        self._probabilities: list[float] = []
        self._starts: list[LineStart] = []

    def take(self, result: "PageResult", start: int, end: int) -> None:
        """Append a part.

        Args:
            result: What it is taken from.
            start: First character of the part in the markup of the result.
            end: Character after its last one.
        """
        shift = self._length - start
        # Tokens that write nothing belong to the text before them; there is none at the beginning.
        tokens = result.trace.part(start if start or self._markup else -1, end)
        self._ends += (token_end + shift for token_end in tokens.ends)
        self._probabilities += tokens.probabilities
        self._starts += (
            LineStart(line.offset + shift, line.down)
            for line in result.line_starts
            if start < line.offset <= end
        )
        self._markup.append(result.markup[start:end])
        self._length += end - start

    def result(self, whole: "PageResult") -> "PageResult":
        """Return a result with the parts for its markup.

        Args:
            whole: What all else is taken from.
        """
        return replace(
            whole,
            markup="".join(self._markup),
            trace=TokenTrace(tuple(self._ends), tuple(self._probabilities)),
            line_starts=tuple(self._starts),
        )
