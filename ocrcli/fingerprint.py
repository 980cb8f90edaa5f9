"""One hash for everything but the input that an output depends on."""

import hashlib
from importlib import resources
from pathlib import Path

from ocrcli import __version__
from ocrcli.errors import ModelError
from ocrcli.options import Options
from ocrcli.paths import is_folder

_SETTINGS = (
    "pages",
    "figures",
    "format",
    "device",
    "dtype",
    "max_tokens",
    "mode",
    "pages_per_window",
    "max_crops",
    "no_repeat_ngram",
    "instruction",
    "rotate",
    "attempts",
    "strict",
    "all_frames",
    "max_pixels",
    "split_pages",
    "page_marks",
    "layout",
    "dehyphenate",
    "tables",
    "math",
    "headers",
    "raw",
    "text_layer",
)
"""Time limits, jobs, threads and the like change when work is done, not what comes out."""

_MODEL_FILES = ("config.json", "tokenizer.json", "model.safetensors.index.json")


def fingerprint(options: Options) -> str:
    """Return a hash of the program's version, the model's files and the settings that matter.

    Args:
        options: The settings.

    Raises:
        ModelError: The model's files cannot be read.
    """
    whole = hashlib.sha256(f"ocrcli {__version__}".encode())
    for name in _SETTINGS:
        whole.update(f"\0{name}={getattr(options, name)!r}".encode())
    try:
        for path in _files(options.model):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"\0{path.name}={digest}".encode())
    except OSError as error:
        raise ModelError(
            f"cannot be read: {error.strerror or error}", source=str(options.model)
        ) from error
    return f"sha256:{whole.hexdigest()}"


def _files(model: Path | None) -> list[Path]:
    if model is None:
        model = Path(str(resources.files("ocrcli.models.small")))
    folder = model if is_folder(model) else model.parent
    weights = sorted(folder.glob("*.safetensors")) if is_folder(model) else [model]
    return [*(path for name in _MODEL_FILES if (path := folder / name).is_file()), *weights]
