import json
from dataclasses import fields
from pathlib import Path

import pytest

import ocrcli.models.small
from ocrcli.kernels.block_routing import RouterPolicy
from ocrcli.kernels.page_rope import RopeSettings
from ocrcli.models.unlimited_ocr.config import (
    DecoderConfig,
    ModelConfig,
    SparseConfig,
    SpecialTokens,
    VisionConfig,
)

SMALL = Path(ocrcli.models.small.__file__).parent / "config.json"
SPARSE = {
    "sparse_block_size": 16,
    "sparse_local_block": 3,
    "sparse_index_dim": 64,
    "sparse_topk_blocks": 5,
    "sparse_entmax_topn": 7,
    "sparse_rope_page_pairs": 2,
    "sparse_rope_tok_theta": 5000,
    "sparse_rope_page_theta": 64.0,
    "sparse_rope_page_mod": 9,
    "sparse_main_rope_tok_freq_mode": "truncate",
    "dash_query_chunk": 2048,
}


def test_empty_file_gives_the_published_sizes():
    config = ModelConfig.from_dict({})
    assert config.vision == VisionConfig()
    assert config.decoder == DecoderConfig()
    assert config.sparse == SparseConfig()
    assert config.tokens == SpecialTokens(bos=0, eos=1, pad=2, image=128815, page=None)
    assert config.unknown_keys == ()
    assert not config.line_places
    decoder, vision = config.decoder, config.vision
    assert (decoder.hidden_size, decoder.num_layers, decoder.vocab_size) == (1280, 12, 129280)
    assert (decoder.num_heads, decoder.num_kv_heads, decoder.head_dim) == (10, 10, 128)
    assert (decoder.intermediate_size, decoder.moe_intermediate_size) == (6848, 896)
    assert (decoder.num_experts, decoder.num_shared_experts) == (64, 2)
    assert (decoder.experts_per_token, decoder.first_dense_layers) == (6, 1)
    assert (decoder.normalise_expert_weights, decoder.routed_scaling) == (False, 1.0)
    assert (decoder.rms_norm_eps, decoder.tie_word_embeddings) == (1e-6, False)
    assert (vision.cell_size, vision.feature_width) == (64, 2048)
    sparse, policy = config.sparse, config.sparse.policy
    assert (sparse.block_size, sparse.local_blocks, sparse.local_tokens) == (32, 4, 128)
    assert (sparse.router_dim, sparse.router_norm_offset, sparse.page_isolated) == (128, 1.0, False)
    assert (policy.alpha, policy.topn, policy.topk) == (1.5, 16, 12)
    assert (policy.bias_mode, policy.candidate_scope) == ("logp", "candidate_and_remote")
    assert (policy.fallback, policy.renormalise, policy.page_gate) == ("all_remote", False, True)
    for rope in (sparse.main_rope, sparse.router_rope):
        assert rope == RopeSettings(1, 10000.0, 256.0, "stretch", 0)


def test_published_layout_gives_the_published_sizes(kit):
    config = ModelConfig.from_dict(kit.published_file())
    assert config.vision == VisionConfig()
    assert config.decoder == DecoderConfig()
    assert config.tokens.page == 128827
    assert config.unknown_keys == ()


@pytest.mark.parametrize(
    "place",
    [
        "",
        "sparse_attention_config",
        "language_config",
        "language_config/sparse_attention_config",
        "text_config",
        "dash_config",
    ],
)
def test_sparse_settings_are_found_wherever_they_lie(kit, place):
    raw = kit.published_file()
    for key, value in SPARSE.items():
        raw = kit.changed(raw, f"{place}/{key}" if place else key, value)
    config = ModelConfig.from_dict(raw)
    assert config.decoder == DecoderConfig()
    assert config.sparse == SparseConfig(
        block_size=16,
        local_blocks=3,
        router_dim=64,
        main_rope=RopeSettings(2, 5000.0, 64.0, "truncate", 9),
        router_rope=RopeSettings(2, 5000.0, 64.0, "stretch", 9),
        policy=RouterPolicy(topn=7, topk=5, block_size=16),
    )
    assert config.unknown_keys == ()


@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("sparse_router_dim", lambda sparse: sparse.router_dim),
        ("sparse_index_dim", lambda sparse: sparse.router_dim),
        ("sparse_topk_blocks", lambda sparse: sparse.policy.topk),
        ("sparse_topk_block", lambda sparse: sparse.policy.topk),
        ("sparse_topk", lambda sparse: sparse.policy.topk),
        ("sparse_entmax_topn", lambda sparse: sparse.policy.topn),
        ("sparse_topn", lambda sparse: sparse.policy.topn),
    ],
)
def test_aliases_name_one_setting(key, read):
    value = 14 if "top" not in key or "topn" in key else 10
    config = ModelConfig.from_dict({key: value})
    assert read(config.sparse) == value
    assert config.unknown_keys == ()


