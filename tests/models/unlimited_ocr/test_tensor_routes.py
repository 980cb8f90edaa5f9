"""Routers without known names are found by what is left over in a layer and by their shapes."""

import json

import pytest
import torch
from safetensors.torch import save_file

from ocrcli.models import CheckpointError, load_model
from ocrcli.models.unlimited_ocr.config import ModelConfig, WeightFacts
from ocrcli.models.unlimited_ocr.config_section import ConfigError
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.models.unlimited_ocr.tensor_names import find_routers, published_name, router_width

CONFIG = {
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "first_k_dense_replace": 1,
    "n_routed_experts": 3,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 4,
    "intermediate_size": 8,
    "vocab_size": 11,
    "image_token_id": 7,
    "page_token_id": 9,
    "projector_config": {"n_embed": 16},
    "vision_config": {
        "neck_channels": 4,
        "width": {
            "sam_vit_b": {
                "patch_size": 4,
                "width": 8,
                "layers": 1,
                "heads": 2,
                "window_size": 2,
                "position_size": 4,
                "downsample_channels": [8],
            },
            "clip-l-14-224": {"width": 8, "layers": 1, "heads": 2, "position_size": 2},
        },
    },
}
NAMES = {
    "nested": lambda role: f"self_attn.dash_router.{role}",
    "layer": lambda role: f"indexer.{role}",
    "index": lambda role: "self_attn.index_" + role,
    "bare": lambda role: "self_attn.router." + role.replace("head_cls", "cls_token"),
}


def weights(router_dim=4, norm=0.0):
    generator = torch.Generator().manual_seed(0)
    config = ModelConfig.from_dict(CONFIG | {"sparse_router_dim": router_dim})
    state = UnlimitedOcr(config).requires_grad_(False).state_dict()
    values = {name: value.normal_(generator=generator).clone() for name, value in state.items()}
    for name in values:
        if ".router." in name and "norm" in name:
            values[name] = values[name] * 0.1 + norm
    return values


def renamed(values, rename, shared=False, flat=True):
    found = {}
    for name, value in values.items():
        if ".router." not in name:
            found[name] = value
            continue
        layer, role = name.split(".self_attn.router.")
        if role == "k_norm.weight" and shared:
            continue
        if role == "q_norm.weight" and shared:
            role = "norm.weight"
        if role == "head_cls" and not flat:
            value = value[None].clone()
        found[f"{layer}.{rename(role)}"] = value
    return found


def written(folder, values, config=CONFIG):
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    save_file(values, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("style", sorted(NAMES))
def test_router_is_found_under_any_name(tmp_path, style, shared, flat):
    values = weights()
    folder = written(tmp_path, renamed(values, NAMES[style], shared, flat))
    model = load_model(folder).model
    state = model.state_dict()
    assert model.config.attention == "dash"
    assert model.config.sparse.router_dim == 4
    for name in values:
        twin = name.replace("k_norm", "q_norm") if shared and ".router." in name else name
        assert torch.equal(state[name], values[twin]), name


@pytest.mark.parametrize(("mean", "offset"), [(0.0, 1.0), (1.0, 0.0)])
def test_norm_style_is_read_off_the_weights(tmp_path, mean, offset):
    folder = written(tmp_path, weights(norm=mean))
    assert load_model(folder).config.sparse.router_norm_offset == offset


def test_file_overrules_the_norm_style_of_the_weights(tmp_path):
    config = CONFIG | {"sparse_router_norm_offset": 1.0}
    folder = written(tmp_path, weights(norm=1.0), config)
    assert load_model(folder).config.sparse.router_norm_offset == 1.0


def test_weights_without_router_are_the_first_generation(tmp_path):
    values = {name: value for name, value in weights().items() if ".router." not in name}
    config = load_model(written(tmp_path, values)).config
    assert config.attention == "rswa"
    assert config.sparse.local_tokens == 128
    assert not config.has_markers


def test_router_makes_the_second_generation_whatever_window_the_file_keeps(tmp_path):
    folder = written(tmp_path, weights(), CONFIG | {"sliding_window": 128})
    assert load_model(folder).config.attention == "dash"


def test_sparse_settings_without_router_name_the_missing_tensor(tmp_path):
    values = {name: value for name, value in weights().items() if ".router." not in name}
    folder = written(tmp_path, values, CONFIG | {"sparse_topk_blocks": 8})
    with pytest.raises(CheckpointError, match=r"missing tensor model\.layers\.0\.self_attn\.rou"):
        load_model(folder)


def test_layers_with_different_routers_are_refused(tmp_path):
    values = renamed(weights(), NAMES["nested"])
    del values["model.layers.1.self_attn.dash_router.k_norm.weight"]
    values["model.layers.1.self_attn.dash_router.norm.weight"] = values.pop(
        "model.layers.1.self_attn.dash_router.q_norm.weight"
    )
    with pytest.raises(CheckpointError, match="different numbers of tensors"):
        load_model(written(tmp_path, values))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("self_attn.router.extra", (4,)),
        ("self_attn.router.head_cls", (5,)),
        ("self_attn.router.q_proj.weight", (5, 16)),
    ],
)
def test_leftovers_are_listed_with_their_shapes(name, shape):
    shapes = {key: tuple(value.shape) for key, value in weights().items()}
    shapes[f"model.layers.0.{name}"] = shape
    with pytest.raises(ConfigError) as caught:
        find_routers(shapes)
    assert f"model.layers.0.{name} {list(shape)}" in str(caught.value)


