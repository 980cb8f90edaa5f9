"""Words measured as one array of glyphs, so that breaking and placing lines costs little."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ocrcli.models.small.training.atlas import GLYPH_INDEX, SIZES
from ocrcli.models.small.training.composed import Type, size_near

if TYPE_CHECKING:
    from ocrcli.models.small.training.composer import Composer

RAISED = "\ue000"
"""Characters of a word after this mark are set small and raised, as note numbers are."""

_PER_FONT = len(SIZES) * len(GLYPH_INDEX)


@dataclass
class Measured:
    """Words that can be drawn.

    Attributes:
        texts: What each word reads.
        start: First glyph of each word and the number of glyphs, int64 [W + 1].
        glyph: Flat atlas indices, int64 [G].
        before: Advance before each glyph without the spaces between words, float64 [G + 1].
        word: Word of each glyph, int64 [G].
        rise: Canvas pixels above the baseline of each glyph, int64 [G]; None: all 0.
    """

    texts: list[str]
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
        rest = self.texts[first:]
        return [rest[0][skip:], *rest[1:]] if rest and skip else rest


def measure(
    composer: "Composer", words: Sequence[str], style: Type, fonts: Sequence[int] | None = None
) -> Measured:
    """Return the words that the font can draw, measured.

    Args:
        composer: Supplies glyph indices and the atlas.
        words: Words, each without or with spaces inside; see `RAISED`.
        style: Font and size.
        fonts: Another font for each word.
    """
    atlas = composer.atlas
    codes: list[np.ndarray] = []
    texts: list[str] = []
    chosen: list[int] = []
    raised: dict[int, int] = {}
    for index, word in enumerate(words):
        base, mark, note = word.partition(RAISED)
        found = composer.codes(base + note, style.ligatures and not mark)
        if found is None or not found.size:
            continue
        if mark:
            raised[len(texts)] = len(base)
        codes.append(found)
        texts.append(base + note)
        chosen.append(fonts[index] if fonts else style.font)
    counts = np.array([len(code) for code in codes], np.int64)
    start = np.concatenate((np.zeros(1, np.int64), counts.cumsum()))
    if not texts:
        none = np.zeros(0, np.int64)
        return Measured([], start, none, np.zeros(1), none, None)
    letter = np.concatenate(codes)
    word_of = np.repeat(np.arange(len(texts)), counts)
    font = np.repeat(np.array(chosen, np.int64), counts)
    drawable = np.logical_and.reduceat(atlas.present[font, letter], start[:-1])
    if not drawable.all():
        kept = np.flatnonzero(drawable).tolist()
        notes = {index: texts[index][: raised[index]] for index in kept if index in raised}
        again = [
            notes[index] + RAISED + texts[index][len(notes[index]) :]
            if index in notes
            else texts[index]
            for index in kept
        ]
        return measure(composer, again, style, [chosen[index] for index in kept])
    size = np.full(len(letter), style.size_index, np.int64)
    rise = None
    if raised:
        rise = np.zeros(len(letter), np.int64)
        small = size_near(0.62 * style.size)
        for index, skip in raised.items():
            size[start[index] + skip : start[index + 1]] = small
            rise[start[index] + skip : start[index + 1]] = round(0.36 * style.size)
    advance = (atlas.advance[font, letter] + style.tracking) * np.array(SIZES)[size]
    before = np.concatenate((np.zeros(1), advance.cumsum(dtype=np.float64)))
    flat = font * _PER_FONT + size * len(GLYPH_INDEX) + letter
    return Measured(texts, start, flat, before, word_of, rise)


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
