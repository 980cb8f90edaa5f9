"""The record of a very long page, made from the records of its bands."""

from collections.abc import Sequence
from dataclasses import replace

from ocrcli.band_seams import joined, without_repetition
from ocrcli.bands import MARGIN_ROWS, Band
from ocrcli.blocks import MAX_COORDINATE, markup_of, to_points
from ocrcli.confidence import Confidence
from ocrcli.document import (
    Block,
    BlockType,
    Box,
    Notice,
    Page,
    PageFacts,
    PageFailure,
    PageSeconds,
    PageStatus,
    TokenCounts,
)
from ocrcli.records import failed_page, is_damaged
from ocrcli.rotation import as_displayed
from ocrcli.textstyle import TextStyle
from ocrcli.writers import page_markdown, page_text

_WORST_FIRST = (
    PageStatus.ERROR,
    PageStatus.TIMEOUT,
    PageStatus.LOOP,
    PageStatus.TRUNCATED,
    PageStatus.SUSPECT,
    PageStatus.EMPTY,
    PageStatus.OK,
    PageStatus.BLANK,
)
_FOOT = (BlockType.FOOTER, BlockType.PAGE_NUMBER, BlockType.FOOTNOTE)
_POINTS_PER_INCH = 72.0

_Placed = tuple[Band, Page]


class LongPage:
    """Collects the bands of one page as they are finished, in any order."""

    def __init__(self, facts: PageFacts, style: TextStyle) -> None:
        """Begin with nothing.

        Args:
            facts: What is known of the page as a whole.
            style: What its text depends on.
        """
        self._facts, self._style = facts, style
        self._bands: list[_Placed] = []
        self._failure: PageFailure | None = None

    def add(self, band: Band, record: Page) -> None:
        """Take the record of a band, as of a page of its own."""
        self._bands.append((band, record))

    def fail(self, message: str, status: PageStatus = PageStatus.ERROR) -> None:
        """Note why the page as a whole has no result."""
        self._failure = self._failure or PageFailure(self._facts, message, status)

    def page(self) -> Page:
        """Return the record of the page: its status is the worst of its bands'."""
        bands = sorted(self._bands, key=lambda placed: placed[0].top_pt)
        facts = replace(
            self._facts,
            ink=None,
            ink_pixels=sum(band.image.facts.ink_pixels for band, _ in bands),
            seconds=self._facts.seconds + sum(band.image.facts.seconds for band, _ in bands),
        )
        failure = self._failure or _failure(facts, bands)
        if failure is not None:
            return failed_page(replace(failure, facts=facts))
        rotation, doubts = _rotation(bands)
        blocks = _blocks(facts, bands if rotation == 0 else bands[::-1], rotation)
        records = [record for _, record in bands]
        tiled = f"the page is very long; it was read in {len(bands)} tiles at {facts.dpi:.3g} dpi"
        return Page(
            page_number=facts.page_number,
            status=_status(records, is_doubtful=bool(doubts) or is_damaged(facts)),
            text=page_text(blocks, self._style),
            markdown=page_markdown(blocks, self._style),
            markup=markup_of(blocks),
            blocks=blocks,
            facts=facts,
            warnings=(*facts.warnings, Notice("tiled", tiled), *_notices(records), *doubts),
            tokens=sum((record.tokens for record in records), TokenCounts()),
            # The bands' drawing is part of the page's own loading.
            seconds=sum(
                (replace(record.seconds, render=0.0) for record in records),
                PageSeconds(render=facts.seconds),
            ),
            confidence=_confidence(records),
            attempts=max(record.attempts for record in records),
            rotation=rotation,
        )


def _failure(facts: PageFacts, bands: Sequence[_Placed]) -> PageFailure | None:
    for number, (_, record) in enumerate(bands, start=1):
        if record.status.is_failed:
            message = f"{record.error} (tile {number} of {len(bands)})"
            return PageFailure(facts, message, record.status)
    return None


def _rotation(bands: Sequence[_Placed]) -> tuple[int, list[Notice]]:
    """Return how far the page as a whole was turned, and a doubt where its bands disagree.

    A page that lies on its side was cut across its lines.
    """
    turns = {record.rotation for _, record in bands if record.blocks}
    if turns <= {0}:
        return 0, []
    if turns == {180}:
        return 180, []
    detail = "tiles of the page lie on their side or disagree on which way is up"
    return 0, [Notice("tiles_turned", detail)]


