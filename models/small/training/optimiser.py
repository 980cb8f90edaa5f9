"""Muon for the hidden matrices, batched by shape, beside AdamW for everything else.

`torch.optim.Muon` orthogonalises one matrix at a time: thousands of tiny launches a step for a
small model. Stacking matrices of one shape gives the same update in a few dozen.
"""

import torch
from torch import Tensor, nn

# Coefficients of the quintic iteration that drives singular values towards one.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5


class BatchedMuon(torch.optim.Optimizer):
    """Momentum, then orthogonalised updates scaled to the size of an AdamW step."""

    def __init__(
        self, params: list[nn.Parameter], lr: float, momentum: float, weight_decay: float
    ) -> None:
        """Create the optimiser.

        Args:
            params: Matrices, or stacks of matrices of one shape, [n, rows, cols].
            lr: Learning rate, on AdamW's scale.
            momentum: Nesterov momentum.
            weight_decay: Decoupled decay per unit of learning rate.
        """
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None) -> None:  # type: ignore[no-untyped-def, override]
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[nn.Parameter]] = {}
            for param in group["params"]:
                if param.grad is None:
                    continue
                if param.ndim == 3:
                    self._step_stack(group, param)
                else:
                    shapes.setdefault(tuple(param.shape), []).append(param)
            for shape, params in shapes.items():
                self._step_shape(group, shape, params)

    def _step_stack(self, group: dict[str, float], stack: nn.Parameter) -> None:
        grads, state = stack.grad, self.state[stack]
        assert grads is not None, "stacks without a gradient are left out"
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(stack)
        momentum = state["momentum"].lerp_(grads, 1 - group["momentum"])
        update = orthogonalise(grads.lerp(momentum, group["momentum"]))
        rate = group["lr"] * 0.2 * max(stack.shape[1:]) ** 0.5
        stack.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-rate)

    def _step_shape(
        self, group: dict[str, float], shape: tuple[int, ...], params: list[nn.Parameter]
    ) -> None:
        grads = torch.stack([param.grad for param in params])  # type: ignore[misc]
        for param in params:
            if "momentum" not in self.state[param]:
                self.state[param]["momentum"] = torch.zeros_like(param)
        buffers = [self.state[param]["momentum"] for param in params]
        momentum = torch.stack(buffers).lerp_(grads, 1 - group["momentum"])
        torch._foreach_copy_(buffers, list(momentum.unbind(0)))
        update = orthogonalise(grads.lerp(momentum, group["momentum"]))
        rate = group["lr"] * 0.2 * max(shape) ** 0.5
        weights: list[Tensor] = list(params)
        torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(weights, list(update.float().unbind(0)), alpha=-rate)


def orthogonalise(matrices: Tensor) -> Tensor:
    """Return matrices [n, rows, cols] with their singular values driven towards one, bfloat16."""
    x = matrices.bfloat16()
    wide = x.shape[-2] > x.shape[-1]
    if wide:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    a, b, c = _QUINTIC
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if wide else x


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return (hidden matrices, everything else) of a model and its auxiliary head."""
    hidden: list[nn.Parameter] = []
    other: list[nn.Parameter] = []
    for name, param in model.named_parameters():
        inside = any(part in name for part in (".blocks.", ".transformer.layers.", "model.layers."))
        (hidden if inside and param.ndim == 2 else other).append(param)
    return hidden, other
