"""One training page being filled from top to bottom: type, lines, rules, glyph positions."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ocrcli.models.small.training.atlas import GLYPH_INDEX, SIZES
from ocrcli.models.small.training.canvas import Canvas
from ocrcli.models.small.training.casting import cast, with_runs
from ocrcli.models.small.training.charset import LIGATURES
from ocrcli.models.small.training.composed import (
    CANVAS_SCALE,
    ComposedBlock,
    Type,
    size_near,
)
from ocrcli.models.small.training.typeset import (
    BOLD,
    SLANTED,
    TYPEWRITER,
    Measured,
    flat_index,
    measure,
    splits,
)

if TYPE_CHECKING:
    from ocrcli.models.small.training.composer import Composer

_SMALLEST = 19
"""Em size in canvas pixels below which no lines are set."""

_REPEATING = 0.12
"""Share of pages that are written in a few words, over and over."""

_LIGATURE_CODES = [GLYPH_INDEX[glyph] for glyph in LIGATURES]


class Sheet(Canvas):
    """A page being filled; `left`, `right`, `top`, `bottom` and `y` are the frame in use."""

    def __init__(
        self,
        composer: "Composer",
        rng: random.Random,
        width: int,
        height: int,
        sizes: tuple[int, int],
        technical: bool = False,
    ) -> None:
        """Choose the type and the habits of one page.

        Args:
            composer: Supplies fonts and text.
            rng: Source of all choices.
            width: Page pixels.
            height: Page pixels.
            sizes: Smallest and largest em size of body text, in page pixels.
            technical: Whether the page is documentation.
        """
        super().__init__()
        self.composer, self.rng = composer, rng
        self.width, self.height = width * CANVAS_SCALE, height * CANVAS_SCALE
        low, high = (size * CANVAS_SCALE for size in sizes)
        fitting = [index for index, size in enumerate(SIZES) if low <= size <= high]
        font = composer.documentation_font(rng) if technical else composer.any_font(rng)
        self.body = self.style(font, rng.choice(fitting))
        self.leading = rng.uniform(1.05, 1.7)
        self.justify = rng.random() < 0.5
        self.divides = rng.random() < (0.6 if self.justify else 0.2)
        self.indent = rng.choice([0.0, 0.0, 1.0, 1.5, 2.0])
        self.paragraph_gap = (
            rng.choice([0.0, 0.3, 0.5, 1.0]) if self.indent else rng.uniform(0.3, 1.2)
        )
        # Of a family's other styles one is mixed into the running text of some pages.
        self.accent = rng.choice(composer.family_of(font)) if rng.random() < 0.3 else font
        if composer.fixed_width and rng.random() < 0.1:
            self.accent = rng.choice(composer.fixed_width)
        self.underlined = 0.02 if rng.random() < 0.3 else 0.0
        self.technical = technical
        self.voice = composer.text.voice(rng, technical)
        self.refrain = None
        if rng.random() < _REPEATING:
            self.refrain = composer.text.refrain(rng, self.voice)
        self.cast = cast(composer, rng, font)
        self.em = self.body.size / CANVAS_SCALE
        self.left, self.right, self.top, self.bottom = 0.0, self.width * 1.0, 0.0, self.height * 1.0
        self.y = 0.0

    def style(self, font: int, size_index: int) -> Type:
        """Return `font` at a size, with spacing drawn anew."""
        rng = self.rng
        tracking = rng.choice([0.0, 0.0, 0.0, rng.uniform(-0.03, 0.05)])
        # Fonts without the glyphs set the letters one by one.
        able = bool(self.composer.atlas.present[font, _LIGATURE_CODES].all())
        return Type(font, size_index, tracking, able and rng.random() < 0.5)

    def resized(self, factor: float, font: int | None = None) -> Type:
        """Return the body type at about `factor` times its size, or another font so.

        Nothing becomes so small that it could not be read.
        """
        body = self.body
        if font is not None and font != body.font:
            return self.style(font, size_near(max(factor * body.size, _SMALLEST)))
        index = size_near(max(factor * body.size, _SMALLEST))
        return Type(body.font, index, body.tracking, body.ligatures)

    def words(self, marked: bool = False) -> list[str]:
        """Return the words of a paragraph in the page's language.

        Args:
            marked: Whether words may hold style marks, which only `paragraph` sets.
        """
        if self.refrain and self.rng.random() < 0.9:
            words = self.refrain.paragraph(self.rng)
        else:
            words = self.composer.text.paragraph(self.rng, self.voice, marked)
        if marked and self.technical:
            return with_runs(self.rng, self.composer.text, words)
        return words

    def title_words(self, numbered: bool = True) -> list[str]:
        """Return the few words of a heading, `numbered`: with a number before it now and then."""
        if self.refrain and self.rng.random() < 0.7:
            return self.refrain.title(self.rng)
        return self.composer.text.title(self.rng, self.voice, numbered)

    def code_lines(self, count: int) -> list[str]:
        """Return lines of a program; empty ones are gaps."""
        if self.refrain and self.rng.random() < 0.9:
            return self.refrain.code(self.rng, count)
        return self.composer.text.code(self.rng, count)

    def cast_of(self, style: str) -> Type:
        """Return the type of the page's "bold", "slanted" or "typewriter" runs."""
        mark = {"bold": BOLD, "slanted": SLANTED, "typewriter": TYPEWRITER}[style]
        font, larger = self.cast.get(mark, (self.body.font, 0))
        index = min(max(self.body.size_index + larger, 0), len(SIZES) - 1)
        return Type(font, index, self.body.tracking, False)

    def margins(self, low: float, high: float, foot: float = 0.0) -> None:
        """Choose the four margins as shares of the sheet.

        Args:
            low: Smallest margin.
            high: Largest margin at the sides; at top and bottom a fifth less.
            foot: Room in pixels that the bottom margin has in addition, for a line in it.
        """
        rng = self.rng
        self.left = rng.uniform(low, high) * self.width
        self.right = self.width - rng.uniform(low, high) * self.width
        if self.right - self.left < 6 * self.body.size:
            self.left, self.right = 0.01 * self.width, 0.99 * self.width
        self.y = rng.uniform(low, high * 0.8) * self.height
        self.bottom = self.height - rng.uniform(low, high * 0.8) * self.height - foot
        self.top = self.y

    def room(self, fill: float = 1.0) -> bool:
        """Whether another line of body text fits."""
        limit = self.top + (self.bottom - self.top) * fill
        return self.y + self.body.size * self.leading <= limit

    def gap(self) -> None:
        """Leave the space between two paragraphs."""
        self.y += self.paragraph_gap * self.body.size

    def paragraph(
        self,
        block: ComposedBlock,
        words: Sequence[str],
        style: Type,
        max_characters: int = 100_000,
        *,
        align: str = "",
        leading: float = 0.0,
        hang: tuple[str, float, float] | None = None,
        cut: tuple[int, float] = (0, 0.0),
        one_line: bool = False,
        goes_on: bool = False,
    ) -> list[str]:
        """Set `words` below what is there, add the lines to `block` and return what is left over.

        Args:
            block: Receives lines and box.
            words: What to set.
            style: Font and size.
            max_characters: No further line begins beyond this many characters.
            align: "left", "center" or "right"; empty: the page's habit, with indent.
            leading: Line distance in em; 0: the page's.
            hang: Mark of a list item, its inset and the distance from mark to text.
            cut: Number of lines that begin so much further right, beside a drop capital.
            one_line: Whether to stop after a line, which may lie in the margin.
            goes_on: Whether the paragraph began in another column.
        """
        step = style.size * (leading or self.leading)
        limit = self.height * 0.995 if one_line else self.bottom
        left = self.left + (hang[1] + hang[2] if hang else 0.0)
        if self.right - left < 3 * style.size:
            left, hang = self.left, None
        plain = not (hang or align or goes_on or cut[0])
        measured = measure(self.composer, words, style, self._fonts(words, style), self.cast)
        gap, count = self.space(style), len(measured.texts)
        index = skip = characters = row = 0
        while index < count and self.y + step <= limit:
            start = left + (self.indent * self.body.size if plain and row == 0 else 0.0)
            start += cut[1] if row < cut[0] else 0.0
            room = self.right - start
            end = measured.fitting(index, skip, room, gap)
            tail = self._division(measured, index, skip, end, room, gap, style)
            if end == index and not tail:
                index, skip = index + 1, 0
                continue
            texts = [*measured.texts[index:end], *([measured.texts[end][:tail]] if tail else [])]
            texts[0] = texts[0][skip:] if skip else texts[0]
            text = " ".join(texts) + ("-" if tail else "")
            characters += len(text) + 1
            if characters > max_characters and block.lines:
                break
            natural = self._natural(measured, index, skip, end, tail, gap, style)
            spread, x = gap, start
            if align == "center":
                x = start + (room - natural) / 2
            elif align == "right":
                x = self.right - natural
            elif self.justify and not align and len(texts) > 1 and (end < count or tail):
                # Lines with few words stay ragged rather than torn apart.
                more = (room - natural) / (len(texts) - 1)
                spread += more if more < 1.2 * style.size else 0.0
            baseline = self.baseline(style, step)
            if hang and row == 0:
                text = self._mark(hang[0], left - hang[2], baseline, style) + text
            right = self.place(measured, index, skip, end, tail, x, spread, baseline, style)
            if self.rng.random() < self.underlined:
                self.rule(x, right, baseline + 0.12 * style.size, 0.05 * style.size)
            block.lines.append(text)
            self.cover(
                block, x if not (hang and row == 0) else left - hang[2], right, baseline, style
            )
            self.y += step
            index, skip, row = end, tail, row + 1
            if one_line:
                break
        return measured.left_over(index, skip)

    def line(
        self, block: ComposedBlock, text: str, style: Type, x: float, baseline: float
    ) -> float:
        """Set `text` with its blanks in one line from `x` and return its right edge.

        Nothing is set and `x` is returned when the font lacks a character.
        """
        measured = measure(self.composer, [text], style)
        if not measured.texts:
            return x
        right = self.place(measured, 0, 0, 1, 0, x, 0.0, baseline, style)
        indent = len(text) - len(text.lstrip(" "))
        self.cover(block, x + float(measured.before[indent]), right, baseline, style)
        return right

    def baseline(self, style: Type, step: float = 0.0) -> float:
        """Return where a paragraph's next line stands; `step` is its distance, 0: the page's."""
        return self.y + min(self._ascent(style), step or style.size * self.leading)

    def leader(
        self, style: Type, start: float, distance: float, count: int, baseline: float
    ) -> None:
        """Draw `count` dots from `start`; they are no part of any block's text."""
        xs = start + distance * np.arange(count)
        self.glyphs(np.full(count, flat_index(style, ".")), xs, np.full(count, round(baseline)))

    def width_of(self, text: str, style: Type) -> float:
        """Return the width of `text` in one line; 0 when the font lacks a character."""
        measured = measure(self.composer, [text], style)
        return float(measured.before[-1])

    def cover(
        self, block: ComposedBlock, left: float, right: float, baseline: float, style: Type
    ) -> None:
        """Grow a block's box to hold a line, or a part of the line at the same height."""
        descent = self.composer.atlas.vertical[style.font][1] * style.size
        low = baseline + min(descent, 0.25 * style.size)
        block.cover(left, baseline - 0.75 * style.size, right, low)
        block.begin(left, baseline)

    def place(
        self,
        measured: Measured,
        index: int,
        skip: int,
        end: int,
        tail: int,
        x: float,
        gap: float,
        baseline: float,
        style: Type,
    ) -> float:
        """Put words `index` to `end` and `tail` glyphs of the next; return the right edge."""
        first = int(measured.start[index]) + skip
        last = int(measured.start[end]) + tail
        spaces = measured.word[first:last] - index
        xs = x + measured.before[first:last] - measured.before[first] + gap * spaces
        ys = np.full(last - first, round(baseline), np.int64)
        if measured.rise is not None:
            ys -= measured.rise[first:last]
        self.glyphs(measured.glyph[first:last], xs, ys)
        words = end - index - (0 if tail else 1)
        right = x + float(measured.before[last] - measured.before[first]) + gap * words
        if tail:
            hyphen = np.array([flat_index(style, "-")])
            self.glyphs(hyphen, np.array([right]), np.array([round(baseline)]))
            right += self._hyphen_width(style)
        return right

    def space(self, style: Type) -> float:
        """Return the natural width of a blank."""
        space = float(self.composer.atlas.advance[style.font, GLYPH_INDEX[" "]])
        return (space + style.tracking) * style.size

    def _ascent(self, style: Type) -> float:
        return float(self.composer.atlas.vertical[style.font][0] * style.size)

    def _fonts(self, words: Sequence[str], style: Type) -> list[int] | None:
        """Return a font per word where runs of another style of the family are mixed in."""
        if self.accent == self.body.font or style.font != self.body.font:
            return None
        fonts, run = [], 0
        for _ in words:
            run = run - 1 if run else (self.rng.randrange(1, 7) if self.rng.random() < 0.02 else 0)
            fonts.append(self.accent if run else style.font)
        return fonts

    def _division(
        self,
        measured: Measured,
        index: int,
        skip: int,
        end: int,
        room: float,
        gap: float,
        style: Type,
    ) -> int:
        """Return how many letters of word `end` still fit on the line, before a hyphen."""
        if not self.divides or style.size != self.body.size or end >= len(measured.texts):
            return 0
        word = measured.texts[end]
        begin = int(measured.start[end])
        # Ligatures have fewer glyphs than letters; a divided word is not divided again.
        if len(word) != measured.start[end + 1] - begin or (end == index and skip):
            return 0
        used = measured.width(index, skip, end, gap) + (gap if end > index else 0.0)
        left = room - used - self._hyphen_width(style)
        places = [
            place
            for place in splits(word)
            if measured.before[begin + place] - measured.before[begin] <= left
        ]
        return self.rng.choice(places) if places else 0

    def _natural(
        self,
        measured: Measured,
        index: int,
        skip: int,
        end: int,
        tail: int,
        gap: float,
        style: Type,
    ) -> float:
        width = measured.width(index, skip, end, gap)
        if tail:
            begin = int(measured.start[end])
            width += float(measured.before[begin + tail] - measured.before[begin])
            width += self._hyphen_width(style) + (gap if end > index else 0.0)
        return width

    def _hyphen_width(self, style: Type) -> float:
        return float(self.composer.atlas.advance[style.font, GLYPH_INDEX["-"]]) * style.size

    def _mark(self, mark: str, x: float, baseline: float, style: Type) -> str:
        measured = measure(self.composer, [mark], style)
        if not measured.texts:
            return ""
        self.place(measured, 0, 0, 1, 0, x, 0.0, baseline, style)
        return measured.texts[0] + " "
