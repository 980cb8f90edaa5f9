"""Letters: heads, addresses, date, subject, text, signature, small print at the foot."""

from ocrcli.models.small.training import parts
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.facts import address, date, fact, number, person, phone, web
from ocrcli.models.small.training.layouts import paragraphs
from ocrcli.models.small.training.sheet import Sheet

Blocks = list[ComposedBlock]


def letter(sheet: Sheet, max_characters: int) -> Blocks:
    """Set a letter; what stands at the foot may be far below the text."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    if rng.random() < 0.7:
        _head(sheet, blocks)
    foot: Blocks = []
    bottom = sheet.bottom
    if rng.random() < 0.35:
        _small_print(sheet, foot)
    _addresses(sheet, blocks)
    sheet.y += rng.uniform(0.8, 3.0) * body.size
    dated = ComposedBlock("text")
    day = date(rng, sheet.voice)
    if rng.random() < 0.3:
        day = f"{person(rng)[0]}, {day}"
    sheet.paragraph(dated, day.split(" "), body, align=rng.choice(["left", "right", "right"]))
    blocks.append(dated)
    sheet.y += rng.uniform(0.8, 2.0) * body.size
    if rng.random() < 0.6:
        parts.title(sheet, blocks, 1.0, align="left")
    if rng.random() < 0.6:
        opening = ComposedBlock("text")
        words = [*sheet.words()[:2], *person(rng)]
        words[-1] += rng.choice([",", ",", ":", "!"])
        sheet.paragraph(opening, words, body, align="left")
        blocks.append(opening)
        sheet.gap()
    # Short letters leave most of their page empty.
    paragraphs(sheet, blocks, max_characters, rng.randrange(1, 6))
    _close(sheet, blocks)
    sheet.bottom = bottom
    return [*blocks, *foot]


def _head(sheet: Sheet, blocks: Blocks) -> None:
    rng, body = sheet.rng, sheet.body
    head = ComposedBlock("header")
    align = rng.choice(["left", "center", "right"])
    firm = [*person(rng), *rng.choice([["Ltd."], ["GmbH"], ["S.A."], []])]
    for words in (firm, *_address(sheet)):
        sheet.paragraph(head, words, sheet.resized(0.8), 90, align=align, leading=1.2)
    blocks.append(head)
    if rng.random() < 0.4:
        sheet.y += 0.3 * body.size
        sheet.rule(sheet.left, sheet.right, sheet.y, 2)
    sheet.y += rng.uniform(1.0, 4.0) * body.size


def _addresses(sheet: Sheet, blocks: Blocks) -> None:
    """Set the receiver; beside it the sender, references or nothing: two columns."""
    rng, body = sheet.rng, sheet.body
    frame = sheet.left, sheet.right
    wide = frame[1] - frame[0]
    beside = rng.random() < 0.5 and wide > 30 * body.size
    top = lowest = sheet.y
    if beside:
        sheet.right = frame[0] + 0.46 * wide
    block = ComposedBlock("text")
    for words in (person(rng), *_address(sheet)[:4]):
        sheet.paragraph(block, words, body, align="left")
    blocks.append(block)
    lowest = sheet.y
    if beside:
        sheet.left, sheet.right = frame[0] + rng.uniform(0.54, 0.62) * wide, frame[1]
        sheet.y = top + rng.choice([0.0, 0.0, 1.0]) * body.size * sheet.leading
        second = ComposedBlock("text")
        align = rng.choice(["left", "left", "right"])
        for words in rng.choice([_address, _references])(sheet):
            sheet.paragraph(second, words, body, align=align)
        blocks.append(second)
        sheet.left, sheet.right = frame
        sheet.y = max(lowest, sheet.y)


def _references(sheet: Sheet) -> list[list[str]]:
    rng = sheet.rng
    lines = []
    for _ in range(rng.randrange(2, 6)):
        label = " ".join(sheet.title_words(numbered=False)[:2]) + ":"
        value = rng.choice([fact(rng, sheet.voice), number(rng, sheet.voice), phone(rng)])
        lines.append(f"{label} {value}".split(" "))
    return lines


def _close(sheet: Sheet, blocks: Blocks) -> None:
    """Set the greeting and, below room for a signature, the name; each is a block."""
    rng, body = sheet.rng, sheet.body
    step = body.size * sheet.leading
    room = sheet.bottom - sheet.y
    if room < 4 * step:
        return
    sheet.y += rng.uniform(0.5, 2.0) * step
    frame = sheet.left, sheet.right
    if rng.random() < 0.25:
        sheet.left += 0.5 * (sheet.right - sheet.left)
    greeting = ComposedBlock("text")
    words = sheet.words()[: rng.randrange(2, 5)]
    words[-1] = words[-1].rstrip(".,;:") + rng.choice([",", ",", ""])
    sheet.paragraph(greeting, words, body, align="left", one_line=True)
    blocks.append(greeting)
    left = sheet.bottom - sheet.y - 2 * step
    if left > 0:
        sheet.y += min(rng.choice([1.0, 2.0, 3.0, 5.0, 8.0, 14.0]) * step, left)
        wide = min(12 * body.size, sheet.right - sheet.left)
        if rng.random() < 0.3:
            sheet.rule(sheet.left, sheet.left + wide, sheet.y - 0.3 * step, 2)
        name = ComposedBlock("text")
        sheet.paragraph(name, person(rng), body, align="left")
        if rng.random() < 0.5:
            sheet.paragraph(name, sheet.title_words()[:3], body, align="left")
        blocks.append(name)
    sheet.left, sheet.right = frame
    if rng.random() < 0.3 and sheet.bottom - sheet.y > 5 * step:
        sheet.y += rng.uniform(1.0, 6.0) * body.size
        added = ComposedBlock("text")
        words = [
            rng.choice(["PS:", "P.S.", "Encl.", "cc:"]),
            *sheet.words()[: rng.randrange(3, 20)],
        ]
        sheet.paragraph(added, words, sheet.resized(rng.choice([0.8, 1.0])), align="left")
        blocks.append(added)


def _small_print(sheet: Sheet, foot: Blocks) -> None:
    """Set one to three lines at the foot of the page and shorten the frame by them."""
    rng = sheet.rng
    style = sheet.resized(rng.choice([0.7, 0.8]))
    lines = [
        [*person(rng), "·", *fact(rng, sheet.voice).split(" "), "·", web(rng)]
        for _ in range(rng.randrange(1, 4))
    ]
    saved, bottom = sheet.y, sheet.bottom
    sheet.y = start = bottom - len(lines) * 1.25 * style.size - style.size
    if start < saved + 0.4 * (bottom - saved):
        sheet.y = saved
        return
    block = ComposedBlock("footer")
    align = rng.choice(["left", "center"])
    if rng.random() < 0.5:
        sheet.rule(sheet.left, sheet.right, start - 0.4 * style.size, 2)
    for words in lines:
        sheet.paragraph(block, words, style, 120, align=align, leading=1.2, one_line=True)
    foot.append(block)
    sheet.y, sheet.bottom = saved, start - 1.2 * style.size


def _address(sheet: Sheet) -> list[list[str]]:
    return address(sheet.rng, sheet.voice, sheet.words()[:2])
