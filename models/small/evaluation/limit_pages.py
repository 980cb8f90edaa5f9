"""Pages that the small model was not taught to read, and pages without any text.

A reader that knows its limits marks the first kind as doubtful and writes nothing on the second.
Nothing here shares a font, a picture or a generator with training.
"""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageOps

if TYPE_CHECKING:
    from fpdf import FPDF

Grey = NDArray[np.uint8]

LANGUAGES = {
    "greek": ("el",),
    "cyrillic": ("ru", "uk", "bg"),
    "arabic": ("ar", "fa"),
    "hebrew": ("he",),
    "devanagari": ("hi",),
    "chinese": ("zh",),
    "japanese": ("ja",),
}
"""Scripts, and the languages of `wordfreq` whose words stand for them."""

TINY_POINTS = (2.2, 4.0)
"""Sizes of type, in points, that cannot be resolved when a page has 116 dots per inch."""

_PAGES_PER_FILE = 20
_A4 = (595.28, 841.89)
_PIXELS = ((905, 1280), (989, 1280), (1280, 905))
_RIGHT_TO_LEFT = ("arabic", "hebrew")
_UNSPACED = ("chinese", "japanese")
_WORDS = 6000
_RANGES = {
    "greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "cyrillic": ((0x400, 0x52F),),
    "arabic": ((0x600, 0x6FF),),
    "hebrew": ((0x590, 0x5FF),),
    "devanagari": ((0x900, 0x97F),),
    "chinese": ((0x4E00, 0x9FFF),),
    "japanese": ((0x3040, 0x30FF), (0x4E00, 0x9FFF)),
}


def script_pages(script: str, fonts: Sequence[Path], count: int, seed: int, output: Path) -> None:
    """Print pages of frequent words in a script, shaped as its readers expect them.

    Args:
        script: A key of `LANGUAGES`.
        fonts: Fonts that can set it.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for PDF files.

    Raises:
        ValueError: The script is unknown, or there is no font.
    """
    if script not in LANGUAGES or not fonts:
        raise ValueError(
            f'script must be one of {sorted(LANGUAGES)} and have fonts, got "{script}" with '
            f"{len(fonts)}"
        )
    rng = random.Random(f"{script} {seed}")
    words = {language: _words(language, script) for language in LANGUAGES[script]}
    pieces = {language: _speech(rng, pool, script) for language, pool in words.items()}
    _print(
        lambda pdf: _paragraphs(
            pdf,
            rng,
            rng.choice(fonts),
            pieces[rng.choice(sorted(pieces))],
            rng.uniform(10, 14),
            script=script,
        ),
        count,
        output,
    )


def tiny_pages(
    fonts: Sequence[Path], paragraphs: Sequence[str], count: int, seed: int, output: Path
) -> None:
    """Print pages whose type is too small to be read; see `TINY_POINTS`.

    Args:
        fonts: Fonts of a taught script.
        paragraphs: What is printed.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for PDF files.
    """
    rng = random.Random(f"tiny {seed}")
    _print(
        lambda pdf: _paragraphs(
            pdf, rng, rng.choice(fonts), _from(paragraphs, rng), rng.uniform(*TINY_POINTS)
        ),
        count,
        output,
    )


def plain_pages(
    fonts: Sequence[Path], paragraphs: Sequence[str], count: int, seed: int, output: Path
) -> None:
    """Print pages of a few paragraphs in the given fonts, 10 to 15 pt.

    Args:
        fonts: Fonts: some that look like handwriting, or some that are taught.
        paragraphs: What is printed.
        count: Number of pages.
        seed: Seed of all choices.
        output: Folder for PDF files.
    """
    rng = random.Random(f"plain {seed}")
    _print(
        lambda pdf: _paragraphs(
            pdf, rng, rng.choice(fonts), _from(paragraphs, rng), rng.uniform(10, 15)
        ),
        count,
        output,
    )


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


