"""Words measured as one array of glyphs, so that breaking and placing lines costs little."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ocrcli.models.small.training.atlas import GLYPH_INDEX, SIZES
from ocrcli.models.small.training.composed import Type, size_near

if TYPE_CHECKING:
    from ocrcli.models.small.training.composer import Composer

RAISED = "\ue000"
"""Characters of a word after this mark are set small and raised, as note numbers are."""

TYPEWRITER, SLANTED, BOLD, PLAIN = "\ue001\ue002\ue003\ue004"
"""Marks inside a word: what follows is set in another style, until the word's end or `PLAIN`."""

Cast = Mapping[str, tuple[int, int]]
"""For each style mark the font that plays it, and by how many sizes it is larger."""

_SWITCH = re.compile(f"[{TYPEWRITER}{SLANTED}{BOLD}{PLAIN}]")
_MARK = re.compile(f"[{RAISED}{TYPEWRITER}{SLANTED}{BOLD}{PLAIN}]")
_PER_FONT = len(SIZES) * len(GLYPH_INDEX)


@dataclass
class Measured:
    """Words that can be drawn.

    Attributes:
        texts: What each word reads.
        words: The same with marks.
        start: First glyph of each word and the number of glyphs, int64 [W + 1].
        glyph: Flat atlas indices, int64 [G].
        before: Advance before each glyph without the spaces between words, float64 [G + 1].
        word: Word of each glyph, int64 [G].
        rise: Canvas pixels above the baseline of each glyph, int64 [G]; None: all 0.
    """

    texts: list[str]
    words: list[str]
    start: np.ndarray
    glyph: np.ndarray
    before: np.ndarray
    word: np.ndarray
    rise: np.ndarray | None

    def width(self, first: int, skip: int, end: int, gap: float) -> float:
        """Return the width of words `first` to `end`, without `skip` glyphs at the beginning."""
        if end <= first:
            return 0.0
        glyphs = self.before[self.start[end]] - self.before[self.start[first] + skip]
        return float(glyphs + gap * (end - first - 1))

    def fitting(self, first: int, skip: int, room: float, gap: float) -> int:
        """Return the end of the longest run of words from `first` that is no wider than `room`."""
        edges = self.before[self.start] + gap * np.arange(len(self.start))
        limit = room + self.before[self.start[first] + skip] + gap * (first + 1)
        return max(first, int(np.searchsorted(edges, limit, "right")) - 1)

    def left_over(self, first: int, skip: int) -> list[str]:
        """Return the words from `first` on."""
        rest = self.words[first:]
        return [self.texts[first][skip:], *rest[1:]] if rest and skip else rest


def unmarked(text: str) -> str:
    """Return what a text with marks reads."""
    return _MARK.sub("", text)


def marked_words(text: str) -> list[str]:
    r"""Return the words of a text, each with the style mark that holds at its beginning.

    Example:
        >>> [unmarked(word) for word in marked_words("see \ue001f(int x)\ue004 now")]
        ['see', 'f(int', 'x)', 'now']
    """
    words = text.split()
    if not _SWITCH.search(text):
        return words
    style, result = PLAIN, []
    for word in words:
        result.append(word if style == PLAIN else style + word)
        marks = _SWITCH.findall(word)
        style = marks[-1] if marks else style
    return result


