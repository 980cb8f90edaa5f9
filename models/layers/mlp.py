"""Gated feed-forward layers: dense SwiGLU and a mixture of SwiGLU experts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.models.layers.column_order import apply_all
from ocrcli.models.layers.expert_stack import ExpertStack
from ocrcli.models.unlimited_ocr.config import DecoderConfig


class SwiGlu(nn.Module):
    """down(silu(gate(x)) * up(x)), without biases."""

    SAME_INPUT = ("gate_proj", "up_proj")
    """Layers that `join_columns` may join."""

    def __init__(self, width: int, hidden: int) -> None:
        """Create the three projections."""
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed tokens; x is [T, width]."""
        gate, up = apply_all((self.gate_proj, self.up_proj), x)
        return self.down_proj(F.silu(gate) * up)


class MixtureOfExperts(nn.Module):
    """Softmax-gated top-k experts beside shared experts that always run.

    Gate weights are taken from a softmax over all experts and, unless the configuration says
    otherwise, are not normalised after the cut.
    """

    def __init__(self, config: DecoderConfig) -> None:
        """Create gate, routed experts and the fused shared expert."""
        super().__init__()
        self.config = config
        width, hidden = config.hidden_size, config.moe_intermediate_size
        self.gate = nn.Linear(width, config.num_experts, bias=False)
        self.experts = nn.ModuleList(SwiGlu(width, hidden) for _ in range(config.num_experts))
        if config.num_shared_experts:
            self.shared_experts = SwiGlu(width, hidden * config.num_shared_experts)
        self._stack: ExpertStack | None = None

    def stack_experts(self, device: torch.device | str) -> None:
        """Give the experts memory side by side, from which a GPU can take them by itself.

        Does nothing where their layers are not plain matrices.

        Args:
            device: Where the experts go; values that they hold are lost.
        """
        self._stack = ExpertStack.of(self._experts(), device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed tokens; x is [T, width]."""
        scores = F.linear(x.float(), self.gate.weight.float()).softmax(-1)
        weights, chosen = scores.topk(self.config.experts_per_token, dim=-1)
        if self.config.normalise_expert_weights:
            weights = weights / weights.sum(-1, keepdim=True)
        if self.config.routed_scaling != 1.0:
            weights = weights * self.config.routed_scaling
        out = self._mixed(x, weights, chosen).to(x.dtype)
        return out + self.shared_experts(x) if self.config.num_shared_experts else out

    def _experts(self) -> Sequence[SwiGlu]:
        return cast(Sequence[SwiGlu], self.experts)

    def _mixed(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Return float32 [T, width]: the weighed sum of what the chosen experts make of x."""
        stack = self._stack
        # A stack copies what is chosen: never more than there is.
        few = 0 < chosen.numel() <= self.config.num_experts
        if few and stack is not None and stack.holds(self._experts()[0]):
            return stack(x, weights, chosen)
        return self._lone(x, weights, chosen) if len(x) == 1 else self._many(x, weights, chosen)

    def _many(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Call each expert once, with all its tokens."""
        out = torch.zeros_like(x, dtype=torch.float32)
        picks = chosen.shape[1]
        # Stable, so that an expert gets its tokens in their order.
        ranked, order = chosen.flatten().sort(stable=True)
        token, share = order // picks, weights.flatten()[order, None]
        every = torch.arange(self.config.num_experts + 1, device=x.device)
        # The one thing that a GPU is waited for.
        edges = torch.searchsorted(ranked, every).tolist()
        for expert, (start, end) in zip(self.experts, pairwise(edges), strict=True):
            if start < end:
                mine = token[start:end]
                out.index_add_(0, mine, expert(x[mine]).float() * share[start:end])
        return out

    def _lone(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Do the same for one token, without looking for the tokens of each expert."""
        out = torch.zeros_like(x, dtype=torch.float32)
        for index, slot in sorted((index, slot) for slot, index in enumerate(chosen[0].tolist())):
            out += self.experts[index](x).float() * weights[:, slot, None]
        return out
