"""Reads JSON files that others wrote: whatever is wrong with one ends in the same kind of error."""

import json
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Args:
        path: The file, in UTF-8.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no JSON, or too much of it; the message does not name the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("not valid JSON: nested too deeply") from error
    except ValueError as error:
        # Bytes that are no UTF-8 and numbers of thousands of digits come here as well.
        raise ValueError(f"not valid JSON: {error}") from error
