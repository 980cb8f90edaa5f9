"""The one parser of what models write: markup with block headers to typed blocks with boxes.

Models make mistakes, so nothing here raises: a header that cannot be understood costs the block its
box, never its text, and leaves a warning.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ocrcli.confidence import TokenTrace
from ocrcli.document import Block, BlockType, Box, Notice
from ocrcli.line_starts import LineStart, baselines
from ocrcli.margin_matter import settled
from ocrcli.rotation import as_displayed
from ocrcli.tables import find_table, table_text

MAX_COORDINATE = 999
"""Boxes are integers from 0 to this, whatever the size of the page."""

_DET, _PAGE = "<|det|>", "<PAGE>"
_LABEL = r"\s*(?P<label>[A-Za-z][A-Za-z_ -]{0,40}?)\s*"
_HEADER = re.compile(
    _LABEL + r"\[\s*(?P<box>[0-9]{1,5}(?:\s*,\s*[0-9]{1,5}){3})\s*\]" + r"(?:\s*<\|/det\|>)?"
)
_BROKEN_HEADER = re.compile(_LABEL + r"(?:\[[^\]\n<>]{0,60}\]?\s*)?(?:<\|/det\|>|$)")
_STRAY_TOKEN = re.compile(r"<\|/?[A-Za-z][A-Za-z_]*(?::[^|<>\n]{0,40})?\|>")
_TAG = re.compile(r"<[^<>]*>")
_NO_TEXT = "[Non-Text]"
_ALIASES = {
    "image": BlockType.FIGURE,
    "picture": BlockType.FIGURE,
    "equation": BlockType.FORMULA,
    "aside_text": BlockType.ASIDE,
    "paragraph": BlockType.TEXT,
}
_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_CONTROL_TABLE: dict[int, str | None] = {
    **{code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"},
    ord("\ufeff"): None,
}
_TEXT_TABLE = _CONTROL_TABLE | {ord(ligature): text for ligature, text in _LIGATURES.items()}


@dataclass(frozen=True)
class ParsedPage:
    """A page's markup, understood.

    Attributes:
        blocks: Blocks in reading order.
        warnings: What was wrong with the markup.
        text_trace: The tokens of the blocks' text, without those of their headers.
        word_trace: Those of them that hold a letter or a digit.
    """

    blocks: tuple[Block, ...]
    warnings: tuple[Notice, ...]
    text_trace: TokenTrace = TokenTrace()
    word_trace: TokenTrace = TokenTrace()


def parse_markup(
    markup: str,
    width_pt: float,
    height_pt: float,
    *,
    raw: bool = False,
    rotation: int = 0,
    trace: TokenTrace | None = None,
    line_starts: Sequence[LineStart] = (),
) -> ParsedPage:
    """Return the blocks of one page.

    Args:
        markup: What the model wrote: `<|det|>label [x1, y1, x2, y2]<|/det|>text` once per block, a
            leading `<PAGE>` allowed.
        width_pt: Width of the page as displayed, in points.
        height_pt: Height of the page as displayed, in points.
        raw: Whether ligatures stay as they are.
        rotation: Degrees clockwise by which the page was turned before the model saw it.
        trace: How sure the model was of the markup; None leaves blocks without confidence. A block
            with text is as sure as its text is, one without as sure as its header.
        line_starts: Where lines of the markup begin on the upright page, where that is known.

    Example:
        >>> parse_markup("<|det|>title [0, 0, 999, 99]<|/det|>Hello", 600, 800).blocks[0].text
        'Hello'
    """
    found: list[Notice] = []
    trace, text_trace, word_trace = trace or TokenTrace(), TokenTrace(), TokenTrace()
    blocks = []
    for start, end in _pieces(markup):
        if start == 0:
            block, text_start = _loose_text(markup[:end], found, raw), 0
        else:
            block, text_start = _headed(markup[start:end], found, raw)
        if block is None:
            continue
        tokens = trace.part(start + text_start if block.text else start, end)
        if block.text:
            text_trace += tokens
            word_trace += _words(tokens, markup, start + text_start)
        bbox = block.box and to_points(block.box, width_pt, height_pt, rotation)
        below = _baselines(block, markup[start + text_start : end], start + text_start, line_starts)
        blocks.append(replace(block, bbox=bbox, confidence=tokens.confidence, baselines=below))
    return ParsedPage(tuple(settled(blocks)), _once(found), text_trace, word_trace)


def _baselines(
    block: Block, text: str, offset: int, line_starts: Sequence[LineStart]
) -> tuple[int, ...] | None:
    """Return how far down the lines of a block but the first begin, or None where unknown.

    Args:
        block: The block.
        text: What the model wrote of its text.
        offset: Where in the markup that begins.
        line_starts: Of the whole markup.
    """
    if not line_starts or block.html is not None:
        return None
    below = baselines(text.rstrip("\n"), offset, line_starts)
    # What was cleaned may have lost lines.
    return below if below is not None and len(below) == block.text.count("\n") else None


def _words(tokens: TokenTrace, markup: str, start: int) -> TokenTrace:
    """Return the tokens that hold a letter or a digit, outside tags.

    Args:
        tokens: Tokens of a part of the markup.
        markup: The whole of it.
        start: Where the part begins.
    """
    ends, probabilities = [], []
    for end, probability in zip(tokens.ends, tokens.probabilities, strict=True):
        if any(map(str.isalnum, _TAG.sub("", markup[start:end]))):
            ends.append(end)
            probabilities.append(probability)
        start = end
    return TokenTrace(tuple(ends), tuple(probabilities))


def without_text(markup: str) -> str:
    r"""Return markup with only those of its blocks that have no text, such as figures.

    Args:
        markup: What the model wrote.

    Example:
        >>> without_text("<|det|>image [0, 0, 9, 9]<|/det|>\n<|det|>text [0, 0, 9, 9]<|/det|>a")
        '<|det|>image [0, 0, 9, 9]<|/det|>'
    """
    kept = []
    for start, end in _pieces(markup):
        if start:
            block, text_start = _headed(markup[start:end], [], True)
            if block is not None and not block.text:
                kept.append(f"{_DET}{markup[start : start + text_start]}")
    return "\n".join(kept)


def markup_of(blocks: Iterable[Block]) -> str:
    r"""Return markup that `parse_markup` makes the same blocks of, but for fractions of boxes.

    Args:
        blocks: Blocks in reading order.

    Example:
        >>> markup_of([Block(BlockType.TITLE, "Hello", (0, 0, 999, 99.4))])
        '<|det|>title [0, 0, 999, 99]<|/det|>Hello'
    """
    pieces = []
    for block in blocks:
        box = "" if block.box is None else f" [{', '.join(str(round(v)) for v in block.box)}]"
        pieces.append(f"{_DET}{block.type}{box}<|/det|>{block.html or block.text}")
    return "\n".join(pieces)


def boxes_in(markup: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield where the numbers of each block's box begin and end, and what they are.

    Args:
        markup: What the model wrote.

    Example:
        >>> list(boxes_in("<|det|>text [0, 0, 9, 12]<|/det|>see [1, 2, 3, 4]"))
        [(13, 24, (0, 0, 9, 12))]
    """
    for start, end in _pieces(markup):
        header = _HEADER.match(markup, start, end) if start else None
        if header is not None:
            yield *header.span("box"), tuple(int(number) for number in header["box"].split(","))


