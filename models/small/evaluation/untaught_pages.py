"""Pages that the small model was not taught to read: other scripts, odd fonts, tiny type.

A reader that knows its limits marks them as doubtful. Most families for Greek and Cyrillic are
among those of training, which saw their Latin letters; no other font here is.
"""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fpdf import FPDF

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
