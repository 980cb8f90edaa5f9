"""Mean cross-entropy over a large vocabulary without float32 copies of the scores."""

import os
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ocrcli.kernels.checks import check_tensor

__all__ = ["mean_cross_entropy", "mean_cross_entropy_reference"]

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# One program holds a whole row of scores in its registers.
_MOST_CLASSES = 16384


def mean_cross_entropy(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of rows of scores, and how often the best score is right.

    CUDA tensors take Triton kernels, which read the scores once forward and once backward; anything
    else takes the reference. Sums are float32 in both.

    Args:
        scores: Scores [N, V], float32, bfloat16 or float16, N >= 1.
        target: The right class of each row, int64 [N], 0 to V - 1; not checked.

    Returns:
        (loss, right), both float32 and without dimensions; only the loss has a gradient.

    Raises:
        ValueError: A shape or dtype does not fit.

    Example:
        >>> mean_cross_entropy(torch.zeros(3, 4), torch.tensor([0, 1, 2]))[0]
        tensor(1.3863)
    """
    _check(scores, target)
    fused = scores.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"
    if not fused or scores.shape[1] > _MOST_CLASSES:
        return mean_cross_entropy_reference(scores, target)
    return _run_fused(scores, target)


def mean_cross_entropy_reference(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `mean_cross_entropy` returns, in plain PyTorch.

    Args:
        scores: See `mean_cross_entropy`.
        target: See `mean_cross_entropy`.

    Returns:
        (loss, right), as `mean_cross_entropy`.

    Raises:
        ValueError: As `mean_cross_entropy`.
    """
    _check(scores, target)
    loss = F.cross_entropy(scores.float(), target)
    return loss, (scores.detach().argmax(-1) == target).float().mean()


class _MeanCrossEntropy(torch.autograd.Function):
    """Connects the kernels to autograd."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        from ocrcli.kernels.cross_entropy.training_kernels import launch_loss

        losses, log_norm, right = launch_loss(scores, target)
        ctx.save_for_backward(scores, target, log_norm)
        share = right.mean()
        ctx.mark_non_differentiable(share)
        return losses.mean(), share

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        from ocrcli.kernels.cross_entropy.training_kernels import launch_loss_backward

        return launch_loss_backward(grads[0].float(), *ctx.saved_tensors), None


@torch.compiler.disable
def _run_fused(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    # The kernels launch on the current device, which need not be the one that holds `scores`.
    with torch.cuda.device_of(scores):
        loss, right = _MeanCrossEntropy.apply(scores.contiguous(), target.contiguous())
    return loss, right


def _check(scores: Tensor, target: Tensor) -> None:
    check_tensor("scores", scores, ("N", "V"), _DTYPES)
    check_tensor("target", target, (scores.shape[0],), torch.int64)
    if 0 in scores.shape:
        raise ValueError(f"scores must have rows and classes, got {list(scores.shape)}")
