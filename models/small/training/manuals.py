"""Pages of technical documentation: manual pages with options, and indexes."""

import random

from ocrcli.models.small.training import parts
from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.facts import code_word, letters
from ocrcli.models.small.training.sheet import Sheet

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
    middle = " ".join(sheet.composer.text.title(rng, sheet.voice)[:4])
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
                words = sheet.composer.text.title(rng, sheet.voice)[:5]
            sheet.paragraph(head, words, bold, 80, align="left")
            blocks.append(head)
        begun = False
        sheet.left = margin + indent
        if rng.random() < 0.5:
            block = ComposedBlock("text")
            words = sheet.words()[: rng.randrange(3, 90)]
            words[rng.randrange(len(words))] = code_word(rng)
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
    """Set an index: columns of entries with page numbers, some below others."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    parts.title(sheet, blocks, rng.uniform(1.3, 2.2))
    count = rng.choice([2, 2, 3]) if (sheet.right - sheet.left) / body.size > 26 else 1
    left, top, gutter = sheet.left, sheet.y, 2.0 * body.size
    width = (sheet.right - left - (count - 1) * gutter) / count
    share = (max_characters - 200) // count
    for column in range(count):
        sheet.left = left + column * (width + gutter)
        sheet.right, sheet.y, sheet.top = sheet.left + width, top, top
        block = ComposedBlock("list")
        for _ in range(80):
            if not sheet.room() or sum(map(len, block.lines)) > share - 60:
                break
            words = sheet.composer.text.title(rng, sheet.voice)[: rng.randrange(1, 4)]
            if rng.random() < 0.2:
                words = [code_word(rng)]
            numbers = sorted(rng.randrange(1, 400) for _ in range(rng.randrange(1, 4)))
            entry = [*words[:-1], words[-1] + ",", *(f"{n}," for n in numbers[:-1])]
            inset = rng.choice([0.0, 0.0, 0.0, 1.2]) * body.size
            sheet.left += inset
            sheet.paragraph(block, [*entry, str(numbers[-1])], body, 120, align="left")
            sheet.left -= inset
        blocks.append(block)
    return blocks


def _options(sheet: Sheet, blocks: Blocks, bold: Type, max_characters: int) -> None:
    rng, body = sheet.rng, sheet.body
    block = ComposedBlock("list")
    inset = rng.uniform(1.5, 4.0) * body.size
    for _ in range(rng.randrange(1, 7)):
        if not sheet.room() or sum(map(len, block.lines)) > max_characters - 120:
            break
        sheet.paragraph(block, _option(rng), bold, 60, align="left")
        sheet.left += inset
        words = sheet.words()[: rng.randrange(2, 40)]
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
