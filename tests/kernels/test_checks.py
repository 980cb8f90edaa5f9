"""Argument errors name the argument, what was expected and what came."""

import pytest
import torch

from ocrcli.kernels.checks import check_tensor


def test_matching_tensor_passes() -> None:
    check_tensor("x", torch.zeros(2, 3, 3), (2, "S", "S"), torch.float32)
    check_tensor("x", torch.zeros(2, 3), (None, 3), (torch.int64, torch.float32))
    check_tensor("x", torch.zeros(2), ("T",))


@pytest.mark.parametrize("shape", [("S",), (3, 3), ("S", "S"), (2, 3, None)])
def test_wrong_shape_is_named(shape: tuple[int | str | None, ...]) -> None:
    with pytest.raises(ValueError, match=r"^block_table must have shape \[.*\], got \[2, 3\]"):
        check_tensor("block_table", torch.zeros(2, 3), shape)


def test_wrong_dtype_is_named() -> None:
    with pytest.raises(ValueError, match=r"^real must be torch\.bool, got torch\.float32"):
        check_tensor("real", torch.zeros(2), ("S",), torch.bool)
    with pytest.raises(ValueError, match=r"^x must be torch\.int64 or torch\.int32"):
        check_tensor("x", torch.zeros(2), ("S",), (torch.int64, torch.int32))


def test_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^roles must be a torch\.Tensor, got list"):
        check_tensor("roles", [0, 1], ("S",))  # type: ignore[arg-type]
