"""Configuration of Unlimited-OCR models: one strict parser for the large checkpoint and the small.

The large checkpoint's `config.json` repeats decoder keys at the top level and under
`language_config`, keeps the sparse settings in a plain or nested dictionary, and leaves many values
to its configuration class. Everything that shapes the network is therefore read here, by name, with
aliases and defaults, and every sparse setting that nobody consumed is reported.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from ocrcli.kernels.block_routing import RouterPolicy
from ocrcli.kernels.page_rope import RopeSettings
from ocrcli.models.json_file import read_json
from ocrcli.models.unlimited_ocr.config_section import ConfigError, ConfigSection
from ocrcli.models.unlimited_ocr.decoder_config import DecoderConfig, read_decoder
from ocrcli.models.unlimited_ocr.vision_config import VisionConfig, read_vision

__all__ = [
    "ConfigError",
    "DecoderConfig",
    "ModelConfig",
    "SparseConfig",
    "SpecialTokens",
    "VisionConfig",
    "WeightFacts",
]

Attention = Literal["dash", "rswa"]

_PER_LAYER = "sparse_per_layer"


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
class SpecialTokens:
    """Token ids that the engine must know without asking the tokenizer."""

    bos: int = 0
    eos: int = 1
    pad: int = 2
    image: int = 128815
    page: int | None = None

    def check(self, vocab_size: int) -> None:
        """Refuse ids without a row in the embedding, and ids with two meanings.

        Args:
            vocab_size: Rows of the embedding.

        Raises:
            ConfigError: An id is too large, or two are equal.
        """
        owners: dict[int, str] = {}
        for item in fields(self):
            name, number = f"{item.name}_token_id", getattr(self, item.name)
            if number is None:
                continue
            if number >= vocab_size:
                raise ConfigError(
                    f"{name} must be below vocab_size ({vocab_size}), got {number}; "
                    "correct config.json"
                )
            if number in owners:
                raise ConfigError(
                    f"{owners[number]} and {name} must differ, both are {number}; "
                    "correct config.json"
                )
            owners[number] = name


@dataclass(frozen=True)
class WeightFacts:
    """What a look at the weights says about the structure.

    Attributes:
        router_dim: Width of the routers, 0 if the weights hold none.
        router_norm_mean: Mean of the weights of all router norms.
    """

    router_dim: int = 0
    router_norm_mean: float = 0.0


@dataclass(frozen=True)
class ModelConfig:
    """Everything that shapes one model, and what the file said that nobody understood.

    Attributes:
        vision: The image encoder.
        decoder: The language decoder.
        sparse: Attention: geometry of blocks and window, and for "dash" the router.
        tokens: Special ids.
        attention: "dash" (second generation: routed blocks, positions by page) or "rswa" (first
            generation: dense prompt, sliding answer, one number line).
        unknown_keys: Sparse settings that nobody read.
    """

    vision: VisionConfig
    decoder: DecoderConfig
    sparse: SparseConfig
    tokens: SpecialTokens
    attention: Attention = "dash"
    unknown_keys: tuple[str, ...] = ()

    @property
    def has_markers(self) -> bool:
        """Whether every page of a prompt is announced by a `<PAGE>` token."""
        return self.attention == "dash"

    @classmethod
    def from_file(cls, path: Path, weights: WeightFacts | None = None) -> "ModelConfig":
        """Return the configuration in a `config.json`.

        Args:
            path: The JSON file.
            weights: See `from_dict`.

        Raises:
            ConfigError: The file is not a JSON object or a value cannot be used; the message does
                not name the file.
            OSError: The file cannot be read.
        """
        try:
            raw = read_json(path)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        if not isinstance(raw, dict):
            raise ConfigError(f"must hold a JSON object, got {type(raw).__name__}")
        return cls.from_dict(raw, weights)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], weights: WeightFacts | None = None) -> "ModelConfig":
        """Return the configuration in a parsed `config.json`.

        Args:
            raw: The JSON object.
            weights: What the weights say where the file is silent: a router tells the generations
                apart; None when they have not been looked at.

        Raises:
            ConfigError: A value has the wrong type or contradicts another.
        """
        language, sparse_values = _language_values(raw), _sparse_values(raw)
        if not _is_dash(language, sparse_values, weights):
            return _first_generation(raw, language, sparse_values)
        sparse = ConfigSection(sparse_values)
        decoder = read_decoder(ConfigSection(language))
        vision = read_vision(ConfigSection(raw.get("vision_config"), "vision_config"))
        settings = _sparse(sparse, weights or WeightFacts())
        ids = {**_present(sparse_values), **language}
        for name, dim in (
            ("head_dim", decoder.head_dim),
            ("sparse_router_dim", settings.router_dim),
        ):
            if dim % 2 or dim < 2 * settings.main_rope.page_pairs:
                raise ConfigError(
                    f"{name} must be even and at least twice sparse_rope_page_pairs "
                    f"({settings.main_rope.page_pairs}), got {dim}"
                )
        _check_projector(
            ConfigSection(raw.get("projector_config"), "projector_config"), vision, decoder
        )
        return cls(
            vision,
            decoder,
            settings,
            _tokens(ConfigSection(ids)),
            unknown_keys=tuple(sparse.unused()),
        )


def _is_dash(
    language: Mapping[str, Any], sparse_values: Mapping[str, Any], weights: WeightFacts | None
) -> bool:
    """Return the generation; the model type is the same for both and does not tell."""
    settings = _present(sparse_values).keys() - {"image_token_id", "page_token_id"}
    if settings or (weights is not None and weights.router_dim):
        return True
    windowed = {"sliding_window", "sliding_window_size"} & _present(language).keys()
    return weights is None and not windowed


def _first_generation(
    raw: Mapping[str, Any], language: dict[str, Any], sparse_values: Mapping[str, Any]
) -> ModelConfig:
    text = ConfigSection(language)
    window = text.get(("sliding_window", "sliding_window_size"), 128)
    # The ring of generated keys is cut into cache blocks, so the block must divide the window.
    block_size = math.gcd(window, SparseConfig.block_size)
    nested = ConfigSection(language.get("rope_parameters"), "rope_parameters")
    nested.choice("rope_type", "default", ("default",))
    theta = text.get("rope_theta", nested.get("rope_theta", 10000.0))
    rope = RopeSettings(page_pairs=0, token_theta=theta)
    decoder = read_decoder(text)
    vision = read_vision(ConfigSection(raw.get("vision_config"), "vision_config"))
    _check_projector(
        ConfigSection(raw.get("projector_config"), "projector_config"), vision, decoder
    )
    return ModelConfig(
        vision,
        decoder,
        SparseConfig(block_size, window // block_size, main_rope=rope, router_rope=rope),
        # What spells <PAGE> in this generation is text, whatever a file may call its id.
        replace(_tokens(text), page=None),
        attention="rswa",
        unknown_keys=tuple(sorted(_present(sparse_values))),
    )


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _nested(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that may repeat or hold the decoder's keys."""
    return [ConfigSection(raw.get(key), key).values for key in ("language_config", "text_config")]


