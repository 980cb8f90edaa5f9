"""Safetensors in, parameters out: strict names, int8 matrices, readable errors."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ocrcli.models.filling import Filling
from ocrcli.models.placement import Placement

# An int8 matrix W is stored as integers Q and one float32 scale per output row: W = Q * scale.
SCALE_SUFFIX = ".scale"
_LFS_HEAD = b"version https://git-lfs"
# The published encoder carries a patch convolution that its own forward pass never uses.
_UNUSED = ("model.vision_model.embeddings.patch_embedding.weight",)
# Re-exported files may list buffers such as position ids, which hold no weights.
_BUFFER_TYPES = ("I64", "I32", "BOOL")
# Floats of 8 bits and less are left out: without the scales they were made with they mean nothing.
_WEIGHT_TYPES = ("F64", "F32", "F16", "BF16", "I8")


class CheckpointError(Exception):
    """Weights that are missing, damaged or of another shape than the configuration says."""


@dataclass(frozen=True)
class CheckpointFile:
    """What a checkpoint file says about itself.

    Attributes:
        path: The safetensors file.
        sha256: Hash of the whole file.
        size: Bytes.
        metadata: Strings from the file's header.
    """

    path: Path
    sha256: str
    size: int
    metadata: dict[str, str]


def describe(path: Path) -> CheckpointFile:
    """Return hash, size and metadata of a safetensors file.

    Raises:
        CheckpointError: The file is missing or no safetensors file.
    """
    metadata = weights_metadata(path)
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return CheckpointFile(path, digest.hexdigest(), path.stat().st_size, metadata)


def weights_metadata(path: Path) -> dict[str, str]:
    """Return the strings in the header of a safetensors file.

    Raises:
        CheckpointError: The file is missing or no safetensors file.
    """
    with _opened(path) as file:
        return dict(file.metadata() or {})


def check_fetched(path: Path) -> None:
    """Refuse a file that cannot be read, or that git has not fetched yet.

    Args:
        path: Any file of a model.

    Raises:
        CheckpointError: It is one of these.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_LFS_HEAD))
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from error
    if head == _LFS_HEAD:
        raise CheckpointError(
            f"{path}: is a git-lfs pointer, not the file it stands for; run: git lfs pull"
        )


