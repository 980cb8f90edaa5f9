"""Kinds of page: articles in columns, tables, forms, receipts, pictures."""

from ocrcli.models.small.training import displays, parts
from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.facts import address
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.table_layout import table
from ocrcli.models.small.training.textures import TEXTURES

Blocks = list[ComposedBlock]


def pictures(sheet: Sheet) -> Blocks:
    """Fill the page with pictures, or with lines and boxes that are no block."""
    rng = sheet.rng
    blocks: Blocks = []
    if rng.random() < 0.5:
        columns, rows = rng.choice([(1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3)])
        edge = rng.choice([0.0, 0.0, 0.04, 0.08])
        for index in range(columns * rows):
            col, row = index % columns, index // columns
            box = (
                (edge + (1 - 2 * edge) * (col + 0.0) / columns + 0.008) * sheet.width,
                (edge + (1 - 2 * edge) * (row + 0.0) / rows + 0.008) * sheet.height,
                (edge + (1 - 2 * edge) * (col + 1.0) / columns - 0.008) * sheet.width,
                (edge + (1 - 2 * edge) * (row + 1.0) / rows - 0.008) * sheet.height,
            )
            sheet.figure(*box, rng.randrange(TEXTURES))
            block = ComposedBlock("figure")
            block.cover(*box)
            blocks.append(block)
        return blocks
    for _ in range(rng.randrange(1, 25)):
        left, top = rng.random() * sheet.width, rng.random() * sheet.height
        right = left + rng.random() * (sheet.width - left)
        bottom = top + rng.random() * (sheet.height - top)
        thick, kind = rng.choice([1, 2, 2, 4, 8]), rng.random()
        if kind < 0.35:
            sheet.rule(left, right, top, thick)
        elif kind < 0.6:
            sheet.upright(left, top, bottom, thick)
        elif kind < 0.9 and min(right - left, bottom - top) > 20:
            sheet.frame(left, top, right, bottom, thick)
        else:
            sheet.fill(left, top, min(right, left + 300), min(bottom, top + 200), rng.random())
    return blocks


def form(sheet: Sheet, max_characters: int) -> Blocks:
    """Set fields with their values: boxed, underlined or plain."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    parts.title(sheet, blocks)
    kind = rng.choice(["boxes", "lines", "plain"])
    split = sheet.left + rng.uniform(0.25, 0.5) * (sheet.right - sheet.left)
    step = body.size * rng.uniform(1.5, 2.4)
    for _ in range(rng.randrange(4, 24)):
        used = sum(block.characters for block in blocks)
        if sheet.y + step > sheet.bottom or used > max_characters - 100:
            break
        label = " ".join(sheet.title_words()[:3]) + rng.choice([":", "", ":"])
        value = rng.choice(
            [*(" ".join(line) for line in address(rng, sheet.voice, sheet.words()[:2])), "", ""]
        )
        baseline = sheet.y + 0.5 * step + 0.35 * body.size
        block = ComposedBlock("text")
        limit = sheet.left + sheet.width_of(label, body)
        if limit > split - body.size or split + sheet.width_of(value, body) > sheet.right:
            continue
        if sheet.line(block, label, body, sheet.left, baseline) == sheet.left:
            continue
        start = split + 0.4 * body.size
        text = label
        if value and sheet.line(block, value, body, start, baseline) > start:
            text += " " + value
        block.lines.append(text)
        if kind == "boxes":
            sheet.frame(split, sheet.y + 2, sheet.right, sheet.y + step - 2, 2)
        elif kind == "lines":
            sheet.rule(split, sheet.right, baseline + 0.25 * body.size, 2)
        blocks.append(block)
        sheet.y += step
    sheet.gap()
    paragraphs(sheet, blocks, max_characters, rng.randrange(3))
    return blocks


def article(sheet: Sheet, max_characters: int) -> Blocks:
    """Set headings, paragraphs, lists, tables, figures, code and notes in one to three columns."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    if rng.random() < 0.3:
        parts.running_line(sheet, blocks, rng.choice(["header", "header", "page_number"]), True)
    if rng.random() < 0.5:
        parts.title(sheet, blocks, rng.uniform(1.2, 3.2))
    measure = (sheet.right - sheet.left) / body.size
    fitting = [count for count in (2, 3) if measure / count > 9]
    frame = sheet.left, sheet.right, sheet.bottom
    fill = 1.0 if rng.random() < 0.7 else rng.uniform(0.2, 1.0)
    sheet.bottom = sheet.y + (frame[2] - sheet.y) * fill
    foot = sheet.bottom
    for _ in range(4):
        left = max_characters - sum(block.characters for block in blocks)
        if not sheet.room() or left < 60:
            break
        if fitting and rng.random() < 0.65:
            foot = columns(sheet, blocks, rng.choice(fitting), frame, foot, left)
        else:
            sheet.bottom = foot
            notes: Blocks = []
            if rng.random() < 0.25:
                parts.footnotes(sheet, notes)
            _flow(sheet, blocks, left - sum(note.characters for note in notes), [])
            blocks += notes
            break
    sheet.left, sheet.right, sheet.bottom = frame
    if rng.random() < 0.35:
        label = rng.choice(["page_number", "page_number", "footer"])
        parts.running_line(sheet, blocks, label, top=False)
    return blocks


