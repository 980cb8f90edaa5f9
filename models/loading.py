"""Finds a model's files, builds the model and fills it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import torch

from ocrcli.models.checkpoint import (
    CheckpointError,
    CheckpointFile,
    check_fetched,
    describe,
    load_weights,
    mean_of,
    tensor_shapes,
    weights_metadata,
)
from ocrcli.models.json_file import read_json
from ocrcli.models.layers.column_order import join_columns, use_column_order
from ocrcli.models.layers.int8_linear import use_int8
from ocrcli.models.layers.mlp import MixtureOfExperts
from ocrcli.models.outline import give_memory, in_outline
from ocrcli.models.unlimited_ocr.config import ConfigError, ModelConfig, WeightFacts
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.models.unlimited_ocr.tensor_names import placements, router_width

_WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class ModelFiles:
    """Where the parts of one model lie.

    Attributes:
        name: What to call it: "small" for the shipped model, otherwise the path.
        config: `config.json`.
        tokenizer: `tokenizer.json`.
        weights: One safetensors file, or all shards.
    """

    name: str
    config: Path
    tokenizer: Path
    weights: tuple[Path, ...]


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, and the files it came from."""

    model: UnlimitedOcr
    config: ModelConfig
    files: ModelFiles


def find_model(path: Path | None = None) -> ModelFiles:
    """Return the files of a model.

    Args:
        path: A folder with `config.json`, `tokenizer.json` and weights, or a weights file in such a
            folder; None for the shipped small model.

    Raises:
        CheckpointError: A file is missing, or stands for another that git has not fetched.
    """
    if path is None:
        folder = Path(str(resources.files("ocrcli.models.small")))
        return _complete("small", folder, (folder / _WEIGHTS,))
    if path.is_file():
        return _complete(str(path), path.parent, (path,))
    if not path.is_dir():
        raise CheckpointError(f"{path}: no such model folder or weights file")
    index = path / _INDEX
    if index.is_file():
        check_fetched(index)
        try:
            shards = sorted(set(read_json(index)["weight_map"].values()))
            weights = tuple(path / shard for shard in shards)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise CheckpointError(f"{index}: not a shard index: {error}") from error
        if not weights:
            raise CheckpointError(f"{index}: names no shard")
        return _complete(str(path), path, weights)
    return _complete(str(path), path, (path / _WEIGHTS,))


def _complete(name: str, folder: Path, weights: tuple[Path, ...]) -> ModelFiles:
    files = ModelFiles(name, folder / "config.json", folder / "tokenizer.json", weights)
    for file in (files.config, files.tokenizer, *weights):
        if not file.is_file():
            raise CheckpointError(f"{file}: no such file; a model needs it")
        check_fetched(file)
    return files


def read_config(files: ModelFiles) -> ModelConfig:
    """Return the configuration of a model, completed by what its weights say.

    Raises:
        CheckpointError: A file is damaged, or a value cannot be used.
    """
    try:
        ModelConfig.from_file(files.config)
        facts = _weight_facts(files)
        config = ModelConfig.from_file(files.config, facts)
        config.tokens.check(config.decoder.vocab_size)
        return config
    except (ConfigError, OSError) as error:
        raise CheckpointError(f"{files.config}: {error}") from error


def _weight_facts(files: ModelFiles) -> WeightFacts:
    try:
        dim, norms = router_width(tensor_shapes(files.weights))
    except ConfigError as error:
        raise CheckpointError(f"{_weights_named(files)}: {error}") from error
    return WeightFacts(dim, mean_of(files.weights, norms))


def _weights_named(files: ModelFiles) -> str:
    return ", ".join(path.name for path in files.weights)


def load_model(
    path: Path | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    int8: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> LoadedModel:
    """Return a model in evaluation mode.

    Args:
        path: See `find_model`.
        device: Where the weights go.
        dtype: Floating-point type to compute in.
        int8: Whether the decoder's matrices are kept as 8-bit integers. Routers, expert gates,
            embeddings and the image encoder stay in `dtype`.
        progress: Told how many bytes have been read so far, and of how many.

    Raises:
        CheckpointError: Files are missing, damaged or do not fit the configuration.

    Example:
        >>> load_model().config.decoder.num_layers
        6
    """
    files = find_model(path)
    config = read_config(files)
    _check_tokenizer(files)
    with in_outline():
        # Typed before it gets memory, so that half precision never needs room for float32.
        model = UnlimitedOcr(config).to(dtype)
        if int8:
            use_int8(model.model.layers, skipped=("router", "gate"))
        if torch.device(device).type == "cpu" and not config.sparse.page_isolated:
            use_column_order(model.model.layers)
            if not config.decoder.tie_word_embeddings:
                use_column_order(model.lm_head)
    if torch.device(device).type != "cpu":
        for layer in model.modules():
            if isinstance(layer, MixtureOfExperts):
                layer.stack_experts(device)
    give_memory(model, device)
    join_columns(model.model.layers)
    try:
        routes = placements(tensor_shapes(files.weights), config)
    except ConfigError as error:
        raise CheckpointError(f"{_weights_named(files)}: {error}") from error
    count = _counted(files, progress)
    if load_weights(model, files.weights, dtype, UnlimitedOcr.OPTIONAL_PARTS, routes, count):
        model.drop_orientation_head()
    return LoadedModel(model.eval().requires_grad_(False), config, files)


def _check_tokenizer(files: ModelFiles) -> None:
    """Refuse a tokenizer other than the one that the weights say they were trained with.

    Every id would stand for another piece of text, and the output would be fluent and wrong.
    """
    wanted = weights_metadata(files.weights[0]).get("tokenizer_sha256")
    if wanted is None:
        return
    found = hashlib.sha256(files.tokenizer.read_bytes()).hexdigest()
    if found != wanted:
        raise CheckpointError(
            f"{files.tokenizer}: sha256 is {found} but {files.weights[0].name} was trained with "
            f"{wanted}; restore the tokenizer that came with the weights"
        )


def _counted(
    files: ModelFiles, progress: Callable[[int, int], None] | None
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    total, read = sum(path.stat().st_size for path in files.weights), 0

    def count(size: int) -> None:
        nonlocal read
        read += size
        progress(min(read, total), total)

    return count


def model_facts(files: ModelFiles) -> list[CheckpointFile]:
    """Return hash, size and metadata of each weights file."""
    return [describe(path) for path in files.weights]