def tensor_shapes(paths: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor in some files, read from their headers.

    Raises:
        CheckpointError: A file is missing or damaged.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for path in paths:
        with _opened(path) as file:
            names = list(file.keys())
            shapes |= {name: tuple(file.get_slice(name).get_shape()) for name in names}
    return shapes


def mean_of(paths: Iterable[Path], names: Iterable[str]) -> float:
    """Return the mean of all values of some small tensors, 0 without any.

    Raises:
        CheckpointError: A file is missing or damaged, or a tensor is of an unusable type.
    """
    wanted, values = set(names), []
    for path in paths:
        with _opened(path) as file:
            found = sorted(wanted & set(file.keys()))
            values += [_stored(path, file, name).float() for name in found]
    return float(torch.cat([value.flatten() for value in values]).mean()) if values else 0.0


def load_weights(
    model: nn.Module,
    paths: Iterable[Path],
    dtype: torch.dtype,
    optional: Iterable[str] = (),
    routes: Mapping[str, tuple[Placement, ...]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[str, ...]:
    """Fill `model` from safetensors files, tensor by tensor.

    The files are mapped into memory, so beside the model itself there is never more than a piece
    of one tensor.

    Args:
        model: The model, on the device the weights shall go to.
        paths: One file, or all shards.
        dtype: Type that floating-point tensors are converted to; int8 matrices are expanded to it.
            Parameters of type int8 get one scale per row instead.
        optional: Beginnings of parameter names that the files may leave out all together.
        routes: Where tensors go that are not stored under the name of their parameter.
        progress: Told how many bytes of the files have been read since the last call.

    Returns:
        The entries of `optional` that were left out; their parameters hold nothing.

    Raises:
        CheckpointError: A file is missing or damaged, a tensor is missing, unknown, misshapen or of
            an unusable type.
    """
    paths = list(paths)
    filling = Filling(model, dtype)
    unexpected: list[str] = []
    seen: set[str] = set()
    for path in paths:
        checks: list[tuple[str, Tensor]] = []
        with _opened(path) as file:
            names = set(file.keys())
            for name in sorted(names):
                if name.endswith(SCALE_SUFFIX) and name[: -len(SCALE_SUFFIX)] in names:
                    continue
                places = (routes or {}).get(name, (Placement(name),))
                if not all(place.target in filling.wanted for place in places):
                    buffer = file.get_slice(name).get_dtype() in _BUFFER_TYPES
                    if places[0].target not in _UNUSED and not buffer:
                        unexpected.append(name)
                    continue
                if name in seen:
                    raise CheckpointError(f"{path.name}: tensor {name} is in two files")
                seen.add(name)
                stored = _stored(path, file, name)
                scale = name + SCALE_SUFFIX
                value = _expanded(
                    path, name, stored, _stored(path, file, scale) if scale in names else None
                )
                for place in places:
                    try:
                        piece = value[place.source] if place.source else value
                        checks.append((name, filling.put(place, piece)))
                    except ValueError as error:
                        raise CheckpointError(f"{path.name}: tensor {name} {error}") from error
                if progress is not None:
                    progress(stored.nbytes)
        _check_finite(path, checks)
    missing = filling.missing()
    left_out = []
    for prefix in optional:
        part = {name for name in filling.wanted if name.startswith(prefix)}
        if part and part <= set(missing):
            missing = [name for name in missing if name not in part]
            left_out.append(prefix)
    faults = [_listed("missing tensor", missing)] if missing else []
    faults += [_listed("unexpected tensor", unexpected)] if unexpected else []
    if faults:
        where = ", ".join(path.name for path in paths)
        raise CheckpointError(f"{where}: {'; '.join(faults)}; do weights and config.json match?")
    return tuple(left_out)


def _check_finite(path: Path, checks: list[tuple[str, Tensor]]) -> None:
    """Raise for the first tensor whose flag is false; waits for a GPU once."""
    flags = torch.stack([flag for _, flag in checks]).tolist() if checks else []
    for (name, _), is_finite in zip(checks, flags, strict=True):
        if not is_finite:
            raise CheckpointError(f"{path.name}: tensor {name} holds values that are not finite")


def _stored(path: Path, file: safe_open, name: str) -> Tensor:
    # Asked of the header, since PyTorch does not know every type that a file may name.
    kind = file.get_slice(name).get_dtype()
    if kind not in _WEIGHT_TYPES:
        raise CheckpointError(
            f"{path.name}: tensor {name} has unusable type {kind}; convert it to F32, F16 or BF16"
        )
    return file.get_tensor(name)


def _expanded(path: Path, name: str, value: Tensor, scale: Tensor | None) -> Tensor:
    if value.dtype == torch.int8:
        if scale is None:
            raise CheckpointError(f"{path.name}: int8 tensor {name} has no {name}{SCALE_SUFFIX}")
        if scale.shape != value.shape[:1]:
            raise CheckpointError(
                f"{path.name}: {name}{SCALE_SUFFIX} must hold one value per row of {name} "
                f"({value.shape[:1].numel()}), got shape {tuple(scale.shape)}"
            )
        return value.float() * scale.float().view(-1, *[1] * (value.dim() - 1))
    if scale is not None:
        raise CheckpointError(
            f"{path.name}: {name}{SCALE_SUFFIX} belongs to an int8 tensor, but {name} has type "
            f"{value.dtype}"
        )
    return value


def _listed(what: str, names: list[str]) -> str:
    shown = ", ".join(names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{what} {shown}{more}"


def _opened(path: Path) -> safe_open:
    if not path.is_file():
        raise CheckpointError(f"{path}: no such weights file")
    check_fetched(path)
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not a whole safetensors file: {error}") from error
