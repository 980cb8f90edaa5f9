"""From readings to figures: every measure of every set, for every reader."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ocrcli.models.small.evaluation import layout_metrics as layout
from ocrcli.models.small.evaluation.metrics import (
    LEADER,
    NORMALISATION,
    PageScore,
    bag_of_words_f1,
    interval,
    invention,
    macro_cer,
    micro_cer,
    raw_cer,
    score,
    wer,
)
from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    PageReading,
    Readings,
    read_all_readings,
    read_json,
    read_pages,
    set_names,
)
from ocrcli.models.small.evaluation.sets import SETS

MEASURES: dict[str, Callable[[Sequence[PageScore]], float]] = {
    "cer": micro_cer,
    "cer_macro": macro_cer,
    "cer_raw": raw_cer,
    "wer": wer,
    "bag_of_words_f1": bag_of_words_f1,
    "invention": invention,
}
"""Measures of text, each with a bootstrap interval over pages."""

_RATES = ("loop", "truncated", "suspect", "empty", "error", "missing")
_WORST = 5
_MANY_LEADERS = 5


@dataclass(frozen=True)
class PageResult:
    """One page, read and scored."""

    page: EvaluationPage
    reading: PageReading
    score: PageScore


def score_folder(folder: Path, seed: int) -> dict[str, Any]:
    """Return the figures of everything that was read in a prepared folder.

    Args:
        folder: A prepared folder with readings.
        seed: Seed of the bootstrap.

    Raises:
        ValueError: Nothing was read.
    """
    readers = read_all_readings(folder)
    if not readers:
        raise ValueError(f"folder must hold readings/READER.jsonl, found none in {folder}")
    record = folder / "sets.json"
    kept = read_json(record) if record.is_file() else {}
    told = kept.get("sets", {})
    sets: dict[str, Any] = {
        name: {"not_run": entry["not_run"]} for name, entry in told.items() if "not_run" in entry
    }
    for name in set_names(folder):
        pages = read_pages(folder, name)
        sets[name] = {
            "pages": len(pages),
            "characters": sum(len(page.text) for page in pages),
            "readers": {
                reader: figures(read_and_score(pages, name, readings), seed)
                for reader, readings in readers.items()
                if any(page_set == name for page_set, _ in readings.pages)
            },
        }
    order = [name for name in SETS if name in sets] + [name for name in sets if name not in SETS]
    return {
        "readers": {reader: readings.reader for reader, readings in readers.items()},
        "normalisation": NORMALISATION,
        "sources": kept.get("sources", {}),
        "sets": {name: sets[name] for name in order},
    }


def read_and_score(
    pages: Sequence[EvaluationPage], name: str, readings: Readings
) -> list[PageResult]:
    """Return the score of every page; one that the reader leaves out counts as read empty."""
    results = []
    for page in pages:
        reading = readings.pages.get((name, page.name))
        reading = reading or PageReading(name, page.name, "missing", "")
        results.append(PageResult(page, reading, score(page.text, reading.text)))
    return results


def figures(results: Sequence[PageResult], seed: int) -> dict[str, Any]:
    """Return the figures of a set of pages, ready for JSON.

    Args:
        results: Scored pages.
        seed: Seed of the bootstrap.
    """
    scores = [result.score for result in results]
    statuses = Counter(result.reading.status for result in results)
    worst = sorted(results, key=lambda result: result.score.cer, reverse=True)[:_WORST]
    return {
        "pages": len(results),
        "characters": sum(page.characters for page in scores),
        **{name: round(measure(scores), 6) for name, measure in MEASURES.items()},
        "interval_95": {
            name: [round(value, 6) for value in interval(measure, scores, seed)]
            for name, measure in MEASURES.items()
        },
        "rates": {name: round(statuses[name] / len(results), 4) for name in _RATES},
        "statuses": dict(sorted(statuses.items())),
        "cer_by_language": _by_language(results),
        **_without_leaders(results),
        **_turns(results),
        **_layout(results),
        **_confidence(results),
        "worst_pages": [
            {
                "page": result.page.name,
                "cer": round(result.score.cer, 4),
                "status": result.reading.status,
                "note": result.page.note,
            }
            for result in worst
        ],
    }


def _by_language(results: Sequence[PageResult]) -> dict[str, float]:
    languages = sorted({result.page.language for result in results})
    return {
        language: round(
            micro_cer([found.score for found in results if found.page.language == language]), 6
        )
        for language in languages
    }


def _without_leaders(results: Sequence[PageResult]) -> dict[str, Any]:
    """Return the error rate without tables of contents: rows of dots are a case of their own."""
    rest = [result.score for result in results if result.page.text.count(LEADER) < _MANY_LEADERS]
    if len(rest) in (0, len(results)):
        return {}
    return {
        "pages_with_leaders": len(results) - len(rest),
        "cer_without_leaders": round(micro_cer(rest), 6),
    }


def _turns(results: Sequence[PageResult]) -> dict[str, Any]:
    """Return how often the reader turned a page as far as it had to be turned."""
    told = [result for result in results if result.reading.rotation is not None]
    if not told:
        return {}
    right = [result.reading.rotation == 90 * result.page.turn for result in told]
    return {"orientation_accuracy": round(fmean(right), 4)}


def _layout(results: Sequence[PageResult]) -> dict[str, Any]:
    """Return how well blocks, tables and headings were found, where both sides have them."""
    known = [result for result in results if result.page.blocks]
    if not known or not any(result.reading.blocks for result in known):
        return {}
    counts = [layout.count_blocks(found.page.blocks, found.reading.blocks) for found in known]
    overlaps = [overlap for page in counts for overlap in page.overlaps]
    found: dict[str, Any] = {
        "block_f1": round(layout.block_f1(counts), 4),
        "block_iou": round(fmean(overlaps), 4) if overlaps else 0.0,
        "block_label_accuracy": round(
            sum(page.agreeing for page in counts) / max(1, len(overlaps)), 4
        ),
    }
    tables = [
        pair
        for result in known
        for pair in layout.page_tables(result.page.blocks, result.reading.blocks)
    ]
    if tables:
        printed = [sum(bool(block.html) for block in result.page.blocks) for result in known]
        read = [sum(bool(block.html) for block in result.reading.blocks) for result in known]
        found |= {
            "tables": len(tables),
            "tables_read": sum(read),
            "pages_with_as_many_tables": round(
                fmean(ours == theirs for ours, theirs in zip(printed, read, strict=True)), 4
            ),
            "teds": round(fmean(pair[0] for pair in tables), 4),
            "teds_structure": round(fmean(pair[1] for pair in tables), 4),
        }
    levels = [
        answer
        for result in known
        for answer in layout.heading_levels(result.page.blocks, result.reading.markdown)
    ]
    if levels:
        found |= {"headings": len(levels), "heading_level_accuracy": round(fmean(levels), 4)}
    return found


def _confidence(results: Sequence[PageResult]) -> dict[str, Any]:
    """Return how well the confidence of blocks tells wrong ones from right ones."""
    pairs = [
        (layout.is_wrong(block, result.page.text), block.confidence)
        for result in results
        for block in result.reading.blocks
        if block.confidence is not None and block.text
    ]
    if not pairs:
        return {}
    wrong = [pair[0] for pair in pairs]
    area = layout.auroc(wrong, [pair[1] for pair in pairs])
    return {
        "blocks": len(pairs),
        "wrong_blocks": sum(wrong),
        "block_confidence_auroc": None if area is None else round(area, 4),
    }
