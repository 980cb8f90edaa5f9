"""Pages of handbooks and reference manuals, as TeX, Texinfo and DocBook set them."""

from collections.abc import Callable

from ocrcli.models.small.training import displays, parts
from ocrcli.models.small.training.casting import plays
from ocrcli.models.small.training.composed import ComposedBlock
from ocrcli.models.small.training.facts import letters, roman
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.table_layout import table
from ocrcli.models.small.training.typeset import BOLD, PLAIN, SLANTED, TYPEWRITER

Blocks = list[ComposedBlock]

_KINDS = [
    "Function",
    "Command",
    "Variable",
    "Option",
    "Macro",
    "Method",
    "Type",
    "Operator",
    "Constant",
    "Builtin",
]
_CALLOUTS = {
    "de": "Hinweis Anmerkung Warnung Tipp Achtung Wichtig",
    "fr": "Note Remarque Avertissement Astuce Attention Important",
    "es": "Nota Aviso Advertencia Sugerencia Atención Importante",
    "it": "Nota Avviso Avvertimento Suggerimento Attenzione Importante",
    "pt": "Nota Aviso Sugestão Atenção Importante Dica",
    "nl": "Opmerking Waarschuwing Tip Let Belangrijk Noot",
    "sv": "Anteckning Varning Tips Viktigt Observera Notera",
    "da": "Bemærk Advarsel Tip Vigtigt Note Forsigtig",
    "pl": "Uwaga Ostrzeżenie Wskazówka Ważne Notatka Porada",
}
_ENGLISH = "Note Warning Tip Caution Important Example"


def handbook(sheet: Sheet, max_characters: int) -> Blocks:
    """Set numbered sections, paragraphs with names in them, code displays and definitions."""
    rng = sheet.rng
    blocks: Blocks = []
    bottom = sheet.bottom
    if rng.random() < 0.8:
        _header(sheet, blocks)
    page = _Handbook(sheet, blocks, max_characters)
    if rng.random() < 0.25:
        page.leave_notes()
    if rng.random() < 0.3:
        page.section()
    page.fill()
    blocks += page.notes
    sheet.bottom = bottom
    if rng.random() < 0.4:
        number = rng.choice([str(rng.randrange(1, 900)), roman(rng.randrange(1, 40)).lower()])
        parts.margin_line(sheet, blocks, "page_number", number, "center")
    return blocks


