"""What the model is to write for a composed page: block headers, lines, tables as HTML."""

import re
from collections.abc import Sequence

from ocrcli.models.small.training.composed import ComposedBlock, TableCell
from ocrcli.tokenizer import Tokenizer

Box = tuple[int, int, int, int]

# Nobody can count more blanks by eye, and a model that tries to writes them without end.
_LONGEST_INDENTATION, _LONGEST_GAP = 24, 8
_DEEP = re.compile(rf"^ {{{_LONGEST_INDENTATION + 1},}}", re.MULTILINE)
_WIDE = re.compile(rf"(?<=\S) {{{_LONGEST_GAP + 1},}}")


def response(
    tokenizer: Tokenizer, blocks: Sequence[ComposedBlock], boxes: Sequence[Box] | None
) -> list[int]:
    """Return token ids from `<PAGE>` to EOS.

    Args:
        tokenizer: The small model's tokenizer.
        blocks: Blocks in reading order.
        boxes: Their boxes in thousandths of the page; None for bare lines without headers.
    """
    ids = [tokenizer.page_id]
    for index, block in enumerate(blocks):
        if boxes is not None:
            if index:
                ids.append(tokenizer.newline_id)
            ids += tokenizer.encode_det(block.label, boxes[index])
        if block.table is not None:
            ids += table_ids(tokenizer, block.table)
        else:
            ids += tokenizer.encode(_with_short_gaps(block.text))
    return [*ids, tokenizer.eos_id]


def _with_short_gaps(text: str) -> str:
    r"""Return text with no more blanks in a row than can be told.

    Example:
        >>> _with_short_gaps("a" + 30 * " " + "b") == "a" + 8 * " " + "b"
        True
    """
    return _WIDE.sub(" " * _LONGEST_GAP, _DEEP.sub(" " * _LONGEST_INDENTATION, text))


def table_ids(tokenizer: Tokenizer, rows: Sequence[Sequence[TableCell]]) -> list[int]:
    """Return token ids of a table: HTML on one line, headings as `<th>`."""
    tag = tokenizer.encode_tag
    ids = tag("<table>")
    for row in rows:
        ids += tag("<tr>")
        for cell in row:
            name = "th" if cell.is_heading else "td"
            ids += tag(f"<{name}>", cell.columns, cell.rows)
            ids += tokenizer.encode(cell.text)
            ids += tag(f"</{name}>")
        ids += tag("</tr>")
    return ids + tag("</table>")
