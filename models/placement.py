"""Where a tensor of a file goes when files and modules cut their matrices differently."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """One piece of a stored tensor and its place in a parameter.

    Attributes:
        target: Name of the parameter.
        source: Index that takes the piece out of the stored tensor; empty for all of it.
        part: Which part of the parameter's rows the piece fills, from 0.
        num_parts: Parts of equal height that the rows come in; 1 if the piece is all of them.
    """

    target: str
    source: tuple[int | slice, ...] = ()
    part: int = 0
    num_parts: int = 1
