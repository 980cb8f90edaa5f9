"""Configuration of DASH attention: its settings, and how they are read from a file.

Nobody outside has seen where the published `config.json` keeps these settings, so they are looked
for in every object that may hold them, and those that nobody asked for are reported.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ocrcli.kernels.block_routing import RouterPolicy
from ocrcli.kernels.page_rope import RopeSettings
from ocrcli.models.unlimited_ocr.config_section import ConfigError, ConfigSection

_PER_LAYER = "sparse_per_layer"
_ROUTER_DIM = ("sparse_router_dim", "sparse_index_dim")
_TOPK = ("sparse_topk_blocks", "sparse_topk_block", "sparse_topk")
_TOPN = ("sparse_entmax_topn", "sparse_topn")
# An object under one of these names is a mistake; under other names it may hold the settings.
_NAMES = frozenset(
    (
        *_ROUTER_DIM,
        *_TOPK,
        *_TOPN,
        _PER_LAYER,
        "dash_query_chunk",
        "sparse_bias_floor",
        "sparse_bias_mode",
        "sparse_bias_sigma",
        "sparse_block_size",
        "sparse_candidate_scope",
        "sparse_entmax_alpha",
        "sparse_fallback",
        "sparse_local_block",
        "sparse_main_rope_tok_freq_mode",
        "sparse_page_gate",
        "sparse_page_isolated",
        "sparse_renormalise",
        "sparse_rope_page_mod",
        "sparse_rope_page_pairs",
        "sparse_rope_page_theta",
        "sparse_rope_tok_freq_mode",
        "sparse_rope_tok_theta",
        "sparse_router_norm_last",
        "sparse_router_norm_offset",
        "sparse_router_scale",
    )
)


@dataclass(frozen=True)
class SparseConfig:
    """DASH settings: block geometry, rotary settings of both branches and the router's policy.

    Attributes:
        block_size: Tokens in a routed block, also in a block of the paged cache.
        local_blocks: Length of the local window in blocks.
        router_dim: Width of router queries, keys and summaries.
        router_norm_offset: 1.0 for Gemma-style norms (scale by 1 + w), 0.0 for plain ones.
        router_norm_last: Whether router vectors are normalised after the rotation, not before.
        page_isolated: Whether pages start on block borders and never read across a `<PAGE>`.
        main_rope: Rotary settings of queries and keys.
        router_rope: Rotary settings of router queries and keys.
        policy: How blocks are chosen and weighed.
    """

    block_size: int = 32
    local_blocks: int = 4
    router_dim: int = 128
    router_norm_offset: float = 1.0
    router_norm_last: bool = False
    page_isolated: bool = False
    main_rope: RopeSettings = field(default_factory=RopeSettings)
    router_rope: RopeSettings = field(default_factory=RopeSettings)
    policy: RouterPolicy = field(default_factory=RouterPolicy)

    @property
    def local_tokens(self) -> int:
        """Length of the local window in tokens, the query itself included."""
        return self.block_size * self.local_blocks


@dataclass(frozen=True)
class WeightFacts:
    """What a look at the weights says about the structure.

    Attributes:
        router_dim: Width of the routers, 0 if the weights hold none.
        router_norm_mean: Mean of the weights of all router norms.
    """

    router_dim: int = 0
    router_norm_mean: float = 0.0


def sparse_values(places: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sparse settings by name, wherever they lie.

    Args:
        places: The objects that may repeat or hold the decoder's keys.
    """
    found: dict[str, Any] = {}
    for place in places:
        for key, value in place.items():
            may_hold = any(word in key for word in ("sparse", "dash", "router"))
            if isinstance(value, dict) and may_hold and key not in _NAMES:
                found.update(value)
            elif key.startswith(("sparse_", "dash_")):
                found[key] = value
    return found


