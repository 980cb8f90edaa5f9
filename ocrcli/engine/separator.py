"""Finds page borders in what the first generation writes: there `<PAGE>` is ordinary text.

The tokenizer may cut the marker anywhere and may join its ends with the letters around it, so it is
looked for in decoded text, a few tokens at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MARKER = "<PAGE>"

_MOST_IDS = len(MARKER)
"""Every id spells at least one byte, so the marker reaches over no more than this many."""


@dataclass(frozen=True)
class Border:
    """A marker at the end of some ids.

    Attributes:
        num_ids: How many ids at the end spell it.
        before: Text in front of the marker that these ids spell besides.
        after: Text behind it.
    """

    num_ids: int
    before: str
    after: str


class TextSeparator:
    """Looks for the marker each time an id is added."""

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        """Take the tokenizer's way from ids to text."""
        self._decode = decode

    def find(self, ids: Sequence[int]) -> Border | None:
        """Return the border that the last id completes, or None.

        Args:
            ids: What has been written since the last border.
        """
        if MARKER[-1] not in self._decode(list(ids[-1:])):
            return None
        for count in range(1, min(_MOST_IDS, len(ids)) + 1):
            before, found, after = self._decode(list(ids[-count:])).partition(MARKER)
            if found:
                return Border(count, before, after)
        return None
