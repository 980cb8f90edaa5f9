"""Matrices laid out column by column, which a CPU multiplies with one vector at a time faster.

A step of decoding reads every weight once. With rows in a row, the library for matrix products
reads them well below the speed of memory; with columns in a row, it adds up whole columns and comes
near to it. The longer the columns the nearer, so matrices that are given the same vector share one
buffer and are multiplied as one. Values and shapes stay what they are, only the strides change.
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def use_column_order(module: nn.Module) -> None:
    """Lay out the bias-free linear layers below `module`, in place.

    Args:
        module: A module that is about to be filled; values that it holds are lost.
    """
    for child in module.modules():
        if type(child) is nn.Linear and child.bias is None:
            rows, columns = child.weight.shape
            weight = torch.empty(
                columns, rows, dtype=child.weight.dtype, device=child.weight.device
            )
            child.weight = nn.Parameter(weight.t())


def join_columns(module: nn.Module) -> None:
    """Give matrices in column order that are multiplied with the same vectors one buffer, in place.

    Which ones these are is said by `SAME_INPUT` of a submodule, the names of its linear layers.

    Args:
        module: A module in memory that is about to be filled; values that it holds are lost.
    """
    for child in module.modules():
        layers = [getattr(child, name) for name in getattr(child, "SAME_INPUT", ())]
        if not layers or not all(_is_in_columns(layer) for layer in layers):
            continue
        first = layers[0].weight
        rows = [layer.weight.shape[0] for layer in layers]
        whole = torch.empty(first.shape[1], sum(rows), dtype=first.dtype, device=first.device)
        for layer, part in zip(layers, whole.split(rows, 1), strict=True):
            layer.weight = nn.Parameter(part.t())


def apply_all(layers: Sequence[nn.Module], x: Tensor) -> Sequence[Tensor]:
    """Return what each of several linear layers makes of the same vectors.

    Args:
        layers: Bias-free linear layers, multiplied as one where `join_columns` joined them.
        x: The vectors, [..., width].
    """
    linear = cast(Sequence[nn.Linear], layers)
    whole = _whole(linear)
    if whole is None:
        return [layer(x) for layer in layers]
    return F.linear(x, whole).split([layer.out_features for layer in linear], -1)


def _is_in_columns(layer: nn.Module) -> bool:
    return type(layer) is nn.Linear and layer.bias is None and layer.weight.stride(0) == 1


def _whole(layers: Sequence[nn.Linear]) -> Tensor | None:
    """Return the matrix [sum of rows, columns] that adjacent ones are parts of, or None."""
    first = layers[0].weight
    # Rows in a row are the rule; nothing more is asked of them.
    if first.stride(0) != 1:
        return None
    rows, place, strides = 0, first.data_ptr(), first.stride()
    for layer in layers:
        weight = layer.weight
        if weight.stride() != strides or weight.data_ptr() != place + rows * weight.itemsize:
            return None
        rows += weight.shape[0]
    if rows != strides[1]:
        return None
    return first.as_strided((rows, first.shape[1]), strides)
