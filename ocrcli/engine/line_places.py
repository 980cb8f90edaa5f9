"""Where lines are said to begin: coordinates that the embedded model may write between the text.

The engine asks for them: it begins the response with a line feed. Then, behind a line feed inside
a block, and behind `<tr>`, a model that learned it writes how far down the page the next line
begins, in thousandths. Lines of a block stand one below the other, so a place that is not below the
one before would read a line again; it is banned. The places spell nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ocrcli.line_starts import LineStart
from ocrcli.tokenizer import Tokenizer

MASKED = -1
"""What stands for every place among masked ids; no id."""

_HEADER_COORDINATES = 4
_TOP = 1


@dataclass(frozen=True)
class LinePlaces:
    """The ids that matter for places.

    Attributes:
        first: Id of coordinate 0; the others follow it.
        count: Coordinates that have an id.
        det: Id that begins the header of a block, whose coordinates come behind a label.
        cue: Id that begins a response with places; no part of the transcript.
        openers: Ids behind which a coordinate is a place.
    """

    first: int
    count: int
    det: int
    cue: int
    openers: frozenset[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "LinePlaces | None":
        """Return the ids of a tokenizer, or None where coordinates have no ids of their own."""
        count = tokenizer.num_integers
        if not count:
            return None
        row = tokenizer.tag_ids.get("<tr>")
        openers = {tokenizer.newline_id} | ({row} if row is not None else set())
        first, cue = tokenizer.integer_id(0), tokenizer.newline_id
        return cls(first, count, tokenizer.det_id, cue, frozenset(openers))

    def is_place(self, previous: int, token: int) -> bool:
        """Return whether `token`, behind `previous`, says where a line begins."""
        return previous in self.openers and self._is_coordinate(token)

    def line_starts(self, ids: Sequence[int], ends: Sequence[int]) -> tuple[LineStart, ...]:
        """Return where lines are said to begin.

        Args:
            ids: What was generated.
            ends: Where in the markup the text of each of them ends.
        """
        return tuple(
            LineStart(end, token - self.first)
            for token, end, is_text in zip(ids, ends, self.spells(ids), strict=True)
            if not is_text
        )

    def spells(self, ids: Sequence[int]) -> list[bool]:
        """Return of each id whether it is anything but a place."""
        return [not self.is_place(*pair) for pair in pairwise((MASKED, *ids))]

    def banned(self, ids: Sequence[int]) -> range:
        """Return the ids that may not follow `ids`: places at or above the last one of the block.

        Args:
            ids: The whole sequence so far, prompt included.
        """
        if not ids or ids[-1] not in self.openers:
            return range(0)
        for place in range(len(ids) - 2, -1, -1):
            token = ids[place]
            if token == self.det:
                return self._above_block(ids[place + 1 :])
            if place and self.is_place(ids[place - 1], token):
                return range(self.first, token + 1)
        return range(0)

    def masked(self, ids: Sequence[int]) -> list[int]:
        """Return `ids` with all places alike, so that a line read twice is equal to itself."""
        spelled = zip(ids, self.spells(ids), strict=True)
        return [token if is_text else MASKED for token, is_text in spelled]

    def _above_block(self, header: Sequence[int]) -> range:
        """Return the places above a block, given what follows `det`."""
        box = [token for token in header[1 : 1 + _HEADER_COORDINATES] if self._is_coordinate(token)]
        return range(self.first, box[_TOP] + 1) if len(box) == _HEADER_COORDINATES else range(0)

    def _is_coordinate(self, token: int) -> bool:
        return self.first <= token < self.first + self.count
