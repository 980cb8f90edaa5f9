"""Chooses what kind of page a training page is; `layouts` sets it."""

import random

import numpy as np

from ocrcli.models.small.training import layouts, manuals, parts
from ocrcli.models.small.training.atlas import GLYPH_INDEX, Atlas
from ocrcli.models.small.training.charset import LIGATURES
from ocrcli.models.small.training.composed import ComposedBlock, ComposedPage
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.text_source import TextSource


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
        sheet = Sheet(self, rng, width, height, sizes)
        sheet.margins(0.03, 0.16)
        ground = rng.random()
        if ground < 0.04:
            # Tinted paper, or a page of white on dark.
            ink = rng.uniform(0.75, 1.0) if ground < 0.012 else rng.uniform(0.03, 0.15)
            sheet.fill(0, 0, sheet.width, sheet.height, ink)
        kind = rng.random()
        if kind < 0.015:
            return sheet.finish([])
        if kind < 0.04:
            return sheet.finish(layouts.pictures(sheet))
        if kind < 0.07:
            return sheet.finish(layouts.contents(sheet, max_characters))
        if kind < 0.13:
            return sheet.finish(layouts.letter(sheet, max_characters))
        if kind < 0.17:
            return sheet.finish(layouts.form(sheet, max_characters))
        if kind < 0.21:
            return sheet.finish(manuals.manual(sheet, max_characters))
        if kind < 0.225:
            return sheet.finish(manuals.index(sheet, max_characters))
        if kind < 0.245 or (width < 600 and kind < 0.5):
            blocks: list[ComposedBlock] = []
            parts.title(sheet, blocks)
            return sheet.finish([*blocks, *layouts.list_page(sheet, sheet.body)])
        return sheet.finish(layouts.article(sheet, max_characters))

    def any_font(self, rng: random.Random) -> int:
        """Return a font; families count alike, however many styles they have."""
        if rng.random() < 0.5:
            return rng.randrange(len(self.atlas.names))
        return rng.choice(self._families[rng.choice(self._family_names)])

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