def measure(
    composer: "Composer",
    words: Sequence[str],
    style: Type,
    fonts: Sequence[int] | None = None,
    cast: Cast | None = None,
) -> Measured:
    """Return the words that the font can draw, measured.

    Args:
        composer: Supplies glyph indices and the atlas.
        words: Words, each without or with spaces inside; may hold marks.
        style: Font and size.
        fonts: Another font for each word.
        cast: Fonts of the styles that marks ask for; none: the marks are passed over.
    """
    atlas = composer.atlas
    codes: list[np.ndarray] = []
    kept: list[str] = []
    texts: list[str] = []
    chosen: list[int] = []
    raised: dict[int, int] = {}
    pieces: list[tuple[int, int, int, tuple[int, int]]] = []
    for index, word in enumerate(words):
        font = fonts[index] if fonts else style.font
        if _SWITCH.search(word):
            found, runs = _styled(composer, word, style, cast or {})
            if found is None or not found.size:
                continue
            pieces += [(len(texts), first, last, player) for first, last, player in runs]
            text = unmarked(word)
        else:
            base, mark, note = word.partition(RAISED)
            text = base + note
            found = composer.codes(text, style.ligatures and not mark)
            if found is None or not found.size:
                continue
            if mark:
                raised[len(texts)] = len(base)
        codes.append(found)
        texts.append(text)
        kept.append(word)
        chosen.append(font)
    counts = np.array([len(code) for code in codes], np.int64)
    start = np.concatenate((np.zeros(1, np.int64), counts.cumsum()))
    if not texts:
        none = np.zeros(0, np.int64)
        return Measured([], [], start, none, np.zeros(1), none, None)
    letter = np.concatenate(codes)
    word_of = np.repeat(np.arange(len(texts)), counts)
    font_of = np.repeat(np.array(chosen, np.int64), counts)
    size = np.full(len(letter), style.size_index, np.int64)
    for index, first, last, (font, larger) in pieces:
        glyphs = slice(start[index] + first, start[index] + last)
        font_of[glyphs] = font
        size[glyphs] = min(max(style.size_index + larger, 0), len(SIZES) - 1)
    drawable = np.logical_and.reduceat(atlas.present[font_of, letter], start[:-1])
    if not drawable.all():
        able = np.flatnonzero(drawable).tolist()
        fonts = [chosen[index] for index in able]
        return measure(composer, [kept[index] for index in able], style, fonts, cast)
    rise = None
    if raised:
        rise = np.zeros(len(letter), np.int64)
        # Smaller digits could not be read.
        small = size_near(max(0.62 * style.size, 15))
        for index, skip in raised.items():
            size[start[index] + skip : start[index + 1]] = small
            rise[start[index] + skip : start[index + 1]] = round(0.36 * style.size)
    advance = (atlas.advance[font_of, letter] + style.tracking) * np.array(SIZES)[size]
    before = np.concatenate((np.zeros(1), advance.cumsum(dtype=np.float64)))
    flat = font_of * _PER_FONT + size * len(GLYPH_INDEX) + letter
    return Measured(texts, kept, start, flat, before, word_of, rise)


def _styled(
    composer: "Composer", word: str, style: Type, cast: Cast
) -> tuple[np.ndarray | None, list[tuple[int, int, tuple[int, int]]]]:
    """Return the glyphs of a word with style marks, and which of them another font plays."""
    codes: list[np.ndarray] = []
    runs = []
    place = 0
    for mark, piece in _pieces(word):
        player = cast.get(mark)
        found = composer.codes(piece, style.ligatures and mark != TYPEWRITER)
        if found is None:
            return None, []
        # A style that lacks a character leaves the run to the body font.
        if player and composer.atlas.present[player[0], found].all():
            runs.append((place, place + len(found), player))
        codes.append(found)
        place += len(found)
    return (np.concatenate(codes) if codes else None), runs


def _pieces(word: str) -> Iterator[tuple[str, str]]:
    style, begun = PLAIN, 0
    for match in _SWITCH.finditer(word):
        if match.start() > begun:
            yield style, word[begun : match.start()]
        style, begun = match.group(), match.end()
    if begun < len(word):
        yield style, word[begun:]


def flat_index(style: Type, glyph: str) -> int:
    """Return the flat atlas index of one glyph."""
    return style.font * _PER_FONT + style.size_index * len(GLYPH_INDEX) + GLYPH_INDEX[glyph]


def splits(word: str) -> list[int]:
    """Return the places where a word may be divided: between letters, before a consonant.

    No language's own rules: the reader has to see the hyphen, not to know why it is there.
    """
    if len(word) < 6 or not word.isalpha():
        return []
    vowels = "aeiouyäöüåæøéèêáíóúàãõąęó"
    return [
        place
        for place in range(2, len(word) - 2)
        if word[place].lower() not in vowels and word[place - 1].lower() in vowels
    ]
