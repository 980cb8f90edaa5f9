"""What `ocrcli doctor` shows: everything that a report of a problem should tell."""

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from ocrcli import __version__
from ocrcli.settings import PROJECT_FILE, user_file

_PACKAGES = (
    *("torch", "numpy", "pymupdf", "pillow", "safetensors", "tokenizers", "typer", "rich"),
    *("pi-heif", "triton", "flashinfer-python"),
)
_FLAGS = ("avx2", "avx512f", "avx512_vnni", "amx_tile", "asimd", "sve")


def diagnosis(model: Path | None) -> str:
    """Return versions, devices, instruction sets, the model and the settings files.

    Args:
        model: The model that is set, or None for the one that is shipped.

    Raises:
        ModelError: The model is missing or damaged.
    """
    from ocrcli.model_info import verify_model

    lines = [
        f"ocrcli: {__version__}",
        f"python: {platform.python_version()}",
        f"platform: {platform.platform()}",
        *_versions(),
        *_devices(),
        f"instruction sets: {_instruction_sets()}",
        f"user settings: {_presence(user_file(os.environ))}",
        f"project settings: {_presence(Path(PROJECT_FILE))}",
        "cache: none is kept",
    ]
    return "\n".join([*lines, verify_model(model)])


def _versions() -> Iterator[str]:
    for package in _PACKAGES:
        try:
            yield f"{package}: {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{package}: not installed"


def _devices() -> Iterator[str]:
    import torch

    yield f"cpus: {os.cpu_count()}, {torch.get_num_threads()} threads"
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            yield f"cuda {index}: {torch.cuda.get_device_name(index)}"
    else:
        yield "cuda: not available"


def _instruction_sets() -> str:
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return "unknown"
    return ", ".join(flag for flag in _FLAGS if flag in words) or "none of note"


def _presence(path: Path) -> str:
    return f"{path} ({'read' if path.is_file() else 'absent'})"
