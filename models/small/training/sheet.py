"""One training page being filled from top to bottom: type, lines, blocks, glyph positions."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ocrcli.models.small.training.atlas import GLYPH_INDEX, SIZES

if TYPE_CHECKING:
    from ocrcli.models.small.training.composer import Composer

# Two canvas pixels are one page pixel.
CANVAS_SCALE = 2


@dataclass
class ComposedBlock:
    """One block of a page: its label, its lines and the canvas box of its ink."""

    label: str
    lines: list[str] = field(default_factory=list)
    box: list[float] = field(default_factory=lambda: [math.inf, math.inf, -math.inf, -math.inf])

    @property
    def text(self) -> str:
        """The block's text, lines separated by line feeds."""
        return "\n".join(self.lines)

    def cover(self, left: float, top: float, right: float, bottom: float) -> None:
        """Grow the box to hold the rectangle."""
        box = self.box
        self.box = [min(box[0], left), min(box[1], top), max(box[2], right), max(box[3], bottom)]


@dataclass
class ComposedPage:
    """Glyph placements and blocks in reading order.

    Attributes:
        glyph: Flat atlas index of each glyph, int64 [N].
        x: Pen positions, canvas pixels, int32 [N].
        y: Baselines, canvas pixels, int32 [N].
        blocks: Blocks from top to bottom.
    """

    glyph: np.ndarray
    x: np.ndarray
    y: np.ndarray
    blocks: list[ComposedBlock]


@dataclass(frozen=True)
class Type:
    """One font at one size, with the spacing of the page."""

    font: int
    size_index: int
    tracking: float
    ligatures: bool

    @property
    def size(self) -> int:
        """Em size in canvas pixels."""
        return SIZES[self.size_index]


