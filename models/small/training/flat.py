"""Parameters and gradients of the learner in one tensor each, so that a step takes few launches."""

import torch
from torch import Tensor, nn

# Compiled functions and matrix products expect tensors to begin at multiples of 16 bytes.
_ALIGNED = 64


class FlatParameters:
    """Moves parameters into one tensor and collects their gradients in another.

    Matrices of one shape lie side by side and are updated as one stack.

    Attributes:
        weights: All parameters, float32 [P]; the modules' parameters become views of it.
        grads: Their gradients after `gather`, float32 [P].
        stacks: Hidden matrices by shape, [n, rows, cols] each; views of `weights` whose `grad` is a
            view of `grads`.
        rest: All other parameters, likewise, one dimension.
    """

    def __init__(self, hidden: list[nn.Parameter], other: list[nn.Parameter]) -> None:
        """Move the parameters.

        Args:
            hidden: Matrices; all on one device and float32, as are the others.
            other: Parameters of any shape.
        """
        shapes: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for param in hidden:
            shapes.setdefault(tuple(param.shape), []).append(param)
        self.params = [param for group in shapes.values() for param in group] + other
        places, end = [], 0
        spans = []
        for group in [*shapes.values(), other]:
            begin = end
            for param in group:
                places.append(end)
                end += param.numel()
                if group is other:
                    end += -end % _ALIGNED
            spans.append((begin, end))
            end += -end % _ALIGNED
        self.weights = torch.zeros(end, device=self.params[0].device)
        self.grads = torch.zeros_like(self.weights)
        self._parts: list[Tensor] = []
        for param, place in zip(self.params, places, strict=True):
            inside = slice(place, place + param.numel())
            self.weights[inside] = param.detach().reshape(-1)
            param.data = self.weights[inside].view(param.shape)
            self._parts.append(self.grads[inside].view(param.shape))
        self.stacks = [
            self._leaf(span, (-1, *shape)) for shape, span in zip(shapes, spans[:-1], strict=True)
        ]
        self.rest = self._leaf(spans[-1], (-1,))

    def gather(self) -> None:
        """Move the parameters' gradients into `grads`; those without one count as zero."""
        found, places, missing = [], [], []
        for param, part in zip(self.params, self._parts, strict=True):
            if param.grad is None:
                missing.append(part)
            else:
                found.append(param.grad)
                places.append(part)
        if missing:
            torch._foreach_zero_(missing)
        torch._foreach_copy_(places, found)
        for param in self.params:
            param.grad = None

    def clip(self, limit: float) -> Tensor:
        """Scale the gradients down to norm `limit` if it is larger, and return the norm before."""
        norm = torch.linalg.vector_norm(self.grads)
        self.grads.mul_((limit / (norm + 1e-6)).clamp(max=1.0))
        return norm

    def _leaf(self, span: tuple[int, int], shape: tuple[int, ...]) -> nn.Parameter:
        leaf = nn.Parameter(self.weights[slice(*span)].view(shape))
        leaf.grad = self.grads[slice(*span)].view(shape)
        return leaf
