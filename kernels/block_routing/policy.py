"""The switches of routing: what the published code settles, and what it leaves open."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

_CHOICES = {
    "alpha": (1.0, 1.5),
    "bias_mode": ("logp", "centered", "logp_minus_logbs", "zero"),
    "candidate_scope": ("candidate_and_remote", "candidate"),
    "fallback": ("all_remote", "local_only"),
}


@dataclass(frozen=True)
class RouterPolicy:
    """How scores become a short list of blocks with a bias each.

    Attributes:
        alpha: 1.5 for entmax, 1.0 for softmax.
        topn: Number of best-scored blocks that share the probability.
        topk: Number of most probable blocks that are kept; at most `topn`.
        bias_mode: "logp" adds log p to the attention logits of a block; "centered" adds
            (log p - mean log p over the kept blocks) / bias_sigma; "logp_minus_logbs" adds
            log(p / block_size); "zero" adds nothing.
        bias_sigma: Divisor of "centered".
        bias_floor: p is raised to at least this before its logarithm.
        scale: Factor on the scores before entmax.
        candidate_scope: What counts as having a candidate: one that is also remote, or any.
        page_gate: Whether a query keeps to the candidates of its page; False routes over all remote
            blocks.
        renormalise: Whether the kept p are divided by their sum.
        fallback: For a query without a candidate: route over all remote blocks, or read nothing
            remote.
        block_size: Tokens per block, for "logp_minus_logbs".
        per_layer: Layer index to the fields that differ in that layer.

    Raises:
        ValueError: A value is out of range, or `per_layer` names an unknown field.
    """

    alpha: float = 1.5
    topn: int = 16
    topk: int = 12
    bias_mode: Literal["logp", "centered", "logp_minus_logbs", "zero"] = "logp"
    bias_sigma: float = 1e6
    bias_floor: float = 0.0
    scale: float = 1.0
    candidate_scope: Literal["candidate_and_remote", "candidate"] = "candidate_and_remote"
    page_gate: bool = True
    renormalise: bool = False
    fallback: Literal["all_remote", "local_only"] = "all_remote"
    block_size: int = 32
    per_layer: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject values that have no meaning, including those of single layers."""
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {value!r}")
        if not 1 <= self.topk <= self.topn:
            raise ValueError(f"topk must lie in 1..topn, got topk {self.topk}, topn {self.topn}")
        for name in ("bias_sigma", "scale", "block_size"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.bias_floor <= 1:
            raise ValueError(f"bias_floor must lie in 0..1, got {self.bias_floor}")
        for layer_index in self.per_layer:
            self.for_layer(layer_index)

    def for_layer(self, layer_index: int) -> "RouterPolicy":
        """Return the policy of one layer, with its own values in place.

        Args:
            layer_index: Index of the decoder layer, from 0.

        Returns:
            This policy when the layer has no entry in `per_layer`.

        Raises:
            ValueError: The entry names an unknown field.
        """
        changes = self.per_layer.get(layer_index)
        if not changes:
            return self
        known = {each.name for each in fields(self)} - {"per_layer"}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(
                f"per_layer[{layer_index}] must name fields of RouterPolicy, got {unknown}; "
                f"known are {sorted(known)}"
            )
        return replace(self, per_layer={}, **changes)
