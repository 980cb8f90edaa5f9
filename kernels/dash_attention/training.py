"""Trainable page-isolated DASH attention; the inference kernels have no gradients.

One sequence per page: a prompt region (`<PAGE>`, image tokens, padding up to a whole number of
blocks) followed by a response region. Every query reads a causal window of local keys without a
bias, and image keys before that window under the router's bias of their block. The fused GPU path
lives in `training_forward` and `training_backward`; they are imported on first use because Triton
is optional.
"""

import math
import os
from typing import Any

import torch
from torch import Tensor

__all__ = ["dash_attention_training", "dash_attention_training_reference"]

# A block whose bias is at or below this value counts as not selected.
_UNSELECTED_BIAS = -1e4
_HEAD_SIZES = (16, 32, 64, 128)
_BLOCK_SIZES = (8, 16, 32, 64, 128)


def dash_attention_training(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int = 128,
    block_size: int = 32,
) -> Tensor:
    """Returns the attention output of page-isolated DASH, differentiable in all four tensors.

    `out[i] = sum_j softmax_j(q[i] . k[j] / sqrt(D) + r[i, j]) v[j]`. With
    `w = max(i - local + 1, section)`, where `section` is 0 for `i < prompt_length` and
    `prompt_length` otherwise, the readable keys are the local ones (`w <= j <= i`, `r = 0`) and the
    remote ones (`j < min(w, num_image_tokens)`, `r = bias[i, j // block_size]`, selected blocks
    only). Keys in `[num_image_tokens, prompt_length)` are padding and are never read. A query
    without a readable key gives zeros and no gradient.

    CUDA tensors take the Triton kernels; anything else takes the dense reference.

    Args:
        q: Queries `[B, S, H, D]`, float32, float16 or bfloat16; `S = prompt_length + T`.
        k: Keys `[B, S, H, D]`, dtype of `q`. Slices of a fused projection are fine: only the last
            dimension has to be contiguous.
        v: Values `[B, S, H, D]`, dtype of `q`.
        bias: `[B, S, prompt_length // block_size]` float32, the log weight (natural logarithm) of
            each block for each query, shared by all heads; `-1e4` or less means not selected.
        num_image_tokens: Tokens of the prompt before its padding, `0..prompt_length`.
        prompt_length: Tokens of the padded prompt, a multiple of `block_size`.
        local: Local window in tokens, the query included; default 128.
        block_size: Tokens per block: 8, 16, 32 (default), 64 or 128.

    Returns:
        `[B, S, H, D]`, contiguous, dtype of `q`.

    Raises:
        ValueError: A shape, dtype, device or length does not fit the description above.

    Source:
        Online softmax and its recomputing backward pass: FlashAttention-2 (arXiv:2307.08691),
        algorithms 1 and 2.

    Example:
        >>> q, k, v = torch.randn(3, 1, 48, 2, 16).unbind(0)
        >>> bias = torch.zeros(1, 48, 1)
        >>> dash_attention_training(q, k, v, bias, num_image_tokens=30, prompt_length=32).shape
        torch.Size([1, 48, 2, 16])
    """
    _check(q, k, v, bias, num_image_tokens, prompt_length, local, block_size)
    if not (q.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"):
        return dash_attention_training_reference(
            q, k, v, bias, num_image_tokens, prompt_length, local, block_size
        )
    return _run_fused(q, k, v, bias, num_image_tokens, prompt_length, local, block_size)


def dash_attention_training_reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int = 128,
    block_size: int = 32,
) -> Tensor:
    """Returns what `dash_attention_training` returns, from a dense `[B, H, S, S]` score matrix.

    Plain PyTorch on any device, computed in float32 and differentiated by autograd. It is the
    specification of the kernels.

    Args:
        q: See `dash_attention_training`.
        k: See `dash_attention_training`.
        v: See `dash_attention_training`.
        bias: See `dash_attention_training`.
        num_image_tokens: See `dash_attention_training`.
        prompt_length: See `dash_attention_training`.
        local: See `dash_attention_training`.
        block_size: See `dash_attention_training`.

    Returns:
        `[B, S, H, D]`, dtype of `q`.

    Raises:
        ValueError: As `dash_attention_training`.
    """
    _check(q, k, v, bias, num_image_tokens, prompt_length, local, block_size)
    sequence_length = q.shape[1]
    position = torch.arange(sequence_length, device=q.device)
    section = torch.where(position < prompt_length, 0, prompt_length)
    window = torch.maximum(position - local + 1, section)
    query, key = position[:, None], position[None, :]
    real = (position < num_image_tokens) | (position >= prompt_length)
    near = (key >= window[:, None]) & (key <= query) & real  # [S, S]
    far = key < window.clamp(max=num_image_tokens)[:, None]  # [S, S]

    selected = bias > _UNSELECTED_BIAS
    # Response keys have no block; `far` is False for them, so block 0 stands in.
    block = torch.where(position < prompt_length, position // block_size, 0)
    finite_bias = torch.where(selected, bias, 0.0)
    if bias.shape[2] == 0:
        weight = bias.new_zeros(q.shape[0], sequence_length, sequence_length)
        readable = near.expand_as(weight)
    else:
        weight = torch.where(far, finite_bias[:, :, block], 0.0)  # [B, S, S]
        readable = near | (far & selected[:, :, block])  # [B, S, S]

    # Padding rows are replaced, not only masked: 0 * NaN would still be NaN.
    hidden = ~real[:, None, None]
    keys = k.float().masked_fill(hidden, 0.0)
    values = v.float().masked_fill(hidden, 0.0)
    scores = torch.einsum("bihd,bjhd->bhij", q.float(), keys) / math.sqrt(q.shape[3])
    scores = torch.where(readable[:, None], scores + weight[:, None], -1e30)
    probability = scores.softmax(-1) * readable[:, None]
    return torch.einsum("bhij,bjhd->bihd", probability, values).to(q.dtype)


class _DashAttention(torch.autograd.Function):
    """Connects the forward and backward kernels to autograd."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor,
        num_image_tokens: int,
        prompt_length: int,
        local: int,
        block_size: int,
    ) -> Tensor:
        from ocrcli.kernels.dash_attention.training_forward import launch_forward

        geometry = (num_image_tokens, prompt_length, local, block_size)
        # The kernels read one block's bias for many neighbouring queries at a time.
        block_bias = bias.transpose(1, 2).contiguous()  # [B, nb, S]
        out, log_norm = launch_forward(q, k, v, block_bias, *geometry)
        ctx.save_for_backward(q, k, v, block_bias, out, log_norm)
        ctx.geometry = geometry
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from ocrcli.kernels.dash_attention.training_backward import launch_backward

        q, k, v, block_bias, out, log_norm = ctx.saved_tensors
        grad_out = grads[0].to(q.dtype).contiguous()
        dq, dk, dv, block_grad = launch_backward(
            grad_out, q, k, v, block_bias, out, log_norm, *ctx.geometry
        )
        return dq, dk, dv, block_grad.transpose(1, 2), None, None, None, None


@torch.compiler.disable
def _run_fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> Tensor:
    q, k, v = (t if t.stride(3) == 1 else t.contiguous() for t in (q, k, v))
    # The kernels launch on the current device, which need not be the one that holds `q`.
    with torch.cuda.device_of(q):
        out: Tensor = _DashAttention.apply(
            q, k, v, bias, num_image_tokens, prompt_length, local, block_size
        )
    return out


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor,
    num_image_tokens: int,
    prompt_length: int,
    local: int,
    block_size: int,
) -> None:
    if q.dim() != 4 or q.shape[3] not in _HEAD_SIZES:
        raise ValueError(
            f"q must be [B, S, H, D] with D in {_HEAD_SIZES}, got {tuple(q.shape)}; "
            "split the heads before calling"
        )
    for name, tensor in (("k", k), ("v", v)):
        if tensor.shape != q.shape or tensor.dtype != q.dtype or tensor.device != q.device:
            raise ValueError(
                f"{name} must match q: expected {tuple(q.shape)} {q.dtype} on {q.device}, "
                f"got {tuple(tensor.shape)} {tensor.dtype} on {tensor.device}"
            )
    if q.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise ValueError(f"q must be float32, float16 or bfloat16, got {q.dtype}; cast it first")
    if block_size not in _BLOCK_SIZES:
        raise ValueError(f"block_size must be one of {_BLOCK_SIZES}, got {block_size}")
    if local < 1:
        raise ValueError(f"local must be at least 1 token, got {local}")
    if prompt_length % block_size or not 0 <= prompt_length <= q.shape[1]:
        raise ValueError(
            f"prompt_length must be a multiple of {block_size} in 0..{q.shape[1]}, "
            f"got {prompt_length}; pad the prompt to whole blocks"
        )
    if not 0 <= num_image_tokens <= prompt_length:
        raise ValueError(
            f"num_image_tokens must be in 0..{prompt_length} (prompt_length), "
            f"got {num_image_tokens}"
        )
    expected = (q.shape[0], q.shape[1], prompt_length // block_size)
    if tuple(bias.shape) != expected or bias.dtype != torch.float32 or bias.device != q.device:
        raise ValueError(
            f"bias must be {expected} torch.float32 on {q.device}, "
            f"got {tuple(bias.shape)} {bias.dtype} on {bias.device}; "
            "give one float32 log weight per query and prompt block"
        )
