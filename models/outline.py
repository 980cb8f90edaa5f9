"""Modules in outline: names, shapes and types, but neither memory nor initial values.

A module that is about to be filled from files needs no random numbers. On the meta device they
would be drawn for nothing, and PyTorch loads its compiler first to do so, which takes seconds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import init
from torch.overrides import TorchFunctionMode

_INITIALISERS = frozenset(
    (
        init.kaiming_normal_,
        init.kaiming_uniform_,
        init.normal_,
        init.trunc_normal_,
        init.uniform_,
        init.xavier_normal_,
        init.xavier_uniform_,
    )
)


class _NoInitialValues(TorchFunctionMode):
    """Turns the initialisers of `torch.nn.init` into functions that do nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call any function but an initialiser, which returns its tensor as it is."""
        kwargs = kwargs or {}
        if func in _INITIALISERS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def in_outline() -> Iterator[None]:
    """Let modules that are made inside have parameters on the meta device, without values.

    Example:
        >>> with in_outline():
        ...     layer = torch.nn.Linear(3, 2)
        >>> layer.weight.device.type, tuple(layer.weight.shape)
        ('meta', (2, 3))
    """
    with torch.device("meta"), _NoInitialValues():
        yield


def give_memory(module: nn.Module, device: torch.device | str) -> None:
    """Give the parameters that have none yet memory without values, in place.

    Args:
        module: In outline, at least in part; parameters in memory stay where they are.
        device: Where the memory is taken.
    """
    for child in module.modules():
        for name, param in list(child.named_parameters(recurse=False)):
            if param.is_meta:
                values = torch.empty_like(param, device=device)
                setattr(child, name, nn.Parameter(values, requires_grad=param.requires_grad))
