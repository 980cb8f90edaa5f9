"""Grey pages with print, pictures and drawings, for tests of what ink looks like."""

import numpy as np
import pymupdf
from numpy.typing import NDArray

_PROSE = "Quick brown foxes jump over the lazy dog while it dreams of bones and butchers. " * 14


def page_of_print(points: float = 11, turned: int = 0) -> NDArray[np.uint8]:
    """Return a paragraph of black print on white, uint8 [height, width]."""
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=595, height=842)
        page.insert_textbox((70, 90, 520, 780), _PROSE, fontsize=points)
        drawn = page.get_pixmap(dpi=110, colorspace=pymupdf.csGRAY)
    pixels = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width)
    return np.rot90(pixels, turned // 90)


def photograph() -> NDArray[np.uint8]:
    """Return smooth shades without an edge, uint8 [height, width]."""
    down, across = np.mgrid[:1280, :905]
    shades = np.sin(across / 70) * np.cos(down / 90) + np.sin((across + down) / 130)
    return (128 + 60 * shades).astype(np.uint8)


def drawing() -> NDArray[np.uint8]:
    """Return a few thin curves on white, uint8 [height, width]."""
    pixels = np.full((1280, 905), 255, np.uint8)
    across = np.arange(905)
    for curve in range(5):
        down = (600 + 300 * np.sin(across / (40 + 30 * curve))).astype(int)
        for pen in range(4):
            pixels[down + pen, across] = 0
    return pixels


def punch_holes() -> NDArray[np.uint8]:
    """Return three dark discs at the edge of a sheet, uint8 [height, width]."""
    down, across = np.mgrid[:1280, :905]
    pixels = np.full((1280, 905), 245, np.uint8)
    for middle in (320, 640, 960):
        pixels[(down - middle) ** 2 + (across - 40) ** 2 < 14**2] = 30
    return pixels
