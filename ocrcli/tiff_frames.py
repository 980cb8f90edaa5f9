"""The frames of a TIFF, found by walking the file's own list of them.

Pillow stops without a word where that list breaks off; the pages behind would be lost silently.
"""

import os
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import IO

MAX_FRAMES = 65_536
"""Frames that are read of one file, at most."""

_BIG_TIFF = 43
_SUBFILE_TYPE = 254
_REDUCED_IMAGE = 1
_SHORT = 3
_MOST_TAGS = 4096


class Ending(StrEnum):
    """How the list of frames ends.

    Attributes:
        REGULAR: As it should.
        CUT: In the middle: the list names a frame that is not in the file, or only in part.
        CIRCLE: It leads back to a frame that was there before.
        ENDLESS: It is longer than anyone would read.
    """

    REGULAR = "regular"
    CUT = "cut"
    CIRCLE = "circle"
    ENDLESS = "endless"


@dataclass(frozen=True)
class TiffFrames:
    """What the list of frames says.

    Attributes:
        previews: Whether each frame is a small copy of another one, in the order of the file.
        ending: How the list ends.
    """

    previews: tuple[bool, ...]
    ending: Ending


class _CutError(Exception):
    """The file ends too early."""


def tiff_frames(stream: IO[bytes]) -> TiffFrames:
    """Return the complete frames of a TIFF or BigTIFF, and how their list ends.

    Args:
        stream: The file; where it stands is left as it was.
    """
    place = stream.tell()
    try:
        return _walk(stream)
    finally:
        stream.seek(place)


def _walk(stream: IO[bytes]) -> TiffFrames:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    head = stream.read(16)
    order = ">" if head[:2] == b"MM" else "<"
    is_big = head[2:4] == struct.pack(f"{order}H", _BIG_TIFF)
    layout = _Layout(order, is_big)
    previews: list[bool] = []
    seen: set[int] = set()
    try:
        offset = layout.number(head[8:16] if is_big else head[4:8])
        while offset:
            if offset in seen:
                return TiffFrames(tuple(previews), Ending.CIRCLE)
            if len(previews) == MAX_FRAMES:
                return TiffFrames(tuple(previews), Ending.ENDLESS)
            if offset >= size:
                raise _CutError
            seen.add(offset)
            stream.seek(offset)
            is_preview, offset = layout.directory(stream)
            previews.append(is_preview)
    except _CutError:
        return TiffFrames(tuple(previews), Ending.CUT)
    return TiffFrames(tuple(previews), Ending.REGULAR)


class _Layout:
    """Sizes and byte order of the fields of one file."""

    def __init__(self, order: str, is_big: bool) -> None:
        self._order = order
        self._offset = struct.Struct(f"{order}{'Q' if is_big else 'I'}")
        self._count = struct.Struct(f"{order}{'Q' if is_big else 'H'}")
        self._entry = struct.Struct(f"{order}HHQ8s" if is_big else f"{order}HHI4s")

    def number(self, data: bytes) -> int:
        """Return an offset."""
        return int(_unpacked(self._offset, data)[0])

    def directory(self, stream: IO[bytes]) -> tuple[bool, int]:
        """Return whether the frame described here is a preview, and where the next one is."""
        (count,) = _unpacked(self._count, stream.read(self._count.size))
        if count > _MOST_TAGS:
            raise _CutError
        is_preview = False
        for _ in range(count):
            tag, kind, _, value = _unpacked(self._entry, stream.read(self._entry.size))
            if tag == _SUBFILE_TYPE:
                field = f"{self._order}{'H' if kind == _SHORT else 'I'}"
                is_preview = bool(struct.unpack_from(field, value)[0] & _REDUCED_IMAGE)
        return is_preview, self.number(stream.read(self._offset.size))


def _unpacked(layout: struct.Struct, data: bytes) -> tuple:
    if len(data) < layout.size:
        raise _CutError
    return layout.unpack(data[: layout.size])