def _words(language: str, script: str) -> list[tuple[str, float]]:
    """Return words of a language, and how often each is used."""
    # A word's own frequency cannot be asked for without a tokenizer of its language.
    from wordfreq import get_frequency_dict, top_n_list

    ranges, frequency = _RANGES[script], get_frequency_dict(language)
    return [
        (word, frequency[word])
        for word in top_n_list(language, _WORDS)
        if all(any(low <= ord(sign) <= high for low, high in ranges) for sign in word)
    ]


def _speech(
    rng: random.Random, words: Sequence[tuple[str, float]], script: str
) -> Callable[[], list[str]]:
    """Return a source of paragraphs, each a list of words with the script's own punctuation."""
    names, weights = zip(*words, strict=True)
    comma, stop = {
        "arabic": ("،", "."),
        "devanagari": (",", "।"),
        "chinese": ("，", "。"),
        "japanese": ("、", "。"),
    }.get(script, (",", "."))

    def paragraph() -> list[str]:
        spoken = rng.choices(names, weights, k=rng.randint(20, 70))
        for place in range(rng.randint(5, 9), len(spoken) - 1, rng.randint(6, 12)):
            spoken[place] += rng.choice((comma, comma, stop))
        spoken[-1] += stop
        return spoken

    return paragraph


def _from(paragraphs: Sequence[str], rng: random.Random) -> Callable[[], list[str]]:
    long = [paragraph for paragraph in paragraphs if len(paragraph) > 80]
    return lambda: rng.choice(long).split()


def _print(page: Callable[["FPDF"], None], count: int, output: Path) -> None:
    from fpdf import FPDF

    # Notes about tables that a subset cannot keep; they are no part of the page.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    output.mkdir(parents=True, exist_ok=True)
    for first in range(0, count, _PAGES_PER_FILE):
        pdf = FPDF(unit="pt")
        pdf.set_auto_page_break(False)
        pdf.c_margin = 0
        for _ in range(first, min(first + _PAGES_PER_FILE, count)):
            pdf.add_page(format=_A4)
            page(pdf)
        pdf.output(str(output / f"pages-{first // _PAGES_PER_FILE:03d}.pdf"))


def _paragraphs(
    pdf: "FPDF",
    rng: random.Random,
    font: Path,
    paragraph: Callable[[], list[str]],
    size: float,
    script: str = "latin",
) -> None:
    """Fill a part of a page with paragraphs."""
    if font.stem.lower() not in pdf.fonts:
        pdf.add_font(font.stem, "", str(font))
    pdf.set_font(font.stem, "", size)
    pdf.set_text_shaping(True)
    margin, top = rng.uniform(50, 90), rng.uniform(50, 120)
    measure = _A4[0] - 2 * margin
    # Small type fills a page with more text than anybody would wait for.
    lines = rng.randint(8, 22) if size > max(TINY_POINTS) else rng.randint(20, 60)
    glue, known = "" if script in _UNSPACED else " ", _characters(font)
    leading = size * rng.uniform(1.2, 1.6)
    y, printed = top, 0
    while printed < lines:
        words = [word for word in paragraph() if known.issuperset(word)]
        for line in _broken(pdf, words, measure, glue):
            text = glue.join(line)
            x = margin
            if script in _RIGHT_TO_LEFT:
                x = margin + measure - pdf.get_string_width(text)
            pdf.set_xy(x, y)
            pdf.cell(h=size, text=text)
            y, printed = y + leading, printed + 1
            if printed >= lines or y > _A4[1] - top:
                return
        y += leading / 2


@cache
def _characters(font: Path) -> frozenset[str]:
    from fontTools.ttLib import TTFont

    with TTFont(font, lazy=True) as opened:
        return frozenset(map(chr, opened.getBestCmap()))


def _broken(pdf: "FPDF", words: list[str], measure: float, glue: str) -> Iterator[list[str]]:
    line: list[str] = []
    width, space = 0.0, pdf.get_string_width(glue) if glue else 0.0
    for word in words:
        wide = pdf.get_string_width(word)
        if line and width + space + wide > measure:
            yield line
            line, width = [], 0.0
        width += wide + (space if line else 0.0)
        line.append(word)
    yield line


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