def listing_page(sheet: Sheet, max_characters: int) -> Blocks:
    """Set the source of a program with numbered lines, comments between its parts."""
    rng = sheet.rng
    blocks: Blocks = []
    if rng.random() < 0.5:
        _header(sheet, blocks)
    page = _Handbook(sheet, blocks, max_characters)
    number = rng.choice([1, rng.randrange(1, 200), rng.randrange(200, 5000)])
    while page.room() > 200 and sheet.room():
        kind = rng.random()
        if kind < 0.55:
            most = min(40, page.room() // 50)
            number = displays.listing(sheet, blocks, rng.randrange(2, most + 1), number)
        elif kind < 0.75:
            page.section()
        else:
            page.paragraph()
    if rng.random() < 0.5:
        parts.margin_line(sheet, blocks, "page_number", str(rng.randrange(1, 900)), "center")
    return blocks


class _Handbook:
    """A handbook page being filled."""

    def __init__(self, sheet: Sheet, blocks: Blocks, max_characters: int) -> None:
        self.sheet, self.blocks, self.most = sheet, blocks, max_characters
        self.notes: Blocks = []
        rng = sheet.rng
        self._inset = rng.uniform(1.5, 5.0) * sheet.body.size
        self._code_inset = rng.choice([0.0, 1.0, 2.0, 3.0]) * sheet.body.size
        self._section = [rng.randrange(1, 20), rng.randrange(1, 15), rng.randrange(1, 10)]
        self._before: list[str] = []
        self._plain = rng.random() < 0.6
        sheet.justify = rng.random() < 0.75
        # Narrow measures do not hold what has to be indented.
        if sheet.right - sheet.left < 24 * sheet.body.size:
            self._inset = 1.5 * sheet.body.size

    def room(self) -> int:
        """Characters that may still be set."""
        return self.most - sum(block.characters for block in (*self.blocks, *self.notes))

    def leave_notes(self) -> None:
        """Set footnotes at the foot."""
        parts.footnotes(self.sheet, self.notes)

    def fill(self) -> None:
        """Set parts until page or characters are used up."""
        kinds: list[tuple[Callable[[], None], float]] = [
            (self.paragraph, 0.3),
            (self.display, 0.3),
            (self.definition, 0.14),
            (self.terms, 0.08),
            (self.section, 0.08),
            (self.callout, 0.04),
            (lambda: parts.bullets(self.sheet, self.blocks, self.room() - 60), 0.04),
            (lambda: table(self.sheet, self.blocks, self.room() - 120), 0.02),
        ]
        makers, weights = zip(*kinds, strict=True)
        while self.sheet.room() and self.room() > 140:
            self.sheet.rng.choices(makers, weights)[0]()

    def paragraph(self, goes_on: bool = False, most: int = 120) -> None:
        """Set running text with names in it."""
        sheet = self.sheet
        block = ComposedBlock("text")
        words = sheet.words(marked=True)[:most]
        if self.notes and sheet.rng.random() < 0.2:
            words = parts.noted(sheet.rng, words)
        sheet.paragraph(block, words, sheet.body, self.room(), goes_on=goes_on)
        self.blocks.append(block)
        sheet.gap()

    def section(self) -> None:
        """Set a numbered heading, such as `6.11.3 Rest arguments`."""
        sheet, rng = self.sheet, self.sheet.rng
        depth = rng.choice([1, 2, 2, 3])
        self._section[depth - 1] += 1
        self._section[depth:] = [1] * (3 - depth)
        number = ".".join(map(str, self._section[:depth])) + rng.choice(["", "", "."])
        words = [
            *(number.split() if rng.random() < 0.85 else ()),
            *sheet.title_words(numbered=False)[:8],
        ]
        parts.title(sheet, self.blocks, (1.7, 1.4, 1.15)[depth - 1], "left", words)

    def display(self) -> None:
        """Set a sentence, a code display and how the sentence goes on."""
        sheet, rng = self.sheet, self.sheet.rng
        if rng.random() < 0.7:
            self.paragraph(most=rng.randrange(2, 50))
        self._display(self._code_inset)
        if rng.random() < 0.6 and sheet.room() and self.room() > 140:
            self.paragraph(goes_on=True, most=rng.choice([4, 8, 40, 80]))

    def definition(self) -> None:
        """Set names at the margin and what they are, indented."""
        sheet, rng = self.sheet, self.sheet.rng
        block = ComposedBlock("list")
        tag = f"[{rng.choice(_KINDS)}]" if rng.random() < 0.4 else ""
        for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
            self._definition_line(block, tag)
        sheet.left += self._inset
        self._explain(block)
        sheet.left -= self._inset
        sheet.gap()

    def terms(self) -> None:
        """Set several terms, each with a few words of explanation below or beside it."""
        sheet, rng = self.sheet, self.sheet.rng
        block = ComposedBlock("list")
        mark = rng.choice([TYPEWRITER, TYPEWRITER, BOLD, SLANTED])
        beside = rng.random() < 0.3
        for _ in range(rng.randrange(2, 8)):
            if not sheet.room() or sum(map(len, block.lines)) > self.room() - 160:
                break
            term = self._name(mark)
            words = sheet.words(marked=True)[: rng.randrange(2, 40)]
            if beside:
                sheet.paragraph(block, [*term, "–", *words], sheet.body, 300, align="left")
                continue
            sheet.paragraph(block, term, sheet.body, 80, align="left")
            sheet.left += self._inset
            sheet.paragraph(block, words, sheet.body, 300, goes_on=True)
            sheet.left -= self._inset
            if rng.random() < 0.5:
                sheet.gap()
        self.blocks.append(block)
        sheet.gap()

    def callout(self) -> None:
        """Set a note in a frame, on a shade or between rules."""
        sheet, rng = self.sheet, self.sheet.rng
        pad = rng.uniform(0.4, 1.0) * sheet.body.size
        if sheet.bottom - sheet.y < 8 * sheet.body.size:
            return
        saved = sheet.left, sheet.right, sheet.y, sheet.bottom
        sheet.left, sheet.right = saved[0] + pad, saved[1] - pad
        sheet.y, sheet.bottom = sheet.y + pad, sheet.bottom - pad
        block = ComposedBlock("aside")
        names = _CALLOUTS.get(sheet.voice, _ENGLISH).split()
        sheet.paragraph(block, [BOLD + rng.choice(names)], sheet.body, align="left")
        words = sheet.words(marked=True)[: rng.randrange(6, 60)]
        sheet.paragraph(block, words, sheet.body, self.room() - 40, goes_on=True)
        sheet.left, sheet.right, top, sheet.bottom = saved
        edges = (sheet.left, top, sheet.right, sheet.y + 0.6 * pad)
        kind = rng.random()
        if kind < 0.4:
            sheet.frame(*edges, rng.choice([1, 2, 3]))
        elif kind < 0.7:
            sheet.fill(*edges, rng.uniform(0.04, 0.14))
        else:
            sheet.rule(sheet.left, sheet.right, edges[1], 2)
            sheet.rule(sheet.left, sheet.right, edges[3], 2)
        self.blocks.append(block)
        sheet.y += pad + 0.6 * sheet.body.size

    def _display(self, inset: float) -> None:
        sheet, rng = self.sheet, self.sheet.rng
        most = max(2, min(16, self.room() // 60))
        lines = sheet.code_lines(rng.randrange(1, most + 1))
        if self._before and rng.random() < 0.35:
            # Examples of one page are often alike but for a line.
            lines = list(self._before[:most])
            for line in sheet.code_lines(rng.randrange(3)):
                lines[rng.randrange(len(lines))] = line
        self._before = [line for line in lines if line] or self._before
        displays.code(sheet, self.blocks, lines, inset, plain=self._plain)

    def _explain(self, block: ComposedBlock) -> None:
        """Set paragraphs; a code display between them ends the block."""
        sheet, rng = self.sheet, self.sheet.rng
        self.blocks.append(block)
        for index in range(rng.choice([1, 1, 2, 3])):
            if not sheet.room() or self.room() < 100:
                return
            if index and rng.random() < 0.5:
                self._display(self._code_inset)
                block = ComposedBlock("text")
                self.blocks.append(block)
            words = sheet.words(marked=True)[: rng.randrange(4, 70)]
            sheet.paragraph(block, words, sheet.body, max(60, self.room()), goes_on=True)

    def _definition_line(self, block: ComposedBlock, tag: str) -> None:
        sheet, rng = self.sheet, self.sheet.rng
        wide = sheet.width_of(tag, sheet.body) if tag else 0.0
        if (tag and not wide) or not sheet.room():
            return
        right, baseline = sheet.right, sheet.baseline(sheet.body)
        sheet.right -= wide + sheet.body.size
        words = self._name(rng.choice([TYPEWRITER, BOLD]))
        for _ in range(rng.randrange(4)):
            words.append(SLANTED + letters(rng, 1, 8) + rng.choice(["", ",", PLAIN + ","]))
        before = len(block.lines)
        sheet.paragraph(block, words, sheet.body, 60, align="left", one_line=True)
        sheet.right = right
        if tag and len(block.lines) == before + 1:
            sheet.line(block, tag, sheet.body, right - wide, baseline)
            block.lines[-1] += f" {tag}"

    def _name(self, mark: str) -> list[str]:
        sheet = self.sheet
        return plays(mark, sheet.composer.text.code_run(sheet.rng).split(" ")[:4])


def _header(sheet: Sheet, blocks: Blocks) -> None:
    rng = sheet.rng
    number = str(rng.randrange(1, 900)) if rng.random() < 0.9 else roman(rng.randrange(1, 40))
    title = " ".join(sheet.title_words(numbered=False)[:6])
    title = (
        rng.choice(["Chapter {}: ", "Chapter {}. ", "{}. ", "§{} ", ""]).format(
            rng.randrange(1, 30)
        )
        + title
    )
    texts = rng.choice([(title, "", number), (title, "", number), (number, "", title)])
    parts.three_part_line(sheet, blocks, "header", texts, top=True)
    if blocks and rng.random() < 0.3:
        sheet.rule(sheet.left, sheet.right, sheet.y - 0.5 * sheet.body.size, 2)
    sheet.y += rng.uniform(0.0, 2.0) * sheet.body.size
    sheet.top = sheet.y
