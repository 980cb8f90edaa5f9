"""JSON lines output."""

import json

from ocrcli import __version__
from ocrcli.blocks import parse_markup
from ocrcli.confidence import Confidence, TokenTrace
from ocrcli.document import (
    Document,
    ModelFacts,
    Notice,
    Page,
    PageFacts,
    PageSeconds,
    PageStatus,
    Source,
    TokenCounts,
)
from ocrcli.errors import EncryptedError
from ocrcli.writers import JsonLinesWriter

SOURCE = Source("a b/é.pdf", "f" * 64, 14, 2, (Notice("repaired", "mended"),))


def parsed(line):
    assert line.endswith("\n")
    assert line.count("\n") == 1
    return json.loads(line)


def test_page_object():
    markup = "<|det|>title [0, 0, 999, 999]<|/det|>é\nx"
    trace = TokenTrace((37, 39, 40), (0.25, 0.5, 1.0))
    page = Page(
        3,
        PageStatus.OK,
        text="é\nx",
        markdown="é x",
        blocks=parse_markup(markup, 612, 792, trace=trace).blocks,
        facts=PageFacts(3, "iii", 612.0, 792.0, 990, 1280, 116.4, 90, 990 * 64),
        warnings=(Notice("downscaled", "small"),),
        tokens=TokenCounts(1200, 640),
        seconds=PageSeconds(0.1, 0.6, float("nan"), 4.2),
        confidence=Confidence(0.98, 0.5),
    )
    line = JsonLinesWriter().page(SOURCE, page)
    assert "é" in line
    assert parsed(line) == {
        "schema": "ocrcli/1",
        "type": "page",
        "source": "a b/é.pdf",
        "source_sha256": "f" * 64,
        "page": 3,
        "page_label": "iii",
        "pages_total": 14,
        "status": "ok",
        "error": None,
        "warnings": [{"code": "downscaled", "detail": "small"}],
        "width": 612.0,
        "height": 792.0,
        "unit": "pt",
        "image": {"width": 990, "height": 1280, "dpi": 116.4},
        "rotation_page": 90,
        "rotation_applied": 0,
        "ink_ratio": 0.05,
        "text": "é\nx",
        "markdown": "é x",
        "raw": "",
        "blocks": [
            {
                "id": 1,
                "type": "title",
                "bbox": [0.0, 0.0, 612.0, 792.0],
                "order": 1,
                "text": "é\nx",
                "html": None,
                "picture": None,
                "confidence": {"mean": 0.75, "min": 0.5},
            }
        ],
        "confidence": {"mean": 0.98, "min": 0.5},
        "tokens": {"prompt": 1200, "output": 640},
        "seconds": {"render": 0.1, "encode": 0.6, "prefill": 0.0, "decode": 4.2},
        "mode": "page",
        "attempts": 1,
    }


def test_document_object():
    document = Document(SOURCE, ModelFacts("small", "a" * 64, "float32", "cpu"), "out/é.jsonl")
    document.add(Page(1, PageStatus.BLANK))
    document.add(Page(2, PageStatus.ERROR))
    fields = parsed(JsonLinesWriter().document(document))
    assert fields["type"] == "document"
    assert (fields["status"], fields["pages"], fields["blank"], fields["failed"]) == (
        "failed",
        2,
        1,
        1,
    )
    assert fields["repaired"] is True
    assert fields["model"]["id"] == "small"
    assert fields["output"] == "out/é.jsonl"
    assert fields["version"] == __version__


def test_error_object():
    error = EncryptedError("password needed", source="c.pdf")
    assert parsed(JsonLinesWriter().failure(error)) == {
        "schema": "ocrcli/1",
        "type": "error",
        "source": "c.pdf",
        "code": 6,
        "kind": "encrypted",
        "message": "password needed",
    }


def test_names_that_are_no_utf8_are_safe():
    line = JsonLinesWriter().failure(EncryptedError("x", source="\udcff.pdf"))
    assert parsed(line.encode("utf-8").decode())["source"] == r"\udcff.pdf"


def test_page_without_model_has_no_confidence():
    assert parsed(JsonLinesWriter().page(SOURCE, Page(1, PageStatus.BLANK)))["confidence"] is None
