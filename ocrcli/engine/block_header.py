"""The header of a block, `<|det|>label [x1, y1, x2, y2]<|/det|>`: what may stand in it, and where.

Where a label and every coordinate have ids of their own, a header is six ids behind `<|det|>`. A
model that is unsure of one may write any other id there, and the block would have no place.
"""

from collections.abc import Sequence

from ocrcli.tokenizer import Tokenizer

_COORDINATES = 4


class BlockHeader:
    """Bans what does not belong into a header."""

    def __init__(
        self, det: int, labels: Sequence[int], coordinates: Sequence[int], end: int, size: int
    ) -> None:
        """Note the ids.

        Args:
            det: Id that begins a header.
            labels: Ids of labels.
            coordinates: Ids of coordinates.
            end: Id that ends a header.
            size: Number of ids.
        """
        self._det = det
        every = range(size)
        label, coordinate, close = (
            frozenset(every) - frozenset(allowed) for allowed in (labels, coordinates, (end,))
        )
        self._banned = (label, *[coordinate] * _COORDINATES, close)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "BlockHeader | None":
        """Return the header of a tokenizer, or None where coordinates have no ids of their own."""
        count = tokenizer.num_integers
        if not count:
            return None
        first = tokenizer.integer_id(0)
        return cls(
            tokenizer.det_id,
            tuple(tokenizer.label_ids.values()),
            range(first, first + count),
            tokenizer.end_det_id,
            tokenizer.vocab_size,
        )

    def banned(self, ids: Sequence[int]) -> frozenset[int]:
        """Return the ids that may not follow `ids`: in a header, all but a few.

        Args:
            ids: The whole sequence so far, prompt included.
        """
        for behind, banned in enumerate(self._banned):
            if behind < len(ids) and ids[-1 - behind] == self._det:
                return banned
        return frozenset()
