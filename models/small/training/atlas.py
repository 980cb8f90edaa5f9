"""Every glyph of every training font and size, rasterised once, so that pages are drawn on the GPU.

Pages are composed on a canvas of twice the page's resolution and then scaled down; glyphs are
rasterised at twice the canvas again and averaged, which keeps hinting out of the picture.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import ImageFont

from ocrcli.models.small.training.charset import CHARS, LIGATURES

# Em sizes in canvas pixels; a page pixel is two canvas pixels.
SIZES = (13, 15, 17, 19, 22, 24, 27, 30, 33, 36, 40, 44, 50, 58, 68, 80, 96, 116)
GLYPHS = (*CHARS, *LIGATURES)
GLYPH_INDEX = {glyph: index for index, glyph in enumerate(GLYPHS)}
_METRIC_SIZE = 1000


@dataclass(frozen=True)
class Atlas:
    """Rasterised glyphs of F fonts, S sizes and C glyphs.

    Attributes:
        shape: Width, height, left and top bearing (from the baseline) in canvas pixels,
            int32 [F, S, C, 4].
        start: First pixel of each glyph in `pixels`, int64 [F, S, C].
        pixels: Coverage 0-255 of all glyphs, row by row, uint8 [P].
        advance: Advance widths in em, float32 [F, C].
        present: Whether the font has the glyph, bool [F, C].
        vertical: Ascent and descent in em, float32 [F, 2].
        names: File name of each font.
    """

    shape: np.ndarray
    start: np.ndarray
    pixels: np.ndarray
    advance: np.ndarray
    present: np.ndarray
    vertical: np.ndarray
    names: tuple[str, ...]

    def save(self, folder: Path) -> None:
        """Write the arrays to `folder`, one file each."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("shape", "start", "pixels", "advance", "present", "vertical"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "names.json").write_text(json.dumps(self.names), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Atlas":
        """Return the atlas in `folder`; the large arrays are memory-mapped.

        Raises:
            ValueError: The atlas was made for other sizes or glyphs.
        """
        arrays = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r")
            for name in ("shape", "start", "pixels")
        }
        arrays |= {
            name: np.load(folder / f"{name}.npy") for name in ("advance", "present", "vertical")
        }
        names = tuple(json.loads((folder / "names.json").read_text(encoding="utf-8")))
        wanted = (len(names), len(SIZES), len(GLYPHS), 4)
        if arrays["shape"].shape != wanted:
            raise ValueError(
                f"folder holds an atlas of shape {arrays['shape'].shape}, expected {wanted}: it "
                "was made for other sizes or glyphs; delete it, and the next run builds it anew"
            )
        return cls(**arrays, names=names)


def build_atlas(fonts: list[Path], missing: dict[str, list[str]], workers: int) -> Atlas:
    """Return the atlas of `fonts`.

    Args:
        fonts: Font files, TrueType or OpenType.
        missing: File name to the characters that the font lacks.
        workers: Processes to rasterise with.

    Raises:
        ValueError: `fonts` is empty.
    """
    if not fonts:
        raise ValueError("fonts must name at least one font file, got none")
    jobs = [(font, size) for font in fonts for size in SIZES]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        rasters = list(pool.map(_rasterise, jobs, chunksize=4))
        metrics = list(pool.map(_metrics, fonts, chunksize=4))
    shape = np.stack([raster[0] for raster in rasters])
    counts = (shape[..., 0].astype(np.int64) * shape[..., 1]).ravel()
    grid = (len(fonts), len(SIZES), len(GLYPHS))
    present = np.ones((len(fonts), len(GLYPHS)), dtype=bool)
    for row, font in enumerate(fonts):
        for glyph in missing.get(font.name, []):
            if glyph in GLYPH_INDEX:
                present[row, GLYPH_INDEX[glyph]] = False
    return Atlas(
        shape=shape.reshape(*grid, 4),
        start=(counts.cumsum() - counts).reshape(grid),
        pixels=np.concatenate([raster[1] for raster in rasters]),
        advance=np.stack([metric[0] for metric in metrics]),
        present=present,
        vertical=np.stack([metric[1] for metric in metrics]),
        names=tuple(font.name for font in fonts),
    )


def _metrics(path: Path) -> tuple[np.ndarray, np.ndarray]:
    font = ImageFont.truetype(str(path), _METRIC_SIZE, layout_engine=ImageFont.Layout.BASIC)
    advance = np.array([font.getlength(glyph) for glyph in GLYPHS], np.float32) / _METRIC_SIZE
    return advance, np.array(font.getmetrics(), np.float32) / _METRIC_SIZE


def _rasterise(job: tuple[Path, int]) -> tuple[np.ndarray, np.ndarray]:
    path, size = job
    font = ImageFont.truetype(str(path), 2 * size, layout_engine=ImageFont.Layout.BASIC)
    shape = np.zeros((len(GLYPHS), 4), np.int32)
    pixels = []
    for index, glyph in enumerate(GLYPHS):
        mask, (left, top) = font.getmask2(glyph, mode="L", anchor="ls")
        width, height = mask.size
        if not width or not height:
            continue
        fine = np.frombuffer(bytes(mask), np.uint8).reshape(height, width)
        # Bearings are made even so that the average falls on whole canvas pixels.
        fine = np.pad(fine, ((top % 2, 0), (left % 2, 0)))
        fine = np.pad(fine, ((0, fine.shape[0] % 2), (0, fine.shape[1] % 2)))
        rows, cols = fine.shape[0] // 2, fine.shape[1] // 2
        coarse = fine.reshape(rows, 2, cols, 2).mean((1, 3))
        shape[index] = cols, rows, left // 2, top // 2
        pixels.append(np.rint(coarse).astype(np.uint8).ravel())
    return shape, np.concatenate(pixels) if pixels else np.zeros(0, np.uint8)
