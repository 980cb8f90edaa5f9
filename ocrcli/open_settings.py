"""What nobody outside has read about the second generation: one setting each, default and source.

The routing function and the `config.json` of the published weights are in no readable source. Every
gap is a key of `config.json` or an option of the command, and `calibrate-router` can measure those
that change what the model computes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ocrcli.models.unlimited_ocr.config import SparseConfig


@dataclass(frozen=True)
class OpenSetting:
    """One gap.

    Attributes:
        key: Key of `config.json`, or option of the command.
        default: What is assumed, as text.
        source: What the assumption rests on.
        field: Where `SparseConfig` keeps it: a field, or `policy.`, `main_rope.` or `router_rope.`
            and a field; empty if it cannot be measured.
        choices: Values that calibration tries.
    """

    key: str
    default: str
    source: str
    field: str = ""
    choices: tuple[Any, ...] = ()

    def of(self, sparse: SparseConfig) -> Any:
        """Return the setting's present value."""
        value: Any = sparse
        for name in self.field.split("."):
            value = getattr(value, name)
        return value

    def put(self, sparse: SparseConfig, value: Any) -> SparseConfig:
        """Return the settings with another value."""
        holder, _, name = self.field.rpartition(".")
        if not holder:
            return replace(sparse, **{name: value})
        changed = replace(getattr(sparse, holder), **{name: value})
        sparse = replace(sparse, **{holder: changed})
        if self.key.startswith(("sparse_rope_page", "sparse_rope_tok_theta")):
            # Both branches share these keys.
            router = replace(sparse.router_rope, **{name: value})
            sparse = replace(sparse, router_rope=router)
        return sparse


_DASH = "DashAttention (arXiv 2605.18753)"
_VLLM = "default in vLLM dash_attention.py"
_FREQUENCY = ("stretch", "truncate")

OPEN_SETTINGS = (
    OpenSetting(
        "sparse_bias_mode",
        "logp",
        _DASH,
        "policy.bias_mode",
        ("logp", "zero", "logp_minus_logbs", "centered"),
    ),
    OpenSetting("sparse_bias_sigma", "1e6", _DASH),
    OpenSetting("sparse_entmax_alpha", "1.5", "published ports", "policy.alpha", (1.5, 1.0)),
    OpenSetting("sparse_entmax_topn", "16", "published ports", "policy.topn", (16, 12, 32)),
    OpenSetting("sparse_topk_blocks", "12", "published ports", "policy.topk", (12, 8, 16)),
    OpenSetting("sparse_router_scale", "1.0", _DASH, "policy.scale", (1.0, 0.5, 2.0)),
    OpenSetting(
        "sparse_candidate_scope",
        "candidate_and_remote",
        "reconstructed",
        "policy.candidate_scope",
        ("candidate_and_remote", "candidate"),
    ),
    OpenSetting(
        "sparse_fallback",
        "all_remote",
        "published ports",
        "policy.fallback",
        ("all_remote", "local_only"),
    ),
    OpenSetting("sparse_bias_floor", "0", "reconstructed", "policy.bias_floor", (0.0, 1e-3)),
    OpenSetting("sparse_page_gate", "true", "published ports", "policy.page_gate", (True, False)),
    OpenSetting(
        "sparse_renormalise", "false", "reconstructed", "policy.renormalise", (False, True)
    ),
    OpenSetting("sparse_per_layer", "none", "reconstructed"),
    OpenSetting(
        "sparse_router_norm_offset",
        "1.0, or 0.0 if the weights' mean is near 1",
        "published ports call the norm Gemma-style",
        "router_norm_offset",
        (1.0, 0.0),
    ),
    OpenSetting(
        "sparse_router_norm_last",
        "false",
        "vLLM dash_attention.py rotates last",
        "router_norm_last",
        (False, True),
    ),
    OpenSetting("router tensors", "found by shape, under any name; one norm or two", "none"),
    OpenSetting(
        "sparse_main_rope_tok_freq_mode",
        "stretch",
        _VLLM,
        "main_rope.token_frequency",
        _FREQUENCY,
    ),
    OpenSetting(
        "sparse_rope_tok_freq_mode", "stretch", _VLLM, "router_rope.token_frequency", _FREQUENCY
    ),
    OpenSetting("sparse_rope_tok_theta", "10000", _VLLM, "main_rope.token_theta", (10000.0, 1e5)),
    OpenSetting("sparse_rope_page_pairs", "1", _VLLM, "main_rope.page_pairs", (1, 0, 2)),
    OpenSetting("sparse_rope_page_theta", "256", _VLLM, "main_rope.page_theta", (256.0, 10000.0)),
    OpenSetting("sparse_rope_page_mod", "0 (off)", _VLLM, "main_rope.page_modulus", (0, 2)),
    OpenSetting("page_token_id", "from config.json, else from the tokenizer", "none"),
    OpenSetting("--max-crops", "16 (first generation: 32)", "published ports"),
    OpenSetting("--mode", "auto: a lone page in tiles, several in one pass", "published ports"),
    OpenSetting("--pages-per-window", "256 (first generation: 8)", "none"),
    OpenSetting("--max-tokens", "4096 per page", "none"),
    OpenSetting(
        "--no-repeat-ngram", "35:128 for a lone page, 35:1024 for several", "first generation"
    ),
    OpenSetting(
        "--instruction", "document parsing. / Multi page parsing.", "first generation, ports"
    ),
    OpenSetting("temperature", "0 (greedy), nothing else is offered", "first generation"),
    OpenSetting("max_position_embeddings", "not enforced: positions are by page", "none"),
)


def listed(sparse: SparseConfig | None = None) -> Iterator[str]:
    """Yield one line per open setting, with its present value where the model has one."""
    for setting in OPEN_SETTINGS:
        now = f"{setting.of(sparse)}; " if sparse is not None and setting.field else ""
        yield f"open.{setting.key}: {now}default {setting.default}; source: {setting.source}"