class Sheet:
    """A page being filled from top to bottom."""

    def __init__(
        self,
        composer: "Composer",
        rng: random.Random,
        width: int,
        height: int,
        sizes: tuple[int, int],
    ) -> None:
        """Choose the type and the habits of one page.

        Args:
            composer: Supplies fonts and text.
            rng: Source of all choices.
            width: Page pixels.
            height: Page pixels.
            sizes: Smallest and largest em size of body text, in page pixels.
        """
        self.composer, self.rng = composer, rng
        self.width, self.height = width * CANVAS_SCALE, height * CANVAS_SCALE
        atlas = composer.atlas
        low, high = (size * CANVAS_SCALE for size in sizes)
        fitting = [index for index, size in enumerate(SIZES) if low <= size <= high]
        font = rng.randrange(len(atlas.names))
        ligatures = rng.random() < 0.5
        self.body = Type(font, rng.choice(fitting), self._tracking(), ligatures)
        self.leading = rng.uniform(1.05, 1.7)
        self.justify = rng.random() < 0.5
        self.indent = rng.choice([0.0, 0.0, 1.0, 1.5, 2.0])
        self.paragraph_gap = (
            rng.choice([0.0, 0.3, 0.5, 1.0]) if self.indent else rng.uniform(0.3, 1.2)
        )
        # Of a family's other styles one is mixed into the running text of some pages.
        self.accent = rng.choice(composer.family_of(font)) if rng.random() < 0.3 else font
        self.glyphs: list[np.ndarray] = []
        self.xs: list[np.ndarray] = []
        self.ys: list[np.ndarray] = []

    def margins(self, low: float, high: float) -> None:
        """Choose the four margins as shares of the sheet."""
        rng = self.rng
        self.left = rng.uniform(low, high) * self.width
        self.right = self.width - rng.uniform(low, high) * self.width
        if self.right - self.left < 6 * self.body.size:
            self.left, self.right = 0.01 * self.width, 0.99 * self.width
        self.y = rng.uniform(low, high * 0.8) * self.height
        self.bottom = self.height - rng.uniform(low, high * 0.8) * self.height
        self.top = self.y

    def room(self, fill: float = 1.0) -> bool:
        """Whether another line of body text fits."""
        limit = self.top + (self.bottom - self.top) * fill
        return self.y + self.body.size * self.leading <= limit

    def gap(self) -> None:
        """Leave the space between two paragraphs."""
        self.y += self.paragraph_gap * self.body.size

    def title(self, blocks: list[ComposedBlock]) -> None:
        """Add a heading."""
        rng = self.rng
        wanted = self.body.size * rng.uniform(1.0, 2.3)
        size_index = min(range(len(SIZES)), key=lambda index: abs(SIZES[index] - wanted))
        family = self.composer.family_of(self.body.font)
        bold = [font for font in family if "bold" in self.composer.atlas.names[font].lower()]
        font = rng.choice(bold) if bold and rng.random() < 0.7 else rng.choice(family)
        if rng.random() < 0.15:
            font = rng.randrange(len(self.composer.atlas.names))
        style = Type(font, size_index, self._tracking(), self.body.ligatures)
        if self.y > self.top:
            self.y += rng.uniform(0.3, 1.2) * self.body.size
        block = ComposedBlock("title")
        align = rng.choice(["left", "left", "center"])
        words = self.composer.text.title(rng)
        self.paragraph(block, words, style, 200, align=align, leading=rng.uniform(1.05, 1.35))
        blocks.append(block)
        self.y += rng.uniform(0.2, 1.0) * self.body.size

    def bullets(self, blocks: list[ComposedBlock], max_characters: int) -> None:
        """Add a list with hanging indents."""
        rng = self.rng
        mark = rng.choice(["•", "•", "–", "-", "1.", "1)", "a)", "·"])
        block = ComposedBlock("list")
        hang = rng.uniform(1.2, 2.4) * self.body.size
        inset = rng.choice([0.0, 1.0, 2.0]) * self.body.size
        for index in range(rng.randrange(2, 8)):
            if not self.room() or sum(map(len, block.lines)) > max_characters - 80:
                break
            label = mark.replace("1", str(index + 1)).replace("a", chr(ord("a") + index))
            words = self.composer.text.paragraph(rng)[: rng.randrange(1, 30)]
            self.paragraph(block, words, self.body, 300, hang=(label, inset, hang))
        blocks.append(block)
        self.gap()

    def running_line(self, blocks: list[ComposedBlock], label: str, top: bool) -> None:
        """Add a page header, footer or number in the margin."""
        rng = self.rng
        block = ComposedBlock(label)
        number = str(rng.randrange(1, 900))
        words = [rng.choice(["{}", "{}", "- {} -", "Page {}", "{} / 12"]).format(number)]
        if label != "page_number":
            words = self.composer.text.title(rng)[:6]
            words = [*words, number] if rng.random() < 0.4 else words
        saved = self.y
        small = max(0, self.body.size_index - rng.randrange(3))
        style = Type(self.body.font, small, self.body.tracking, False)
        if not top:
            self.y = max(self.bottom, self.y) + 0.8 * style.size
        align = rng.choice(["left", "center", "right"])
        if self.y + style.size * 1.3 < self.height:
            words = " ".join(words).split(" ")
            self.paragraph(block, words, style, 80, align=align, one_line=True)
        blocks.append(block)
        if top:
            self.y = max(self.y, saved) + rng.uniform(0.5, 2.0) * self.body.size

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
        one_line: bool = False,
    ) -> None:
        """Set `words` below what is there and add the lines to `block`."""
        step = style.size * (leading or self.leading)
        limit = self.height * 0.995 if one_line else self.bottom
        left = self.left + (hang[1] + hang[2] if hang else 0.0)
        if self.right - left < 3 * style.size:
            left = self.left
            hang = None
        first = left + (0 if hang or align else self.indent * self.body.size)
        measured = self._measure(words, style)
        ascent, descent = self.composer.atlas.vertical[style.font] * style.size
        index, characters = 0, 0
        while index < len(measured) and self.y + step <= limit:
            start = first if index == 0 else left
            end, natural = self._break(measured, index, self.right - start, style)
            if end == index:
                index += 1
                continue
            line = measured[index:end]
            characters += sum(len(item[0]) + 1 for item in line)
            if characters > max_characters and block.lines:
                break
            gap, x = self._gap(style), start
            if align == "center":
                x = start + (self.right - start - natural) / 2
            elif align == "right":
                x = self.right - natural
            elif self.justify and end < len(measured) and len(line) > 3 and not align:
                gap += (self.right - start - natural) / (len(line) - 1)
            baseline = self.y + min(ascent, step)
            text = " ".join(item[0] for item in line)
            if hang and index == 0:
                text = self._mark(hang[0], left - hang[2], baseline, style) + text
            right = self._place(line, x, gap, baseline)
            block.lines.append(text)
            block.cover(
                x, baseline - 0.75 * style.size, right, baseline + min(descent, 0.25 * style.size)
            )
            if hang:
                block.cover(left - hang[2], baseline, right, baseline)
            self.y += step
            index = end
            if one_line:
                return

    def finish(self, blocks: list[ComposedBlock]) -> ComposedPage:
        """Return the composed page."""
        none = np.zeros(0, np.int64)
        return ComposedPage(
            glyph=np.concatenate(self.glyphs) if self.glyphs else none,
            x=np.concatenate(self.xs).astype(np.int32) if self.xs else none.astype(np.int32),
            y=np.concatenate(self.ys).astype(np.int32) if self.ys else none.astype(np.int32),
            blocks=blocks,
        )

    def _tracking(self) -> float:
        return self.rng.choice([0.0, 0.0, 0.0, self.rng.uniform(-0.03, 0.05)])

    def _gap(self, style: Type) -> float:
        space = float(self.composer.atlas.advance[style.font, GLYPH_INDEX[" "]])
        return (space + style.tracking) * style.size

    def _measure(
        self, words: Sequence[str], style: Type
    ) -> list[tuple[str, np.ndarray, np.ndarray, float, int]]:
        """Return (word, codes, advances, width, font offset) of the words that can be drawn."""
        atlas, rng = self.composer.atlas, self.rng
        per_font = len(SIZES) * len(GLYPH_INDEX)
        result = []
        accent = 0
        for word in words:
            if accent:
                accent -= 1
            elif self.accent != self.body.font and rng.random() < 0.02:
                accent = rng.randrange(1, 7)
            font = self.accent if accent and style.font == self.body.font else style.font
            codes = self.composer.codes(word, style.ligatures)
            if codes is None or not len(codes) or not atlas.present[font, codes].all():
                codes = self.composer.codes(word, False)
                if codes is None or not len(codes) or not atlas.present[font, codes].all():
                    continue
            advance = (atlas.advance[font, codes] + style.tracking) * style.size
            flat = font * per_font + style.size_index * len(GLYPH_INDEX)
            result.append((word, codes, advance, float(advance.sum()), flat))
        return result

    def _break(
        self,
        measured: list,
        index: int,
        room: float,
        style: Type,  # type: ignore[type-arg]
    ) -> tuple[int, float]:
        gap, used, end = self._gap(style), 0.0, index
        while end < len(measured):
            more = measured[end][3] + (gap if end > index else 0.0)
            if used + more > room:
                break
            used += more
            end += 1
        return end, used

    def _place(self, line: list, x: float, gap: float, baseline: float) -> float:  # type: ignore[type-arg]
        for _, codes, advance, width, flat in line:
            pens = x + np.cumsum(advance) - advance
            self.glyphs.append(codes + flat)
            self.xs.append(np.rint(pens))
            self.ys.append(np.full(len(codes), round(baseline), np.int32))
            x += width + gap
        return x - gap

    def _mark(self, mark: str, x: float, baseline: float, style: Type) -> str:
        measured = self._measure([mark], style)
        if not measured:
            return ""
        self._place(measured, x, 0.0, baseline)
        return measured[0][0] + " "
