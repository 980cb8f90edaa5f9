"""What `ocrcli models info` shows: a model's files, its own description and its settings."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from ocrcli.errors import ModelError
from ocrcli.hub import local_model


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
    lines += _flat("config", asdict(config))
    lines += _flat(
        "reading",
        asdict(PageSize.full_color() if config.vision.image_channels == 3 else PageSize()),
    )
    lines += _flat("limits", asdict(GenerationLimits.for_model(config)))
    if config.attention == "dash" and not config.sparse.page_isolated:
        lines += listed(config.sparse)
        lines += [f"unread.{key}" for key in config.unknown_keys]
    return "\n".join(lines)


def _flat(name: str, values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{name}.{key}", value)
        else:
            yield f"{name}.{key}: {value}"
