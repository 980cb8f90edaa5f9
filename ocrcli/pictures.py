"""Picture files as pages: every frame of a TIFF, the first frame of anything else."""

import struct
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from ocrcli.document import Notice
from ocrcli.errors import DamagedError
from ocrcli.raster import (
    PageSize,
    Pixels,
    reading_size,
    resample,
    to_grey,
    to_rgb,
    trusted_resolution,
)

MAX_PIXELS = 120_000_000
"""Pictures with more pixels are refused before they are decoded."""

_TOO_LARGE = f"the picture has more than {MAX_PIXELS:,} pixels; scale it down first"
_MAX_FRAMES = 10_000
_REDUCED_IMAGE = 1
_SUBFILE_TYPE_TAG = 254
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

    def __init__(self, path: Path, source: str) -> None:
        """Open a file without decoding it.

        Args:
            path: The file.
            source: The file as the user named it.

        Raises:
            DamagedError: The file is no picture that can be decoded.
            OSError: The file cannot be read.
        """
        # Given a path, Pillow maps uncompressed TIFFs into memory and then forgets to turn them.
        self._stream = path.open("rb")
        with warnings.catch_warnings():
            # The number of pixels is checked here, with a message that names it.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            try:
                self._image: Image.Image | None = Image.open(self._stream)
            except Image.DecompressionBombError:
                self._image = None
            except (OSError, SyntaxError, ValueError) as error:
                self._stream.close()
                # An error number comes from the system; without one it is the content's fault.
                if isinstance(error, OSError) and error.errno:
                    raise
                raise DamagedError("the picture cannot be decoded", source=source) from error
            self._frames, self.notices = self._find_frames(self._image)
        self.num_pages = len(self._frames)

    def _find_frames(self, image: Image.Image | None) -> tuple[list[int], tuple[Notice, ...]]:
        try:
            count = min(getattr(image, "n_frames", 1), _MAX_FRAMES)
        except _DECODING_ERRORS:
            count = 1
        if image is not None and image.format == "TIFF":
            frames = [index for index in range(count) if not _is_preview(image, index)]
            return frames or [0], ()
        if count > 1:
            detail = f"only the first of {count} frames is read"
            return [0], (Notice("first_frame_only", detail),)
        return [0], ()

    def load(self, page_index: int, size: PageSize) -> tuple[Pixels, float, tuple[float, float]]:
        """Return a page's pixels, its dots per inch, and its width and height in points.

        Args:
            page_index: The page, from 0.
            size: The size at which pages are read.

        Raises:
            PictureError: The frame is damaged or too large.
        """
        if self._image is None:
            raise PictureError(_TOO_LARGE)
        try:
            with warnings.catch_warnings():
                # What Pillow warns of here (odd tags, unusual transparency) does not change pixels.
                warnings.simplefilter("ignore")
                return _load(self._image, self._frames[page_index], size)
        except Image.DecompressionBombError as error:
            raise PictureError(_TOO_LARGE) from error
        except _DECODING_ERRORS as error:
            raise PictureError(f"the picture is damaged: {error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._image is not None:
            self._image.close()
        self._stream.close()


def _is_preview(image: Image.Image, index: int) -> bool:
    try:
        image.seek(index)
    except _DECODING_ERRORS:
        return False
    tags = getattr(image, "tag_v2", {})
    return bool(int(tags.get(_SUBFILE_TYPE_TAG, 0)) & _REDUCED_IMAGE)


def _load(
    image: Image.Image, frame: int, size: PageSize
) -> tuple[Pixels, float, tuple[float, float]]:
    if frame or image.tell():
        image.seek(frame)
    if image.width * image.height > MAX_PIXELS:
        raise PictureError(_TOO_LARGE)
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
        dpi *= full_width / width
        width, height = full_width, full_height
        pixels = np.array(to_rgb(upright))
    else:
        pixels = resample(to_grey(upright), width, height)
    return pixels, dpi, (width / dpi * 72.0, height / dpi * 72.0)
