"""The verdict on a page: one record from what was seen on it and what the model wrote.

A fluent transcript is no proof of a good one, so the record weighs the text against the ink on the
page and the model's own confidence.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocrcli.blocks import MAX_COORDINATE, ParsedPage, parse_markup, to_points, without_text
from ocrcli.document import (
    Block,
    BlockType,
    Notice,
    Page,
    PageFacts,
    PageFailure,
    PageImage,
    PageSeconds,
    PageStatus,
    TokenCounts,
)
from ocrcli.ink_placement import on_ink
from ocrcli.inventions import doubts_of_invention, signs
from ocrcli.options import TextLayer
from ocrcli.pictures_of_print import looks_like_print
from ocrcli.rotation import as_displayed
from ocrcli.text_layer import is_wanted
from ocrcli.textstyle import TextStyle
from ocrcli.writers import page_markdown, page_text

if TYPE_CHECKING:
    from ocrcli.engine import PageResult

MIN_INK_PIXELS = 24
"""A page with less ink than this is blank: not even a full stop would fit in."""

INK_PER_CHARACTER = 4
"""Pixels of ink that the smallest legible character leaves at least."""

MIN_CONFIDENCE = 0.95
"""Mean probability of the text's tokens below which a transcript is taken for guesswork.

Of 373 pages that the small model read with less than 2 % of wrong characters, none was below it;
`models/small/evaluation/limits.py` measures pages that must be.
"""

MIN_BLOCK_CONFIDENCE = 0.9
"""The same for a single block: a stamp over a paragraph, a line in another script."""

MIN_UNSURE_CHARACTERS = 20
"""Characters of such blocks together from which the page is doubtful.

Of 1,800 pages of the evaluation 7 more are, one of them with less than 2 % of wrong characters.
"""

MAX_UNREAD_SHARE = 0.06
"""Share of a page's print outside every block above which part of the page may have been missed."""

MIN_UNREAD_PIXELS = 300
"""Less print than this outside the blocks is specks, not words."""

_ILLEGIBLE_DPI = 30.0
_HOPELESS_DPI = 4.0


def is_blank(facts: PageFacts) -> bool:
    """Return whether there is nothing to read on a page."""
    return facts.ink_pixels < MIN_INK_PIXELS


def is_hopeless(facts: PageFacts) -> bool:
    """Return whether a page is so large that letters of two inches would vanish when it is read.

    A model that is shown such a page invents a text.
    """
    return 0 < facts.dpi < _HOPELESS_DPI


def hopeless_page(facts: PageFacts) -> Page:
    """Return the record of a page that is too large to be read; no model was asked.

    Args:
        facts: What is known of the page.
    """
    detail = "the page is too large to be read as one; cut it into smaller ones"
    return Page(
        page_number=facts.page_number,
        status=PageStatus.SUSPECT,
        facts=facts,
        warnings=(*facts.warnings, Notice("illegible_size", detail)),
        seconds=PageSeconds(render=facts.seconds),
    )


def blank_page(facts: PageFacts) -> Page:
    """Return the record of a page without ink.

    A damaged page, and a sheet so large that print would vanish at the size it is read at, are
    doubtful, not blank.

    Args:
        facts: What is known of the page.
    """
    doubts = []
    if 0 < facts.dpi < _ILLEGIBLE_DPI:
        detail = "the page is too large to tell whether it is blank"
        doubts.append(Notice("illegible_size", detail))
    doubtful = bool(doubts) or is_damaged(facts)
    return Page(
        page_number=facts.page_number,
        status=PageStatus.SUSPECT if doubtful else PageStatus.BLANK,
        facts=facts,
        warnings=(*facts.warnings, *doubts),
        seconds=PageSeconds(render=facts.seconds),
    )


def failed_page(failure: PageFailure) -> Page:
    """Return the record of a page that could not be transcribed.

    Args:
        failure: The page and what went wrong.
    """
    return Page(
        page_number=failure.page_number,
        status=failure.status,
        facts=failure.facts,
        warnings=failure.facts.warnings,
        seconds=PageSeconds(render=failure.facts.seconds),
        error=failure.message,
    )


