"""Where a tensor of a file goes when files and modules cut their matrices differently."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """One piece of a stored tensor and its place in a parameter.

    Attributes:
        target: Name of the parameter.
        source: Index that takes the piece out of the stored tensor; empty for all of it.
        row: First row of the parameter that the piece fills.
        is_whole: Whether the piece is all of the parameter; others join it row by row.
    """

    target: str
    source: tuple[int | slice, ...] = ()
    row: int = 0
    is_whole: bool = True
