"""How well the parts of a page are found: blocks by their boxes, tables as trees, headings.

TEDS is the tree-edit-distance similarity of two tables (Zhong et al., 2020): one minus the distance
of their HTML trees over the size of the larger one; replacing a cell by one with other text costs
the normalised Levenshtein distance of the texts. TEDS-S leaves the text out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from ocrcli.models.small.evaluation.metrics import normalise
from ocrcli.models.small.evaluation.page_set import ReadBlock, ReferenceBlock

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MATCH_IOU = 0.5
"""Overlap from which a box counts as found."""

BAD_BLOCK_CER = 0.05
"""Error rate above which the text of a block counts as wrong."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class BlockCounts:
    """Blocks of one page, matched by their boxes.

    Attributes:
        printed: Blocks on the page.
        read: Blocks the reader found.
        overlaps: Intersection over union of every matched pair.
        agreeing: Matched pairs with the same label.
    """

    printed: int
    read: int
    overlaps: tuple[float, ...]
    agreeing: int


def iou(first: Box, second: Box) -> float:
    """Return intersection over union of two boxes."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (both - width * height)


def match_blocks(
    printed: Sequence[ReferenceBlock], read: Sequence[ReadBlock]
) -> list[tuple[int, int, float]]:
    """Return pairs of blocks whose boxes overlap by `MATCH_IOU`, the best ones first, each once."""
    pairs = [
        (iou(block.box, found.box), place, other)
        for place, block in enumerate(printed)
        for other, found in enumerate(read)
        if block.box and found.box
    ]
    chosen: list[tuple[int, int, float]] = []
    for overlap, place, other in sorted(pairs, reverse=True):
        taken = any(place == pair[0] or other == pair[1] for pair in chosen)
        if overlap >= MATCH_IOU and not taken:
            chosen.append((place, other, overlap))
    return chosen


def count_blocks(printed: Sequence[ReferenceBlock], read: Sequence[ReadBlock]) -> BlockCounts:
    """Return the counts of one page."""
    pairs = match_blocks(printed, read)
    agreeing = sum(printed[place].label == read[other].label for place, other, _ in pairs)
    return BlockCounts(len(printed), len(read), tuple(pair[2] for pair in pairs), agreeing)


def block_f1(pages: Sequence[BlockCounts]) -> float:
    """Return the harmonic mean of precision and recall of blocks over all pages."""
    both = sum(page.printed + page.read for page in pages)
    return 2 * sum(len(page.overlaps) for page in pages) / both if both else 0.0


@dataclass
class _Node:
    """A node of a table's tree."""

    tag: str
    text: str = ""
    columns: int = 1
    rows: int = 1
    children: list["_Node"] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return 1 + sum(child.size for child in self.children)


def table_similarity(printed: str, read: str, structure_only: bool = False) -> float:
    """Return TEDS of two tables, or TEDS-S.

    Args:
        printed: HTML of the table on the page.
        read: HTML of the table that was read.
        structure_only: Whether the text of cells is left out.
    """
    from apted import APTED, Config

    class Costs(Config):  # type: ignore[misc]
        def rename(self, first: _Node, second: _Node) -> float:
            same = (first.tag, first.columns, first.rows) == (
                second.tag,
                second.columns,
                second.rows,
            )
            if not same:
                return 1.0
            if first.tag not in ("td", "th") or structure_only:
                return 0.0
            return float(Levenshtein.normalized_distance(first.text, second.text))

    first, second = _tree(printed), _tree(read)
    distance = float(APTED(first, second, Costs()).compute_edit_distance())
    return 1.0 - distance / max(first.size, second.size)


def _tree(markup: str) -> _Node:
    from lxml import html

    top = html.fragment_fromstring(markup, create_parent="div")
    found = top.find(".//table")
    return _node(found) if found is not None else _Node("table")


def _node(element: "HtmlElement") -> _Node:
    if element.tag in ("td", "th"):
        told = (element.get(name) or "" for name in ("colspan", "rowspan"))
        columns, rows = (int(span) if span.isdecimal() else 1 for span in told)
        return _Node(element.tag, normalise(element.text_content()), columns, rows)
    rows_too_deep = element.tag == "table"
    children = [
        _node(child)
        for place in element
        for child in (place if rows_too_deep and place.tag in ("thead", "tbody") else [place])
        if isinstance(child.tag, str)
    ]
    return _Node(element.tag, children=children)


def page_tables(
    printed: Sequence[ReferenceBlock], read: Sequence[ReadBlock]
) -> list[tuple[float, float]]:
    """Return TEDS and TEDS-S of every table of a page; one that was not read counts 0.

    A table is compared with the one that overlaps it most.
    """
    scores = []
    tables = [block for block in read if block.html]
    for block in printed:
        if not block.html:
            continue
        overlaps = [
            (iou(block.box, table.box), place, table.html)
            for place, table in enumerate(tables)
            if block.box and table.box and table.html
        ]
        overlap, _, best = max(overlaps, default=(0.0, 0, ""))
        if not overlap:
            scores.append((0.0, 0.0))
            continue
        full = table_similarity(block.html, best)
        scores.append((full, table_similarity(block.html, best, structure_only=True)))
    return scores


def heading_levels(printed: Sequence[ReferenceBlock], markdown: str) -> list[bool]:
    """Return, for every heading of a page, whether Markdown gives it the right level.

    A page cannot tell whether its largest heading is a book's or a chapter's, so levels are ranks
    among those that the page has. A heading that was not read is wrong.
    """
    lines = [line.partition(" ") for line in markdown.splitlines() if line.startswith("#")]
    read = [(len(marks), normalise(text)) for marks, _, text in lines]
    read_ranks = _ranks({level for level, _ in read})
    headings = [(block.level, block.text) for block in printed if block.level is not None]
    printed_ranks = _ranks({level for level, _ in headings})
    answers = []
    for level, text in headings:
        wanted = normalise(text)
        found = next((pair for pair in read if fuzz.ratio(wanted, pair[1]) > 80), None)
        if found is not None:
            read.remove(found)
        answers.append(found is not None and read_ranks[found[0]] == printed_ranks[level])
    return answers


def _ranks(levels: set[int]) -> dict[int, int]:
    return {level: rank for rank, level in enumerate(sorted(levels))}


def is_wrong(block: ReadBlock, page_text: str) -> bool:
    """Return whether a block's text is wrong by more than `BAD_BLOCK_CER`.

    The text is compared with the part of the page's text that is most like it, so that blocks need
    no counterpart among the reference's.
    """
    read, printed = normalise(block.text), normalise(page_text)
    if len(read) >= len(printed):
        return Levenshtein.normalized_distance(read, printed) > BAD_BLOCK_CER
    place = fuzz.partial_ratio_alignment(read, printed)
    if place is None:
        return True
    part = printed[place.dest_start : place.dest_end]
    return Levenshtein.distance(read, part) > BAD_BLOCK_CER * max(len(part), 1)


def auroc(wrong: Sequence[bool], confidence: Sequence[float]) -> float | None:
    """Return the chance that a wrong block is less sure than a right one; None without both.

    Args:
        wrong: Whether each block is wrong.
        confidence: How sure the reader is of it.
    """
    bad = np.array([value for value, is_bad in zip(confidence, wrong, strict=True) if is_bad])
    good = np.array([value for value, is_bad in zip(confidence, wrong, strict=True) if not is_bad])
    if not len(bad) or not len(good):
        return None
    below = (bad[:, None] < good[None, :]).mean()
    return float(below + 0.5 * (bad[:, None] == good[None, :]).mean())