def _status(records: Sequence[Page], *, is_doubtful: bool) -> PageStatus:
    found = {record.status for record in records}
    if is_doubtful or (PageStatus.EMPTY in found and PageStatus.OK in found):
        found.add(PageStatus.SUSPECT)
    return next(status for status in _WORST_FIRST if status in found)


def _notices(records: Sequence[Page]) -> list[Notice]:
    """Return what was said of the bands, each thing once, with the bands it was said of."""
    numbers: dict[Notice, list[str]] = {}
    for number, record in enumerate(records, start=1):
        for notice in record.warnings:
            numbers.setdefault(notice, []).append(str(number))
    return [
        Notice(
            notice.code,
            f"{notice.detail} (tile{'s' * (len(tiles) > 1)} {', '.join(tiles)} of {len(records)})",
        )
        for notice, tiles in numbers.items()
    ]


def _confidence(records: Sequence[Page]) -> Confidence | None:
    sure = [(record.confidence, record.tokens.output) for record in records if record.confidence]
    count = sum(tokens for _, tokens in sure)
    if not count:
        return None
    mean = sum(confidence.mean * tokens for confidence, tokens in sure) / count
    return Confidence(mean, min(confidence.min for confidence, _ in sure))


def _blocks(facts: PageFacts, bands: Sequence[_Placed], rotation: int) -> tuple[Block, ...]:
    """Return the blocks of all bands, given in reading order, with their place on the page."""
    found: list[Block] = []
    last = len(bands) - 1
    for number, (band, record) in enumerate(bands):
        blocks = [_placed(block, band, facts, rotation) for block in record.blocks]
        blocks = [_inner(block, number > 0, number < last) for block in blocks]
        zone = _zone(bands, number, facts, rotation) if number else None
        if zone is not None:
            found, blocks = without_repetition(found, blocks, zone)
        found = joined(found, blocks)
    return tuple(_in_thousandths(block, facts, rotation) for block in found)


def _placed(block: Block, band: Band, facts: PageFacts, rotation: int) -> Block:
    """Return a block with its place on the upright page, in points, as its `bbox`."""
    if block.bbox is None:
        return block
    left, top, right, bottom = block.bbox
    displayed = (
        min(max(left, 0.0), facts.width_pt),
        min(max(top + band.top_pt, 0.0), facts.height_pt),
        min(max(right, 0.0), facts.width_pt),
        min(max(bottom + band.top_pt, 0.0), facts.height_pt),
    )
    # Half a turn undoes itself.
    bbox = as_displayed(displayed, facts.width_pt, facts.height_pt, rotation)
    # A thousandth of such a page is more than a line.
    return replace(block, bbox=bbox, baselines=None, lines=None)


def _inner(block: Block, has_before: bool, has_after: bool) -> Block:
    """Return a block as text where it cannot be what bands by themselves would make it.

    The first line of a band is no page header, the last one no footer, but for those at the ends.
    """
    is_inner = has_before and block.type is BlockType.HEADER
    if is_inner or (has_after and block.type in _FOOT):
        return replace(block, type=BlockType.TEXT)
    return block


def _zone(
    bands: Sequence[_Placed], number: int, facts: PageFacts, rotation: int
) -> tuple[float, float] | None:
    """Return top and bottom, on the upright page, of what a band shares with the one before."""
    band = bands[number if rotation == 0 else number - 1][0]
    if not band.overlap_pt:
        return None
    top = band.top_pt + MARGIN_ROWS * _POINTS_PER_INCH / facts.dpi
    bottom = top + band.overlap_pt
    return (top, bottom) if rotation == 0 else (facts.height_pt - bottom, facts.height_pt - top)


def _in_thousandths(block: Block, facts: PageFacts, rotation: int) -> Block:
    if block.bbox is None:
        return block
    left, top, right, bottom = block.bbox
    across, down = MAX_COORDINATE / facts.width_pt, MAX_COORDINATE / facts.height_pt
    # A thousandth of such a page is more than a line, so fractions are kept.
    box: Box = (
        round(left * across, 4),
        round(top * down, 4),
        round(right * across, 4),
        round(bottom * down, 4),
    )
    bbox = to_points(box, facts.width_pt, facts.height_pt, rotation)
    return replace(block, box=box, bbox=bbox)
