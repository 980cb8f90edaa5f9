"""The scores as Markdown tables, for the model card."""

from collections.abc import Sequence
from typing import Any

from ocrcli.models.small.evaluation.language_texts import PACKAGES
from ocrcli.models.small.evaluation.sets import DESCRIPTIONS

_NAMES = {"ocrcli": "this model", "tesseract": "Tesseract", "rapidocr": "RapidOCR"}
_LAYOUT = {
    "block_f1": "block F1 at IoU 0.5",
    "block_iou": "mean IoU of matched blocks",
    "block_label_accuracy": "label right, of matched blocks",
    "teds": "TEDS",
    "teds_structure": "TEDS-S (structure only)",
    "pages_with_as_many_tables": "pages with the right number of tables",
    "heading_level_accuracy": "heading level right",
    "orientation_accuracy": "pages turned as they must be",
    "block_confidence_auroc": "AUROC of block confidence (block CER > 5 %)",
}


def card(scores: dict[str, Any]) -> str:
    """Return all tables.

    Args:
        scores: What `score_folder` returns.
    """
    parts = [
        _text_table(scores),
        _faults_table(scores),
        _layout_table(scores),
        _language_table(scores),
        _readers(scores),
        _sources(scores.get("sources", {})),
    ]
    return "\n".join(part for part in parts if part)


def _text_table(scores: dict[str, Any]) -> str:
    rows = []
    for name, entry in scores["sets"].items():
        if "not_run" in entry:
            rows.append([f"`{name}`: {DESCRIPTIONS.get(name, '')}", "", "", "not run", "", "", ""])
            continue
        for place, (reader, found) in enumerate(_readers_of(entry)):
            first = place == 0
            low, high = found["interval_95"]["cer"]
            rows.append(
                [
                    f"`{name}`: {DESCRIPTIONS.get(name, '')}" if first else "",
                    f"{found['pages']} / {found['characters']:,}" if first else "",
                    _NAMES.get(reader, reader),
                    f"{found['cer']:.2%}",
                    f"{low:.2%} to {high:.2%}",
                    f"{found['wer']:.2%}",
                    f"{found['bag_of_words_f1']:.2%}",
                ]
            )
        rows += _without_leaders(name, entry)
    head = [
        "set",
        "pages / characters",
        "reader",
        "CER",
        "95 % interval",
        "WER",
        "bag-of-words F1",
    ]
    return _table(head, rows)


def _without_leaders(name: str, entry: dict[str, Any]) -> list[list[str]]:
    """Return rows for the pages of a set that are no tables of contents."""
    rows: list[list[str]] = []
    for reader, found in _readers_of(entry):
        if "cer_without_leaders" in found:
            count = found["pages_with_leaders"]
            rest = f"{found['cer_without_leaders']:.2%}"
            words = "" if rows else f"`{name}` without {count} pages of contents (rows of dots)"
            rows.append([words, "", _NAMES.get(reader, reader), rest, "", "", ""])
    return rows


def _faults_table(scores: dict[str, Any]) -> str:
    rows = []
    for name, entry in scores["sets"].items():
        found = entry.get("readers", {}).get("ocrcli")
        if found:
            rates = found["rates"]
            rows.append(
                [
                    f"`{name}`",
                    *(f"{rates[kind]:.1%}" for kind in ("loop", "truncated", "suspect", "empty")),
                    f"{found['invention']:.2%}",
                    f"{found['cer_macro']:.2%}",
                    f"{found['cer_raw']:.2%}",
                ]
            )
    head = [
        "set",
        "loop",
        "truncated",
        "suspect",
        "empty",
        "invented words",
        "CER, mean of pages",
        "CER, not normalised",
    ]
    return _table(head, rows)


def _layout_table(scores: dict[str, Any]) -> str:
    names, columns = [], []
    for name, entry in scores["sets"].items():
        found = entry.get("readers", {}).get("ocrcli", {})
        if any(found.get(measure) is not None for measure in _LAYOUT):
            names.append(f"`{name}`")
            columns.append(found)
    rows = []
    for measure, words in _LAYOUT.items():
        values = [column.get(measure) for column in columns]
        if any(value is not None for value in values):
            rows.append([words, *("" if value is None else f"{value:.3f}" for value in values)])
    return _table(["measure", *names], rows)


def _language_table(scores: dict[str, Any]) -> str:
    entry = scores["sets"].get("languages", {})
    rows = [
        [
            _NAMES.get(reader, reader),
            *(
                f"{found['cer_by_language'][language]:.2%}"
                if language in found["cer_by_language"]
                else ""
                for language in PACKAGES
            ),
        ]
        for reader, found in _readers_of(entry)
    ]
    return _table(["CER by language", *PACKAGES], rows)


def _readers(scores: dict[str, Any]) -> str:
    lines = []
    for reader, about in scores["readers"].items():
        told = ", ".join(
            f"{key} {value}"
            for key, value in about.items()
            if key not in ("reader", "seconds_per_page")
        )
        lines.append(f"- {_NAMES.get(reader, reader)}: {told}\n")
    return "".join(lines) + f"\nNormalisation: {scores['normalisation']}.\n"


def _sources(sources: dict[str, Any]) -> str:
    lines = [
        f"- {kind}: {name}, sha256 `{digest}`\n"
        for kind, key in (("book", "books"), ("text of a document", "files"))
        for name, digest in sources.get(key, {}).items()
    ]
    if fonts := sources.get("fonts"):
        families = ", ".join(fonts["families"])
        lines.append(f"- {fonts['files']} fonts, sha256 of all `{fonts['sha256']}`: {families}\n")
    packages = sources.get("packages", [])
    rows = [[entry["name"], entry["version"], f"`{entry['sha256']}`"] for entry in packages]
    return "".join(lines) + ("\n" if rows else "") + _table(["package", "version", "sha256"], rows)


def _readers_of(entry: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = entry.get("readers", {})
    ours = [(name, found[name]) for name in found if name.startswith("ocrcli")]
    return ours + [(name, found[name]) for name in found if not name.startswith("ocrcli")]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