def skipped_page(page_number: int, reason: str) -> Page:
    """Return the record of a page that was not attempted.

    Args:
        page_number: Place in the file, from 1.
        reason: Why not, in one sentence.
    """
    return failed_page(PageFailure(PageFacts(page_number), reason, PageStatus.SKIPPED))


def finished_page(
    facts: PageFacts,
    result: "PageResult",
    attempts: int = 1,
    style: TextStyle | None = None,
) -> Page:
    """Return the record of a page that went through the model.

    Args:
        facts: What was known before.
        result: What the engine made of the page.
        attempts: Times it read the page.
        style: What the text depends on.
    """
    if result.finish in ("error", "timeout"):
        message = result.error or "the model failed on this page"
        facts = replace(facts, warnings=(*facts.warnings, *result.notices))
        return failed_page(PageFailure(facts, message, PageStatus(result.finish)))
    style = style or TextStyle()
    markup = result.markup
    parsed = parse_markup(
        markup,
        facts.width_pt,
        facts.height_pt,
        raw=style.raw,
        rotation=result.rotation,
        trace=result.trace,
        line_starts=result.line_starts,
    )
    if facts.ink is not None:
        placed = on_ink(parsed.blocks, facts.ink, result.rotation)
        parsed = replace(parsed, blocks=_with_points(placed, facts, result.rotation))
    dropped = doubts_of_invention(facts, parsed)
    if dropped:
        markup = without_text(markup)
        blocks = tuple(block for block in parsed.blocks if not block.text)
        parsed = ParsedPage(blocks, parsed.warnings)
    status, doubts = _verdict(facts, result, parsed, dropped)
    # Where nothing was read, nobody can tell which way up the page lies.
    rotation = result.rotation if parsed.blocks else 0
    notices = (*result.notices, *_turned(rotation), *_second_look(attempts))
    return Page(
        page_number=facts.page_number,
        status=status,
        text=page_text(parsed.blocks, style),
        markdown=page_markdown(parsed.blocks, style),
        markup=markup,
        blocks=parsed.blocks,
        facts=facts,
        warnings=(*facts.warnings, *parsed.warnings, *notices, *doubts),
        tokens=TokenCounts(result.prompt_tokens, result.output_tokens),
        seconds=PageSeconds(
            facts.seconds, result.seconds.encode, result.seconds.prefill, result.seconds.decode
        ),
        confidence=parsed.text_trace.confidence or result.trace.confidence,
        attempts=attempts,
        rotation=rotation,
    )


def layer_page(image: PageImage, choice: TextLayer, style: TextStyle) -> Page | None:
    """Return the record of a page whose own text is taken, or None if it has to be read.

    Args:
        image: The page, with the text it carries.
        choice: What the user asked for.
        style: What the text depends on.
    """
    if image.layer is None:
        return None
    facts = image.facts
    page = Page(
        facts.page_number,
        PageStatus.SUSPECT if is_damaged(facts) else PageStatus.OK,
        markup=image.layer.markup,
        facts=facts,
        warnings=facts.warnings,
        seconds=PageSeconds(render=facts.seconds),
        attempts=0,
        mode="text-layer",
    )
    page = styled_page(page, style)
    return page if is_wanted(image.layer, facts, page.text, choice) else None


def styled_page(page: Page, style: TextStyle) -> Page:
    """Return a page whose text is made again from what the model wrote.

    Args:
        page: A record with markup and facts; confidence of its blocks is not kept.
        style: What the text depends on.
    """
    facts = page.facts
    blocks = parse_markup(
        page.markup, facts.width_pt, facts.height_pt, raw=style.raw, rotation=page.rotation
    ).blocks
    text, markdown = page_text(blocks, style), page_markdown(blocks, style)
    return replace(page, blocks=blocks, text=text, markdown=markdown)


def _with_points(blocks: list[Block], facts: PageFacts, rotation: int) -> tuple[Block, ...]:
    """Return blocks whose places in points are those of their boxes."""
    return tuple(
        replace(block, bbox=to_points(block.box, facts.width_pt, facts.height_pt, rotation))
        if block.box is not None
        else block
        for block in blocks
    )


def _turned(rotation: int) -> tuple[Notice, ...]:
    detail = f"the page was turned by {rotation} degrees clockwise to be read"
    return (Notice("rotated", detail),) if rotation else ()


