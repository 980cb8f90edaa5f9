"""Arithmetic on pictures: colour modes to 8-bit grey, the size pages are read at."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Grey = NDArray[np.uint8]
"""Grey values 0 (black) to 255 (white), [height, width]."""


Pixels = NDArray[np.uint8]
"""A page as it is read: grey [height, width], or RGB [height, width, 3]."""

PIXEL_MULTIPLE = 64
"""Pages of free size are padded to a multiple of this many pixels on both sides."""

COLOR_DPI = 300.0
"""Resolution at which large models were shown pages."""

_COLOR_LONG_SIDE = 8192
_FLAT_CONTRAST = 16
_INVERTED_PAPER = 80
_INVERTED_INK = 160
_TRUSTED_DPI = (97.0, 2400.0)
_PAPER_SHAPES = (1.25, 1.6)
_PAPER_HEIGHT_INCHES = 11.0
_SMALL_SIDE = 900
SMALL_ENLARGEMENT = 1.25
"""Of 59 pictures of a paragraph at 100 to 200 dpi, three were misread as they were, one enlarged.

They were cut out of pages of the evaluation. Beyond 1.25 nothing was gained.
"""


@dataclass(frozen=True)
class PageSize:
    """The size at which pages are read.

    Attributes:
        long_side: Longest side of a page image in pixels.
        max_dpi: Highest resolution at which pages of a known size are drawn.
        max_enlargement: Largest factor by which a picture is enlarged.
        crop_dpi: Highest resolution at which a page is drawn without its margins.
        picture_scale: Share of their own size at which pictures of unknown resolution are read.
        color: Whether pages are read in colour, pictures as they are; otherwise in grey.
    """

    long_side: int = 1280
    max_dpi: float = 200.0
    max_enlargement: float = 2.0
    crop_dpi: float = 150.0
    picture_scale: float = 1.0
    color: bool = False

    @classmethod
    def full_color(cls) -> "PageSize":
        """Return the size at which large models read: 300 dots per inch, pictures as they are."""
        return cls(_COLOR_LONG_SIDE, COLOR_DPI, max_enlargement=1.0, color=True)

    def smaller(self) -> "PageSize":
        """Return a size a tenth smaller."""
        return replace(
            self,
            # In colour it bounds memory alone; the resolution decides.
            long_side=self.long_side if self.color else self.long_side * 9 // 10,
            max_dpi=0.9 * self.max_dpi,
            max_enlargement=0.9 * self.max_enlargement,
            crop_dpi=0.9 * self.crop_dpi,
            picture_scale=0.9 * self.picture_scale,
        )

    def dpi_for(self, width_inches: float, height_inches: float) -> float:
        """Return the resolution at which a page of this size is read."""
        return min(self.long_side / max(width_inches, height_inches), self.max_dpi)


@dataclass(frozen=True)
class Resolution:
    """Pixels per inch of a picture, across and down."""

    across: float
    down: float


def trusted_resolution(image: Image.Image) -> Resolution | None:
    """Return the resolution a picture's file states, or None where it is missing or a mere default.

    Values up to 96 are what programs write when they know nothing.
    """
    try:
        across, down = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    low, high = _TRUSTED_DPI
    return Resolution(across, down) if low <= across <= high and low <= down <= high else None


def reading_size(
    width: int, height: int, resolution: Resolution | None, size: PageSize
) -> tuple[int, int, float]:
    """Return the width and height in pixels at which a picture is read, and its dots per inch.

    A picture whose resolution is known is treated like a page of that size. One that has the shape
    of an upright sheet is taken for a whole page. Others keep their size unless they are too large.
    What is still small then is enlarged a little, unless it is read in colour.

    Args:
        width: Pixels across.
        height: Pixels down.
        resolution: What the file states, if it can be trusted.
        size: The size at which pages are read.
    """
    across, down, dpi = _usual_size(width, height, resolution, size)
    if size.color or max(across, down) >= _SMALL_SIDE * size.picture_scale:
        return across, down, dpi
    larger = min(SMALL_ENLARGEMENT, size.long_side / max(across, down))
    return max(1, round(across * larger)), max(1, round(down * larger)), dpi * larger


def _usual_size(
    width: int, height: int, resolution: Resolution | None, size: PageSize
) -> tuple[int, int, float]:
    if resolution is None:
        return _size_by_shape(width, height, size)
    inches = width / resolution.across, height / resolution.down
    sharpest = min(resolution.across, resolution.down) * size.max_enlargement
    dpi = min(size.dpi_for(*inches), sharpest)
    return max(1, round(inches[0] * dpi)), max(1, round(inches[1] * dpi)), dpi


def _size_by_shape(width: int, height: int, size: PageSize) -> tuple[int, int, float]:
    low, high = _PAPER_SHAPES
    is_sheet = low <= height / width <= high
    largest = size.max_enlargement if is_sheet else size.picture_scale
    scale = min(size.long_side / max(width, height), largest)
    across, down = max(1, round(width * scale)), max(1, round(height * scale))
    return across, down, down / _PAPER_HEIGHT_INCHES if is_sheet else 72.0 * scale


def to_grey(image: Image.Image) -> Image.Image:
    """Return a picture of any colour mode as 8-bit grey ("L").

    Transparency is laid on white. If nothing can be seen there, the picture is light on nothing,
    and its opacity is taken for the ink.

    Args:
        image: A loaded picture.
    """
    if image.mode == "L" and "transparency" not in image.info:
        return image
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        return Image.fromarray(_deep_to_grey(np.asarray(image)))
    if image.has_transparency_data:
        return _flatten(image.convert("RGBA"))
    if image.mode in ("LAB", "HSV", "P", "PA", "CMYK"):
        image = image.convert("RGB")
    return image.convert("L")


def _flatten(image: Image.Image) -> Image.Image:
    paper = Image.new("RGBA", image.size, (255, 255, 255, 255))
    grey = Image.alpha_composite(paper, image).convert("L")
    opacity = image.getchannel("A")
    if _contrast(grey) < _FLAT_CONTRAST <= _contrast(opacity):
        return opacity.point([255 - value for value in range(256)])
    return grey


def _contrast(grey: Image.Image) -> int:
    lowest, highest = np.asarray(grey).min(), np.asarray(grey).max()
    return int(highest) - int(lowest)


def _deep_to_grey(values: NDArray[np.generic]) -> Grey:
    """Return 16-bit, 32-bit or floating-point values as 8-bit grey.

    The scale is the smallest usual one that holds the brightest value: a blank sheet must not have
    its noise stretched to full contrast.
    """
    numbers = np.nan_to_num(values.astype(np.float32))
    darkest, brightest = float(numbers.min()), float(numbers.max())
    scales = (1.0,) if np.issubdtype(values.dtype, np.floating) else ()
    scales = (*scales, 255.0, 4095.0, 65535.0)
    white = next((scale for scale in scales if brightest <= scale), brightest)
    black = min(darkest, 0.0)
    grey = np.clip((numbers - black) * (255.0 / max(white - black, 1e-6)), 0, 255)
    return np.round(grey).astype(np.uint8)


def to_rgb(image: Image.Image) -> Image.Image:
    """Return a picture of any colour mode as 8-bit RGB, transparency laid on white.

    Args:
        image: A loaded picture.
    """
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.has_transparency_data:
        paper = Image.new("RGBA", image.size, (255, 255, 255, 255))
        return Image.alpha_composite(paper, image.convert("RGBA")).convert("RGB")
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        image = to_grey(image)
    return image.convert("RGB")


def overview_of(pixels: Pixels) -> Grey:
    """Return a page in colour as grey at the usual size, where amounts of ink mean something.

    Args:
        pixels: RGB values, uint8 [height, width, 3].
    """
    image = Image.fromarray(pixels).convert("L")
    scale = min(1.0, PageSize.long_side / max(image.size))
    across, down = (max(1, round(side * scale)) for side in image.size)
    return resample(image, across, down)


def tenths_smaller(pixels: Grey, tenths: int) -> Grey:
    """Return a picture so many times a tenth smaller.

    Args:
        pixels: Grey values, uint8 [height, width].
        tenths: Times, 0 or more.
    """
    height, width = pixels.shape
    share = 0.9**tenths
    across, down = max(1, int(width * share)), max(1, int(height * share))
    return resample(Image.fromarray(pixels), across, down)


def resample(
    image: Image.Image,
    width: int,
    height: int,
    box: tuple[float, float, float, float] | None = None,
) -> Pixels:
    """Return a picture, or a part of it, at the given size as an array.

    Args:
        image: A picture of mode "L" or "RGB".
        width: Pixels across.
        height: Pixels down.
        box: Left, top, right and bottom of the part, in pixels of the picture; None: all of it.
    """
    left, top, right, bottom = box or (0, 0, *image.size)
    if (left, top, right, bottom) != (0, 0, width, height) or image.size != (width, height):
        enlarges = width > right - left
        filter_ = Image.Resampling.BICUBIC if enlarges else Image.Resampling.LANCZOS
        image = image.resize((width, height), filter_, (left, top, right, bottom))
    return np.array(image, dtype=np.uint8)


def dark_on_light(pixels: Grey) -> tuple[Grey, bool]:
    """Return the page with dark text on light paper, and whether it had to be inverted.

    Only a page that is mostly dark and carries something bright is turned over.
    """
    levels = np.cumsum(np.bincount(pixels.ravel(), minlength=256)) / pixels.size
    median, bright = int(np.searchsorted(levels, 0.5)), int(np.searchsorted(levels, 0.999))
    if median < _INVERTED_PAPER and bright > _INVERTED_INK:
        return 255 - pixels, True
    return pixels, False
