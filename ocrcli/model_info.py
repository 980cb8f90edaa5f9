"""What `ocrcli models info` shows: a model's files, what it reads and its settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ocrcli.errors import ModelError
from ocrcli.hub import local_model
from ocrcli.want_of_memory import loading_reported

READS_FILE = "reads.json"
"""File beside a model's weights that says what it was taught: names, each with a text or a list."""


def describe_model(path: Path | None) -> str:
    """Return what is known of a model, one fact per line.

    Args:
        path: Folder or safetensors file; None for the model that is shipped.

    Raises:
        ModelError: The model is missing or damaged.
    """
    from ocrcli.engine import GenerationLimits
    from ocrcli.models import CheckpointError, find_model, model_facts, read_config
    from ocrcli.open_settings import listed
    from ocrcli.raster import PageSize

    try:
        files = find_model(local_model(path))
        config = read_config(files)
        weights = model_facts(files)
    except (CheckpointError, OSError, ValueError) as error:
        raise ModelError(str(error)) from error
    lines = [f"model: {files.name}"]
    for file in weights:
        lines += [
            f"file: {file.path}",
            f"sha256: {file.sha256}",
            f"bytes: {file.size}",
            *(f"about.{key}: {value}" for key, value in sorted(file.metadata.items())),
        ]
    lines += _reads(files.config.with_name(READS_FILE))
    lines += [f"warning: unknown setting {key}" for key in config.unknown_keys]
    lines += _flat("config", asdict(config))
    lines += _flat(
        "reading",
        asdict(PageSize.full_color() if config.vision.image_channels == 3 else PageSize()),
    )
    lines += _flat("limits", asdict(GenerationLimits.for_model(config)))
    if config.attention == "dash" and not config.sparse.page_isolated:
        lines += listed(config.sparse)
    return "\n".join(lines)


def name_model(path: Path | None) -> str:
    """Return a model's name and the hashes of its weights, in one line.

    Args:
        path: Folder or safetensors file; None for the model that is shipped.

    Raises:
        ModelError: The model is missing or damaged.
    """
    from ocrcli.models import CheckpointError, find_model, model_facts

    try:
        files = find_model(local_model(path))
        hashes = [file.sha256 for file in model_facts(files)]
    except (CheckpointError, OSError) as error:
        raise ModelError(str(error)) from error
    return f"model: {files.name}, sha256 {'+'.join(hashes)}"


def list_models(chosen: Path | None) -> str:
    """Return the shipped model, and the one that is set, a line each.

    Args:
        chosen: What the settings name, or None.

    Raises:
        ModelError: A model is missing.
    """
    from ocrcli.models import CheckpointError, find_model

    lines = []
    for path in dict.fromkeys((None, chosen)):
        try:
            files = find_model(local_model(path))
        except (CheckpointError, OSError) as error:
            raise ModelError(str(error)) from error
        mark = "*" if path == chosen else " "
        size = sum(file.stat().st_size for file in files.weights)
        lines.append(f"{mark} {files.name}: {size / 1e6:.1f} MB, {files.weights[0].parent}")
    return "\n".join(lines)


def verify_model(path: Path | None) -> str:
    """Load a model and return what was found, one fact per line.

    Args:
        path: Folder or safetensors file; None for the model that is shipped.

    Raises:
        ModelError: The model is missing, damaged, or its parts do not fit.
    """
    from ocrcli.model_tokenizer import tokenizer_of
    from ocrcli.models import CheckpointError, load_model, model_facts

    try:
        with loading_reported():
            loaded = load_model(local_model(path))
        weights = model_facts(loaded.files)
    except (CheckpointError, OSError, ValueError) as error:
        raise ModelError(str(error)) from error
    tokenizer_of(loaded)
    lines = [f"model: {loaded.files.name}"]
    lines += [f"sha256: {file.sha256}  {file.path.name}" for file in weights]
    lines += [f"warning: unknown setting {key}" for key in loaded.config.unknown_keys]
    return "\n".join([*lines, "verified: all tensors are there and fit"])


def _reads(path: Path) -> Iterator[str]:
    """Yield what a model says of its reading; nothing if it says nothing."""
    from ocrcli.models.json_file import read_json

    try:
        fields = read_json(path)
        if not isinstance(fields, dict):
            raise ValueError(f"must hold an object, got {type(fields).__name__}")
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot be used: {error}", source=str(path)) from error
    for key, value in fields.items():
        yield f"reads.{key}: {_listed(value) if isinstance(value, list) else value}"


def _listed(values: Sequence[object]) -> str:
    items = [str(value) for value in values]
    return ("; " if any("," in item for item in items) else ", ").join(items)


def _flat(name: str, values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{name}.{key}", value)
        else:
            yield f"{name}.{key}: {value}"
