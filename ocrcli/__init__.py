"""Command-line OCR with its own engine: `transcribe` is the way in from Python.

Importing this package is cheap: PyTorch and the readers of files are loaded by the first use.
"""

from typing import TYPE_CHECKING

from ocrcli.document import Block, Document, Page, PageStatus
from ocrcli.options import Options

if TYPE_CHECKING:
    from ocrcli.pipeline import transcribe

__version__ = "0.1.0"

__all__ = ["Block", "Document", "Options", "Page", "PageStatus", "__version__", "transcribe"]


def __getattr__(name: str) -> object:
    """Load what needs PyTorch when it is asked for."""
    if name == "transcribe":
        from ocrcli.pipeline import transcribe

        return transcribe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
