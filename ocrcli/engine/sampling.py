"""The choice of the next token: greedy, with bans.

Decoding is greedy because a transcript must not differ between two runs. Bans keep structural ids
out of the text and, for models that need it, break verbatim repetition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class NoRepeatNgram:
    """Ban on tokens that would repeat an n-gram of the recent past.

    Source: the generation notes of Unlimited-OCR (n = 35; window 128 for one page, 1024 for
    several).

    Attributes:
        size: n, at least 2.
        window: Tokens back from the end at which a repeated n-gram may start.
        allowed: Ids that are never banned.
    """

    size: int
    window: int
    allowed: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Check the sizes."""
        if self.size < 2:
            raise ValueError(f"size must be at least 2, got {self.size}; use None for no ban")
        if self.window < self.size:
            raise ValueError(
                f"window must be at least size {self.size}, got {self.window}; "
                "a smaller window never bans anything"
            )

    def banned(self, ids: Sequence[int]) -> set[int]:
        """Return the ids that may not follow `ids`.

        An id is banned when it, after the last n-1 ids, would complete an n-gram that already
        occurs with a start among the last `window` positions.

        Args:
            ids: The whole sequence so far, prompt included.
        """
        length, lead = len(ids), self.size - 1
        if length < self.size:
            return set()
        recent = list(ids[max(0, length - self.window) :])
        prefix = recent[-lead:]
        found: set[int] = set()
        # An occurrence is looked up by its last id, which is rare; the rest is then compared.
        end = lead - 1
        while True:
            try:
                end = recent.index(prefix[-1], end, len(recent) - 1)
            except ValueError:
                return found - self.allowed
            if recent[end - lead + 1 : end + 1] == prefix:
                found.add(recent[end + 1])
            end += 1


@dataclass(frozen=True)
class TokenRun:
    """Ban on a token behind too many of its like in a row.

    A model that keeps the gaps in program text cannot count long ones, nor the dashes of a rule,
    and may then write blanks or dashes without end.

    Attributes:
        blank: Id of one blank.
        blanks: Blanks that may stand in a row.
        others: Equal tokens of another kind that may; longer than a line of program text.
    """

    blank: int
    blanks: int = 32
    others: int = 132

    def banned(self, ids: Sequence[int]) -> set[int]:
        """Return the ids that may not follow `ids`."""
        if not ids:
            return set()
        last = ids[-1]
        longest = self.blanks if last == self.blank else self.others
        tail = ids[-longest:]
        return {last} if len(tail) == longest and set(tail) == {last} else set()


class GreedySampler:
    """Picks the best allowed id of every row and reports how probable it was."""

    def __init__(self, forbidden: Sequence[int], device: torch.device) -> None:
        """Create the sampler.

        Args:
            forbidden: Ids that no row may ever produce.
            device: Where scores live.
        """
        self._forbidden = torch.tensor(sorted(set(forbidden)), dtype=torch.int64, device=device)

    def __call__(
        self, logits: Tensor, bans: Mapping[int, Sequence[int]]
    ) -> tuple[list[int], list[float]]:
        """Return the chosen ids and their probabilities among the allowed ids, one a row.

        A probability is NaN when the row's scores are not finite. The result crosses to the host
        in one transfer.

        Args:
            logits: Scores, float32 [B, vocabulary]; overwritten.
            bans: Further forbidden ids by row.
        """
        logits[:, self._forbidden] = -torch.inf
        for row, ids in bans.items():
            logits[row, list(ids)] = -torch.inf
        best, chosen = logits.max(1)
        probability = (best - logits.logsumexp(1)).exp()
        # float64 carries every token id exactly.
        ids, probabilities = torch.stack((chosen.double(), probability.double())).tolist()
        return [int(token) for token in ids], probabilities
