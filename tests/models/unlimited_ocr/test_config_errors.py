import re

import pytest

from ocrcli.models.unlimited_ocr.config import ConfigError, ModelConfig
from ocrcli.open_settings import OPEN_SETTINGS

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("hidden_size", "1280", "hidden_size must be of type int, got '1280'"),
        ("hidden_size", 1280.0, "hidden_size must be of type int"),
        ("num_hidden_layers", True, "num_hidden_layers must be of type int"),
        ("num_hidden_layers", 0, "num_hidden_layers must be at least 1, got 0"),
        ("num_attention_heads", 0, "num_attention_heads must be at least 1"),
        ("num_attention_heads", 7, "hidden_size must be a multiple of num_attention_heads (7)"),
        ("num_key_value_heads", 3, "multiple of num_key_value_heads (3), got 10"),
        ("num_experts_per_tok", 65, "num_experts_per_tok is 65 but n_routed_experts is 64"),
        ("n_routed_experts", 0, "n_routed_experts is 0"),
        ("head_dim", 15, "head_dim must be even"),
        ("norm_topk_prob", 1, "norm_topk_prob must be of type bool"),
        ("rms_norm_eps", "1e-6", "rms_norm_eps must be of type float"),
        ("hidden_act", "gelu", 'hidden_act must be silu, got "gelu"'),
        ("scoring_func", "sigmoid", 'scoring_func must be softmax, got "sigmoid"'),
        ("mlp_layer_types", 5, "mlp_layer_types must be a list of dense or sparse, got 5"),
        ("mlp_layer_types", {}, "mlp_layer_types must be a list of dense or sparse, got {}"),
        ("mlp_layer_types", ["dense", 1], "must be a list of dense or sparse, got ['dense', 1]"),
        ("mlp_layer_types", [["dense"]], "must be a list of dense or sparse, got [['dense']]"),
        (
            "mlp_layer_types",
            ["dense"] * 11,
            "one entry per layer (num_hidden_layers is 12), got 11",
        ),
        ("page_token_id", "<PAGE>", "page_token_id must be of type int"),
        ("page_token_id", {}, "page_token_id must be of type int, got {}"),
        ("rms_norm_eps", {}, "rms_norm_eps must be of type float, got {}"),
        ("hidden_size", {"a": 1}, "hidden_size must be of type int, got {'a': 1}"),
        ("eos_token_id", -1, "eos_token_id must be at least 0"),
        ("language_config", "x", "language_config must be a JSON object"),
        ("vision_config", [1], "vision_config must be a JSON object"),
        ("vision_config/width", 1024, "vision_config.width must be a JSON object"),
        ("vision_config/width/sam_vit_b", 3, "vision_config.width.sam_vit_b must be"),
        ("vision_config/width/sam_vit_b/layers", "x", "width.sam_vit_b.layers must be of type"),
        ("vision_config/width/sam_vit_b/heads", 5, "sam_vit_b.heads (5), got 768"),
        (
            "vision_config/width/sam_vit_b/global_attn_indexes",
            [2, "5"],
            "global_attn_indexes must be of type list of integers",
        ),
        ("vision_config/width/sam_vit_b/downsample_channels", [512], "downsample_channels must"),
        ("vision_config/width/sam_vit_b/downsample_channels", [], "downsample_channels must"),
        ("vision_config/width/clip-l-14-224/heads", 7, "clip-l-14-224.heads (7), got 1024"),
        ("vision_config/encoder_activation", "relu", "encoder_activation must be quick_gelu or"),
        ("vision_config/position_layout", "x", "position_layout must be grid or factored"),
        ("vision_config/fusion", 3, "fusion must be of type str"),
        ("vision_config/fusion", "x", "fusion must be concat or encoder"),
        ("vision_config/position_layout", "factored", "class_token must be false"),
        ("vision_config/tile_size", 1, "vision_config.tile_size must be a multiple of 64"),
        ("vision_config/tile_size", 650, "vision_config.tile_size must be a multiple of 64"),
        ("projector_config", 3, "projector_config must be a JSON object"),
        ("projector_config/n_embed", 384, "projector_config.n_embed is 384 but hidden_size is"),
        ("projector_config/input_dim", 1024, "projector_config.input_dim is 1024 but"),
        ("projector_config/projector_type", "mlp", "projector_type must be linear"),
        ("sparse_block_size", 0, "sparse_block_size must be at least 1"),
        ("sparse_local_block", [4], "sparse_local_block must be of type int"),
        ("sparse_router_dim", 63, "sparse_router_dim must be even"),
        ("sparse_rope_page_pairs", 80, "at least twice sparse_rope_page_pairs (80), got 128"),
        ("sparse_rope_tok_theta", "big", "sparse_rope_tok_theta must be of type float"),
        ("sparse_rope_tok_theta", -1.0, "sparse_rope_tok_theta must be a finite number above 0"),
        ("sparse_rope_page_theta", 0, "sparse_rope_page_theta must be a finite number above 0"),
        ("sparse_main_rope_tok_freq_mode", 1, "sparse_main_rope_tok_freq_mode must be of type str"),
        ("sparse_page_isolated", "yes", "sparse_page_isolated must be of type bool"),
        ("sparse_page_isolated", True, "unless vision_config.image_channels is 1, got true and 3"),
        ("sparse_bias_mode", "x", "bias_mode must be one of"),
        ("sparse_topk", 17, "topk must lie in 1..topn"),
        ("sparse_entmax_alpha", 2.0, "alpha must be one of"),
        ("sparse_per_layer", [1], "sparse_per_layer must be a JSON object"),
        ("sparse_per_layer", {"a": {}}, 'layer numbers as keys, got "a"'),
        ("sparse_per_layer", {"12": {}}, 'below num_hidden_layers (12) as keys, got "12"'),
        ("sparse_per_layer", {"1": 5}, "sparse_per_layer.1 must be a JSON object"),
        ("sparse_per_layer", {"1": {"tpk": 5}}, "tpk"),
        ("sparse_per_layer", {"1": {"topk": "5"}}, "sparse_per_layer.1.topk must be of type int"),
        ("sparse_per_layer", {"1": {"topk": 17}}, "topk must lie in 1..topn"),
        ("sparse_per_layer", {"1": {"scale": NAN}}, "sparse_per_layer.1.scale must be a finite"),
        (
            "sparse_router_scale",
            NAN,
            "sparse_router_scale must be a finite number above 0, got nan",
        ),
        ("sparse_bias_sigma", -INF, "sparse_bias_sigma must be a finite number above 0, got -inf"),
        (
            "sparse_router_norm_offset",
            INF,
            "sparse_router_norm_offset must be a finite number, got",
        ),
        ("routed_scaling_factor", NAN, "routed_scaling_factor must be a finite number, got nan"),
        (
            "routed_scaling_factor",
            10**400,
            "routed_scaling_factor must be a finite number, got 1000",
        ),
        ("rms_norm_eps", INF, "rms_norm_eps must be a finite number above 0, got inf"),
        ("rms_norm_eps", 0, "rms_norm_eps must be a finite number above 0, got 0"),
        ("rms_norm_eps", -1e-6, "rms_norm_eps must be a finite number above 0, got -1e-06"),
        pytest.param(
            "hidden_size",
            10**400,
            "hidden_size must be at most 2147483647, got 1000",
            id="hidden_size-huge",
        ),
    ],
)
def test_unusable_values_are_reported_by_key(kit, path, value, named):
    raw = kit.changed(kit.published_file(), path, value)
    if "/" not in path and path in raw["language_config"]:
        raw["language_config"][path] = value
    with pytest.raises(ConfigError, match=re.escape(named)):
        ModelConfig.from_dict(raw)