def test_open_settings_of_the_router_can_be_set():
    config = ModelConfig.from_dict(
        {
            "sparse_bias_mode": "centered",
            "sparse_bias_sigma": 100.0,
            "sparse_bias_floor": 0.5,
            "sparse_router_scale": 2,
            "sparse_candidate_scope": "candidate",
            "sparse_page_gate": False,
            "sparse_renormalise": True,
            "sparse_fallback": "local_only",
            "sparse_entmax_alpha": 1.0,
            "sparse_router_norm_offset": 0.0,
            "sparse_rope_tok_freq_mode": "truncate",
            "sparse_per_layer": {"3": {"topk": 2}},
        }
    )
    assert config.sparse.policy == RouterPolicy(
        alpha=1.0,
        bias_mode="centered",
        bias_sigma=100.0,
        bias_floor=0.5,
        scale=2.0,
        candidate_scope="candidate",
        page_gate=False,
        renormalise=True,
        fallback="local_only",
        per_layer={3: {"topk": 2}},
    )
    assert config.sparse.router_norm_offset == 0.0
    assert config.sparse.router_rope.token_frequency == "truncate"
    assert config.sparse.main_rope.token_frequency == "stretch"
    assert config.unknown_keys == ()


def test_isolated_pages_read_locally_when_no_block_fits():
    raw = {"sparse_page_isolated": True, "vision_config": {"image_channels": 1}}
    assert ModelConfig.from_dict(raw).sparse.policy.fallback == "local_only"


def test_settings_that_nobody_reads_are_reported(kit):
    raw = kit.published_file()
    raw["sparse_attention_config"] = {"sparse_num_index_heads": 4, "init_block": 1, **SPARSE}
    raw["language_config"]["dash_mystery"] = "x"
    raw["sparse_attention_freq"] = [0, 1]
    raw["router_config"] = {"temperature": 2.0}
    assert ModelConfig.from_dict(raw).unknown_keys == (
        "dash_mystery",
        "init_block",
        "sparse_attention_freq",
        "sparse_num_index_heads",
        "temperature",
    )


def test_null_means_default_and_is_not_unknown():
    config = ModelConfig.from_dict(
        {
            "sparse_rope_tok_freq_mode": None,
            "sparse_topk_blocks": None,
            "sparse_topk": 4,
            "language_config": {"hidden_size": None, "bos_token_id": 7},
            "bos_token_id": None,
            "vision_config": None,
            "projector_config": None,
        }
    )
    assert config.sparse.policy.topk == 4
    assert config.tokens.bos == 7
    assert config.decoder.hidden_size == 1280
    assert config.unknown_keys == ()


@pytest.mark.parametrize("place", ["", "language_config/", "sparse_attention_config/"])
def test_token_ids_are_found_wherever_they_lie(kit, place):
    raw = kit.changed(kit.changed({}, place + "image_token_id", 11), place + "page_token_id", 12)
    config = ModelConfig.from_dict(raw)
    assert (config.tokens.image, config.tokens.page) == (11, 12)
    assert config.unknown_keys == ()


def test_head_size_follows_from_the_width_unless_it_is_given():
    assert ModelConfig.from_dict(
        {"hidden_size": 64, "num_attention_heads": 4, "projector_config": {"n_embed": 64}}
    ).decoder == DecoderConfig(hidden_size=64, num_heads=4, num_kv_heads=4, head_dim=16)
    decoder = ModelConfig.from_dict(
        {"hidden_size": 60, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16}
    ).decoder
    assert (decoder.head_dim, decoder.num_kv_heads) == (16, 2)


def test_small_model_has_the_sizes_that_its_training_relies_on():
    config = ModelConfig.from_file(SMALL)
    vision, decoder, sparse = config.vision, config.decoder, config.sparse
    assert config.unknown_keys == ()
    assert vision == VisionConfig(
        image_channels=1,
        patch_size=16,
        sam_width=256,
        sam_layers=6,
        sam_heads=4,
        window_size=8,
        global_layers=(2, 5),
        relative_position=False,
        position_layout="factored",
        position_size=120,
        neck_channels=0,
        compressor_channels=(384,),
        encoder_width=384,
        encoder_layers=4,
        encoder_heads=6,
        encoder_position_size=60,
        class_token=False,
        encoder_activation="gelu",
        encoder_final_norm=True,
        fusion="encoder",
        image_newline=True,
        view_separator=False,
        orientation_head=True,
        padded_coordinates=True,
    )
    assert config.line_places
    assert (vision.cell_size, vision.feature_width) == (32, 384)
    assert vision.position_size == 2 * vision.encoder_position_size
    assert decoder.tie_word_embeddings
    assert decoder.first_dense_layers == decoder.num_layers == 6
    assert (decoder.hidden_size, decoder.intermediate_size) == (384, 1024)
    assert (decoder.num_heads, decoder.num_kv_heads, decoder.head_dim) == (6, 6, 64)
    assert config.tokens == SpecialTokens(bos=1, eos=2, pad=0, image=3, page=4)
    rope = RopeSettings(1, 10000.0, 256.0, "stretch", 1)
    assert sparse == SparseConfig(
        block_size=32,
        local_blocks=4,
        router_dim=64,
        router_norm_offset=1.0,
        page_isolated=True,
        main_rope=rope,
        router_rope=rope,
        policy=RouterPolicy(bias_floor=1e-3, fallback="local_only"),
    )


def test_small_vocabulary_is_that_of_its_tokenizer():
    tokenizer = json.loads(SMALL.with_name("tokenizer.json").read_text(encoding="utf-8"))
    ids = set(tokenizer["model"]["vocab"].values()) | {
        token["id"] for token in tokenizer["added_tokens"]
    }
    assert ids == set(range(ModelConfig.from_file(SMALL).decoder.vocab_size))


def test_every_field_is_documented():
    for kind in (VisionConfig, SparseConfig):
        for field in fields(kind):
            assert f"{field.name}: " in kind.__doc__
