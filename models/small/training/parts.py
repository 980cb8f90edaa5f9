"""The parts a page is made of: headings, lists, captions, figures, notes, running lines.

Each function sets one part at the sheet's place and appends its blocks in reading order.
"""

import random

from ocrcli.models.small.training.atlas import SIZES
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.facts import roman
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.textures import TEXTURES
from ocrcli.models.small.training.typeset import RAISED, unmarked

Blocks = list[ComposedBlock]

_CAPTIONS = {
    "de": ("Abbildung {}", "Abb. {}", "Tabelle {}", "Tab. {}"),
    "fr": ("Figure {}", "Fig. {}", "Tableau {}", "Tab. {}"),
    "es": ("Figura {}", "Fig. {}", "Tabla {}", "Cuadro {}"),
    "it": ("Figura {}", "Fig. {}", "Tabella {}", "Tab. {}"),
    "pt": ("Figura {}", "Fig. {}", "Tabela {}", "Quadro {}"),
    "nl": ("Figuur {}", "Fig. {}", "Tabel {}", "Tab. {}"),
    "sv": ("Figur {}", "Bild {}", "Tabell {}", "Tab. {}"),
    "da": ("Figur {}", "Fig. {}", "Tabel {}", "Tab. {}"),
    "pl": ("Rysunek {}", "Rys. {}", "Tabela {}", "Tab. {}"),
}
_ENGLISH = ("Figure {}", "Fig. {}", "Table {}", "Tab. {}")


def title(
    sheet: Sheet,
    blocks: Blocks,
    factor: float = 0.0,
    align: str = "",
    words: list[str] | None = None,
) -> None:
    """Add a heading of these or other words, `factor` times the size of the text."""
    rng, body = sheet.rng, sheet.body
    wanted = body.size * (factor or rng.uniform(1.0, 2.3))
    # Narrow columns cannot hold large type.
    wanted = min(wanted, (sheet.right - sheet.left) / 5)
    index = min(range(len(SIZES)), key=lambda place: abs(SIZES[place] - wanted))
    family = sheet.composer.family_of(body.font)
    bold = [font for font in family if "bold" in sheet.composer.atlas.names[font].lower()]
    font = rng.choice(bold) if bold and rng.random() < 0.7 else rng.choice(family)
    if rng.random() < 0.15:
        font = sheet.composer.any_font(rng)
    if sheet.y > sheet.top:
        sheet.y += rng.uniform(0.3, 1.2) * body.size
    block = ComposedBlock("title")
    words = sheet.title_words() if words is None else words
    align = align or rng.choice(["left", "left", "center"])
    leading = rng.uniform(1.05, 1.35)
    sheet.paragraph(block, words, sheet.style(font, index), 200, align=align, leading=leading)
    blocks.append(block)
    sheet.y += rng.uniform(0.2, 1.0) * body.size


def bullets(sheet: Sheet, blocks: Blocks, max_characters: int) -> None:
    """Add a list with hanging indents."""
    rng, body = sheet.rng, sheet.body
    mark = rng.choice([*"••–-·*", "1.", "1.", "1)", "(1)", "[1]", "a)", "i.", "A."])
    inner = rng.choice("–-•*") if rng.random() < 0.2 else ""
    block = ComposedBlock("list")
    hang = rng.uniform(1.2, 2.4) * body.size
    inset = rng.choice([0.0, 1.0, 2.0]) * body.size
    for index in range(rng.randrange(2, 8)):
        if not sheet.room() or sum(map(len, block.lines)) > max_characters - 80:
            break
        label = mark.replace("1", str(index + 1)).replace("a", chr(ord("a") + index))
        label = label.replace("i", roman(index + 1).lower()).replace("A", chr(ord("A") + index))
        words = sheet.words(marked=True)[: rng.randrange(1, 30)]
        sheet.paragraph(block, words, body, 300, hang=(label, inset, hang))
        for _ in range(rng.randrange(3) if inner and block.lines else 0):
            words = sheet.words(marked=True)[: rng.randrange(1, 16)]
            sheet.paragraph(block, words, body, 200, hang=(inner, inset + hang, hang))
    blocks.append(block)
    sheet.gap()


