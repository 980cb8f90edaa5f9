"""Tables as models write them, `<table><tr><td>…`, to rows of cells and to text without markup.

The cells are printed text, not HTML: a literal `<` or `&` in them is left alone, and only the tags
that make up a table are recognised.
"""

import re
from dataclasses import dataclass

_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>table|thead|tbody|tfoot|tr|td|th)\b(?P<rest>[^<>]*)>", re.I
)
_SPAN = re.compile(r"(?P<name>colspan|rowspan)\s*=\s*[\"']?(?P<number>[0-9]{1,3})", re.I)


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What is printed in it.
        is_heading: Whether it heads a row or a column.
        columns: Columns it spans.
        rows: Rows it spans.
    """

    text: str
    is_heading: bool = False
    columns: int = 1
    rows: int = 1


Table = tuple[tuple[Cell, ...], ...]
"""Rows of cells; a cell that spans rows appears in the first of them only."""


def find_table(text: str) -> Table | None:
    """Return the rows of the table that `text` consists of, or None if it is no table.

    Tags that are missing at the end are supplied.

    Args:
        text: A block's text.
    """
    if not re.match(r"\s*<table\b", text, re.I):
        return None
    rows: list[list[Cell]] = []
    tags = [*_TAG.finditer(text)]
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    for tag, end in zip(tags, ends, strict=True):
        name, is_start, content = tag["name"].lower(), not tag["end"], text[tag.end() : end]
        if is_start and name == "tr":
            rows.append([])
        is_cell = is_start and name in ("td", "th")
        # Text between cells has no place in a table, but it is text of the page.
        if is_cell or content.strip():
            if not rows or (name == "table" and not is_start):
                rows.append([])
            rows[-1].append(_cell(content, name == "th", tag["rest"] if is_cell else ""))
    return tuple(tuple(row) for row in rows if row)


def is_rectangular(table: Table) -> bool:
    """Return whether every row has as many cells as the first and none of them spans others."""
    cells = [cell for row in table for cell in row]
    return (
        bool(table)
        and all(len(row) == len(table[0]) for row in table)
        and all(cell.columns == cell.rows == 1 for cell in cells)
    )


def table_text(table: Table) -> str:
    """Return a table as lines of cells separated by tabs."""
    return "\n".join("\t".join(" ".join(cell.text.split()) for cell in row) for row in table)


def _cell(text: str, is_heading: bool, attributes: str) -> Cell:
    spans = {match["name"].lower(): int(match["number"]) for match in _SPAN.finditer(attributes)}
    return Cell(
        text.strip(), is_heading, max(1, spans.get("colspan", 1)), max(1, spans.get("rowspan", 1))
    )