def tables(sheet: Sheet, max_characters: int) -> Blocks:
    """Set tables, one below the other, with a heading or a paragraph between some of them."""
    rng = sheet.rng
    blocks: Blocks = []
    if rng.random() < 0.6:
        parts.title(sheet, blocks)
    for _ in range(rng.randrange(1, 5)):
        left = max_characters - sum(block.characters for block in blocks)
        if left < 160 or not sheet.room():
            break
        if rng.random() < 0.5:
            paragraphs(sheet, blocks, min(left, 500), 1)
        if rng.random() < 0.3:
            parts.title(sheet, blocks)
        left = max_characters - sum(block.characters for block in blocks)
        table(sheet, blocks, left - 80)
    return blocks


def columns(
    sheet: Sheet,
    blocks: Blocks,
    count: int,
    frame: tuple[float, float, float],
    foot: float,
    max_characters: int,
) -> float:
    """Set a band of columns from the sheet's place; return the foot of the text area."""
    rng, body = sheet.rng, sheet.body
    left, right, _ = frame
    gutter = rng.uniform(1.0, 2.6) * body.size
    width = (right - left - (count - 1) * gutter) / count
    top, lowest = sheet.y, sheet.y
    low = foot if rng.random() < 0.6 else top + rng.uniform(0.35, 0.7) * (foot - top)
    rest: list[str] = []
    for index in range(count):
        sheet.left = left + index * (width + gutter)
        sheet.right, sheet.y, sheet.top, sheet.bottom = sheet.left + width, top, top, low
        notes: Blocks = []
        if low == foot and rng.random() < 0.15:
            parts.footnotes(sheet, notes)
        share = (max_characters - sum(note.characters for note in notes)) // (count - index)
        before = sum(block.characters for block in blocks)
        rest = _flow(sheet, blocks, share, rest)
        blocks += notes
        max_characters -= sum(block.characters for block in blocks) - before
        lowest = max(lowest, sheet.y, low if notes else 0.0)
    if rng.random() < 0.25:
        for index in range(1, count):
            x = left + index * (width + gutter) - gutter / 2
            sheet.upright(x, top, lowest, rng.choice([1, 2]))
    sheet.left, sheet.right, sheet.bottom = left, right, foot
    sheet.y = sheet.top = lowest + 0.6 * body.size
    if sheet.room() and rng.random() < 0.6 and foot - sheet.y > 10 * body.size:
        rng.choice([parts.title, parts.figure, parts.inverse])(sheet, blocks)
    return foot


def _flow(sheet: Sheet, blocks: Blocks, max_characters: int, rest: list[str]) -> list[str]:
    """Fill the frame; return the words of a paragraph that did not fit."""
    rng = sheet.rng
    begun = len(blocks)
    notes = rng.random() < 0.25
    while sheet.room():
        left = max_characters - sum(block.characters for block in blocks[begun:])
        if left < 60:
            return []
        kind = rng.random()
        if rest or kind < 0.66:
            words = rest or sheet.words(marked=True)
            if notes and rng.random() < 0.4:
                words = parts.noted(rng, words)
            block = ComposedBlock("text")
            if not rest and rng.random() < 0.04:
                left_over = parts.opening(sheet, block, words[:150])
            else:
                goes_on = bool(rest)
                left_over = sheet.paragraph(block, words, sheet.body, left, goes_on=goes_on)
            blocks.append(block)
            rest = left_over if not sheet.room() and len(left_over) < len(words) else []
            sheet.gap()
        elif kind < 0.77:
            parts.title(sheet, blocks)
        elif kind < 0.84:
            parts.bullets(sheet, blocks, left)
        elif kind < 0.90:
            table(sheet, blocks, left - 80)
        elif kind < 0.94:
            parts.figure(sheet, blocks)
        elif kind < 0.97:
            displays.code(sheet, blocks)
        else:
            parts.inverse(sheet, blocks)
    return rest


def paragraphs(sheet: Sheet, blocks: Blocks, max_characters: int, count: int) -> None:
    """Set `count` paragraphs, as far as page and characters allow."""
    for _ in range(count):
        left = max_characters - sum(block.characters for block in blocks)
        if not sheet.room() or left < 60:
            return
        block = ComposedBlock("text")
        sheet.paragraph(block, sheet.words(marked=True)[:120], sheet.body, left)
        blocks.append(block)
        sheet.gap()


def list_page(sheet: Sheet, style: Type) -> Blocks:
    """Set a receipt: names to the left, amounts to the right."""
    rng = sheet.rng
    block = ComposedBlock("text")
    for _ in range(rng.randrange(3, 25)):
        if not sheet.room():
            break
        name = " ".join(sheet.words()[:2])
        amount = f"{rng.randrange(1, 300)}.{rng.randrange(100):02d}"
        wide = sheet.width_of(amount, style)
        left, baseline = sheet.left, sheet.y + 0.8 * style.size
        if not sheet.width_of(name, style) or not wide:
            continue
        if left + sheet.width_of(name, style) + style.size + wide > sheet.right:
            continue
        sheet.line(block, name, style, left, baseline)
        sheet.line(block, amount, style, sheet.right - wide, baseline)
        block.lines.append(f"{name} {amount}")
        sheet.y += style.size * sheet.leading
    return [block]
