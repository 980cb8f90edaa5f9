"""How sure a model was of what it wrote, token by token, and so of any part of it."""

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True)
class Confidence:
    """Probabilities, 0 to 1, that the model gave to what it wrote."""

    mean: float
    min: float


@dataclass(frozen=True)
class TokenTrace:
    """The tokens of a markup, in order.

    Attributes:
        ends: Where each token's text ends in the markup, in characters, never falling.
        probabilities: What the model gave each token, 0 to 1.

    Raises:
        ValueError: There is not one end for every probability.
    """

    ends: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that both have one length."""
        if len(self.ends) != len(self.probabilities):
            raise ValueError(
                f"ends and probabilities must have one length, got {len(self.ends)} and "
                f"{len(self.probabilities)}"
            )

    @property
    def confidence(self) -> Confidence | None:
        """Mean and minimum over all tokens, or None if there is none."""
        if not self.probabilities:
            return None
        mean = sum(self.probabilities) / len(self.probabilities)
        return Confidence(mean, min(self.probabilities))

    def part(self, start: int, end: int) -> "TokenTrace":
        """Return the tokens that end inside a part of the markup.

        Args:
            start: First character of the part.
            end: Character after its last one.

        Example:
            >>> TokenTrace((2, 5, 9), (0.5, 0.75, 0.25)).part(2, 9).confidence
            Confidence(mean=0.5, min=0.25)
        """
        first, last = bisect_right(self.ends, start), bisect_right(self.ends, end)
        return TokenTrace(self.ends[first:last], self.probabilities[first:last])

    def __add__(self, other: "TokenTrace") -> "TokenTrace":
        """Return these tokens and those of a later part."""
        return TokenTrace(self.ends + other.ends, self.probabilities + other.probabilities)