def read_sparse(values: ConfigSection, weights: WeightFacts, num_layers: int) -> SparseConfig:
    """Return the configuration in the sparse settings of a `config.json`.

    Args:
        values: The settings, as `sparse_values` found them.
        weights: What the weights say where the file is silent.
        num_layers: Layers of the decoder.

    Raises:
        ConfigError: A value has the wrong type or contradicts another.
    """
    base = SparseConfig()
    # Gemma-style weights scatter around 0, plain ones around 1.
    offset = 0.0 if weights.router_norm_mean > 0.5 else base.router_norm_offset
    # Read elsewhere, or a matter of speed in the engine that wrote the file.
    for name in ("image_token_id", "page_token_id", "dash_query_chunk"):
        values.get(name, 0, minimum=0)
    block_size = values.get("sparse_block_size", base.block_size)
    isolated = values.get("sparse_page_isolated", base.page_isolated)
    try:
        return SparseConfig(
            block_size=block_size,
            local_blocks=values.get("sparse_local_block", base.local_blocks),
            router_dim=values.get(_ROUTER_DIM, weights.router_dim or base.router_dim),
            router_norm_offset=values.get("sparse_router_norm_offset", offset),
            router_norm_last=values.get("sparse_router_norm_last", base.router_norm_last),
            page_isolated=isolated,
            main_rope=_rope(values, "sparse_main_rope_tok_freq_mode"),
            router_rope=_rope(values, "sparse_rope_tok_freq_mode"),
            policy=_policy(values, block_size, isolated, num_layers),
        )
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(f"sparse settings: {error}") from error


def _rope(values: ConfigSection, mode_key: str) -> RopeSettings:
    # The published code knows one special word; anything else means the default.
    truncate = values.get(mode_key, "stretch") == "truncate"
    mode: Literal["stretch", "truncate"] = "truncate" if truncate else "stretch"
    return RopeSettings(
        page_pairs=values.get("sparse_rope_page_pairs", 1, minimum=0),
        token_theta=values.get("sparse_rope_tok_theta", 10000.0, is_positive=True),
        page_theta=values.get("sparse_rope_page_theta", 256.0, is_positive=True),
        token_frequency=mode,
        page_modulus=values.get("sparse_rope_page_mod", 0, minimum=0),
    )


def _policy(
    values: ConfigSection, block_size: int, isolated: bool, num_layers: int
) -> RouterPolicy:
    base = RouterPolicy()
    fallback: Literal["all_remote", "local_only"] = "local_only" if isolated else base.fallback
    return RouterPolicy(
        alpha=values.get("sparse_entmax_alpha", base.alpha),
        topn=values.get(_TOPN, base.topn),
        topk=values.get(_TOPK, base.topk),
        bias_mode=values.get("sparse_bias_mode", base.bias_mode),
        bias_sigma=values.get("sparse_bias_sigma", base.bias_sigma, is_positive=True),
        bias_floor=values.get("sparse_bias_floor", base.bias_floor),
        scale=values.get("sparse_router_scale", base.scale, is_positive=True),
        candidate_scope=values.get("sparse_candidate_scope", base.candidate_scope),
        page_gate=values.get("sparse_page_gate", base.page_gate),
        renormalise=values.get("sparse_renormalise", base.renormalise),
        fallback=values.get("sparse_fallback", fallback),
        block_size=block_size,
        per_layer=_per_layer(values.section(_PER_LAYER), num_layers),
    )


def _per_layer(layers: ConfigSection, num_layers: int) -> dict[int, dict[str, Any]]:
    base, changes = RouterPolicy(), {}
    for key in layers.values:
        if not key.isdecimal():
            raise ConfigError(
                f'config key {_PER_LAYER} must have layer numbers as keys, got "{key}"'
            )
        if int(key) >= num_layers:
            raise ConfigError(
                f"config key {_PER_LAYER} must have layers below num_hidden_layers ({num_layers}) "
                f'as keys, got "{key}"'
            )
        layer = layers.section(key)
        changes[int(key)] = {
            name: layer.get(name, getattr(base, name)) if name in vars(base) else value
            for name, value in layer.values.items()
            if value is not None
        }
    return changes
