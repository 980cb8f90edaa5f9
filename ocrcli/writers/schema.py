"""The JSON Schema of `ocrcli/1`, as `ocrcli schema` prints it.

Fields may be added within `ocrcli/1`, so unknown ones are allowed everywhere.
"""

from ocrcli.document import BlockType, PageStatus
from ocrcli.errors import ExitCode

_Schema = dict[str, object]


def json_schema() -> _Schema:
    """Return the schema that every line of JSON output follows."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ocrcli/1",
        "description": "One line of JSON lines output: a page, a document or a failed input.",
        "oneOf": [_page(), _document(), _error()],
    }


def _object(**properties: _Schema) -> _Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _optional(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: _Schema, **bounds: object) -> _Schema:
    return {"type": "array", "items": items, **bounds}


_TEXT: _Schema = {"type": "string"}
_NAME: _Schema = {"type": ["string", "null"]}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_AMOUNT: _Schema = {"type": "number", "minimum": 0}
_SHARE: _Schema = {"type": "number", "minimum": 0, "maximum": 1}
_HASH: _Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_CONFIDENCE = _optional(_object(mean=_SHARE, min=_SHARE))
_NOTICES = _list(_object(code=_TEXT, detail=_TEXT))


def _head(kind: str) -> dict[str, _Schema]:
    return {"schema": {"const": "ocrcli/1"}, "type": {"const": kind}, "source": _NAME}


def _page() -> _Schema:
    block = _object(
        id={"type": "integer", "minimum": 1},
        type={"enum": [str(kind) for kind in BlockType]},
        bbox=_optional(_list(_AMOUNT, minItems=4, maxItems=4)),
        order={"type": "integer", "minimum": 1},
        text=_TEXT,
        html=_NAME,
        picture=_NAME,
        confidence=_CONFIDENCE,
    )
    return _object(
        **_head("page"),
        source_sha256=_HASH,
        page={"type": "integer", "minimum": 1},
        page_label=_NAME,
        pages_total={"type": "integer", "minimum": 1},
        status={"enum": [str(status) for status in PageStatus]},
        error=_NAME,
        warnings=_NOTICES,
        width=_AMOUNT,
        height=_AMOUNT,
        unit={"const": "pt"},
        image=_object(width=_COUNT, height=_COUNT, dpi=_AMOUNT),
        rotation_page={"type": "integer"},
        rotation_applied={"enum": [0, 90, 180, 270]},
        ink_ratio=_SHARE,
        text=_TEXT,
        markdown=_TEXT,
        raw=_TEXT,
        blocks=_list(block),
        confidence=_CONFIDENCE,
        tokens=_object(prompt=_COUNT, output=_COUNT),
        seconds=_object(render=_AMOUNT, encode=_AMOUNT, prefill=_AMOUNT, decode=_AMOUNT),
        mode={"enum": ["page", "onepass", "text-layer"]},
        attempts={"type": "integer", "minimum": 0},
    )


def _document() -> _Schema:
    return _object(
        **_head("document"),
        source_sha256=_HASH,
        output=_NAME,
        status={"enum": ["ok", "degraded", "failed"]},
        repaired={"type": "boolean"},
        warnings=_NOTICES,
        pages=_COUNT,
        pages_total={"type": "integer", "minimum": 1},
        blank=_COUNT,
        degraded=_COUNT,
        failed=_COUNT,
        skipped=_COUNT,
        seconds=_AMOUNT,
        model=_optional(_object(id=_TEXT, sha256=_TEXT, dtype=_TEXT, device=_TEXT)),
        settings=_NAME,
        version=_TEXT,
    )


def _error() -> _Schema:
    codes = sorted(int(code) for code in ExitCode if code is not ExitCode.OK)
    return _object(**_head("error"), code={"enum": codes}, kind=_TEXT, message=_TEXT)