def text_spans(markup: str) -> Iterator[tuple[int, int]]:
    """Yield where the text of each block begins and ends, but of tables and loose text.

    Args:
        markup: What the model wrote.

    Example:
        >>> list(text_spans("<|det|>text [0, 0, 9, 12]<|/det|>see"))
        [(33, 36)]
    """
    for start, end in _pieces(markup):
        header = _HEADER.match(markup, start, end) if start else None
        if header is not None and find_table(markup[header.end() : end]) is None:
            yield header.end(), end


def _pieces(markup: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of what stands before the first marker of a block and after each."""
    start = 0
    for marker in re.finditer(re.escape(_DET), markup):
        yield start, marker.start()
        start = marker.end()
    yield start, len(markup)


def _loose_text(piece: str, found: list[Notice], raw: bool) -> Block | None:
    block = _block(BlockType.TEXT, piece, None, found, raw)
    if block is not None:
        found.append(Notice("text_outside_block", "the model wrote text outside any block"))
    return block


def _headed(piece: str, found: list[Notice], raw: bool) -> tuple[Block | None, int]:
    """Return the block that a piece holds behind its marker, and where its text starts."""
    header = _HEADER.match(piece)
    if header is not None:
        kind = _block_type(header["label"], found)
        box = _box([int(number) for number in header["box"].split(",")], found)
        return _block(kind, piece[header.end() :], box, found, raw), header.end()
    found.append(Notice("malformed_block", "the model wrote a block without a valid box"))
    broken = _BROKEN_HEADER.match(piece)
    kind = _block_type(broken["label"], found) if broken else BlockType.TEXT
    text_start = broken.end() if broken else 0
    return _block(kind, piece[text_start:], None, found, raw), text_start


def clean_text(text: str, *, raw: bool = False) -> str:
    """Return text in NFC with ligatures spelled out, without control characters or stray blanks.

    Lines stay as they are, but for blanks at their ends; empty lines at either end go.

    Args:
        text: The text.
        raw: Whether ligatures stay as they are.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.translate(_CONTROL_TABLE if raw else _TEXT_TABLE)
    lines = [line.rstrip() for line in unicodedata.normalize("NFC", text).split("\n")]
    return "\n".join(lines).strip("\n")


def _block(
    kind: BlockType,
    text: str,
    box: tuple[int, int, int, int] | None,
    found: list[Notice],
    raw: bool,
) -> Block | None:
    text = text.replace(_PAGE, "")
    bare = _STRAY_TOKEN.sub("", text)
    if bare != text:
        found.append(Notice("stray_token", "control tokens were removed from the text"))
    bare = clean_text(bare.replace(_NO_TEXT, ""), raw=raw)
    if "\ufffd" in bare:
        found.append(Notice("replacement_character", "some characters could not be decoded"))
    table = find_table(bare)
    if table is not None:
        return Block(kind, table_text(table), box, html=bare)
    if not bare and box is None:
        return None
    return Block(kind, bare, box)


def _block_type(label: str, found: list[Notice]) -> BlockType:
    name = re.sub(r"[ -]+", "_", label.strip().lower())
    if name in _ALIASES:
        return _ALIASES[name]
    if name.endswith("_caption"):
        return BlockType.CAPTION
    try:
        return BlockType(name)
    except ValueError:
        found.append(Notice("unknown_label", f'block label "{name}" was taken for text'))
        return BlockType.TEXT


def _box(numbers: list[int], found: list[Notice]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (min(number, MAX_COORDINATE) for number in numbers)
    box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
    if box != tuple(numbers):
        found.append(Notice("box_corrected", "a box lay outside the page or was turned over"))
    return box


def to_points(box: Box, width_pt: float, height_pt: float, rotation: int) -> Box:
    """Return a place on the displayed page in points.

    Args:
        box: The place on the upright page, in thousandths.
        width_pt: Width of the page as displayed.
        height_pt: Height of the page as displayed.
        rotation: Degrees clockwise by which the page was turned to be upright.
    """
    across, down = width_pt / MAX_COORDINATE, height_pt / MAX_COORDINATE
    left, top, right, bottom = as_displayed(box, MAX_COORDINATE, MAX_COORDINATE, rotation)
    return (
        round(left * across, 2),
        round(top * down, 2),
        round(right * across, 2),
        round(bottom * down, 2),
    )


def _once(found: list[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(found))