@pytest.mark.parametrize("role", ["q_proj.weight", "k_proj.weight", "q_norm.weight", "head_cls"])
def test_router_of_a_single_number_is_listed(tmp_path, role):
    name = f"model.layers.0.self_attn.router.{role}"
    folder = written(tmp_path, weights() | {name: torch.tensor(1.0)})
    with pytest.raises(CheckpointError) as caught:
        load_model(folder)
    assert str(caught.value).startswith("model.safetensors: layer 0: a router needs")
    assert f"{name} []" in str(caught.value)


VISION = "model.vision_tower.vision_encoder.encoder.layers.0.self_attn."
EXPERTS = "model.language_model.layers.1.mlp.experts."


def native(values):
    """Return weights with what the layout of transformers splits and fuses."""
    values = dict(values)
    for kind in ("weight", "bias"):
        whole = values.pop(f"model.vision_model.transformer.layers.0.self_attn.qkv_proj.{kind}")
        for name, third in zip("qkv", whole.chunk(3), strict=True):
            values[f"{VISION}{name}_proj.{kind}"] = third.clone()
    parts = {
        part: [values.pop(f"model.layers.1.mlp.experts.{n}.{part}_proj.weight") for n in range(3)]
        for part in ("gate", "up", "down")
    }
    halves = zip(parts["gate"], parts["up"], strict=True)
    values[EXPERTS + "gate_up_proj"] = torch.stack([torch.cat(pair) for pair in halves])
    values[EXPERTS + "down_proj"] = torch.stack(parts["down"])
    return values


def test_split_and_fused_tensors_arrive_in_their_places(tmp_path):
    values = weights()
    state = load_model(written(tmp_path, native(values))).model.state_dict()
    assert all(torch.equal(state[name], values[name]) for name in values)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({VISION + "q_proj.weight": (16, 8)}, "(8, 8) by the configuration, got (16, 8)"),
        (
            {VISION + "q_proj.weight": (12, 8), VISION + "k_proj.weight": (4, 8)},
            "(8, 8) by the configuration, got (4, 8)",
        ),
        ({VISION + "v_proj.weight": (0, 8)}, "(8, 8) by the configuration, got (0, 8)"),
        ({VISION + "k_proj.bias": ()}, "(8,) by the configuration, got ()"),
        ({VISION + "k_proj.bias": (24,)}, "(8,) by the configuration, got (24,)"),
        ({EXPERTS + "gate_up_proj": ()}, "(3, 8, 16) by the configuration, got ()"),
        ({EXPERTS + "gate_up_proj": (3,)}, "(3, 8, 16) by the configuration, got (3,)"),
        ({EXPERTS + "gate_up_proj": (3, 7, 16)}, "(3, 8, 16) by the configuration, got (3, 7, 16)"),
        ({EXPERTS + "down_proj": (4, 16, 4)}, "(3, 16, 4) by the configuration, got (4, 16, 4)"),
        ({EXPERTS + "down_proj": (0,)}, "(3, 16, 4) by the configuration, got (0,)"),
    ],
)
def test_pieces_have_exactly_the_shape_of_their_place(tmp_path, changed, message):
    values = native(weights()) | {name: torch.zeros(shape) for name, shape in changed.items()}
    with pytest.raises(CheckpointError) as caught:
        load_model(written(tmp_path, values))
    name = sorted(changed)[0]
    assert str(caught.value) == f"model.safetensors: tensor {name} must have shape {message}"


def test_tensor_under_two_names_is_refused(tmp_path):
    name = "model.vision_model.transformer.layers.0.self_attn.qkv_proj.bias"
    values = native(weights()) | {name: torch.zeros(24)}
    with pytest.raises(CheckpointError, match=r"qkv_proj\.bias; remove one"):
        load_model(written(tmp_path, values))


def test_published_weights_hold_no_router():
    plain = ["self_attn.q_proj.weight", "mlp.experts.0.up_proj.weight", "input_layernorm.weight"]
    shapes = {f"model.layers.0.{name}": (2, 2) for name in plain}
    assert router_width(shapes) == (0, [])


@pytest.mark.parametrize(
    ("native", "published"),
    [
        (
            "model.vision_tower.sam_encoder.layers.3.attn.rel_pos_h",
            "model.sam_model.blocks.3.attn.rel_pos_h",
        ),
        ("model.vision_tower.sam_encoder.pos_embed", "model.sam_model.pos_embed"),
        (
            "model.vision_tower.vision_encoder.encoder.layers.1.mlp.fc1.bias",
            "model.vision_model.transformer.layers.1.mlp.fc1.bias",
        ),
        ("model.language_model.norm.weight", "model.norm.weight"),
        ("model.view_separator", "model.view_seperator"),
        ("lm_head.weight", "lm_head.weight"),
    ],
)
def test_native_names_become_published_ones(native, published):
    assert published_name(native) == published


def test_facts_of_the_weights_yield_to_the_file():
    facts = WeightFacts(router_dim=64, router_norm_mean=1.0)
    assert ModelConfig.from_dict({}, facts).sparse.router_dim == 64
    assert ModelConfig.from_dict({"sparse_index_dim": 32}, facts).sparse.router_dim == 32
