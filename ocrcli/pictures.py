"""Picture files as pages: every frame of a TIFF, the first frame of anything else."""

import contextlib
import os
import struct
import warnings
from pathlib import Path
from typing import IO

from PIL import Image, ImageOps

from ocrcli.complaints import caught_complaints
from ocrcli.document import Notice
from ocrcli.errors import DamagedError
from ocrcli.options import MAX_PIXELS
from ocrcli.raster import (
    PageSize,
    Pixels,
    reading_size,
    resample,
    to_grey,
    to_rgb,
    trusted_resolution,
)
from ocrcli.tiff_frames import Ending, tiff_frames

_MAX_FRAMES = 10_000
_GIF_TRAILER = b";"
_DECODING_ERRORS = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    MemoryError,
    OverflowError,
    struct.error,
)


class PictureError(Exception):
    """A frame that cannot be turned into a page; the message says why."""


class PictureFile:
    """An opened picture file.

    Attributes:
        num_pages: Pages the file holds; previews that a TIFF carries beside its pages do not count.
        notices: What a reader should know of the file as a whole.
    """

    def __init__(
        self, path: Path, source: str, *, all_frames: bool = False, max_pixels: int = MAX_PIXELS
    ) -> None:
        """Open a file without decoding it.

        Args:
            path: The file.
            source: The file as the user named it.
            all_frames: Whether every frame of an animation is a page; those of a TIFF always are.
            max_pixels: Pictures with more pixels are refused before they are decoded.

        Raises:
            DamagedError: The file is no picture that can be decoded.
            OSError: The file cannot be read.
        """
        self._all_frames, self._max_pixels = all_frames, max_pixels
        # Given a path, Pillow maps uncompressed TIFFs into memory and then forgets to turn them.
        self._stream = path.open("rb")
        with warnings.catch_warnings():
            # The number of pixels is checked here, with a message that names it; odd tags do not
            # change what is read.
            warnings.simplefilter("ignore")
            try:
                self._image: Image.Image | None = Image.open(self._stream)
            except Image.DecompressionBombError:
                # Pillow has a limit of its own, which the user cannot be told to raise.
                self._image = None
            except _DECODING_ERRORS as error:
                self._stream.close()
                # An error number comes from the system; without one it is the content's fault.
                if isinstance(error, OSError) and error.errno:
                    raise
                raise DamagedError("the picture cannot be decoded", source=source) from error
            self._frames, self.notices = self._find_frames(self._image)
        self.num_pages = len(self._frames)

    def _find_frames(
        self, image: Image.Image | None
    ) -> tuple[list[int | None], tuple[Notice, ...]]:
        """Return the frame of each page, None for one that the file announces but does not hold."""
        if image is not None and image.format == "TIFF":
            return _tiff_pages(self._stream)
        try:
            count = min(getattr(image, "n_frames", 1), _MAX_FRAMES)
        except _DECODING_ERRORS:
            count = 1
        notices = self._cut_animation(image)
        if count > 1 and self._all_frames:
            return list(range(count)), notices
        if count > 1:
            detail = f"only the first of {count} frames is read; --all-frames reads all"
            notices = (*notices, Notice("first_frame_only", detail))
        return [0], notices

    def _cut_animation(self, image: Image.Image | None) -> tuple[Notice, ...]:
        """Return a notice for a GIF without an end; how many frames it had is not known."""
        if image is None or image.format != "GIF":
            return ()
        place = self._stream.tell()
        end = self._stream.seek(0, os.SEEK_END)
        self._stream.seek(max(0, end - 64))
        tail = self._stream.read().rstrip(b"\0")
        self._stream.seek(place)
        if tail.endswith(_GIF_TRAILER):
            return ()
        return (Notice("repaired", "the file has no end; frames may be missing"),)

    def load(
        self, page_index: int, size: PageSize
    ) -> tuple[Pixels, float, tuple[float, float], tuple[Notice, ...]]:
        """Return a page's pixels, dots per inch, width and height in points, and notices.

        Args:
            page_index: The page, from 0.
            size: The size at which pages are read.

        Raises:
            PictureError: The frame is damaged or too large.
        """
        if self._image is None:
            raise self._too_large()
        try:
            with warnings.catch_warnings():
                # What Pillow warns of here (odd tags, unusual transparency) does not change pixels.
                warnings.simplefilter("ignore")
                self._seek(self._image, page_index)
                with _complaints_of(self._image) as complaints:
                    pixels, dpi, size_pt = _load(self._image, size)
        except Image.DecompressionBombError as error:
            raise self._too_large() from error
        except _DECODING_ERRORS as error:
            raise PictureError(f"the picture is damaged: {error}") from error
        if not complaints:
            return pixels, dpi, size_pt, ()
        detail = f"the page may be damaged: {complaints[0]}"
        return pixels, dpi, size_pt, (Notice("damaged_content", detail),)

    def upright(self, page_index: int) -> Image.Image:
        """Return a page as 8-bit grey, upright, at least as sharp as any part of it is read.

        Args:
            page_index: The page, from 0; `load` has drawn it as a whole before.

        Raises:
            PictureError: The frame is damaged or too large.
        """
        if self._image is None:
            raise self._too_large()
        try:
            with warnings.catch_warnings(), _complaints_of(self._image):
                warnings.simplefilter("ignore")
                self._seek(self._image, page_index)
                self._image.load()
                return to_grey(ImageOps.exif_transpose(self._image))
        except _DECODING_ERRORS as error:
            raise PictureError(f"the picture is damaged: {error}") from error

    def original(self, page_index: int) -> Image.Image:
        """Return a page in its own size and colours, upright.

        Args:
            page_index: The page, from 0.

        Raises:
            PictureError: The frame is damaged or too large.
        """
        if self._image is None:
            raise self._too_large()
        try:
            with warnings.catch_warnings(), _complaints_of(self._image):
                warnings.simplefilter("ignore")
                self._seek(self._image, page_index)
                self._image.load()
                upright = ImageOps.exif_transpose(self._image)
        except _DECODING_ERRORS as error:
            raise PictureError(f"the picture is damaged: {error}") from error
        if upright.mode in ("L", "RGB", "1"):
            return upright
        return to_grey(upright) if upright.mode[0] in "IF" else upright.convert("RGB")

    def _seek(self, image: Image.Image, page_index: int) -> None:
        frame = self._frames[page_index]
        if frame is None:
            raise PictureError("the file is cut off before this page; others may be missing, too")
        if frame or image.tell():
            image.seek(frame)
        if image.width * image.height > self._max_pixels:
            raise self._too_large()

    def _too_large(self) -> PictureError:
        return PictureError(
            f"the picture has more than {self._max_pixels:,} pixels; scale it down first, "
            "or raise --max-pixels"
        )

    def close(self) -> None:
        """Close the file."""
        if self._image is not None:
            self._image.close()
        self._stream.close()


