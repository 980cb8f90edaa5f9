"""JSON lines (schema `ocrcli/1`): one object per page, one per document, one per failed input.

Fields may be added within `ocrcli/1`; none is renamed or removed.
"""

import json
import math

from ocrcli import __version__
from ocrcli.confidence import Confidence
from ocrcli.document import Block, Document, Notice, Page, PageStatus, Source
from ocrcli.errors import OcrError, json_text

SCHEMA = "ocrcli/1"
"""Name and version of the schema, the first field of every object."""


class JsonLinesWriter:
    """One JSON object per line."""

    def page(self, source: Source, page: Page) -> str:
        """Return the page's object."""
        return _line(_page_object(source, page))

    def document(self, document: Document) -> str:
        """Return the document's object."""
        return _line(_document_object(document))

    def failure(self, error: OcrError) -> str:
        """Return an error's object."""
        return _line(
            {
                "schema": SCHEMA,
                "type": "error",
                "source": _name(error.source),
                "code": int(error.exit_code),
                "kind": error.kind,
                "message": error.message,
            }
        )

    def end(self) -> str:
        """Return nothing: every object ends its own line."""
        return ""


def _page_object(source: Source, page: Page) -> dict[str, object]:
    facts = page.facts
    return {
        "schema": SCHEMA,
        "type": "page",
        "source": _name(source.name),
        "source_sha256": source.sha256,
        "page": page.page_number,
        "page_label": facts.label,
        "pages_total": source.pages_total,
        "status": str(page.status),
        "error": page.error,
        "warnings": [_notice(notice) for notice in page.warnings],
        "width": facts.width_pt,
        "height": facts.height_pt,
        "unit": "pt",
        "image": {"width": facts.image_width, "height": facts.image_height, "dpi": facts.dpi},
        "rotation_page": facts.rotation,
        "rotation_applied": page.rotation,
        "ink_ratio": round(facts.ink_ratio, 6),
        "text": page.text,
        "markdown": page.markdown,
        "raw": page.markup,
        "blocks": [_block(block, order) for order, block in enumerate(page.blocks, start=1)],
        "confidence": _confidence(page.confidence),
        "tokens": {"prompt": page.tokens.prompt, "output": page.tokens.output},
        "seconds": {
            "render": _number(page.seconds.render),
            "encode": _number(page.seconds.encode),
            "prefill": _number(page.seconds.prefill),
            "decode": _number(page.seconds.decode),
        },
        "mode": page.mode,
        "attempts": page.attempts,
    }


def _block(block: Block, order: int) -> dict[str, object]:
    return {
        "id": order,
        "type": str(block.type),
        "bbox": block.bbox and list(block.bbox),
        "order": order,
        "text": block.text,
        "html": block.html,
        "picture": _name(block.picture),
        "confidence": _confidence(block.confidence),
    }


def _confidence(confidence: Confidence | None) -> dict[str, float] | None:
    if confidence is None:
        return None
    return {"mean": _number(confidence.mean), "min": _number(confidence.min)}


def _document_object(document: Document) -> dict[str, object]:
    source, model = document.source, document.model
    return {
        "schema": SCHEMA,
        "type": "document",
        "source": _name(source.name),
        "source_sha256": source.sha256,
        "output": _name(document.output),
        "status": document.status,
        "repaired": source.is_repaired,
        "warnings": [_notice(notice) for notice in source.warnings],
        "pages": document.num_pages,
        "pages_total": source.pages_total,
        "blank": document.count(PageStatus.BLANK),
        "degraded": document.num_degraded,
        "failed": len(document.failed_pages),
        "skipped": document.count(PageStatus.SKIPPED),
        "seconds": _number(document.seconds),
        "model": model
        and {
            "id": model.id,
            "sha256": model.sha256,
            "dtype": model.dtype,
            "device": model.device,
        },
        "settings": document.settings,
        "version": __version__,
    }


def _notice(notice: Notice) -> dict[str, str]:
    return {"code": notice.code, "detail": notice.detail}


def _number(value: float) -> float:
    return round(value, 4) if math.isfinite(value) else 0.0


def _name(name: str | None) -> str | None:
    return name and json_text(name)


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"
