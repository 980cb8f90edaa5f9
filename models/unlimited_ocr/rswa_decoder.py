"""Decoder layers of the first generation: the prompt stays visible, the answer slides.

They share everything but attention with the routed layers, and the engine drives both alike: plans
and cache are the same, of which these layers read a part.
"""

from torch import Tensor

from ocrcli.kernels.page_rope import apply_rope
from ocrcli.kernels.paged_kv import PagedKv, write_kv
from ocrcli.kernels.rswa_attention import rswa_attention_decode, rswa_attention_prefill
from ocrcli.models.interface import DecodePlan, PrefillPlan
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.decoder import AttentionProjections, LayerFrame, RopePhases


class RswaLayer(LayerFrame):
    """Pre-norm decoder layer with reference sliding-window attention."""

    def __init__(self, config: ModelConfig, index: int) -> None:
        """Create layer number `index`."""
        super().__init__(config, index, AttentionProjections(config))

    def project(self, x: Tensor, phases: RopePhases) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated queries [T, H, D], keys and values [T, Hkv, D] of hidden states [T, d]."""
        query, key, value = self.self_attn.heads(self.input_layernorm(x))
        cos, sin = phases.main_cos, phases.main_sin
        return apply_rope(query, cos, sin), apply_rope(key, cos, sin), value

    def prefill(
        self, x: Tensor, phases: RopePhases, plan: PrefillPlan, cache: PagedKv, real: Tensor
    ) -> Tensor:
        """Return outputs [S, d] of a whole prompt and leave its keys in the cache.

        Args:
            x: Hidden states of all S tokens.
            phases: Rotary tables of the tokens.
            plan: Gives the slots.
            cache: This layer's pool.
            real: Unused; a prompt of this generation holds no padding.
        """
        query, key, value = self.project(x, phases)
        write_kv(cache, plan.slots, key, value)
        return self.finish(x, rswa_attention_prefill(query, key, value).flatten(1))

    def decode(
        self, x: Tensor, phases: RopePhases, plan: DecodePlan, cache: PagedKv, real: Tensor
    ) -> Tensor:
        """Return outputs [B, d] of one new token in each of B sequences; arguments as `prefill`."""
        query, key, value = self.project(x, phases)
        write_kv(cache, plan.write_slots, key, value)
        mixed = rswa_attention_decode(
            query,
            cache,
            real,
            plan.block_table,
            plan.remote_limit,
            plan.local_slots,
            plan.local_valid,
        )
        return self.finish(x, mixed.flatten(1))
