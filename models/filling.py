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

    def __init__(
        self, model: nn.Module, dtype: torch.dtype, checks_copies: bool | None = None
    ) -> None:
        """Start with nothing filled.

        Args:
            model: On the device where the weights shall lie.
            dtype: Floating-point type that its parameters shall have.
            checks_copies: Whether values that need no conversion are looked at where they arrive;
                None for only on a GPU. There it takes no time, while the processor would read every
                file twice. On a CPU what is copied may lie by columns and be slow to look at.
        """
        self._dtype = dtype
        if checks_copies is None:
            checks_copies = any(param.is_cuda for param in model.parameters())
        self._checks_copies = checks_copies
        self._scales = {
            f"{name}.weight": module.scale
            for name, module in model.named_modules()
            if isinstance(module, Int8Linear)
        }
        own = {id(scale) for scale in self._scales.values()}
        self.wanted = {
            name: param for name, param in model.named_parameters() if id(param) not in own
        }
        self._filled: dict[str, set[int]] = {name: set() for name in self.wanted}
        self._num_parts = dict.fromkeys(self.wanted, 1)

    def missing(self) -> list[str]:
        """Return the parameters that are not filled, or only in part."""
        return sorted(
            name for name, parts in self._filled.items() if len(parts) < self._num_parts[name]
        )

    def put(self, place: Placement, value: Tensor) -> Tensor:
        """Convert a piece and write it to its place.

        Args:
            place: Names a parameter of `wanted`.
            value: Floating-point values, in main memory.

        Returns:
            Whether all values are finite, bool [], on the device of the model. Asking for each is
            waiting for each copy to a GPU, so callers ask for many at once.

        Raises:
            ValueError: The shape is wrong, or the place is filled already; the message completes a
                sentence that begins with the tensor's name.
        """
        param = self.wanted[place.target]
        if param.dim() == 1 and value.dim() == 2 and value.shape[0] == 1:
            value = value[0]
        rows = param.shape[0] // place.num_parts
        if value.shape != (wanted := (rows, *param.shape[1:])):
            raise ValueError(
                f"must have shape {wanted} by the configuration, got {tuple(value.shape)}"
            )
        if place.part in self._filled[place.target]:
            raise ValueError(f"holds what another tensor has put into {place.target}; remove one")
        if param.dtype not in (self._dtype, torch.int8):
            param.data = torch.empty_like(param, dtype=self._dtype)
        finite = torch.ones((), dtype=torch.bool, device=param.device)
        step = max(1, _ROWS_AT_ONCE // max(value[:1].numel(), 1))
        for start in range(0, rows, step):
            part = value[start : start + step]
            finite = finite & self._write(place.target, place.part * rows + start, part)
        self._filled[place.target].add(place.part)
        self._num_parts[place.target] = place.num_parts
        return finite

    def _write(self, name: str, row: int, part: Tensor) -> Tensor:
        """Write some rows and return whether they are finite."""
        target = self.wanted[name].data[row : row + part.shape[0]]
        if self._checks_copies and target.dtype == part.dtype:
            target.copy_(part)
            return _are_finite(target)
        finite = _are_finite(part).to(target.device)
        if target.dtype == torch.int8:
            part, scale = quantised_rows(part)
            self._scales[name].data[row : row + part.shape[0]].copy_(scale)
        target.copy_(part)
        return finite


def _are_finite(values: Tensor) -> Tensor:
    # NaN reaches both ends too, and this reads the values once.
    return torch.stack(values.aminmax()).isfinite().all()