def _second_look(attempts: int) -> tuple[Notice, ...]:
    detail = "the page was read twice, since the first reading looped or was cut"
    return (Notice("read_twice", detail),) if attempts > 1 else ()


def _verdict(
    facts: PageFacts, result: "PageResult", parsed: ParsedPage, dropped: list[Notice]
) -> tuple[PageStatus, list[Notice]]:
    if result.finish == "length":
        detail = f"the page was cut after {result.output_tokens} tokens"
        return PageStatus.TRUNCATED, [*dropped, Notice("truncated", detail)]
    if result.finish == "loop":
        detail = "the text began to repeat itself and was cut"
        return PageStatus.LOOP, [*dropped, Notice("loop", detail)]
    text = page_text(parsed.blocks)
    if not text and not any(block.type is BlockType.FIGURE for block in parsed.blocks):
        detail = "nothing was recognised on a page with ink"
        return PageStatus.EMPTY, [*dropped, Notice("empty", detail)]
    doubts = dropped + _doubts(facts, text, parsed)
    if not text and facts.ink is not None and looks_like_print(facts.ink):
        doubts.append(Notice("unread_ink", "what was taken for a picture looks like print"))
    doubts += _unread(facts, parsed.blocks, result.rotation)
    doubts += _baseless(facts, parsed.blocks, result.rotation)
    return (PageStatus.SUSPECT if doubts or is_damaged(facts) else PageStatus.OK), doubts


def is_damaged(facts: PageFacts) -> bool:
    """Return whether content of the page was lost before anyone read it."""
    return any(notice.code == "damaged_content" for notice in facts.warnings)


def _doubts(facts: PageFacts, text: str, parsed: ParsedPage) -> list[Notice]:
    doubts = []
    if signs(text) * INK_PER_CHARACTER > facts.ink_pixels:
        doubts.append(Notice("more_text_than_ink", "there is more text than the page has ink for"))
    confidence = parsed.text_trace.confidence
    if confidence is not None and confidence.mean < MIN_CONFIDENCE:
        detail = f"the text's mean confidence is only {confidence.mean:.2f}"
        return [*doubts, Notice("low_confidence", detail)]
    unsure = [
        (block.confidence.mean, block.text)
        for block in parsed.blocks
        if block.text and block.confidence and block.confidence.mean < MIN_BLOCK_CONFIDENCE
    ]
    if sum(signs(block) for _, block in unsure) >= MIN_UNSURE_CHARACTERS:
        start = " ".join(min(unsure)[1].split()[:4])
        detail = f'the model was unsure of some blocks, least of the one that begins "{start}"'
        doubts.append(Notice("low_confidence", detail))
    return doubts


def _unread(facts: PageFacts, blocks: tuple[Block, ...], rotation: int) -> list[Notice]:
    """Return a doubt when much of the page's print lies outside everything that was read."""
    boxes = [
        as_displayed(block.box, MAX_COORDINATE, MAX_COORDINATE, rotation)
        for block in blocks
        if block.box is not None
    ]
    # Without boxes there is nothing to compare the page with.
    if facts.ink is None or len(boxes) < len(blocks):
        return []
    unread = facts.ink.print_outside(boxes)
    if unread < max(MIN_UNREAD_PIXELS, MAX_UNREAD_SHARE * facts.ink.print_total):
        return []
    share = unread / facts.ink.print_total
    return [Notice("unread_ink", f"{share:.0%} of the print lies outside everything that was read")]


def _baseless(facts: PageFacts, blocks: tuple[Block, ...], rotation: int) -> list[Notice]:
    """Return a doubt for every block of doubtful text in a place without ink.

    A block that the model is sure of may just have a wrong box.
    """
    doubts = []
    for block in blocks:
        sure = block.confidence is None or block.confidence.mean >= MIN_CONFIDENCE
        count = signs(block.text)
        if sure or not count or block.box is None or facts.ink is None:
            continue
        place = as_displayed(block.box, MAX_COORDINATE, MAX_COORDINATE, rotation)
        if facts.ink.inside(place) < INK_PER_CHARACTER * count:
            detail = f"{count} characters of doubtful text stand where the page has no ink for them"
            doubts.append(Notice("text_without_ink", detail))
    return doubts
