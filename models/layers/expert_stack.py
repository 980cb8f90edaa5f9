"""The matrices of a layer's experts side by side in memory, so that a GPU can pick among them.

Which experts a token goes to is known on the device only. To call them one by one, the processor
has to wait for that in every layer, and then to launch a dozen small kernels for each of them. From
a stack they are taken by an index that never leaves the device, and multiplied together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from ocrcli.models.layers.mlp import SwiGlu


@dataclass(frozen=True, eq=False)
class ExpertStack:
    """The weights of E experts; each expert's own matrices are parts of these.

    Attributes:
        gate_up: [E, 2 * hidden, width], rows of the gate above those of the other.
        down: [E, width, hidden].
    """

    gate_up: Tensor
    down: Tensor

    @classmethod
    def of(cls, experts: Sequence["SwiGlu"], device: torch.device | str) -> "ExpertStack | None":
        """Move experts into a new stack, or return None where their layers are of another kind.

        Args:
            experts: At least one; all of one size. Values that they hold are lost.
            device: Where the stack goes.
        """
        layers = [
            layer
            for expert in experts
            for layer in (expert.gate_proj, expert.up_proj, expert.down_proj)
        ]
        if not all(type(layer) is nn.Linear for layer in layers):
            return None
        first = experts[0].gate_proj.weight
        count, (hidden, width) = len(experts), first.shape
        gate_up = torch.empty(count, 2 * hidden, width, dtype=first.dtype, device=device)
        down = torch.empty(count, width, hidden, dtype=first.dtype, device=device)
        for expert, upper, lower in zip(experts, gate_up, down, strict=True):
            expert.gate_proj.weight = nn.Parameter(upper[:hidden])
            expert.up_proj.weight = nn.Parameter(upper[hidden:])
            expert.down_proj.weight = nn.Parameter(lower)
        return cls(gate_up, down)

    def holds(self, first: "SwiGlu") -> bool:
        """Return whether the first expert still lies here; moving a model gives it other memory."""
        return first.gate_proj.weight.data_ptr() == self.gate_up.data_ptr()

    def __call__(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Return the weighed sum of what each token's experts make of it, float32 [T, width].

        Copies the chosen experts, so it is meant for few tokens.

        Args:
            x: Tokens [T, width], in the type of the stack.
            weights: Share of each chosen expert, float32 [T, k].
            chosen: Experts of each token, int64 [T, k].
        """
        tokens, picks = chosen.shape
        index = chosen.flatten()
        gate_up = self.gate_up.index_select(0, index).view(tokens, -1, x.shape[1])
        gate, up = torch.bmm(gate_up, x[:, :, None]).view(tokens * picks, 2, -1, 1).unbind(1)
        values = torch.bmm(self.down.index_select(0, index), F.silu(gate) * up)
        return (values.view(tokens, picks, -1).float() * weights[:, :, None]).sum(1)
