"""Configuration of the language decoder: its sizes, and how they are read from a file."""

from dataclasses import dataclass

from ocrcli.models.unlimited_ocr.config_section import ConfigError, ConfigSection, check_multiple


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of the language decoder; defaults are those of the large checkpoint."""

    hidden_size: int = 1280
    num_layers: int = 12
    num_heads: int = 10
    num_kv_heads: int = 10
    head_dim: int = 128
    intermediate_size: int = 6848
    moe_intermediate_size: int = 896
    num_experts: int = 64
    num_shared_experts: int = 2
    experts_per_token: int = 6
    first_dense_layers: int = 1
    normalise_expert_weights: bool = False
    routed_scaling: float = 1.0
    rms_norm_eps: float = 1e-6
    vocab_size: int = 129280
    tie_word_embeddings: bool = False


def read_decoder(text: ConfigSection) -> DecoderConfig:
    """Return the configuration in the merged decoder keys of a `config.json`.

    Args:
        text: The keys, wherever in the file they lay.

    Raises:
        ConfigError: A value has the wrong type or contradicts another.
    """
    base = DecoderConfig()
    hidden = text.get("hidden_size", base.hidden_size)
    heads = text.get("num_attention_heads", base.num_heads)
    head_dim = text.get("head_dim", 0)
    if not head_dim:
        check_multiple("hidden_size", hidden, "num_attention_heads", heads)
        head_dim = hidden // heads
    kv_heads = text.get("num_key_value_heads", heads)
    check_multiple("num_attention_heads", heads, "num_key_value_heads", kv_heads)
    # Other values would compute something else with tensors of the same names and shapes.
    text.choice("hidden_act", "silu", ("silu",))
    text.choice("scoring_func", "softmax", ("softmax",))
    for key in ("rope_parameters", "rope_scaling"):
        _check_rope(text.section(key), needs_type=key == "rope_scaling")
    layers = text.get("num_hidden_layers", base.num_layers)
    dense = text.get("first_k_dense_replace", _leading_dense(text, layers, base), minimum=0)
    experts = text.get("n_routed_experts", base.num_experts, minimum=0)
    chosen = text.get("num_experts_per_tok", base.experts_per_token)
    if dense < layers and chosen > experts:
        raise ConfigError(
            f"num_experts_per_tok is {chosen} but n_routed_experts is {experts}; lower the first, "
            f"or set first_k_dense_replace to {layers} for a decoder without experts"
        )
    return DecoderConfig(
        hidden_size=hidden,
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate_size=text.get("intermediate_size", base.intermediate_size),
        moe_intermediate_size=text.get("moe_intermediate_size", base.moe_intermediate_size),
        num_experts=experts,
        num_shared_experts=text.get("n_shared_experts", base.num_shared_experts, minimum=0),
        experts_per_token=chosen,
        first_dense_layers=dense,
        normalise_expert_weights=text.get("norm_topk_prob", base.normalise_expert_weights),
        routed_scaling=text.get("routed_scaling_factor", base.routed_scaling),
        rms_norm_eps=text.get("rms_norm_eps", base.rms_norm_eps, is_positive=True),
        vocab_size=text.get("vocab_size", base.vocab_size),
        tie_word_embeddings=text.get("tie_word_embeddings", base.tie_word_embeddings),
    )


def _check_rope(rope: ConfigSection, needs_type: bool) -> None:
    """Refuse frequencies that are scaled in a way that nothing here computes.

    Args:
        rope: What a file says of them; older files call the type `type`.
        needs_type: Whether values without a type are a scaling, too.
    """
    names = [name for name in ("rope_type", "type") if rope.values.get(name) is not None]
    for name in names or ["rope_type"] * (needs_type and bool(rope.values)):
        rope.choice(name, "", ("default",))


def _leading_dense(text: ConfigSection, layers: int, base: DecoderConfig) -> int:
    kinds = text.words("mlp_layer_types", ("dense", "sparse"))
    if kinds is None:
        return base.first_dense_layers
    if len(kinds) != layers:
        raise ConfigError(
            f"mlp_layer_types must have one entry per layer (num_hidden_layers is {layers}), "
            f"got {len(kinds)}"
        )
    count = kinds.index("sparse") if "sparse" in kinds else len(kinds)
    if "dense" in kinds[count:]:
        raise ConfigError("mlp_layer_types must list the dense layers first")
    return count
