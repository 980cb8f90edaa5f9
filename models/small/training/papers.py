"""Papers: title, authors and abstract across the page, then two columns of small type."""

from ocrcli.models.small.training import layouts, parts
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.facts import letters, web
from ocrcli.models.small.training.sheet import Sheet

Blocks = list[ComposedBlock]

_ABSTRACT = {
    "de": "Zusammenfassung",
    "fr": "Résumé",
    "es": "Resumen",
    "it": "Sommario",
    "pt": "Resumo",
    "nl": "Samenvatting",
    "sv": "Sammanfattning",
    "da": "Resumé",
    "pl": "Streszczenie",
}


def paper(sheet: Sheet, max_characters: int) -> Blocks:
    """Set the first page of a paper."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    sheet.justify = rng.random() < 0.9
    parts.title(sheet, blocks, rng.uniform(1.5, 2.2), "center")
    sheet.y += rng.uniform(0.3, 1.0) * body.size
    authors = ComposedBlock("text")
    for _ in range(rng.choice([1, 1, 2, 3])):
        names = [letters(rng, 2, 9).title(), letters(rng, 3, 10).title()]
        sheet.paragraph(authors, names, body, align="center", leading=1.2)
    for words in (sheet.title_words()[:6], [web(rng)]):
        sheet.paragraph(authors, words, sheet.resized(0.9), align="center", leading=1.2)
    blocks.append(authors)
    sheet.y += rng.uniform(0.8, 2.0) * body.size
    frame = sheet.left, sheet.right, sheet.bottom
    inset = rng.choice([0.0, 1.5, 3.0]) * body.size
    sheet.left, sheet.right = frame[0] + inset, frame[1] - inset
    if rng.random() < 0.8:
        heading = [_ABSTRACT.get(sheet.voice, "Abstract")]
        parts.title(sheet, blocks, 1.0, "center", heading)
        abstract = ComposedBlock("text")
        words = [word for _ in range(3) for word in sheet.words()][: rng.randrange(40, 160)]
        sheet.paragraph(abstract, words, sheet.resized(rng.choice([0.9, 1.0])), 1200)
        blocks.append(abstract)
        sheet.y += rng.uniform(0.8, 1.6) * body.size
    sheet.left, sheet.right, sheet.bottom = frame
    wide = (sheet.right - sheet.left) / body.size > 20
    for _ in range(3):
        left = max_characters - sum(block.characters for block in blocks)
        if not sheet.room() or left < 200:
            break
        layouts.columns(sheet, blocks, 2 if wide else 1, frame, frame[2], left)
    sheet.left, sheet.right, sheet.bottom = frame
    if rng.random() < 0.5:
        parts.margin_line(sheet, blocks, "page_number", str(rng.randrange(1, 999)), "center")
    return blocks
