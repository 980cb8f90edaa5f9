"""Configuration of Unlimited-OCR models: one strict parser for the large checkpoint and the small.

The large checkpoint's `config.json` repeats decoder keys at the top level and under
`language_config`, keeps the sparse settings in a plain or nested dictionary, and leaves many values
to its configuration class. Everything that shapes the network is therefore read here, by name, with
aliases and defaults, and every sparse setting that nobody consumed is reported.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from ocrcli.kernels.page_rope import RopeSettings
from ocrcli.models.json_file import read_json
from ocrcli.models.unlimited_ocr.config_section import ConfigError, ConfigSection
from ocrcli.models.unlimited_ocr.decoder_config import DecoderConfig, read_decoder
from ocrcli.models.unlimited_ocr.sparse_config import (
    SparseConfig,
    WeightFacts,
    read_sparse,
    sparse_values,
)
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
class ModelConfig:
    """Everything that shapes one model, and what the file said that nobody understood.

    Attributes:
        vision: The image encoder.
        decoder: The language decoder.
        sparse: Attention: geometry of blocks and window, and for "dash" the router.
        tokens: Special ids.
        attention: "dash" (second generation: routed blocks, positions by page) or "rswa" (first
            generation: dense prompt, sliding answer, one number line).
        line_places: Whether the model says where lines begin when it is asked; see
            `ocrcli.engine.line_places`.
        unknown_keys: Sparse settings that nobody read.
    """

    vision: VisionConfig
    decoder: DecoderConfig
    sparse: SparseConfig
    tokens: SpecialTokens
    attention: Attention = "dash"
    line_places: bool = False
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
        language, settings = _language_values(raw), sparse_values((raw, *_nested(raw)))
        if not _is_dash(language, settings, weights):
            return _first_generation(raw, language, settings)
        section = ConfigSection(settings)
        decoder = read_decoder(ConfigSection(language))
        vision = read_vision(ConfigSection(raw.get("vision_config"), "vision_config"))
        sparse = read_sparse(section, weights or WeightFacts(), decoder.num_layers)
        ids = {**_present(settings), **language}
        for name, dim in (
            ("head_dim", decoder.head_dim),
            ("sparse_router_dim", sparse.router_dim),
        ):
            if dim % 2 or dim < 2 * sparse.main_rope.page_pairs:
                raise ConfigError(
                    f"{name} must be even and at least twice sparse_rope_page_pairs "
                    f"({sparse.main_rope.page_pairs}), got {dim}"
                )
        if sparse.page_isolated and vision.image_channels != 1:
            # Its pages are read as they are, without the views that colour models are given.
            raise ConfigError(
                "config key sparse_page_isolated must be false unless "
                f"vision_config.image_channels is 1, got true and {vision.image_channels}"
            )
        _check_projector(
            ConfigSection(raw.get("projector_config"), "projector_config"), vision, decoder
        )
        return cls(
            vision,
            decoder,
            sparse,
            _tokens(ConfigSection(ids)),
            line_places=ConfigSection(ids).get("line_places", False),
            unknown_keys=tuple(section.unused()),
        )


def _is_dash(
    language: Mapping[str, Any], settings: Mapping[str, Any], weights: WeightFacts | None
) -> bool:
    """Return the generation; the model type is the same for both and does not tell."""
    given = _present(settings).keys() - {"image_token_id", "page_token_id"}
    if given or (weights is not None and weights.router_dim):
        return True
    windowed = {"sliding_window", "sliding_window_size"} & _present(language).keys()
    return weights is None and not windowed


def _first_generation(
    raw: Mapping[str, Any], language: dict[str, Any], settings: Mapping[str, Any]
) -> ModelConfig:
    text = ConfigSection(language)
    window = text.get(("sliding_window", "sliding_window_size"), 128)
    # The ring of generated keys is cut into cache blocks, so the block must divide the window.
    block_size = math.gcd(window, SparseConfig.block_size)
    nested = text.section("rope_parameters")
    theta = nested.get("rope_theta", 10000.0, is_positive=True)
    theta = text.get("rope_theta", theta, is_positive=True)
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
        unknown_keys=tuple(sorted(_present(settings))),
    )


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _nested(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that may repeat or hold the decoder's keys."""
    return [ConfigSection(raw.get(key), key).values for key in ("language_config", "text_config")]


def _language_values(raw: Mapping[str, Any]) -> dict[str, Any]:
    merged = _present(raw)
    for nested in _nested(raw):
        merged.update(_present(nested))
    return merged


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
