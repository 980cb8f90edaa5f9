"""Chooses what kind of page a training page is; `layouts` sets it."""

import random
from collections.abc import Callable

import numpy as np

from ocrcli.models.small.training import handbooks, layouts, manuals, papers, parts
from ocrcli.models.small.training.atlas import GLYPH_INDEX, Atlas
from ocrcli.models.small.training.charset import LIGATURES
from ocrcli.models.small.training.composed import ComposedBlock, ComposedPage
from ocrcli.models.small.training.contents import contents
from ocrcli.models.small.training.correspondence import letter
from ocrcli.models.small.training.plain_text import plain_text
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.text_source import TextSource

_TECHNICAL = 0.32
"""Share of pages that are documentation."""

_FILL = {"prose": 1.0, "technical": 0.88, "mixed": 0.76, "strings": 0.45}
"""Characters that a token holds in text of a voice, as a share of what it holds in prose."""

_USUAL_FAMILIES = (
    "cmuserif",
    "latinmodernroman",
    "nimbusroman",
    "nimbussans",
    "texgyretermes",
    "texgyreheros",
    "texgyrepagella",
    "liberationserif",
    "liberationsans",
    "dejavusans",
    "dejavuserif",
)


def _blank(sheet: Sheet, max_characters: int) -> list[ComposedBlock]:
    return []


def _pictures(sheet: Sheet, max_characters: int) -> list[ComposedBlock]:
    return layouts.pictures(sheet)


def _receipt(sheet: Sheet, max_characters: int) -> list[ComposedBlock]:
    blocks: list[ComposedBlock] = []
    parts.title(sheet, blocks)
    return [*blocks, *layouts.list_page(sheet, sheet.body)]


_Maker = Callable[[Sheet, int], list[ComposedBlock]]
_TECHNICAL_KINDS: tuple[tuple[_Maker, float], ...] = (
    (handbooks.handbook, 0.4),
    (plain_text, 0.12),
    (manuals.manual, 0.12),
    (contents, 0.1),
    (handbooks.listing_page, 0.08),
    (papers.paper, 0.08),
    (manuals.index, 0.06),
    (layouts.article, 0.04),
)
_KINDS: tuple[tuple[_Maker, float], ...] = (
    (layouts.article, 0.62),
    (layouts.tables, 0.12),
    (letter, 0.09),
    (layouts.form, 0.05),
    (_pictures, 0.035),
    (_receipt, 0.025),
    (_blank, 0.02),
    (contents, 0.02),
    (papers.paper, 0.02),
)


