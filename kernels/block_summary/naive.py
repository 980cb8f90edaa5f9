"""Block summaries in plain PyTorch: the reference, and the path on every device."""

import math

import torch
import torch.nn.functional as F

_LOGIT_LIMIT = 1e4


def block_summary_naive(
    router_keys: torch.Tensor, head_cls: torch.Tensor, real: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Return fp32 [nblk, R]: the softmax-weighted mean of each block's real keys."""
    length, dim = router_keys.shape
    missing = -length % block_size
    keys = router_keys.float().masked_fill(~real[:, None], 0.0)
    keys = torch.nan_to_num(keys, nan=0.0, posinf=0.0, neginf=0.0)
    keys = F.pad(keys, (0, 0, 0, missing)).view(-1, block_size, dim)  # [nblk, bs, R]
    present = F.pad(real, (0, missing)).view(-1, block_size)  # [nblk, bs]

    logits = (keys * head_cls.float()).sum(-1) / math.sqrt(dim)
    logits = logits.clamp(-_LOGIT_LIMIT, _LOGIT_LIMIT)
    # A finite fill: a block without a real token then averages zeros instead of dividing by zero.
    weights = logits.masked_fill(~present, torch.finfo(logits.dtype).min).softmax(-1)
    return torch.nan_to_num((weights[:, :, None] * keys).sum(1), nan=0.0, posinf=0.0, neginf=0.0)
