"""Chooses what stands on a training page; `Sheet` sets it."""

import random

import numpy as np

from ocrcli.models.small.training.atlas import GLYPH_INDEX, Atlas
from ocrcli.models.small.training.charset import LIGATURES
from ocrcli.models.small.training.sheet import ComposedBlock, ComposedPage, Sheet
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
            sheet.paragraph(block, self.text.paragraph(rng), sheet.body)
        return sheet.finish([block])

    def page(
        self,
        rng: random.Random,
        width: int,
        height: int,
        sizes: tuple[int, int],
        max_characters: int,
    ) -> ComposedPage:
        """Return a page of headings, paragraphs and lists in one column.

        Args:
            rng: Source of all choices.
            width: Page pixels.
            height: Page pixels.
            sizes: Smallest and largest em size of body text, in page pixels.
            max_characters: No block is begun that would exceed this many characters.
        """
        sheet = Sheet(self, rng, width, height, sizes)
        sheet.margins(0.03, 0.16)
        blocks: list[ComposedBlock] = []
        if rng.random() < 0.15:
            sheet.running_line(blocks, "header", top=True)
        if rng.random() < 0.4:
            sheet.title(blocks)
        fill = 1.0 if rng.random() < 0.6 else rng.random()
        while sheet.room(fill):
            used = sum(len(line) for block in blocks for line in block.lines)
            left = max_characters - used
            if left < 60:
                break
            kind = rng.random()
            if kind < 0.12:
                sheet.title(blocks)
            elif kind < 0.20:
                sheet.bullets(blocks, left)
            else:
                block = ComposedBlock("text")
                sheet.paragraph(block, self.text.paragraph(rng), sheet.body, left)
                blocks.append(block)
                sheet.gap()
        if rng.random() < 0.2:
            sheet.running_line(
                blocks, rng.choice(["page_number", "page_number", "footer"]), top=False
            )
        return sheet.finish([block for block in blocks if block.lines])

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