def running_line(sheet: Sheet, blocks: Blocks, label: str, top: bool) -> None:
    """Add a page header, footer or number in the margin."""
    rng = sheet.rng
    block = ComposedBlock(label)
    number = str(rng.randrange(1, 900)) if rng.random() < 0.9 else roman(rng.randrange(1, 40))
    words = [rng.choice(["{}", "{}", "{}", "- {} -", "Page {}", "{} / 12"]).format(number)]
    if label != "page_number":
        words = sheet.title_words()[:6]
        words = [*words, number] if rng.random() < 0.4 else words
    saved = sheet.y
    style = sheet.resized(rng.choice([0.7, 0.8, 0.9, 1.0]))
    if not top:
        sheet.y = max(sheet.bottom, sheet.y) + 0.8 * style.size
    align = rng.choice(["left", "center", "right"])
    if sheet.y + style.size * 1.3 < sheet.height:
        words = " ".join(words).split(" ")
        ruled = rng.random() < 0.2
        if ruled and not top:
            sheet.rule(sheet.left, sheet.right, sheet.y - 0.3 * style.size, 2)
        sheet.paragraph(block, words, style, 80, align=align, one_line=True)
        if ruled and top:
            sheet.rule(sheet.left, sheet.right, sheet.y, 2)
    blocks.append(block)
    if top:
        sheet.y = max(sheet.y, saved) + rng.uniform(0.5, 2.0) * sheet.body.size
        sheet.top = sheet.y


def margin_line(sheet: Sheet, blocks: Blocks, label: str, text: str, align: str) -> None:
    """Add a short text below the text area."""
    style = sheet.resized(sheet.rng.choice([0.8, 0.9, 1.0]))
    sheet.y = max(sheet.bottom, sheet.y) + 0.8 * style.size
    block = ComposedBlock(label)
    if sheet.y + style.size * 1.3 < sheet.height:
        sheet.paragraph(block, text.split(" "), style, 80, align=align, one_line=True)
    blocks.append(block)


def three_part_line(
    sheet: Sheet, blocks: Blocks, label: str, texts: tuple[str, str, str], top: bool
) -> None:
    """Add a line in the margin: texts at the left, in the middle and at the right, or empty."""
    style = sheet.resized(sheet.rng.choice([0.8, 0.9, 1.0]))
    widths = [sheet.width_of(text, style) for text in texts]
    room = sheet.right - sheet.left
    drawn = all(width or not text for width, text in zip(widths, texts, strict=True))
    if not drawn or sum(widths) + 4 * style.size > room:
        return
    block = ComposedBlock(label)
    y = sheet.y if top else max(sheet.bottom, sheet.y) + 0.8 * style.size
    if y + 1.3 * style.size > sheet.height:
        return
    left = sheet.left
    gaps = (left, left + (room - widths[1]) / 2, sheet.right - widths[2])
    # A middle text that would touch a neighbour moves between them.
    low, high = left + widths[0] + style.size, gaps[2] - widths[1] - style.size
    places = (gaps[0], min(max(gaps[1], low), high), gaps[2])
    for text, place in zip(texts, places, strict=True):
        if text:
            sheet.line(block, text, style, place, y + 0.85 * style.size)
    block.lines.append(" ".join(filter(None, texts)))
    blocks.append(block)
    if top:
        sheet.y = sheet.top = y + sheet.rng.uniform(1.8, 3.0) * style.size


def caption(sheet: Sheet, blocks: Blocks, of_table: bool) -> None:
    """Add the caption of a figure or table."""
    rng = sheet.rng
    forms = _CAPTIONS.get(sheet.voice, _ENGLISH)
    number = rng.choice([f"{rng.randrange(1, 30)}", f"{rng.randrange(1, 9)}.{rng.randrange(1, 9)}"])
    lead = rng.choice(forms[2:] if of_table else forms[:2]).format(number) + rng.choice(".:–")
    words = [*lead.replace("–", " –").split(" "), *sheet.words(marked=True)[: rng.randrange(2, 26)]]
    if rng.random() < 0.15:
        words = words[len(lead.split(" ")) :]
    family = sheet.composer.family_of(sheet.body.font)
    font = rng.choice(family) if rng.random() < 0.3 else None
    style = sheet.resized(rng.choice([0.8, 0.9, 1.0]), font)
    block = ComposedBlock("caption")
    align = rng.choice(["left", "left", "center"])
    sheet.paragraph(block, words, style, 260, align=align, leading=rng.uniform(1.05, 1.3))
    blocks.append(block)


def figure(sheet: Sheet, blocks: Blocks) -> None:
    """Add a textured rectangle, framed or not, with a caption below or none."""
    rng = sheet.rng
    width = sheet.right - sheet.left
    height = min(width * rng.uniform(0.3, 0.9), 0.6 * (sheet.bottom - sheet.y))
    if height < 3 * sheet.body.size:
        return
    share = rng.uniform(0.5, 1.0) if rng.random() < 0.4 else 1.0
    left = sheet.left + rng.choice([0.0, 0.5, 1.0]) * (1 - share) * width
    right, top = left + share * width, sheet.y + 0.3 * sheet.body.size
    block = ComposedBlock("figure")
    block.cover(left, top, right, top + height)
    inset = 0.0
    if rng.random() < 0.3:
        sheet.frame(left, top, right, top + height, rng.choice([1, 2, 4]))
        inset = rng.choice([0.0, 6.0, 12.0])
    texture = rng.randrange(TEXTURES)
    sheet.figure(left + inset, top + inset, right - inset, top + height - inset, texture)
    blocks.append(block)
    sheet.y = top + height + rng.uniform(0.2, 0.8) * sheet.body.size
    if rng.random() < 0.75 and sheet.room():
        caption(sheet, blocks, of_table=False)
    sheet.y += rng.uniform(0.4, 1.2) * sheet.body.size


