"""Pages of technical documentation: manual pages with options, and indexes."""

import random

from ocrcli.models.small.training import parts
from ocrcli.models.small.training.casting import plays
from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.facts import code_word, letters
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.typeset import TYPEWRITER

Blocks = list[ComposedBlock]

_SECTIONS = (
    "NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES FILES ENVIRONMENT BUGS AUTHOR COPYRIGHT "
    "DIAGNOSTICS NOTES HISTORY"
)


def manual(sheet: Sheet, max_characters: int) -> Blocks:
    """Set headings at the margin, indented paragraphs, options and their explanations."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    name = f"{letters(rng, 2, 9)}({rng.randrange(1, 9)})"
    name = name.upper() if rng.random() < 0.6 else name
    middle = " ".join(sheet.title_words()[:4])
    if rng.random() < 0.85:
        parts.three_part_line(sheet, blocks, "header", (name, middle, name), top=True)
    margin = sheet.left
    indent = rng.uniform(2.0, 4.0) * body.size
    bold = _bold(sheet)
    begun = True
    for _ in range(30):
        left = max_characters - sum(block.characters for block in blocks)
        if left < 100 or not sheet.room():
            break
        sheet.left = margin
        if begun or rng.random() < 0.25:
            head = ComposedBlock("title")
            words = [rng.choice(_SECTIONS.split())]
            if rng.random() < 0.3:
                words = sheet.title_words()[:5]
            sheet.paragraph(head, words, bold, 80, align="left")
            blocks.append(head)
        begun = False
        sheet.left = margin + indent
        if rng.random() < 0.5:
            block = ComposedBlock("text")
            words = sheet.words(marked=True)[: rng.randrange(3, 90)]
            words[rng.randrange(len(words))] = TYPEWRITER + code_word(rng)
            sheet.paragraph(block, words, body, left)
            blocks.append(block)
        else:
            _options(sheet, blocks, bold, left)
        sheet.gap()
    sheet.left = margin
    if rng.random() < 0.6:
        foot = (" ".join(middle.split()[:2]), str(rng.randrange(1970, 2030)), name)
        parts.three_part_line(sheet, blocks, "footer", foot, top=False)
    return blocks


def index(sheet: Sheet, max_characters: int) -> Blocks:
    """Set an index: columns of entries with page numbers, some below others, letters between."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    parts.title(sheet, blocks, rng.uniform(1.3, 2.2))
    count = rng.choice([2, 2, 3]) if (sheet.right - sheet.left) / body.size > 26 else 1
    left, top, gutter = sheet.left, sheet.y, 2.0 * body.size
    frame = left, sheet.right
    width = (sheet.right - left - (count - 1) * gutter) / count
    entries = _Index(sheet)
    share = (max_characters - 200) // count
    for column in range(count):
        sheet.left = left + column * (width + gutter)
        sheet.right, sheet.y, sheet.top = sheet.left + width, top, top
        entries.column(blocks, share)
    sheet.left, sheet.right = frame
    return blocks


