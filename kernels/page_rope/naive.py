"""Two-axis rotary embedding in plain PyTorch: the reference, and the path on every device."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch


@dataclass(frozen=True)
class RopeSettings:
    """How the rotation pairs of a head are shared out between the two axes.

    Attributes:
        page_pairs: Number of pairs, the last ones, that turn with the page coordinate.
        token_theta: Base of the token frequencies.
        page_theta: Base of the page frequencies.
        token_frequency: "stretch" spreads the token frequencies over the pairs left for tokens;
            "truncate" keeps the frequencies of a one-axis embedding and drops the slowest.
        page_modulus: The page coordinate is taken modulo this number; 0 leaves it as it is.

    Raises:
        ValueError: A value is out of range.
    """

    page_pairs: int = 1
    token_theta: float = 10000.0
    page_theta: float = 256.0
    token_frequency: Literal["stretch", "truncate"] = "stretch"
    page_modulus: int = 0

    def __post_init__(self) -> None:
        """Reject values that have no meaning."""
        if self.page_pairs < 0:
            raise ValueError(f"page_pairs must be 0 or more, got {self.page_pairs}")
        if self.token_theta <= 0 or self.page_theta <= 0:
            raise ValueError(
                f"token_theta and page_theta must be positive, got {self.token_theta} "
                f"and {self.page_theta}"
            )
        if self.token_frequency not in ("stretch", "truncate"):
            raise ValueError(
                f'token_frequency must be "stretch" or "truncate", got "{self.token_frequency}"'
            )
        if self.page_modulus < 0:
            raise ValueError(f"page_modulus must be 0 (off) or more, got {self.page_modulus}")


def rope_tables_naive(
    token: torch.Tensor, page: torch.Tensor, dim: int, settings: RopeSettings
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin, fp32 [T, dim], of each token's phases."""
    token_frequencies, page_frequencies = _frequencies(dim, settings, token.device)
    if settings.page_modulus > 0:
        page = page % settings.page_modulus
    angles = torch.cat(
        (token.float()[:, None] * token_frequencies, page.float()[:, None] * page_frequencies), -1
    )
    phase = torch.cat((angles, angles), -1)  # [T, dim]
    return phase.cos(), phase.sin()


def apply_rope_naive(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return `x` with its pairs (i, i + dim / 2) turned by the phases of the tables."""
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    if x.dim() == 3:
        cos, sin = cos[:, None], sin[:, None]
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


@lru_cache(maxsize=32)
def _frequencies(
    dim: int, settings: RopeSettings, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the angles per unit of the token and the page axis, fp32, dim / 2 in all."""
    token_pairs = dim // 2 - settings.page_pairs
    spread = dim / 2 if settings.token_frequency == "truncate" else token_pairs
    token_steps = torch.arange(token_pairs, device=device).float() / max(spread, 1)
    page_steps = torch.arange(settings.page_pairs, device=device).float()
    page_steps = page_steps / max(settings.page_pairs, 1)
    return 1.0 / settings.token_theta**token_steps, 1.0 / settings.page_theta**page_steps
