"""Architectures and weights; the folder `models/` is imported as `ocrcli.models` and nothing else.

The names below are loaded on first use, so that importing the package does not import torch.
"""

from importlib import import_module
from typing import Any

if __name__ != "ocrcli.models":
    raise ImportError("import this package as ocrcli.models")

_HOMES = {
    "CheckpointError": "checkpoint",
    "LoadedModel": "loading",
    "ModelFiles": "loading",
    "find_model": "loading",
    "load_model": "loading",
    "model_facts": "loading",
    "read_config": "loading",
}

__all__ = [
    "CheckpointError",
    "LoadedModel",
    "ModelFiles",
    "find_model",
    "load_model",
    "model_facts",
    "read_config",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