class _Index:
    """The habits of one index."""

    def __init__(self, sheet: Sheet) -> None:
        rng = sheet.rng
        self._sheet = sheet
        self._style = sheet.resized(rng.choice([0.8, 0.9, 1.0]))
        self._headed = rng.random() < 0.5
        self._letter = rng.randrange(20)
        self._names = rng.choice([0.1, 0.3, 0.9])
        self._leaders = rng.random() < 0.35

    def column(self, blocks: Blocks, most: int) -> None:
        """Fill the frame with entries."""
        sheet, rng = self._sheet, self._sheet.rng
        block = ComposedBlock("list")
        begun = len(blocks)
        blocks.append(block)
        for _ in range(90):
            used = sum(one.characters for one in blocks[begun:])
            if not sheet.room() or used > most - 60:
                break
            if self._headed and rng.random() < 0.08 and self._letter < 26:
                head = ComposedBlock("title")
                letter = [chr(ord("A") + self._letter)]
                sheet.y += 0.5 * self._style.size
                sheet.paragraph(head, letter, sheet.cast_of("bold"), align="left")
                self._letter += 1
                block = ComposedBlock("list")
                blocks += [head, block]
                continue
            if self._leaders:
                self._led(block)
            else:
                self._listed(block)

    def _entry(self) -> list[str]:
        sheet, rng = self._sheet, self._sheet.rng
        if rng.random() < self._names:
            return sheet.composer.text.code_run(rng).split(" ")[:3]
        return sheet.title_words(numbered=False)[: rng.randrange(1, 5)]

    def _listed(self, block: ComposedBlock) -> None:
        sheet, rng = self._sheet, self._sheet.rng
        words = self._entry()
        numbers = sorted(rng.randrange(1, 400) for _ in range(rng.randrange(1, 4)))
        entry = [*words[:-1], words[-1] + ",", *(f"{n}," for n in numbers[:-1])]
        if rng.random() < 0.4:
            entry[: len(words)] = plays(TYPEWRITER, entry[: len(words)])
        inset = rng.choice([0.0, 0.0, 0.0, 1.2]) * self._style.size
        sheet.left += inset
        sheet.paragraph(block, [*entry, str(numbers[-1])], self._style, 120, align="left")
        sheet.left -= inset

    def _led(self, block: ComposedBlock) -> None:
        """Set an entry, dots and a page number on one line."""
        sheet, rng = self._sheet, self._sheet.rng
        text, number = " ".join(self._entry()), str(rng.randrange(1, 400))
        style = sheet.cast_of("typewriter") if rng.random() < 0.4 else self._style
        style = Type(style.font, self._style.size_index, 0.0, False)
        widths = sheet.width_of(text, style), sheet.width_of(number, self._style)
        dot = 1.6 * sheet.width_of(".", self._style)
        place = sheet.right - widths[1]
        count = int((place - sheet.left - widths[0] - 0.8 * style.size) / dot) if dot else 0
        if not all(widths) or count < 1:
            return
        baseline = sheet.y + 0.8 * style.size
        sheet.line(block, text, style, sheet.left, baseline)
        sheet.line(block, number, self._style, place, baseline)
        first = place - 0.4 * style.size - count * dot
        sheet.leader(self._style, first, dot, count, baseline)
        shown = "...." if count > 3 else "." * count
        block.lines.append(f"{text} {shown} {number}")
        sheet.y += style.size * sheet.leading


def _options(sheet: Sheet, blocks: Blocks, bold: Type, max_characters: int) -> None:
    rng, body = sheet.rng, sheet.body
    block = ComposedBlock("list")
    inset = rng.uniform(1.5, 4.0) * body.size
    for _ in range(rng.randrange(1, 7)):
        if not sheet.room() or sum(map(len, block.lines)) > max_characters - 120:
            break
        sheet.paragraph(block, _option(rng), bold, 60, align="left")
        sheet.left += inset
        words = sheet.words(marked=True)[: rng.randrange(2, 40)]
        sheet.paragraph(
            block, words, body, 400, align="" if sheet.justify else "left", goes_on=True
        )
        sheet.left -= inset
        sheet.gap()
    blocks.append(block)


def _option(rng: random.Random) -> list[str]:
    word, value = letters(rng, 3, 9), letters(rng, 2, 6)
    forms = [f"-{word[0]}, --{word}", f"--{word}={value.upper()}", f"-{word[0]} {value}"]
    return rng.choice([*forms, code_word(rng), f"{word.upper()}_{value.upper()}"]).split(" ")


def _bold(sheet: Sheet) -> Type:
    names = sheet.composer.atlas.names
    family = sheet.composer.family_of(sheet.body.font)
    bold = [font for font in family if "bold" in names[font].lower()]
    return sheet.resized(1.0, sheet.rng.choice(bold or family))
