"""Tables: cells with lines, numbers to the right, rules or shades, cells that span others."""

import random

from ocrcli.models.small.training.composed import ComposedBlock, TableCell, Type
from ocrcli.models.small.training.facts import fact, letters, name_with_digits, number, price
from ocrcli.models.small.training.parts import caption
from ocrcli.models.small.training.sheet import Sheet

_RULES = ("grid", "grid", "grid", "rows", "columns", "frame", "book", "book", "none", "zebra")
_PAD = 0.35
_BASELINE = 0.8


class _Column:
    """What a column holds and where it stands."""

    def __init__(self, rng: random.Random, index: int) -> None:
        kinds = ["number", "number", "price", "word", "words", "fact", "mark", "code"]
        self.kind = rng.choice(["word", "words"]) if index == 0 else rng.choice(kinds)
        right = self.kind in ("number", "price") and rng.random() < 0.8
        self.align = "right" if right else rng.choice(["left", "left", "left", "center"])
        self.weight = {"words": rng.uniform(1.6, 3.0), "fact": 1.5}.get(self.kind, 1.0)
        self.left = self.right = 0.0


def table(sheet: Sheet, blocks: list[ComposedBlock], max_characters: int) -> None:
    """Add a table with its caption above, below or none."""
    rng = sheet.rng
    above = rng.random()
    if above < 0.35:
        caption(sheet, blocks, of_table=True)
        sheet.y += rng.uniform(0.2, 0.8) * sheet.body.size
    block = _set(sheet, max_characters)
    if block is None:
        return
    blocks.append(block)
    sheet.y += rng.uniform(0.3, 0.8) * sheet.body.size
    if above > 0.75 and sheet.room():
        caption(sheet, blocks, of_table=True)
    sheet.y += rng.uniform(0.5, 1.2) * sheet.body.size


def _set(sheet: Sheet, max_characters: int) -> ComposedBlock | None:
    rng = sheet.rng
    style = sheet.resized(rng.choice([0.8, 0.9, 1.0, 1.0]))
    family = sheet.composer.family_of(style.font)
    head = sheet.resized(1.0, rng.choice(family))
    head = Type(head.font, style.size_index, style.tracking, False)
    width = sheet.right - sheet.left
    most = min(7, int(width / (4.2 * style.size)))
    if most < 2 or sheet.bottom - sheet.y < 6 * style.size:
        return None
    columns = [_Column(rng, index) for index in range(rng.randrange(2, most + 1))]
    span = width if rng.random() < 0.6 else width * rng.uniform(0.6, 1.0)
    left = sheet.left + rng.choice([0.0, 0.5]) * (width - span)
    total = sum(column.weight for column in columns)
    edge = left
    for column in columns:
        column.left, column.right = edge, edge + span * column.weight / total
        edge = column.right
    block = ComposedBlock("table", table=[])
    ruled = rng.choice(_RULES)
    grid = _Grid(sheet, block, columns, style, head, ruled)
    headed = rng.random() < 0.85
    if headed:
        if len(columns) > 2 and rng.random() < 0.25:
            grid.group_row()
        grid.row([_label(sheet) for _ in columns], is_heading=True)
    for _ in range(rng.randrange(2, rng.choice([6, 10, 20]))):
        if block.characters > max_characters or not grid.body_row():
            break
    while grid.tall:
        grid.body_row()
    grid.close()
    return block if block.table else None


def _label(sheet: Sheet) -> str:
    words = sheet.title_words()
    return " ".join(words[: sheet.rng.choice([1, 1, 2, 3])])


def _content(sheet: Sheet, column: _Column) -> str:
    rng = sheet.rng
    if rng.random() < 0.04:
        return rng.choice(["", "", "–", "—", "n/a"])
    if column.kind == "number":
        return number(rng, sheet.voice)
    if column.kind == "price":
        return price(rng, sheet.voice)
    if column.kind == "fact":
        return fact(rng, sheet.voice)
    if column.kind == "code":
        return name_with_digits(rng)
    if column.kind == "mark":
        return rng.choice(["yes", "no", "x", "+", "–", "•", letters(rng, 1, 3).upper()])
    most = 1 if column.kind == "word" else rng.choice([7, 7, 7, 15])
    return " ".join(sheet.words()[: 1 if most == 1 else rng.randrange(1, most)])


