"""How sure a model was of a reading: of its text, of one line, of the line it was least sure of."""

from typing import TYPE_CHECKING

from ocrcli.blocks import parse_markup
from ocrcli.markup_lines import Line, lines_of

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

_LONG_LINE = 40


def text_sureness(result: "PageResult") -> float | None:
    """Return the mean probability, 0 to 1, of the tokens of the text; None if there is no text.

    Args:
        result: A reading.
    """
    found = parse_markup(result.markup, 1, 1, trace=result.trace).text_trace.confidence
    return found.mean if found else None


def line_sureness(result: "PageResult", line: Line) -> float:
    """Return the mean probability, 0 to 1, of the tokens of a line.

    Args:
        result: A reading.
        line: One of its lines.
    """
    found = result.trace.part(line.start, line.end).confidence
    return found.mean if found else 0.0


def least_sure_line(result: "PageResult") -> float:
    """Return how sure the model was of the line it was least sure of, 1 where all are short.

    Args:
        result: A reading.
    """
    lines = [line for line in lines_of(result.markup) if len(line.text) >= _LONG_LINE]
    return min((line_sureness(result, line) for line in lines), default=1.0)