@pytest.mark.parametrize(
    "name",
    [
        "dash_query_chunk",
        "sparse_block_size",
        "sparse_local_block",
        "sparse_page_isolated",
        "sparse_router_norm_last",
        "sparse_topk",
        "sparse_topk_block",
        "sparse_topn",
        "sparse_router_dim",
        "sparse_index_dim",
        *(setting.key for setting in OPEN_SETTINGS if setting.key.startswith("sparse_")),
    ],
)
def test_object_in_place_of_a_setting_is_reported(name):
    value = {"x": 1} if name == "sparse_per_layer" else {}
    with pytest.raises(ConfigError, match=f"config key {name}|{name} must"):
        ModelConfig.from_dict({name: value})


@pytest.mark.parametrize("generation", [{"sliding_window": 128}, {"sparse_topk": 8}])
@pytest.mark.parametrize("place", ["", "language_config/", "text_config/"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope_parameters", {"rope_type": "yarn"}),
        ("rope_parameters", {"type": "linear"}),
        ("rope_scaling", {"type": "yarn"}),
        ("rope_scaling", {"rope_type": "dynamic", "factor": 2.0}),
        ("rope_scaling", {"factor": 2.0}),
    ],
)
def test_scaled_frequencies_are_refused(kit, generation, place, key, value):
    raw = kit.changed(generation, place + key, value)
    with pytest.raises(ConfigError, match=rf"config key {key}\.(rope_)?type must be default, got"):
        ModelConfig.from_dict(raw)
    for harmless in (None, {}, {"rope_type": "default"}, {"type": "default"}):
        ModelConfig.from_dict(kit.changed(generation, place + key, harmless))


@pytest.mark.parametrize("theta", [0, -1.0, NAN, INF])
@pytest.mark.parametrize("path", ["rope_theta", "rope_parameters/rope_theta"])
def test_base_of_frequencies_of_the_first_generation_is_a_number(kit, path, theta):
    raw = kit.changed({"sliding_window": 128}, path, theta)
    name = path.replace("/", ".")
    with pytest.raises(ConfigError, match=f"key {name} must be a finite number above 0, got"):
        ModelConfig.from_dict(raw)


def test_long_values_are_shortened():
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_dict({"hidden_size": [["x" * 1000] * 1000] * 1000})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not valid JSON: "),
        (b"\xff\xfe", "not valid JSON: "),
        pytest.param(b"1" * 9999, "not valid JSON: ", id="digits"),
        pytest.param(b"[" * 100_000, "not valid JSON: nested too deeply", id="deep"),
        (b"[]", "must hold a JSON object, got list"),
    ],
)
def test_damaged_files_are_reported(tmp_path, content, message):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_file(path)
    assert str(caught.value).startswith(message)
