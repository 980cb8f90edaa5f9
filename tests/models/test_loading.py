import json

import pytest
import torch
from safetensors.torch import save_file

import ocrcli.models
from ocrcli.models import CheckpointError, find_model, load_model, model_facts
from ocrcli.models.small.training.export import export
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

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
    "image_token_id": 3,
    "sparse_router_dim": 4,
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


def random_weights():
    generator = torch.Generator().manual_seed(0)
    model = UnlimitedOcr(ModelConfig.from_dict(CONFIG)).requires_grad_(False)
    return {
        name: value.normal_(generator=generator).clone()
        for name, value in model.state_dict().items()
    }


@pytest.fixture
def folder(tmp_path):
    """A model folder without weights."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def write_shards(folder, weights):
    names = sorted(weights)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for shard, held in shards.items():
        save_file({name: weights[name] for name in held}, folder / shard)
    index = {"weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_folder_with_one_weights_file_is_loaded(folder):
    weights = random_weights()
    save_file(weights, folder / "model.safetensors")
    loaded = load_model(folder)
    state = loaded.model.state_dict()
    assert all(torch.equal(state[name], weights[name]) for name in weights)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert loaded.config == loaded.model.config == ModelConfig.from_dict(CONFIG)
    assert loaded.files.tokenizer == folder / "tokenizer.json"


def test_weights_file_finds_the_files_beside_it(folder):
    save_file(random_weights(), folder / "other.safetensors")
    files = find_model(folder / "other.safetensors")
    assert files.weights == (folder / "other.safetensors",)
    assert files.config == folder / "config.json"
    assert load_model(folder / "other.safetensors").files == files


def test_shards_are_found_through_their_index(folder):
    weights = random_weights()
    write_shards(folder, weights)
    loaded = load_model(folder)
    assert [path.name for path in loaded.files.weights] == ["a.safetensors", "b.safetensors"]
    state = loaded.model.state_dict()
    assert all(torch.equal(state[name], weights[name]) for name in weights)
    assert [len(facts.sha256) for facts in model_facts(loaded.files)] == [64, 64]


def test_missing_shard_is_named(folder):
    write_shards(folder, random_weights())
    (folder / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"b\.safetensors: no such file"):
        load_model(folder)


@pytest.mark.parametrize(
    "index",
    [
        pytest.param("[" * 100_000, id="deep"),
        "{",
        "[]",
        "{}",
        "3",
        '{"weight_map": []}',
        '{"weight_map": {"a": 1}}',
        '{"weight_map": {}}',
    ],
)
def test_damaged_index_is_named(folder, index):
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(CheckpointError, match="model.safetensors.index.json"):
        find_model(folder)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_exported_model_computes_in_the_asked_type(folder, dtype):
    export(random_weights(), folder / "model.safetensors", {})
    model = load_model(folder, dtype=dtype).model
    assert {weight.dtype for weight in model.parameters()} == {dtype}
    tokens = model.encode_image(torch.zeros(3, 16, 16, dtype=dtype))
    assert tokens.shape == (2 * 3 + 1, 16)
    assert tokens.isfinite().all()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_missing_file_of_a_model_is_named(folder, name):
    save_file(random_weights(), folder / "model.safetensors")
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: no such file; a model needs it"):
        load_model(folder)


@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer.json", "model.safetensors.index.json", "a.safetensors"],
)
def test_pointer_of_git_lfs_is_recognised_whatever_it_stands_for(folder, name):
    write_shards(folder, random_weights())
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    (folder / name).write_text(pointer)
    with pytest.raises(CheckpointError) as caught:
        load_model(folder)
    assert str(caught.value).startswith(f"{folder / name}: is a git-lfs pointer")
    assert str(caught.value).endswith("run: git lfs pull")


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere: no such model folder or weights file"):
        load_model(tmp_path / "nowhere")


def test_unusable_configuration_is_a_checkpoint_error(folder):
    save_file(random_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"hidden_size": "wide"}))
    with pytest.raises(CheckpointError, match="config.json: config key hidden_size must be"):
        load_model(folder)


@pytest.mark.parametrize("content", ["{", "[]", pytest.param("[" * 100_000, id="deep")])
def test_damaged_configuration_is_named_once(folder, content):
    save_file(random_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(content)
    with pytest.raises(CheckpointError) as caught:
        load_model(folder)
    assert str(caught.value).startswith(f"{folder / 'config.json'}: ")
    assert str(caught.value).count("config.json") == 1


def test_weights_of_another_configuration_are_refused(folder):
    save_file(random_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": 12}))
    with pytest.raises(CheckpointError, match=r"must have shape \(12, 16\) .* got \(11, 16\)"):
        load_model(folder)


def test_weights_without_router_are_refused_by_name(folder):
    weights = {name: value for name, value in random_weights().items() if ".router." not in name}
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"missing tensor .*router\.head_cls.* and 7 more"):
        load_model(folder)


def test_shipped_model_is_found_by_default():
    try:
        files = find_model()
    except CheckpointError as error:
        assert "model.safetensors: no such file" in str(error)
        return
    assert files.name == "small"
    assert files.config.parent == files.weights[0].parent


def test_package_names_what_it_offers():
    assert {name for name in ocrcli.models.__all__ if hasattr(ocrcli.models, name)} == set(
        ocrcli.models.__all__
    )
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ocrcli.models.nothing


def with_head(folder):
    vision = CONFIG["vision_config"] | {"orientation_head": True}
    config = CONFIG | {"vision_config": vision}
    (folder / "config.json").write_text(json.dumps(config))
    model = UnlimitedOcr(ModelConfig.from_dict(config)).requires_grad_(False)
    return {name: torch.zeros_like(value) for name, value in model.state_dict().items()}


def test_weights_without_orientation_head_load_with_the_head_switched_off(folder):
    weights = with_head(folder)
    save_file(weights, folder / "model.safetensors")
    model = load_model(folder).model
    assert model.has_orientation_head
    assert model.orientation_scores(torch.zeros(2, 3, 4, 16)).shape == (2, 4)
    bare = {name: value for name, value in weights.items() if "orientation" not in name}
    save_file(bare, folder / "model.safetensors")
    model = load_model(folder).model
    assert not model.has_orientation_head
    assert not any(param.is_meta for param in model.parameters())
    with pytest.raises(ValueError, match="orientation"):
        model.orientation_scores(torch.zeros(2, 3, 4, 16))


def test_half_an_orientation_head_is_a_fault(folder):
    weights = with_head(folder)
    del weights["model.orientation.turns.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="orientation.turns.bias"):
        load_model(folder)


def test_another_tokenizer_than_the_weights_were_trained_with_is_refused(folder):
    save_file(random_weights(), folder / "model.safetensors", {"tokenizer_sha256": "0" * 64})
    with pytest.raises(CheckpointError, match="was trained with 0000"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eos_token_id": 11}, r"eos_token_id must be below vocab_size \(11\), got 11"),
        ({"image_token_id": 128815}, "image_token_id must be below vocab_size"),
        ({"page_token_id": 99}, "page_token_id must be below vocab_size"),
        ({"page_token_id": 2}, "pad_token_id and page_token_id must differ, both are 2"),
        ({"eos_token_id": 0}, "bos_token_id and eos_token_id must differ, both are 0"),
    ],
)
def test_special_tokens_have_a_row_each(folder, change, message):
    save_file(random_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(CheckpointError, match=f"config.json: {message}"):
        load_model(folder)
