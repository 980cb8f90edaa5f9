"""Puts stored tensors into a model's parameters and keeps account of what is still missing."""

import torch
from torch import Tensor, nn

from ocrcli.models.layers.int8_linear import Int8Linear, quantised_rows
from ocrcli.models.placement import Placement

_ROWS_AT_ONCE = 1 << 24
"""Values converted in one go, at most; bounds the memory beside the model."""


class Filling:
    """A model whose parameters get their values one by one.

    Attributes:
        wanted: The parameters that are stored in checkpoints, by name.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        """Start with nothing filled.

        Args:
            model: On the device where the weights shall lie.
            dtype: Floating-point type that its parameters shall have.
        """
        self._dtype = dtype
        self._scales = {
            f"{name}.weight": module.scale
            for name, module in model.named_modules()
            if isinstance(module, Int8Linear)
        }
        own = {id(scale) for scale in self._scales.values()}
        self.wanted = {
            name: param for name, param in model.named_parameters() if id(param) not in own
        }
        self._rows_left = {name: param.shape[0] for name, param in self.wanted.items()}

    def missing(self) -> list[str]:
        """Return the parameters that are not filled, or only in part."""
        return sorted(name for name, left in self._rows_left.items() if left > 0)

    def put(self, place: Placement, value: Tensor) -> None:
        """Convert a piece and write it to its place.

        Args:
            place: Names a parameter of `wanted`.
            value: Floating-point values.

        Raises:
            ValueError: The shape is wrong, or a value is not finite; the message completes a
                sentence that begins with the tensor's name.
        """
        param = self.wanted[place.target]
        if param.dim() == 1 and value.dim() == 2 and value.shape[0] == 1:
            value = value[0]
        rows = value.shape[0] if value.dim() else 0
        fits = value.shape[1:] == param.shape[1:] and place.row + rows <= param.shape[0]
        if not fits or (place.is_whole and value.shape != param.shape):
            raise ValueError(
                f"must have shape {tuple(param.shape)} by the configuration, got "
                f"{tuple(value.shape)}"
            )
        if param.dtype not in (self._dtype, torch.int8):
            param.data = torch.empty_like(param, dtype=self._dtype)
        step = max(1, _ROWS_AT_ONCE // max(value[0].numel(), 1))
        for start in range(0, rows, step):
            part = value[start : start + step]
            # NaN reaches both ends too, and this reads the part once.
            if not all(torch.isfinite(end) for end in part.aminmax()):
                raise ValueError("holds values that are not finite")
            self._write(place.target, place.row + start, part)
        self._rows_left[place.target] -= rows

    def _write(self, name: str, row: int, part: Tensor) -> None:
        target = self.wanted[name].data[row : row + part.shape[0]]
        if target.dtype == torch.int8:
            part, scale = quantised_rows(part)
            self._scales[name].data[row : row + part.shape[0]].copy_(scale)
        target.copy_(part)
