# mypy: allow-untyped-defs
"""Kernels of the cross-entropy: one program a row, its scores held in registers.

The gradient is written in the type of the scores, so that nothing of [N, V] exists in float32.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit(do_not_specialize=["classes"])
def loss_kernel(
    score_ptr, target_ptr, loss_ptr, log_norm_ptr, right_ptr, classes, WIDTH: tl.constexpr
):
    """Writes loss, log norm and whether the best score is right; grid (N)."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    origin = score_ptr + row.to(tl.int64) * classes
    score = tl.load(origin + column, mask=column < classes, other=float("-inf")).to(tl.float32)
    target = tl.load(target_ptr + row)
    peak = tl.max(score, 0)
    # Of equal scores the first counts.
    best = tl.min(tl.where(score == peak, column, WIDTH), 0)
    log_norm = peak + tl.log(tl.sum(tl.exp(score - peak), 0))
    wanted = tl.load(origin + target).to(tl.float32)
    tl.store(loss_ptr + row, log_norm - wanted)
    tl.store(log_norm_ptr + row, log_norm)
    tl.store(right_ptr + row, (best == target).to(tl.float32))


@triton.jit(do_not_specialize=["classes", "rows"])
def loss_grad_kernel(
    dloss_ptr, score_ptr, target_ptr, log_norm_ptr, dscore_ptr, classes, rows, WIDTH: tl.constexpr
):
    """Writes the gradient of one row of scores; grid (N)."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < classes
    offset = row.to(tl.int64) * classes + column
    score = tl.load(score_ptr + offset, mask=inside, other=float("-inf")).to(tl.float32)
    share = tl.exp(score - tl.load(log_norm_ptr + row))
    share -= tl.where(column == tl.load(target_ptr + row), 1.0, 0.0)
    dscore = share * (tl.load(dloss_ptr) / rows)
    tl.store(dscore_ptr + offset, dscore.to(dscore_ptr.dtype.element_ty), mask=inside)


def launch_loss(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns losses, log norms and hits (1 or 0) of every row, float32 `[N]`.

    Args:
        scores: `[N, V]`, contiguous.
        target: int64 `[N]`, contiguous.
    """
    rows, classes = scores.shape
    losses, log_norm, right = torch.empty(3, rows, device=scores.device).unbind()
    width = triton.next_power_of_2(classes)
    loss_kernel[(rows,)](
        scores, target, losses, log_norm, right, classes, WIDTH=width, num_warps=_warps(width)
    )
    return losses, log_norm, right


def launch_loss_backward(grad: Tensor, scores: Tensor, target: Tensor, log_norm: Tensor) -> Tensor:
    """Returns the gradient of the scores, `[N, V]` in their type.

    Args:
        grad: Gradient of the mean loss, float32 without dimensions.
        scores: As given to `launch_loss`.
        target: As given to `launch_loss`.
        log_norm: From `launch_loss`.
    """
    rows, classes = scores.shape
    out = torch.empty_like(scores)
    width = triton.next_power_of_2(classes)
    loss_grad_kernel[(rows,)](
        grad, scores, target, log_norm, out, classes, rows, WIDTH=width, num_warps=_warps(width)
    )
    return out


def _warps(width: int) -> int:
    """Return how many warps share a row, so that a thread holds at most 32 scores."""
    return min(16, max(1, width // 1024))
