"""Pages without any text: blank ones, lines and boxes, textures, photographs.

Nothing here shares a picture or a generator with training.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageOps

Grey = NDArray[np.uint8]

_PAGES_PER_FILE = 20
_PIXELS = ((905, 1280), (989, 1280), (1280, 905))


def blank_pages(count: int, seed: int, output: Path) -> None:
    """Draw sheets without a mark: paper tone, noise, shadows, folds, show-through, punch holes.

    Args:
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for TIFF files.
    """
    noise = np.random.default_rng(seed)
    _draw(lambda index: _blank(noise, index), count, output)


def ruled_pages(count: int, seed: int, output: Path) -> None:
    """Draw pages of lines, boxes, grids and empty forms.

    Args:
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for TIFF files.
    """
    rng = random.Random(f"ruled {seed}")
    _draw(lambda index: _ruled(rng, index), count, output)


def texture_pages(count: int, seed: int, output: Path) -> None:
    """Draw pages filled with procedural textures.

    Args:
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for TIFF files.
    """
    noise = np.random.default_rng(seed)
    _draw(lambda index: _texture(noise, index), count, output)


def photo_pages(photos: Sequence[Path], count: int, seed: int, output: Path) -> None:
    """Cut pages out of photographs, each photograph as often as the others.

    Args:
        photos: Picture files.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for TIFF files.
    """
    rng = random.Random(f"photos {seed}")
    _draw(lambda index: _crop(rng, photos[index % len(photos)]), count, output)


def _draw(page: Callable[[int], Grey], count: int, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for first in range(0, count, _PAGES_PER_FILE):
        sheets = [
            Image.fromarray(page(index))
            for index in range(first, min(first + _PAGES_PER_FILE, count))
        ]
        sheets[0].save(
            output / f"pages-{first // _PAGES_PER_FILE:03d}.tif",
            save_all=True,
            append_images=sheets[1:],
            compression="tiff_deflate",
        )


def _clouds(noise: np.random.Generator, shape: tuple[int, int], cells: int) -> NDArray[np.float32]:
    """Return smooth noise of mean 0 and about unit spread, float32 [height, width]."""
    coarse = noise.standard_normal((cells, max(2, cells * shape[1] // shape[0])))
    image = Image.fromarray(coarse.astype(np.float32))
    return np.asarray(image.resize(shape[::-1], Image.Resampling.BICUBIC))


def _to_grey(values: NDArray[np.floating]) -> Grey:
    return np.clip(np.round(values), 0, 255).astype(np.uint8)


def _blank(noise: np.random.Generator, index: int) -> Grey:
    across, down = _PIXELS[index % 2]
    shape = (down, across)
    if index % 5 == 0:
        return np.full(shape, noise.integers(235, 256), np.uint8)
    paper = np.full(shape, noise.uniform(190, 252), np.float32)
    u, v = np.meshgrid(np.linspace(0, 1, across), np.linspace(0, 1, down))
    if index % 5 in (1, 4):
        paper += noise.uniform(1, 7) * noise.standard_normal(shape)
    if index % 5 in (2, 4):
        paper += noise.uniform(1, 6) * _clouds(noise, shape, 6)
        # The shadow of a binding, at one side.
        side = u if noise.random() < 0.5 else 1 - u
        paper -= noise.uniform(20, 120) * np.exp(-side / noise.uniform(0.01, 0.08))
    if index % 5 in (3, 4):
        for place in (0.25, 0.5, 0.75)[: noise.integers(2, 4)]:
            radius = ((u - 0.04) * across) ** 2 + ((v - place) * down) ** 2
            paper[radius < noise.uniform(10, 16) ** 2] = noise.uniform(0, 90)
    if index % 10 >= 7:
        fold = np.abs(v - noise.uniform(0.3, 0.7)) * down
        paper -= noise.uniform(8, 40) * np.exp(-fold / noise.uniform(1, 3))
    return _to_grey(paper)


def _ruled(rng: random.Random, index: int) -> Grey:
    across, down = rng.choice(_PIXELS)
    sheet = Image.new("L", (across, down), rng.randint(230, 255))
    draw = ImageDraw.Draw(sheet)
    ink, pen = rng.randint(0, 140), rng.randint(1, 4)
    x0, y0 = rng.randint(40, 160), rng.randint(40, 200)
    x1, y1 = across - rng.randint(40, 200), down - rng.randint(40, 400)
    kind = index % 6
    if kind == 0:
        for y in range(y0, y1, rng.randint(18, 60)):
            draw.line((x0, y, x1, y), ink, pen)
    elif kind == 1:
        step_x, step_y = rng.randint(30, 220), rng.randint(20, 90)
        for y in range(y0, y1, step_y):
            draw.line((x0, y, x1, y), ink, pen)
        for x in range(x0, x1, step_x):
            draw.line((x, y0, x, y1), ink, pen)
    elif kind == 2:
        for _ in range(rng.randint(2, 14)):
            left, top = rng.randint(x0, x1 - 40), rng.randint(y0, y1 - 30)
            right, bottom = rng.randint(left + 20, x1), rng.randint(top + 15, y1)
            draw.rectangle((left, top, right, bottom), outline=ink, width=pen)
    elif kind == 3:
        side = rng.randint(12, 30)
        for y in range(y0, y1, rng.randint(40, 90)):
            draw.rectangle((x0, y, x0 + side, y + side), outline=ink, width=pen)
            draw.line((x0 + 2 * side, y + side, x1, y + side), ink, pen)
    elif kind == 4:
        for _ in range(rng.randint(2, 9)):
            radius = rng.randint(10, 200)
            x, y = rng.randint(x0, x1), rng.randint(y0, y1)
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=ink, width=pen)
            draw.line((x, y, rng.randint(x0, x1), rng.randint(y0, y1)), ink, pen)
    else:
        comb, side = rng.randint(5, 24), rng.randint(14, 30)
        for y in range(y0, y1, rng.randint(60, 140)):
            for cell in range(comb):
                left = x0 + cell * side
                if left + side < across:
                    draw.rectangle((left, y, left + side, y + side), outline=ink, width=pen)
    if rng.random() < 0.3:
        sheet = sheet.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 1.0)))
    if rng.random() < 0.3:
        sheet = sheet.rotate(rng.uniform(-3, 3), fillcolor=255)
    return np.asarray(sheet)


def _texture(noise: np.random.Generator, index: int) -> Grey:
    across, down = _PIXELS[index % 3]
    shape = (down, across)
    u, v = np.meshgrid(np.arange(across), np.arange(down))
    turn = noise.uniform(0, np.pi)
    along = u * np.cos(turn) + v * np.sin(turn)
    fine = sum(_clouds(noise, shape, 4 << octave) / (1 << octave) for octave in range(6))
    assert isinstance(fine, np.ndarray), "a sum of arrays"
    kind = index % 10
    if kind == 0:
        field = fine
    elif kind == 1:
        field = np.sin(along / noise.uniform(3, 40) + noise.uniform(0, 6) * fine)
    elif kind == 2:
        field = np.sin(u / noise.uniform(2, 20)) * np.sin(v / noise.uniform(2, 20))
    elif kind == 3:
        field = np.where(_clouds(noise, shape, int(noise.integers(40, 300))) > 0.4, -1.0, 1.0)
    elif kind == 4:
        rings = np.hypot(u - noise.uniform(0, across), v - noise.uniform(0, down))
        field = np.sin(rings / noise.uniform(4, 30) + fine)
    elif kind == 5:
        size = int(noise.integers(4, 60))
        field = np.where((u // size + v // size) % 2 == 0, -1.0, 1.0) + 0.2 * fine
    elif kind == 6:
        step = noise.uniform(5, 14)
        radius = np.hypot(u % step - step / 2, v % step - step / 2)
        field = np.where(radius < step * (0.25 + 0.12 * np.clip(fine, -2, 2)), -1.0, 1.0)
    elif kind == 7:
        bricks = int(noise.integers(16, 60))
        shift = (v // bricks % 2) * bricks
        field = np.where((v % bricks < 3) | ((u + shift) % (2 * bricks) < 3), -1.0, 1.0)
        field = field + 0.3 * fine
    elif kind == 8:
        field = np.where(np.abs(fine) < noise.uniform(0.02, 0.2), -1.0, 1.0)
    else:
        bars = noise.random(across) < 0.5
        field = np.where(np.repeat(bars, int(noise.integers(2, 9)))[:across][None], -1.0, 1.0)
        field = np.broadcast_to(field, shape)
    contrast = noise.uniform(25, 120)
    return _to_grey(noise.uniform(110, 200) + contrast * field)


def _crop(rng: random.Random, file: Path) -> Grey:
    with Image.open(file) as opened:
        photo = ImageOps.exif_transpose(opened).convert("L")
    across, down = rng.choice(_PIXELS)
    share = rng.uniform(0.4, 1.0)
    wide = min(photo.width, photo.height * across / down) * share
    high = wide * down / across
    left, top = rng.uniform(0, photo.width - wide), rng.uniform(0, photo.height - high)
    box = (left, top, left + wide, top + high)
    return np.asarray(photo.resize((across, down), Image.Resampling.LANCZOS, box=box))
