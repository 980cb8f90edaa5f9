"""Pages that lie on their side: what was read upright has its place on the page as displayed.

A rotation is the number of degrees, 0, 90, 180 or 270, by which a page was turned clockwise before
it was read. The model's boxes lie on the turned, upright picture; readers of a transcript look at
the page as a viewer displays it.
"""

from typing import TypeVar

Length = TypeVar("Length", int, float)


def upright_size(width: Length, height: Length, rotation: int) -> tuple[Length, Length]:
    """Return width and height of a page after it was turned.

    Args:
        width: Width as displayed.
        height: Height as displayed.
        rotation: Degrees clockwise.
    """
    return (height, width) if rotation % 180 else (width, height)


def as_displayed(
    box: tuple[Length, Length, Length, Length], width: Length, height: Length, rotation: int
) -> tuple[Length, Length, Length, Length]:
    """Return the place on the displayed page of a box on the upright one.

    Args:
        box: Left, top, right and bottom on the turned, upright page.
        width: Width of the page as displayed, in the box's unit.
        height: Height of the page as displayed.
        rotation: Degrees clockwise by which the page was turned to be upright.

    Example:
        >>> as_displayed((0, 0, 10, 2), 50, 100, 90)
        (0, 90, 2, 100)
    """
    left, top, right, bottom = box
    if rotation == 90:
        return top, height - right, bottom, height - left
    if rotation == 180:
        return width - right, height - bottom, width - left, height - top
    if rotation == 270:
        return width - bottom, left, width - top, right
    return box
