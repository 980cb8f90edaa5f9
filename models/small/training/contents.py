"""Tables of contents: one to five levels, numbered or not, with leaders or without."""

from ocrcli.models.small.training import parts
from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.facts import roman
from ocrcli.models.small.training.sheet import Sheet

Blocks = list[ComposedBlock]


def contents(sheet: Sheet, max_characters: int) -> Blocks:
    """Set a table of contents with page numbers."""
    rng, body = sheet.rng, sheet.body
    blocks: Blocks = []
    parts.title(sheet, blocks, rng.uniform(1.3, 2.2))
    page = _Contents(sheet)
    for _ in range(rng.randrange(5, 90)):
        if not sheet.room() or sum(map(len, page.block.lines)) > max_characters - 100:
            break
        page.entry()
    blocks.append(page.block)
    if rng.random() < 0.4:
        number = roman(rng.randrange(1, 20)).lower()
        parts.margin_line(sheet, blocks, "page_number", number, rng.choice(["center", "right"]))
    sheet.gap()
    sheet.y += body.size
    return blocks


class _Contents:
    """Entries being set one below the other."""

    def __init__(self, sheet: Sheet) -> None:
        rng, body = sheet.rng, sheet.body
        self.sheet, self.block = sheet, ComposedBlock("list")
        self._levels = rng.choice([1, 2, 3, 3, 4, 5])
        self._numbered = rng.random() < 0.75
        self._numbers = [rng.randrange(0, 12)]
        self._page = rng.randrange(1, 300)
        self._indent = rng.uniform(0.8, 3.0) * body.size
        # Texinfo and LaTeX leave a fixed room for the number, others a blank or two.
        self._number_gap = rng.choice([0.4, 0.8, 1.0, 1.5]) * body.size
        self._dot = sheet.width_of(".", body) * rng.choice([1.0, 1.6, 2.2])
        self._leaders = rng.random() < 0.8 and self._dot > 0
        self._chapter_leaders = rng.random() < 0.6
        self._chapter_gap = rng.choice([0.0, 0.5, 1.0]) * body.size
        bold = sheet.cast_of("bold") if rng.random() < 0.6 else body
        self._styles: list[Type] = [bold, *[body] * 4]

    def entry(self) -> None:
        """Set the next entry: below, beside or above the last in the tree."""
        sheet, rng = self.sheet, self.sheet.rng
        depth = min(len(self._numbers), self._levels - 1, rng.choice([0, 1, 1, 2, 2, 3, 4, 4]))
        self._numbers = [*self._numbers, *[0] * 5][: depth + 1]
        self._numbers[depth] += 1
        self._page += rng.choice([0, 0, 0, 1, 1, 2, rng.randrange(1, 15)])
        style = self._styles[depth]
        number = ".".join(map(str, self._numbers)) if self._numbered else ""
        title, page = " ".join(sheet.title_words(numbered=False)), str(self._page)
        if depth == 0 and self.block.lines:
            sheet.y += self._chapter_gap
        baseline = sheet.y + 0.8 * style.size
        left = sheet.left + depth * self._indent
        widths = [sheet.width_of(text, style) for text in (number, title, page)]
        if not widths[1] or not widths[2] or (number and not widths[0]):
            return
        start = left + (widths[0] + self._number_gap if number else 0.0)
        if start + widths[1] + widths[2] + 4 * self._dot + style.size > sheet.right:
            return
        if sheet.y + style.size * sheet.leading > sheet.bottom:
            return
        if number:
            sheet.line(self.block, number, style, left, baseline)
        right = sheet.line(self.block, title, style, start, baseline)
        place = sheet.right - widths[2]
        sheet.line(self.block, page, style, place, baseline)
        shown = self._leader(style, right, place, baseline, depth)
        self.block.lines.append(f"{number} {title}{shown}{page}".lstrip())
        sheet.y += style.size * sheet.leading

    def _leader(self, style: Type, right: float, place: float, baseline: float, depth: int) -> str:
        """Draw the dots between title and page number and return what they read."""
        if not self._leaders or (depth == 0 and not self._chapter_leaders):
            return " "
        count = int((place - right - 0.6 * style.size) / self._dot)
        first = place - 0.3 * style.size - count * self._dot
        self.sheet.leader(style, first, self._dot, max(0, count), baseline)
        return " .... " if count > 3 else (f" {'.' * count} " if count > 0 else " ")