def _language_values(raw: Mapping[str, Any]) -> dict[str, Any]:
    merged = {
        key: value
        for key, value in _present(raw).items()
        if not isinstance(value, dict) or key == "rope_parameters"
    }
    for nested in _nested(raw):
        merged.update(_present(nested))
    return merged


def _sparse_values(raw: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place in (raw, *_nested(raw)):
        for key, value in place.items():
            holder = any(word in key for word in ("sparse", "dash", "router"))
            if isinstance(value, dict) and holder and key != _PER_LAYER:
                found.update(value)
            elif key.startswith(("sparse_", "dash_")):
                found[key] = value
    return found


def _check_projector(
    projector: ConfigSection, vision: VisionConfig, decoder: DecoderConfig
) -> None:
    projector.choice("projector_type", "linear", ("linear",))
    for key, wanted, what in (
        ("input_dim", vision.feature_width, "the width of the visual features"),
        ("n_embed", decoder.hidden_size, "hidden_size"),
    ):
        value = projector.get(key, wanted)
        if value != wanted:
            raise ConfigError(
                f"projector_config.{key} is {value} but {what} is {wanted}; they must be equal"
            )


def _tokens(values: ConfigSection) -> SpecialTokens:
    base = SpecialTokens()
    page = values.get("page_token_id", -1, minimum=0)
    return SpecialTokens(
        bos=values.get("bos_token_id", base.bos, minimum=0),
        eos=values.get("eos_token_id", base.eos, minimum=0),
        pad=values.get("pad_token_id", base.pad, minimum=0),
        image=values.get("image_token_id", base.image, minimum=0),
        page=None if page < 0 else page,
    )


def _sparse(values: ConfigSection, weights: WeightFacts) -> SparseConfig:
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
            router_dim=values.get(
                ("sparse_router_dim", "sparse_index_dim"), weights.router_dim or base.router_dim
            ),
            router_norm_offset=values.get("sparse_router_norm_offset", offset),
            router_norm_last=values.get("sparse_router_norm_last", base.router_norm_last),
            page_isolated=isolated,
            main_rope=_rope(values, "sparse_main_rope_tok_freq_mode"),
            router_rope=_rope(values, "sparse_rope_tok_freq_mode"),
            policy=_policy(values, block_size, isolated),
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
        token_theta=values.get("sparse_rope_tok_theta", 10000.0),
        page_theta=values.get("sparse_rope_page_theta", 256.0),
        token_frequency=mode,
        page_modulus=values.get("sparse_rope_page_mod", 0, minimum=0),
    )


def _policy(values: ConfigSection, block_size: int, isolated: bool) -> RouterPolicy:
    base = RouterPolicy()
    topk_names = ("sparse_topk_blocks", "sparse_topk_block", "sparse_topk")
    fallback: Literal["all_remote", "local_only"] = "local_only" if isolated else base.fallback
    return RouterPolicy(
        alpha=values.get("sparse_entmax_alpha", base.alpha),
        topn=values.get(("sparse_entmax_topn", "sparse_topn"), base.topn),
        topk=values.get(topk_names, base.topk),
        bias_mode=values.get("sparse_bias_mode", base.bias_mode),
        bias_sigma=values.get("sparse_bias_sigma", base.bias_sigma),
        bias_floor=values.get("sparse_bias_floor", base.bias_floor),
        scale=values.get("sparse_router_scale", base.scale),
        candidate_scope=values.get("sparse_candidate_scope", base.candidate_scope),
        page_gate=values.get("sparse_page_gate", base.page_gate),
        renormalise=values.get("sparse_renormalise", base.renormalise),
        fallback=values.get("sparse_fallback", fallback),
        block_size=block_size,
        per_layer=_per_layer(values.section(_PER_LAYER)),
    )


def _per_layer(layers: ConfigSection) -> dict[int, dict[str, Any]]:
    changes = {}
    for key in layers.values:
        if not key.isdecimal():
            raise ConfigError(
                f'config key {_PER_LAYER} must have layer numbers as keys, got "{key}"'
            )
        changes[int(key)] = layers.section(key).values
    return changes
