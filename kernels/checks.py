"""The one check of tensor arguments, so that every op reports a wrong shape in the same words."""

from collections.abc import Sequence

import torch

INTEGER_DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
FLOAT_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def check_tensor(
    name: str,
    tensor: torch.Tensor,
    shape: Sequence[int | str | None],
    dtype: torch.dtype | tuple[torch.dtype, ...] | None = None,
) -> None:
    """Return nothing when `tensor` has the expected rank, sizes and dtype.

    Only metadata is read, so the check costs about a microsecond and never waits for a device.

    Args:
        name: Argument name as the caller knows it; it opens the error message.
        tensor: The tensor to look at.
        shape: One entry per dimension. An int must match exactly. A str names a free dimension; two
            equal names must have equal sizes. None is a free dimension without a name.
        dtype: The dtype, or the dtypes, that are accepted; None accepts all.

    Raises:
        ValueError: `tensor` is not a tensor, or its shape or dtype is not the expected one.
    """
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if not _shape_matches(tensor.shape, shape):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{name} must have shape [{wanted}], got {list(tensor.shape)}; "
            "check the sizes against the other arguments"
        )
    if dtype is None or tensor.dtype == dtype:
        return
    accepted = dtype if isinstance(dtype, tuple) else (dtype,)
    if tensor.dtype not in accepted:
        names = " or ".join(str(each) for each in accepted)
        raise ValueError(f"{name} must be {names}, got {tensor.dtype}; convert it before the call")


def _shape_matches(actual: Sequence[int], expected: Sequence[int | str | None]) -> bool:
    if len(actual) != len(expected):
        return False
    named: dict[str, int] = {}
    for size, want in zip(actual, expected, strict=True):
        if isinstance(want, str):
            if named.setdefault(want, size) != size:
                return False
        elif want is not None and want != size:
            return False
    return True
