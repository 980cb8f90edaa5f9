"""Decoder layers with DASH attention: projections, router, paged cache, feed-forward.

A layer is split into what happens before attention (`project`) and after it (`finish`). Prefill and
decode differ only in the attention call between the two; training puts its own kernel there.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ocrcli.kernels.block_routing import block_scores, route_blocks
from ocrcli.kernels.block_summary import block_summary
from ocrcli.kernels.dash_attention import dash_attention_decode, dash_attention_prefill
from ocrcli.kernels.page_rope import apply_rope, rope_tables
from ocrcli.kernels.paged_kv import PagedKv, write_kv, write_summaries
from ocrcli.models.interface import DecodePlan, PrefillPlan
from ocrcli.models.layers.column_order import apply_all
from ocrcli.models.layers.mlp import MixtureOfExperts, SwiGlu
from ocrcli.models.layers.norm import RmsNorm
from ocrcli.models.unlimited_ocr.config import ModelConfig, SparseConfig


@dataclass(frozen=True)
class RopePhases:
    """Cosines and sines of T tokens, for the main branch [T, D] and the router [T, R]."""

    main_cos: Tensor
    main_sin: Tensor
    router_cos: Tensor
    router_sin: Tensor

    @property
    def are_shared(self) -> bool:
        """Whether both branches turn by the same tables."""
        return self.router_cos is self.main_cos and self.router_sin is self.main_sin

    def to(self, dtype: torch.dtype) -> "RopePhases":
        """Return the tables in another type, so that no layer has to convert them."""
        main = self.main_cos.to(dtype), self.main_sin.to(dtype)
        if self.are_shared:
            return RopePhases(*main, *main)
        return RopePhases(*main, self.router_cos.to(dtype), self.router_sin.to(dtype))


def rope_phases(token: Tensor, page: Tensor, head_dim: int, sparse: SparseConfig) -> RopePhases:
    """Return the rotary tables of both branches.

    Args:
        token: Offsets of the tokens inside their page, int64 [T].
        page: One-based pages of the tokens, 0 for none, int64 [T].
        head_dim: Size of a main attention head.
        sparse: Rotary settings and router width.
    """
    main = rope_tables(token, page, head_dim, sparse.main_rope)
    if sparse.router_dim == head_dim and sparse.router_rope == sparse.main_rope:
        return RopePhases(*main, *main)
    return RopePhases(*main, *rope_tables(token, page, sparse.router_dim, sparse.router_rope))


@dataclass(frozen=True)
class AttentionInputs:
    """Rotated projections of T tokens.

    Attributes:
        query: [T, H, D].
        key: [T, Hkv, D].
        value: [T, Hkv, D].
        router_query: float32 [T, R].
        router_key: float32 [T, R].
    """

    query: Tensor
    key: Tensor
    value: Tensor
    router_query: Tensor
    router_key: Tensor


class Router(nn.Module):
    """Projects hidden states to router queries and keys and owns the summary query."""

    def __init__(self, config: ModelConfig) -> None:
        """Create projections, norms and `head_cls`."""
        super().__init__()
        width, dim = config.decoder.hidden_size, config.sparse.router_dim
        eps, offset = config.decoder.rms_norm_eps, config.sparse.router_norm_offset
        self.q_proj = nn.Linear(width, dim, bias=False)
        self.k_proj = nn.Linear(width, dim, bias=False)
        self.q_norm = RmsNorm(dim, eps, offset)
        self.k_norm = RmsNorm(dim, eps, offset)
        self.head_cls = nn.Parameter(torch.zeros(dim))
        self.norm_last = config.sparse.router_norm_last

    def turned(self, projected: Tensor, norm: RmsNorm, phases: RopePhases) -> Tensor:
        """Return router vectors [T, R], normalised and rotated in the order of the settings."""
        cos, sin = phases.router_cos, phases.router_sin
        if self.norm_last:
            return norm(apply_rope(projected, cos, sin))
        return apply_rope(norm(projected), cos, sin)


class AttentionProjections(nn.Module):
    """Projections of one attention layer."""

    SAME_INPUT = ("q_proj", "k_proj", "v_proj")
    """Layers that `join_columns` may join."""

    def __init__(self, config: ModelConfig) -> None:
        """Create the projections."""
        super().__init__()
        decoder = config.decoder
        self.num_heads, self.num_kv_heads = decoder.num_heads, decoder.num_kv_heads
        self.head_dim = decoder.head_dim
        width = decoder.hidden_size
        self.q_proj = nn.Linear(width, self.num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(width, self.num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(width, self.num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.num_heads * self.head_dim, width, bias=False)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries [T, H, D], keys and values [T, Hkv, D] of normalised tokens x [T, d]."""
        query, key, value = apply_all((self.q_proj, self.k_proj, self.v_proj), x)
        count, dim = x.shape[0], self.head_dim
        return (
            query.view(count, self.num_heads, dim),
            key.view(count, self.num_kv_heads, dim),
            value.view(count, self.num_kv_heads, dim),
        )


