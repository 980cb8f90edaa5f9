"""Plain text files in print: one fixed-width font, columns of blanks, rows of marks for rules.

Descriptions of file formats, logs and traces look like this. Their lines begin and end like their
neighbours, and their gaps are wide, so nothing but its place tells a line from the next.
"""

import random

from ocrcli.models.small.training import displays, parts
from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.facts import code_word, letters
from ocrcli.models.small.training.sheet import Sheet

Blocks = list[ComposedBlock]

_TYPES = (
    "int float char string long short double bool byte word list enum array flag date file time"
)
_MARKS = "-=*#~_+"


def plain_text(sheet: Sheet, max_characters: int) -> Blocks:
    """Set headings over rows of marks, paragraphs, columns, records and programs in one font."""
    rng = sheet.rng
    blocks: Blocks = []
    style = displays.fixed(sheet, rng.choice([0.8, 0.9, 1.0]))
    if style is None:
        return blocks
    if rng.random() < 0.4:
        name = " ".join(sheet.title_words()[:4])
        parts.three_part_line(sheet, blocks, "header", ("", "", name), top=True)
    sheet.body = style
    page = _PlainText(sheet, blocks, style, max_characters)
    makers = (page.heading, page.paragraph, page.columns, page.records, page.program)
    shares = rng.choice([(0.2, 0.25, 0.3, 0.15, 0.1), (0.1, 0.1, 0.8, 0, 0), (0, 0.1, 0, 0.9, 0)])
    while page.room() > 150 and sheet.room():
        rng.choices(makers, shares)[0]()
    if rng.random() < 0.3:
        parts.margin_line(sheet, blocks, "page_number", str(rng.randrange(1, 400)), "center")
    return blocks