def footnotes(sheet: Sheet, blocks: Blocks) -> None:
    """Add small notes at the foot of the frame and shorten the frame by them."""
    rng, body = sheet.rng, sheet.body
    style = sheet.resized(rng.uniform(0.72, 0.88))
    notes = [sheet.words(marked=True)[: rng.randrange(4, 24)] for _ in range(rng.randrange(1, 4))]
    room = sum(
        1 + len(" ".join(note)) * 0.5 * style.size // (sheet.right - sheet.left) for note in notes
    )
    start = sheet.bottom - (room + 0.6) * style.size * 1.15
    if start < sheet.y + 4 * body.size:
        return
    saved, leading = sheet.y, sheet.leading
    first = rng.randrange(1, 60)
    if rng.random() < 0.75:
        share = rng.choice([0.2, 0.35, 0.4, 1.0])
        edge = sheet.left + share * (sheet.right - sheet.left)
        sheet.rule(sheet.left, edge, start - 0.25 * style.size, rng.choice([1, 2]))
    sheet.y, sheet.leading = start, 1.15
    raised = rng.random() < 0.6
    for index, note in enumerate(notes):
        sign = rng.choice("*†‡") if first > 50 and len(notes) == 1 else str(first + index)
        block = ComposedBlock("footnote")
        mark = RAISED + sign if raised else sign + rng.choice([".", "", ")"])
        sheet.paragraph(block, [mark, *note], style, 300, align="left")
        blocks.append(block)
    sheet.leading, sheet.y = leading, saved
    sheet.bottom = start - 0.9 * body.size


def noted(rng: random.Random, words: list[str]) -> list[str]:
    """Return `words` with a raised note number behind one or two of them."""
    words = list(words)
    for _ in range(rng.randrange(1, 3)):
        place = rng.randrange(len(words))
        if unmarked(words[place]) == words[place]:
            words[place] += RAISED + str(rng.randrange(1, 60))
    return words


def inverse(sheet: Sheet, blocks: Blocks) -> None:
    """Add a box of white text on a dark ground, or of text on a light one."""
    rng, body = sheet.rng, sheet.body
    pad = rng.uniform(0.4, 1.0) * body.size
    saved = sheet.left, sheet.right, sheet.y
    label = rng.choice(["title", "text", "aside"])
    words = sheet.words(marked=True)[: rng.randrange(8, 50)]
    if label == "title":
        words = sheet.title_words()
    sheet.left, sheet.right, sheet.y = saved[0] + pad, saved[1] - pad, saved[2] + pad
    sheet.bottom -= pad
    block = ComposedBlock(label)
    sheet.paragraph(block, words, body, 400, align=rng.choice(["left", "center"]))
    sheet.bottom += pad
    sheet.left, sheet.right = saved[:2]
    if block.lines:
        edges = (sheet.left, saved[2], sheet.right, sheet.y + pad)
        if rng.random() < 0.65:
            sheet.fill(*edges, rng.uniform(0.68, 1.0))
        else:
            sheet.fill(*edges, rng.uniform(0.05, 0.2))
        sheet.y += pad + 0.6 * body.size
    else:
        sheet.y = saved[2]
    blocks.append(block)


def opening(sheet: Sheet, block: ComposedBlock, words: list[str]) -> list[str]:
    """Set a paragraph whose first letter is as tall as several lines; return what is left over."""
    rng, body = sheet.rng, sheet.body
    first = words[0]
    rows = rng.choice([2, 2, 3])
    style = sheet.resized(rows * sheet.leading * 1.1)
    room = sheet.bottom - sheet.y > (rows + 2) * body.size * sheet.leading
    width = sheet.width_of(first[:1], style)
    if len(first) < 3 or not first.isalpha() or not room or not width:
        return sheet.paragraph(block, words, body)
    baseline = sheet.y + (rows - 1) * body.size * sheet.leading + 0.85 * body.size
    sheet.line(block, first[0].upper(), style, sheet.left, baseline)
    # The letter stands on the baseline of a later line, but is read with the first.
    block.starts.clear()
    rest = [first[1:], *words[1:]]
    left = sheet.paragraph(block, rest, body, cut=(rows, width + 0.12 * body.size))
    if block.lines:
        block.lines[0] = first[0].upper() + block.lines[0]
    sheet.y = max(sheet.y, baseline + 0.3 * body.size)
    return left