class DashAttention(AttentionProjections):
    """Projections of one attention layer and its router."""

    def __init__(self, config: ModelConfig) -> None:
        """Create the layer."""
        super().__init__(config)
        self.router = Router(config)

    def project(self, x: Tensor, phases: RopePhases) -> AttentionInputs:
        """Return rotated queries, keys, values and router vectors of normalised tokens x [T, d]."""
        router = self.router
        query, key, value = self.heads(x)
        router_query, router_key = (
            router.turned(projected, norm, phases)
            for projected, norm in (
                (router.q_proj(x), router.q_norm),
                (router.k_proj(x), router.k_norm),
            )
        )
        return AttentionInputs(
            query=apply_rope(query, phases.main_cos, phases.main_sin),
            key=apply_rope(key, phases.main_cos, phases.main_sin),
            value=value,
            router_query=router_query.float(),
            router_key=router_key.float(),
        )

    def project_few(self, x: Tensor, phases: RopePhases) -> AttentionInputs:
        """Return what `project` returns, bit by bit, in fewer operations where tables are shared.

        All vectors are copied together to be turned at once, which is little for few tokens.
        """
        if not phases.are_shared:
            return self.project(x, phases)
        router = self.router
        query, key, value = self.heads(x)
        pair = router.q_proj(x), router.k_proj(x)
        norms = router.q_norm, router.k_norm
        if not router.norm_last:
            pair = norms[0](pair[0]), norms[1](pair[1])
        together = torch.cat((query, key, pair[0][:, None], pair[1][:, None]), 1)
        turned = apply_rope(together, phases.main_cos, phases.main_sin)
        query, key, *rest = turned.split((self.num_heads, self.num_kv_heads, 1, 1), 1)
        pair = rest[0].squeeze(1), rest[1].squeeze(1)
        if router.norm_last:
            pair = norms[0](pair[0]), norms[1](pair[1])
        return AttentionInputs(query, key, value, pair[0].float(), pair[1].float())


class LayerFrame(nn.Module):
    """What layers share whatever their attention: norms, residuals, a feed-forward part."""

    def __init__(self, config: ModelConfig, index: int, attention: AttentionProjections) -> None:
        """Create layer number `index` around its attention."""
        super().__init__()
        decoder = config.decoder
        self.input_layernorm = RmsNorm(decoder.hidden_size, decoder.rms_norm_eps)
        self.post_attention_layernorm = RmsNorm(decoder.hidden_size, decoder.rms_norm_eps)
        self.self_attn = attention
        self.mlp: nn.Module
        if index < decoder.first_dense_layers:
            self.mlp = SwiGlu(decoder.hidden_size, decoder.intermediate_size)
        else:
            self.mlp = MixtureOfExperts(decoder)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Return the layer's output for hidden states x [T, d] and attention values [T, H*D]."""
        x = x + self.self_attn.o_proj(mixed)
        return x + self.mlp(self.post_attention_layernorm(x))


class DecoderLayer(LayerFrame):
    """Pre-norm decoder layer: DASH attention, then a dense or a mixture feed-forward part."""

    self_attn: DashAttention

    def __init__(self, config: ModelConfig, index: int) -> None:
        """Create layer number `index`."""
        super().__init__(config, index, DashAttention(config))
        self.index = index
        self.sparse = config.sparse

    def project(self, x: Tensor, phases: RopePhases) -> AttentionInputs:
        """Return the attention inputs of hidden states x [T, d]."""
        return self.self_attn.project(self.input_layernorm(x), phases)

    def prefill(
        self, x: Tensor, phases: RopePhases, plan: PrefillPlan, cache: PagedKv, real: Tensor
    ) -> Tensor:
        """Return outputs [S, d] of a whole sequence and leave its keys and summaries in the cache.

        Args:
            x: Hidden states of all S tokens.
            phases: Rotary tables of the tokens.
            plan: Positions, windows and block table of the sequence.
            cache: This layer's pool.
            real: Which slots hold readable tokens, bool [N, block_size].
        """
        inputs = self.project(x, phases)
        write_kv(cache, plan.slots, inputs.key, inputs.value)
        length = plan.prompt_length
        summaries = block_summary(
            inputs.router_key[:length],
            self.self_attn.router.head_cls.float(),
            plan.real[:length],
            self.sparse.block_size,
        )
        count = summaries.shape[0]
        write_summaries(cache, plan.block_table[:count], summaries)
        scores = block_scores(inputs.router_query, summaries)
        routed = route_blocks(
            scores,
            plan.remote[:, :count],
            plan.candidate[:, :count],
            self.sparse.policy,
            self.index,
        )
        mixed = dash_attention_prefill(
            inputs.query,
            cache,
            real,
            plan.block_table,
            plan.position,
            plan.window_start,
            length,
            routed,
        )
        return self.finish(x, mixed.flatten(1))

    def decode(
        self, x: Tensor, phases: RopePhases, plan: DecodePlan, cache: PagedKv, real: Tensor
    ) -> Tensor:
        """Return outputs [B, d] of one new token in each of B sequences; arguments as `prefill`."""
        inputs = self.self_attn.project_few(self.input_layernorm(x), phases)
        write_kv(cache, plan.write_slots, inputs.key, inputs.value)
        scores = block_scores(inputs.router_query, cache.summaries[plan.block_table])
        routed = route_blocks(scores, plan.remote, plan.candidate, self.sparse.policy, self.index)
        mixed = dash_attention_decode(
            inputs.query,
            cache,
            real,
            plan.block_table,
            routed,
            plan.remote_limit,
            plan.local_slots,
            plan.local_valid,
        )
        return self.finish(x, mixed.flatten(1))
