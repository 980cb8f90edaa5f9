"""A table as pipes, HTML, or separated values."""

import csv
import html
import io

from ocrcli.tables import Cell, Table, is_rectangular, table_text
from ocrcli.textstyle import Tables
from ocrcli.writers.prose import escape


def table_as(table: Table, form: Tables) -> str:
    """Return a table in one of the forms.

    A table with spans has no form in pipes and is written as HTML instead.

    Args:
        table: The rows.
        form: Any form but "auto".
    """
    if form is Tables.CSV:
        return _separated(table)
    if form is Tables.TSV:
        return table_text(table)
    if form is Tables.MD and is_rectangular(table):
        return _pipes(table)
    return "\n".join(["<table>", *map(_html_row, table, range(len(table))), "</table>"])


def _separated(table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_flat(cell) for cell in row] for row in table)
    return stream.getvalue().rstrip("\n")


def _flat(cell: Cell) -> str:
    return " ".join(cell.text.split())


def _pipes(table: Table) -> str:
    lines = [f"| {' | '.join(escape(_flat(cell)) for cell in row)} |" for row in table]
    rule = f"|{' --- |' * len(table[0])}"
    return "\n".join([lines[0], rule, *lines[1:]])


def _html_row(row: tuple[Cell, ...], index: int) -> str:
    return f"<tr>{''.join(_html_cell(cell, index) for cell in row)}</tr>"


def _html_cell(cell: Cell, row_index: int) -> str:
    name = "th" if cell.is_heading else "td"
    attributes = f' scope="{"row" if row_index else "col"}"' if cell.is_heading else ""
    if cell.columns > 1:
        attributes += f' colspan="{cell.columns}"'
    if cell.rows > 1:
        attributes += f' rowspan="{cell.rows}"'
    return f"<{name}{attributes}>{html.escape(_flat(cell), quote=False)}</{name}>"