class Composer:
    """Composes pages from an atlas and a text source."""

    def __init__(self, atlas: Atlas, text: TextSource) -> None:
        """Group the atlas's fonts so that a page can mix styles of one family."""
        self.atlas = atlas
        self.text = text
        self._families: dict[str, list[int]] = {}
        for index, name in enumerate(atlas.names):
            self._families.setdefault(name.split("-")[0].lower(), []).append(index)
        self._family_names = sorted(self._families)
        narrow, wide = (atlas.advance[:, GLYPH_INDEX[letter]] for letter in "im")
        self.fixed_width = [int(font) for font in np.flatnonzero(abs(narrow - wide) < 1e-3)]
        self._codes: dict[tuple[str, bool], np.ndarray | None] = {}

    def lines(
        self, rng: random.Random, width: int, height: int, sizes: tuple[int, int]
    ) -> ComposedPage:
        """Return a few lines that fill a small image; one block, no structure.

        Args:
            rng: Source of all choices.
            width: Page pixels.
            height: Page pixels.
            sizes: Smallest and largest em size, in page pixels.
        """
        sheet = Sheet(self, rng, width, height, sizes)
        sheet.margins(0.01, 0.12)
        block = ComposedBlock("text")
        while sheet.room() and (not block.lines or rng.random() < 0.93):
            sheet.paragraph(block, sheet.words(), sheet.body)
        return sheet.finish([block])

    def page(
        self,
        rng: random.Random,
        width: int,
        height: int,
        sizes: tuple[int, int],
        max_characters: int,
    ) -> ComposedPage:
        """Return a page of any kind; see `layouts`.

        Args:
            rng: Source of all choices.
            width: Page pixels.
            height: Page pixels.
            sizes: Smallest and largest em size of body text, in page pixels.
            max_characters: No block is begun that would exceed this many characters.
        """
        kind = rng.random()
        sheet = Sheet(self, rng, width, height, sizes, technical=kind < _TECHNICAL)
        self._frame(sheet)
        # What became too long in tokens would be thrown away, and with it every full page.
        max_characters = int(max_characters * _FILL.get(sheet.voice, 0.83))
        ground = rng.random()
        if ground < 0.04:
            # Tinted paper, or a page of white on dark.
            ink = rng.uniform(0.75, 1.0) if ground < 0.012 else rng.uniform(0.03, 0.15)
            sheet.fill(0, 0, sheet.width, sheet.height, ink)
        if kind < _TECHNICAL:
            makers, weights = zip(*_TECHNICAL_KINDS, strict=True)
        else:
            makers, weights = zip(*_KINDS, strict=True)
        maker = rng.choices(makers, weights)[0]
        if width < 600 and rng.random() < 0.3:
            maker = _receipt
        return sheet.finish(maker(sheet, max_characters))

    def _frame(self, sheet: Sheet) -> None:
        """Choose margins: those of a cropped page, of a sheet, or of text anywhere on it."""
        rng = sheet.rng
        kind = rng.random()
        if kind < 0.55:
            # What is cropped may end with a line in what was its margin.
            sheet.margins(0.012, 0.05, rng.choice([0.0, 2.2 * sheet.body.size]))
        elif kind < 0.9:
            sheet.margins(0.03, 0.16)
        else:
            sheet.margins(0.02, 0.45)

    def any_font(self, rng: random.Random) -> int:
        """Return a font; families count alike, however many styles they have."""
        if rng.random() < 0.5:
            return rng.randrange(len(self.atlas.names))
        return rng.choice(self._families[rng.choice(self._family_names)])

    def documentation_font(self, rng: random.Random) -> int:
        """Return a font, mostly regular and often one that TeX, FOP or browsers set by default."""
        font = self.any_font(rng)
        usual = [name for name in _USUAL_FAMILIES if name in self._families]
        if usual and rng.random() < 0.4:
            font = rng.choice(self._families[rng.choice(usual)])
        regular = [
            one for one in self.family_of(font) if "-regular" in self.atlas.names[one].lower()
        ]
        return regular[0] if regular and rng.random() < 0.8 else font

    def fixed_beside(self, rng: random.Random, font: int) -> int:
        """Return a fixed-width font, often of the same maker as `font`."""
        if rng.random() < 0.6:
            start = self.atlas.names[font][:3]
            kin = [one for one in self.fixed_width if self.atlas.names[one].startswith(start)]
            kin = [one for one in kin if "-regular" in self.atlas.names[one].lower()] or kin
            if kin:
                return rng.choice(kin)
        return rng.choice(self.fixed_width)

    def codes(self, word: str, ligatures: bool) -> np.ndarray | None:
        """Return glyph indices of a word, or None when a character is not taught."""
        key = (word, ligatures)
        if key not in self._codes:
            if len(self._codes) > 200_000:
                self._codes.clear()
            drawn = word
            if ligatures:
                for glyph, letters in sorted(LIGATURES.items(), key=lambda item: -len(item[1])):
                    drawn = drawn.replace(letters, glyph)
            known = all(glyph in GLYPH_INDEX for glyph in drawn)
            self._codes[key] = (
                np.array([GLYPH_INDEX[glyph] for glyph in drawn], np.int64) if known else None
            )
        return self._codes[key]

    def family_of(self, font: int) -> list[int]:
        """Return the fonts that share the family of `font`, itself included."""
        return self._families[self.atlas.names[font].split("-")[0].lower()]
