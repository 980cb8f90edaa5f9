"""Rotary embedding on two axes, token and page, and the coordinates that it turns by."""

import torch

from ocrcli.kernels.checks import FLOAT_DTYPES, check_tensor
from ocrcli.kernels.page_rope.coordinates import (
    IMAGE,
    PADDING,
    PAGE,
    TEXT,
    PageCoordinates,
    line_coordinates,
    page_coordinates,
)
from ocrcli.kernels.page_rope.naive import RopeSettings, apply_rope_naive, rope_tables_naive

__all__ = [
    "IMAGE",
    "PADDING",
    "PAGE",
    "TEXT",
    "PageCoordinates",
    "RopeSettings",
    "apply_rope",
    "line_coordinates",
    "page_coordinates",
    "page_rope",
    "rope_tables",
]


def rope_tables(
    token: torch.Tensor, page: torch.Tensor, dim: int, settings: RopeSettings
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of every phase: `phase = cat(a, a)`, `a = cat(token * f_t, page * f_p)`.

    All layers share one pair of tables, so build it once per step.

    Args:
        token: [T] integer token coordinates.
        page: [T] integer page coordinates.
        dim: Size of the vectors to turn; even, and at least 2 * settings.page_pairs.
        settings: Shares of the two axes and their frequencies.

    Returns:
        (cos, sin), each fp32 [T, dim].

    Raises:
        ValueError: A shape does not fit, or `dim` cannot be split as the settings ask.

    Source:
        vLLM `dash_attention.py`, `page_rope`.
    """
    check_tensor("token", token, ("T",))
    check_tensor("page", page, (token.shape[0],))
    if dim % 2 or dim < 2 * settings.page_pairs:
        raise ValueError(
            f"dim must be even and at least 2 * page_pairs = {2 * settings.page_pairs}, got {dim}"
        )
    return rope_tables_naive(token, page, dim, settings)


def apply_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return `x * cos + cat(-x2, x1) * sin`, where x1 and x2 are the halves of `x`.

    Args:
        x: [T, dim] or [T, H, dim], floating.
        cos: [T, dim] from `rope_tables`; cast to the dtype of `x` before the product.
        sin: [T, dim] likewise.

    Returns:
        Shape and dtype of `x`.

    Raises:
        ValueError: A shape does not fit.

    Source:
        vLLM `dash_attention.py`, `page_rope`.
    """
    if x.dim() == 2:
        check_tensor("x", x, ("T", "dim"), FLOAT_DTYPES)
    else:
        check_tensor("x", x, ("T", "H", "dim"), FLOAT_DTYPES)
    check_tensor("cos", cos, (x.shape[0], x.shape[-1]))
    check_tensor("sin", sin, (x.shape[0], x.shape[-1]))
    return apply_rope_naive(x, cos, sin)


def page_rope(
    x: torch.Tensor, token: torch.Tensor, page: torch.Tensor, settings: RopeSettings
) -> torch.Tensor:
    """Return `x` turned by its token and page coordinates: `rope_tables` and `apply_rope` in one.

    Args:
        x: [T, dim] or [T, H, dim], floating.
        token: [T] integer token coordinates.
        page: [T] integer page coordinates.
        settings: Shares of the two axes and their frequencies.

    Returns:
        Shape and dtype of `x`.

    Raises:
        ValueError: A shape does not fit.

    Example:
        >>> page_rope(torch.ones(1, 4), torch.tensor([0]), torch.tensor([0]), RopeSettings())
        tensor([[1., 1., 1., 1.]])
    """
    cos, sin = rope_tables(token, page, x.shape[-1], settings)
    return apply_rope(x, cos, sin)
