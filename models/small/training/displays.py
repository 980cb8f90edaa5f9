"""Code displays: plain, boxed, shaded, or with the numbers of their lines."""

from collections.abc import Sequence

from ocrcli.models.small.training.composed import ComposedBlock, Type
from ocrcli.models.small.training.sheet import Sheet
from ocrcli.models.small.training.typeset import TYPEWRITER

Blocks = list[ComposedBlock]

_CURLY = str.maketrans("'`", "’‘")


def code(
    sheet: Sheet,
    blocks: Blocks,
    lines: Sequence[str] | None = None,
    inset: float | None = None,
    plain: bool = False,
) -> None:
    """Add lines of a program in a fixed-width font, with their indentation.

    Args:
        sheet: The page.
        blocks: Receives the block.
        lines: What to set; none: lines are drawn anew. Empty lines are gaps.
        inset: Canvas pixels from the left edge; none: drawn anew.
        plain: Whether to set neither box nor shade.
    """
    rng = sheet.rng
    style = fixed(sheet, rng.choice([0.8, 0.9, 1.0]))
    if style is None:
        return
    lines = sheet.code_lines(rng.randrange(2, 16)) if lines is None else lines
    step = style.size * rng.uniform(1.05, 1.4)
    inset = rng.choice([0.0, 1.0, 2.0]) * style.size if inset is None else inset
    boxed = 1.0 if plain else rng.random()
    sheet.y += 0.5 * step
    top = sheet.y
    block = ComposedBlock("code")
    for text in _seen(sheet, lines):
        if sheet.y + 1.5 * step > sheet.bottom:
            break
        left = sheet.left + inset
        if not text:
            sheet.y += step if block.lines else 0.0
        elif left + sheet.width_of(text, style) > sheet.right - 0.5 * style.size:
            continue
        elif sheet.line(block, text, style, left, sheet.y + 0.8 * style.size) > left:
            block.lines.append(text)
            sheet.y += step
    # Indentation that all lines share is not seen.
    shared = _shared(block.lines)
    block.lines = [text[shared:] for text in block.lines]
    if block.lines and boxed < 0.5:
        edges = (sheet.left, top - 0.3 * step, sheet.right, sheet.y + 0.2 * step)
        if boxed < 0.3:
            sheet.fill(*edges, rng.uniform(0.04, 0.15))
        else:
            sheet.frame(*edges, 2)
    blocks.append(block)
    sheet.y += 0.8 * step if boxed < 0.5 else 0.3 * step


def listing(sheet: Sheet, blocks: Blocks, count: int, first: int) -> int:
    """Add lines of a program with their numbers at the left; return the number that comes next."""
    rng = sheet.rng
    style = fixed(sheet, rng.choice([0.8, 0.9, 1.0]))
    if style is None:
        return first
    small = sheet.resized(rng.choice([0.6, 0.7, 0.8]))
    step = style.size * rng.uniform(1.05, 1.3)
    lines = [text for text in sheet.code_lines(count) if text]
    shared = _shared(lines)
    room = sheet.width_of(str(first + len(lines)), small)
    left = sheet.left + room + rng.choice([0.3, 0.5, 1.0]) * style.size
    ranged = rng.random() < 0.6
    block = ComposedBlock("code")
    sheet.y += 0.4 * step
    for text in _seen(sheet, [text[shared:] for text in lines]):
        if sheet.y + 1.2 * step > sheet.bottom:
            break
        if left + sheet.width_of(text, style) > sheet.right or not sheet.width_of(text, style):
            continue
        baseline = sheet.y + 0.8 * style.size
        place = sheet.left + (room - sheet.width_of(str(first), small) if ranged else 0.0)
        if sheet.line(block, str(first), small, place, baseline) == place:
            break
        sheet.line(block, text, style, left, baseline)
        block.lines.append(f"{first} {text}")
        sheet.y += step
        first += 1
    blocks.append(block)
    sheet.y += 0.4 * step
    return first


def _seen(sheet: Sheet, lines: Sequence[str]) -> list[str]:
    """Return lines as print shows them: common indentation taken off, now and then curly quotes."""
    rng = sheet.rng
    if rng.random() < 0.8:
        shared = _shared([text for text in lines if text])
        lines = [text[shared:] for text in lines]
    if rng.random() < (0.3 if sheet.technical else 0.1):
        lines = [text.translate(_CURLY) for text in lines]
    return list(lines)


def _shared(lines: Sequence[str]) -> int:
    return min((len(text) - len(text.lstrip()) for text in lines), default=0)


def fixed(sheet: Sheet, factor: float) -> Type | None:
    """Return a fixed-width font at about `factor` times the body's size, or None without one."""
    fonts = sheet.composer.fixed_width
    if not fonts:
        return None
    if TYPEWRITER in sheet.cast and sheet.rng.random() < 0.8:
        # Most pages set all their code in one font, the one of names in running text.
        fonts = [sheet.cast[TYPEWRITER][0]]
    style = sheet.resized(factor, sheet.rng.choice(fonts))
    return Type(style.font, style.size_index, 0.0, False)