def _tiff_pages(stream: IO[bytes]) -> tuple[list[int | None], tuple[Notice, ...]]:
    found = tiff_frames(stream)
    pages: list[int | None] = [
        index for index, is_preview in enumerate(found.previews) if not is_preview
    ]
    if not pages and found.previews:
        pages = [0]
    if found.ending is Ending.CIRCLE:
        detail = "the list of pages runs in a circle; each was read once"
        return pages, (Notice("repaired", detail),)
    if found.ending is Ending.REGULAR:
        return pages or [0], ()
    return [*pages, None], ()


def _complaints_of(image: Image.Image) -> contextlib.AbstractContextManager[list[str]]:
    """Return a context that catches what is printed while a picture is decoded."""
    return caught_complaints() if image.format == "TIFF" else contextlib.nullcontext([])


def _load(image: Image.Image, size: PageSize) -> tuple[Pixels, float, tuple[float, float]]:
    resolution = trusted_resolution(image)
    full_width, full_height = image.size
    # A JPEG can be decoded straight to grey and to a fraction of its size.
    if not size.color:
        image.draft("L", (2 * size.long_side, 2 * size.long_side))
    image.load()
    upright = ImageOps.exif_transpose(image)
    if (upright.width > upright.height) != (full_width > full_height):
        full_width, full_height = full_height, full_width
        if resolution is not None:
            resolution = type(resolution)(resolution.down, resolution.across)
    width, height, dpi = reading_size(full_width, full_height, resolution, size)
    if size.color:
        # A large model scales pictures by itself; what the file says of inches changes nothing.
        scale = min(size.max_enlargement, 1.0)
        across, down = max(1, round(full_width * scale)), max(1, round(full_height * scale))
        dpi *= across / width
        width, height = across, down
        pixels = resample(to_rgb(upright), width, height)
    else:
        pixels = resample(to_grey(upright), width, height)
    return pixels, dpi, (width / dpi * 72.0, height / dpi * 72.0)
