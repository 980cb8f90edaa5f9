"""How the blocks of a page become running text: order, line ends, tables, formulas, margins."""

from dataclasses import dataclass
from enum import StrEnum


class Layout(StrEnum):
    """In which order blocks are written, and whether their place on the page is kept.

    Attributes:
        READING: Page headers first, then the body in the model's order, foot matter last.
        RAW: In the order in which the model wrote them.
        PRESERVE: Plain text only: lines set where they are on the page, with blanks.
    """

    READING = "reading"
    RAW = "raw"
    PRESERVE = "preserve"


class Hyphens(StrEnum):
    """Whether words that a line end broke in two are mended; auto: in Markdown only."""

    AUTO = "auto"
    SAFE = "safe"
    OFF = "off"


class Tables(StrEnum):
    """How tables are written; auto is tabs in plain text, and in Markdown what fits the table."""

    AUTO = "auto"
    MD = "md"
    HTML = "html"
    CSV = "csv"
    TSV = "tsv"


class Formulas(StrEnum):
    """How formulas are written: as LaTeX, in Unicode characters, or without markup."""

    LATEX = "latex"
    UNICODE = "unicode"
    STRIP = "strip"


class Margins(StrEnum):
    """What happens to page headers, footers and page numbers."""

    KEEP = "keep"
    DROP = "drop"
    MARK = "mark"


class PageMarks(StrEnum):
    """What stands between pages; auto is a form feed in plain text and a comment in Markdown."""

    AUTO = "auto"
    NONE = "none"
    COMMENT = "comment"
    RULE = "rule"
    FORMFEED = "formfeed"


@dataclass(frozen=True)
class TextStyle:
    """The choices that `text` and `markdown` of a page depend on."""

    layout: Layout = Layout.READING
    dehyphenate: Hyphens = Hyphens.AUTO
    tables: Tables = Tables.AUTO
    math: Formulas = Formulas.LATEX
    headers: Margins = Margins.KEEP
    raw: bool = False