class _PlainText:
    """A page being filled."""

    def __init__(self, sheet: Sheet, blocks: Blocks, style: Type, most: int) -> None:
        self._sheet, self._blocks, self._style, self._most = sheet, blocks, style, most
        wide = sheet.width_of("m" * 10, style) / 10
        self._width = min(100, max(20, int((sheet.right - sheet.left) / max(wide, 1.0)) - 1))
        self._mark = sheet.rng.choice(_MARKS)
        self._inset = sheet.rng.choice([0.0, 0.0, 2.0, 4.0]) * style.size
        self._starts = self._new_starts()
        # What describes one object after the other says the same of many.
        self._said: list[tuple[str, str]] = []
        self._again = sheet.rng.choice([0.0, 0.5, 0.8])

    def room(self) -> int:
        """Return how many characters may still be set."""
        return self._most - sum(block.characters for block in self._blocks)

    def heading(self) -> None:
        """Set a heading, and a row of marks below it, above it or both."""
        rng = self._sheet.rng
        words = " ".join(self._sheet.title_words()[:6])
        if rng.random() < 0.3:
            words = f"({rng.randrange(1, 9)}.{rng.randrange(1, 9)}) {words}"
        rule = self._mark * (rng.choice([len(words), len(words), self._width]))
        lines = rng.choice([[words], [words, rule], [words, rule], [rule, words, rule]])
        self._lines("title", [line[: self._width] for line in lines])

    def paragraph(self) -> None:
        """Set running text, broken at the width of the page."""
        rng = self._sheet.rng
        words = self._sheet.words()[: rng.randrange(5, 80)]
        block = ComposedBlock("text")
        self._sheet.paragraph(block, words, self._style, self.room(), align="left")
        self._blocks.append(block)
        self._sheet.gap()

    def columns(self) -> None:
        """Set rows of names with what they mean, some over several lines."""
        rng = self._sheet.rng
        starts = self._starts if rng.random() < 0.7 else self._new_starts()
        lines = []
        if rng.random() < 0.6:
            heads = ["type", "name", "(brief description)"][-len(starts) :]
            lines += [_row(starts, heads), _row(starts, ["-" * len(head) for head in heads])]
        for _ in range(rng.randrange(2, 16)):
            cells = [rng.choice(_TYPES.split()), *self._described()][-len(starts) :]
            lines.append(_row(starts, cells))
            if rng.random() < 0.2:
                deeper = starts[-1] + rng.choice([0, 1, 5])
                lines += [" " * deeper + self._meaning() for _ in range(rng.randrange(1, 5))]
        self._code(lines)

    def records(self) -> None:
        """Set lines made after one pattern, in which a few digits change."""
        rng = self._sheet.rng
        pattern = _pattern(rng)
        values = [rng.randrange(10 ** rng.choice([1, 2, 4, 8])) for _ in range(4)]
        lines = []
        for _ in range(rng.randrange(3, 30)):
            for place in rng.sample(range(4), rng.choice([1, 1, 2])):
                values[place] += rng.choice([1, 1, 10, rng.randrange(1, 1000)])
            lines.append(pattern.format(*values))
            if rng.random() < 0.2:
                lines.append(_pattern(rng, short=True).format(*values))
        self._code(lines)

    def program(self) -> None:
        """Set lines of a program."""
        self._code(self._sheet.code_lines(self._sheet.rng.randrange(2, 16)))

    def _new_starts(self) -> list[int]:
        rng = self._sheet.rng
        starts = [0, rng.randrange(6, 12), rng.randrange(18, 40)]
        return [0, starts[2]] if rng.random() < 0.3 else starts

    def _described(self) -> tuple[str, str]:
        """Return a name and what it means: new ones, or some of before, together or apart."""
        rng = self._sheet.rng
        if self._said and rng.random() < self._again:
            name, meaning = rng.choice(self._said)
            return rng.choice([(name, meaning), (name, meaning), (self._name(), meaning)])
        self._said.append((self._name(), self._meaning()))
        return self._said[-1]

    def _name(self) -> str:
        rng = self._sheet.rng
        return rng.choice([code_word(rng), letters(rng, 2, 12), f"{letters(rng, 2, 6)}_style"])

    def _meaning(self) -> str:
        rng = self._sheet.rng
        words = " ".join(self._sheet.words()[: rng.randrange(1, 7)])
        return rng.choice([f"({words})", words, f"{rng.randrange(9)}: {words}"])

    def _code(self, lines: list[str]) -> None:
        most = max(1, self.room() // 40)
        lines = [line[: self._width] for line in lines][:most]
        displays.code(self._sheet, self._blocks, lines, self._inset, plain=True)

    def _lines(self, label: str, lines: list[str]) -> None:
        sheet, style = self._sheet, self._style
        block = ComposedBlock(label)
        for text in lines:
            if not sheet.room():
                break
            if sheet.line(block, text, style, sheet.left, sheet.baseline(style)) > sheet.left:
                block.lines.append(text)
                sheet.y += style.size * sheet.leading
        self._blocks.append(block)
        sheet.gap()


def _row(starts: list[int], cells: list[str]) -> str:
    """Return cells at their columns, two blanks apart at least."""
    line = ""
    for start, cell in zip(starts, cells, strict=True):
        line = f"{line}  ".ljust(start) if line else line
        line += cell
    return line


def _pattern(rng: random.Random, short: bool = False) -> str:
    """Return a line with up to four numbers to be filled in."""
    one, two, three = letters(rng, 3, 10), letters(rng, 2, 6), letters(rng, 2, 8)
    if short:
        return rng.choice([f"\\{two}{{{{{{0}}}}}}", f"{two}[{{1}}]", f"  {one} {{0}}"])
    return rng.choice(
        [
            f"\\{one}{{{{{{0}}/{two}:{three}[{{1}}]}}}}{{{{{{2}}sp}}}}{{{{{{3}}sp}}}}",
            f"{{0:04}} {{1:08x}} {one} {{2}} {two} {{3}}",
            f"[{{0}}.{{1:06}}] {one}: {two}={{2}} {three}={{3}}",
            f"{one}_{{0}}  {{1}}  {{2}}  {two}",
            f"{{0}}:{{1:02}} {one}({{2}}, {{3}}) = {{0}}",
        ]
    )
