"""What the model is to write for a composed page: block headers, lines, tables as HTML.

A response that begins with a line feed says where its lines are: one coordinate, behind each line
feed inside a block and behind each `<tr>`, tells how far down the page the line begins. A reader
that has just said where it goes on neither reads a line twice nor skips one that is like another.
"""

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
    tokenizer: Tokenizer,
    blocks: Sequence[ComposedBlock],
    boxes: Sequence[Box] | None,
    places: Sequence[Sequence[int]] | None = None,
) -> list[int]:
    """Return token ids from `<PAGE>` to EOS.

    Args:
        tokenizer: The small model's tokenizer.
        blocks: Blocks in reading order.
        boxes: Their boxes in thousandths of the page; None for bare lines without headers.
        places: How far down the page each of a block's lines, or rows, begins, in thousandths;
            empty for a block in which that is not said. None: it is said in no block, and the
            response does not begin with a line feed.
    """
    ids = [tokenizer.page_id]
    if places is not None:
        ids.append(tokenizer.newline_id)
    for index, block in enumerate(blocks):
        if boxes is not None:
            if index:
                ids.append(tokenizer.newline_id)
            ids += tokenizer.encode_det(block.label, boxes[index])
        down = places[index] if places is not None else ()
        if block.table is not None:
            ids += table_ids(tokenizer, block.table, down)
        else:
            ids += _line_ids(tokenizer, _with_short_gaps(block.text), down)
    return [*ids, tokenizer.eos_id]


def _line_ids(tokenizer: Tokenizer, text: str, places: Sequence[int]) -> list[int]:
    if not places:
        return tokenizer.encode(text)
    first, *others = text.split("\n")
    ids = tokenizer.encode(first)
    for line, place in zip(others, places[1:], strict=True):
        ids += [tokenizer.newline_id, tokenizer.integer_id(place), *tokenizer.encode(line)]
    return ids


def _with_short_gaps(text: str) -> str:
    r"""Return text with no more blanks in a row than can be told.

    Example:
        >>> _with_short_gaps("a" + 30 * " " + "b") == "a" + 8 * " " + "b"
        True
    """
    return _WIDE.sub(" " * _LONGEST_GAP, _DEEP.sub(" " * _LONGEST_INDENTATION, text))


def table_ids(
    tokenizer: Tokenizer, rows: Sequence[Sequence[TableCell]], places: Sequence[int] = ()
) -> list[int]:
    """Return token ids of a table: HTML on one line, headings as `<th>`.

    Args:
        tokenizer: The small model's tokenizer.
        rows: Cells.
        places: How far down the page each row begins, in thousandths; empty: it is not said.
    """
    tag = tokenizer.encode_tag
    ids = tag("<table>")
    for index, row in enumerate(rows):
        ids += tag("<tr>")
        if places:
            ids.append(tokenizer.integer_id(places[index]))
        for cell in row:
            name = "th" if cell.is_heading else "td"
            ids += tag(f"<{name}>", cell.columns, cell.rows)
            ids += tokenizer.encode(cell.text)
            ids += tag(f"</{name}>")
        ids += tag("</tr>")
    return ids + tag("</table>")