class _Grid:
    """Rows being set one below the other."""

    def __init__(
        self,
        sheet: Sheet,
        block: ComposedBlock,
        columns: list[_Column],
        style: Type,
        head: Type,
        ruled: str,
    ) -> None:
        self.sheet, self.block, self.columns = sheet, block, columns
        self.style, self.head, self.ruled = style, head, ruled
        self.left, self.right = columns[0].left, columns[-1].right
        self.step = style.size * sheet.rng.uniform(1.1, 1.3)
        self.air = style.size * sheet.rng.uniform(0.15, 0.6)
        self.thick = sheet.rng.choice([1, 2, 2, 3])
        # Where the lines of a cell stand in a row that is taller: at its head, middle or foot.
        self.down = sheet.rng.choice([0.0, 0.0, 0.0, 0.5, 0.5, 1.0])
        self.most_lines = sheet.rng.choice([3, 3, 6])
        self.top = sheet.y
        self.tall = 0
        # What stands in a cell that spans rows: its lines, columns, upper edge and type.
        self.spanning: tuple[list[str], int, int, float, Type] | None = None
        if ruled not in ("none", "zebra", "columns"):
            self._across(2 if ruled == "book" else 1)
        self.shade = sheet.rng.uniform(0.05, 0.2)
        self.dark_head = sheet.rng.random() < 0.12

    def group_row(self) -> None:
        """Set a row of headings that span several columns each, with gaps between them or none."""
        rng, count = self.sheet.rng, len(self.columns)
        groups: list[tuple[int, int, str]] = []
        first = 0
        while first < count:
            end = min(count, first + rng.choice([1, 2, 2, 3, 4]))
            is_named = end - first > 1 or rng.random() < 0.3
            groups.append((first, end, _label(self.sheet) if is_named else ""))
            first = end
        self._row(groups, True)

    def row(self, texts: list[str], is_heading: bool) -> bool:
        """Set a row with one text a column; return whether there was room."""
        return self._row([(i, i + 1, text) for i, text in enumerate(texts)], is_heading)

    def body_row(self) -> bool:
        """Set a row of what the columns hold, now and then with a cell that spans others."""
        rng, sheet, count = self.sheet.rng, self.sheet, len(self.columns)
        if self.tall:
            self.tall -= 1
            cells = [(i, i + 1, _content(sheet, self.columns[i])) for i in range(1, count)]
            return self._row(cells, False)
        if count > 2 and rng.random() < 0.03:
            return self._row([(0, count, _label(sheet))], False)
        cells = [(i, i + 1, _content(sheet, column)) for i, column in enumerate(self.columns)]
        if count > 2 and rng.random() < 0.04 and self.ruled in ("grid", "rows", "frame"):
            place = rng.randrange(count - 1)
            cells[place : place + 2] = [(place, place + 2, cells[place][2])]
        rows = 1
        # A cell can only span rows that are sure to follow.
        room = sheet.bottom - sheet.y > 12 * self.step
        # Without a rule below, only its place in the middle tells it from one above an empty cell.
        is_seen = self.ruled in ("grid", "rows") or (self.down == 0.5 and self.ruled != "zebra")
        if is_seen and room and cells[0][:2] == (0, 1) and rng.random() < 0.06:
            rows = 2
        return self._row(cells, False, rows)

    def close(self) -> None:
        """Draw what surrounds the rows and complete the box."""
        sheet, bottom = self.sheet, self.sheet.y
        if self.ruled in ("frame", "grid"):
            for x in (self.left, self.right - self.thick):
                sheet.upright(x, self.top, bottom, self.thick)
        if self.ruled in ("frame", "book", "rows"):
            self._across(2 if self.ruled == "book" else 1)
        if self.ruled != "none" and self.block.table:
            self.block.cover(self.left, self.top, self.right, sheet.y)

    def _across(self, factor: int = 1, left: float | None = None) -> None:
        start = self.left if left is None else left
        self.sheet.rule(start, self.right, self.sheet.y, self.thick * factor)
        self.sheet.y += self.thick * factor

    def _row(self, cells: list[tuple[int, int, str]], is_heading: bool, rows: int = 1) -> bool:
        sheet = self.sheet
        style = self.head if is_heading else self.style
        set_cells, lines_of = [], []
        for first, end, text in cells:
            lines = self._lines(text, first, end, style)
            lines_of.append(lines)
            tall = rows if first == 0 and end == 1 else 1
            heading = is_heading
            set_cells.append(TableCell(" ".join(lines), heading, end - first, tall))
        height = max(1, max(map(len, lines_of))) * self.step + 2 * self.air
        # A row that spans two needs its second; the second may not be dropped for want of room.
        if sheet.y + height * (rows + 1 if rows > 1 else 1) > sheet.bottom and not cells[0][0]:
            return False
        assert self.block.table is not None, "a grid is only made for a table"
        self.block.table.append(set_cells)
        if rows > 1:
            self.tall = rows - 1
        top = sheet.y
        number_of_row = len(self.block.table)
        if self.ruled == "zebra" and number_of_row % 2:
            sheet.fill(self.left, top, self.right, top + height, self.shade)
        elif is_heading and self.dark_head and self.ruled != "none":
            sheet.fill(self.left, top, self.right, top + height, 0.85)
        before = len(self.block.starts)
        if cells[0][0] == 1:
            self._put_spanning(top + height)
        for (first, end, _), lines in zip(cells, lines_of, strict=True):
            if rows > 1 and (first, end) == (0, 1):
                self.spanning = (lines, first, end, top, style)
                continue
            lower = self.down * (max(map(len, lines_of)) - len(lines)) * self.step
            self._put(lines, first, end, top + self.air + lower, style)
        # A row begins with its first line, however many its cells have.
        del self.block.starts[before:]
        self.block.begin(self.left, top + self.air + _BASELINE * style.size)
        sheet.y = top + height
        if self.ruled in ("grid", "columns"):
            for first, _, _ in cells:
                if first:
                    sheet.upright(self.columns[first].left, top, sheet.y, self.thick)
        if self.ruled in ("grid", "rows") or (self.ruled == "book" and is_heading):
            self._across(1, self.columns[1].left if rows > 1 and len(cells) > 1 else None)
        return True

    def _put_spanning(self, bottom: float) -> None:
        """Set the cell beside the last rows, now that it is known how far down it reaches."""
        if self.spanning:
            lines, first, end, top, style = self.spanning
            spare = bottom - top - 2 * self.air - len(lines) * self.step
            self._put(lines, first, end, top + self.air + self.down * max(0.0, spare), style)
            self.spanning = None

    def _lines(self, text: str, first: int, end: int, style: Type) -> list[str]:
        """Return `text` broken to the width of the columns; what is too wide is left out."""
        room = self.columns[end - 1].right - self.columns[first].left - 2 * _PAD * style.size
        rows: list[str] = []
        for word in text.split():
            width = self.sheet.width_of(word, style)
            if not width or width > room:
                continue
            if rows and self.sheet.width_of(f"{rows[-1]} {word}", style) <= room:
                rows[-1] += " " + word
            elif len(rows) < self.most_lines:
                rows.append(word)
        return rows

    def _put(self, lines: list[str], first: int, end: int, top: float, style: Type) -> None:
        column = self.columns[first]
        pad = _PAD * style.size
        left, right = column.left + pad, self.columns[end - 1].right - pad
        align = "center" if end - first > 1 else column.align
        for index, text in enumerate(lines):
            width = self.sheet.width_of(text, style)
            shift = {"left": 0.0, "center": 0.5, "right": 1.0}[align] * (right - left - width)
            baseline = top + index * self.step + _BASELINE * style.size
            self.sheet.line(self.block, text, style, left + shift, baseline)
