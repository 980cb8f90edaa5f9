"""Gated feed-forward layers: dense SwiGLU and a mixture of SwiGLU experts."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.models.layers.column_order import apply_all
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

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed tokens; x is [T, width]."""
        scores = F.linear(x.float(), self.gate.weight.float()).softmax(-1)
        weights, chosen = scores.topk(self.config.experts_per_token, dim=-1)
        if self.config.normalise_expert_weights:
            weights = weights / weights.sum(-1, keepdim=True)
        weights = weights * self.config.routed_scaling
        mixed = self._lone(x, weights, chosen) if len(x) == 1 else self._many(x, weights, chosen)
        out = mixed.to(x.dtype)
        return out + self.shared_experts(x) if self.config.num_shared_experts else out

    def _many(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        out = torch.zeros_like(x, dtype=torch.float32)
        for index in chosen.unique().tolist():
            token, slot = torch.where(chosen == index)
            value = self.experts[index](x[token]).float()
            out.index_add_(0, token, value * weights[token, slot, None])
        return out

    def _lone(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Do the same for one token, without looking for the tokens of each expert."""
        out = torch.zeros_like(x, dtype=torch.float32)
        for index, slot in sorted((index, slot) for slot, index in enumerate(chosen[0].tolist())):
            out += self.experts[index](x).float() * weights[:, slot, None]
        return out
