"""The first generation against an independent implementation, both with the same random weights."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ocrcli.engine import Engine, GenerationLimits, NoRepeatNgram
from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.kernels.page_rope import IMAGE, line_coordinates
from ocrcli.models import load_model
from ocrcli.models.unlimited_ocr.decoder import rope_phases
from ocrcli.prompt import document_prompt
from ocrcli.views import page_views, view_tokens

transformers = pytest.importorskip("transformers", minversion="5.24.0")
with warnings.catch_warnings():
    # What the other library warns of while it is imported is its own affair.
    warnings.simplefilter("ignore")
    Reference = transformers.UnlimitedOcrForConditionalGeneration

WINDOW, SIDE, TILE = 24, 128, 64
TOLERANCE = 1e-4


@pytest.fixture(autouse=True)
def _quiet():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def reference():
    torch.manual_seed(0)
    config = transformers.UnlimitedOcrConfig(
        image_token_id=7,
        text_config={
            "vocab_size": 61,
            "hidden_size": 32,
            "intermediate_size": 48,
            "moe_intermediate_size": 16,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "n_routed_experts": 6,
            "n_shared_experts": 2,
            "num_experts_per_tok": 3,
            "sliding_window": WINDOW,
            "bos_token_id": 0,
            "eos_token_id": 1,
            "pad_token_id": 2,
        },
        vision_config={
            "sam_config": {
                "hidden_size": 24,
                "output_channels": 8,
                "num_hidden_layers": 3,
                "num_attention_heads": 3,
                "image_size": SIDE,
                "patch_size": 16,
                "window_size": 3,
                "global_attn_indexes": [1],
                "mlp_dim": 96,
                "downsample_channels": [12, 16],
            },
            "encoder_config": {
                "hidden_size": 16,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 28,
                "patch_size": 14,
            },
        },
    )
    model = Reference(config).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            scale = 0.8 if "embed_tokens" in name else 0.25
            weight.normal_(0.0, scale, generator=generator)
            if "norm" in name and name.endswith("weight"):
                weight.add_(1.0)
    return model


def published_config(config):
    """Return the configuration in the form of the published files."""
    text = config.text_config.to_dict()
    keys = [
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "moe_intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "n_routed_experts",
        "n_shared_experts",
        "num_experts_per_tok",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
    ]
    decoder = {key: text[key] for key in keys} | {"first_k_dense_replace": 1}
    sam, clip = config.vision_config.sam_config, config.vision_config.encoder_config
    return {
        **decoder,
        "language_config": decoder,
        "image_token_id": 7,
        "sliding_window": WINDOW,
        "vision_config": {
            "neck_channels": sam.output_channels,
            "tile_size": TILE,
            "width": {
                "sam_vit_b": {
                    "width": sam.hidden_size,
                    "layers": sam.num_hidden_layers,
                    "heads": sam.num_attention_heads,
                    "window_size": sam.window_size,
                    "global_attn_indexes": sam.global_attn_indexes,
                    "position_size": SIDE // 16,
                    "downsample_channels": list(sam.downsample_channels),
                },
                "clip-l-14-224": {
                    "width": clip.hidden_size,
                    "layers": clip.num_hidden_layers,
                    "heads": clip.num_attention_heads,
                    "position_size": 2,
                },
            },
        },
    }


@pytest.fixture(scope="module", params=["published", "native"])
def folder(request, reference, tmp_path_factory):
    """The reference's weights on disk, in either layout."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "published":
        # Saving goes back to the published names.
        reference.save_pretrained(folder)
        config = published_config(reference.config)
    else:
        weights = {name: value.contiguous() for name, value in reference.state_dict().items()}
        save_file(weights, folder / "model.safetensors")
        config = reference.config.to_dict()
        config["vision_config"]["tile_size"] = TILE
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def ours(folder):
    return load_model(folder).model


def assert_near(mine, theirs):
    assert mine.shape == theirs.shape
    assert (mine - theirs).abs().max() <= TOLERANCE * theirs.abs().max()


def page(height=150, width=110):
    noise = np.random.default_rng(3)
    return noise.integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_both_layouts_are_told_to_be_the_first_generation(ours):
    config = ours.config
    assert config.attention == "rswa"
    assert config.sparse.local_tokens == WINDOW
    assert config.decoder.first_dense_layers == 1
    assert config.tokens.page is None
    assert config.unknown_keys == ()


def test_vision_tower_matches(ours, reference):
    for side in (SIDE, TILE):
        pixels = torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(2)) * 2 - 1
        theirs = reference.model.vision_tower(pixels).last_hidden_state
        assert_near(ours.visual_features(pixels).flatten(1, 2), theirs)


def test_image_tokens_of_tiles_and_overview_match(ours, reference):
    views = page_views(page(), ours.config.vision, max_tiles=6)
    rows = views.tiles.shape[0] // views.columns
    assert (views.columns, rows) == (2, 3)
    theirs = reference.model.get_image_features(
        views.overview[None],
        views.tiles,
        [views.tiles.shape[0]],
        [[views.columns, rows]],
    ).pooler_output[0]
    mine = torch.cat(
        (ours.encode_tiles(views.tiles, views.columns), ours.encode_image(views.overview))
    )
    assert mine.shape[0] == view_tokens(ours.config.vision, views.columns, rows)
    assert_near(mine, theirs)


def test_projector_and_mixture_of_experts_match(ours, reference):
    x = torch.randn(5, 32, generator=torch.Generator().manual_seed(4))
    features = ours.visual_features(torch.ones(1, 3, TILE, TILE))
    projected = reference.model.multi_modal_projector(features)
    assert_near(ours.model.projector(features), projected)
    layer = reference.model.language_model.layers[1].mlp
    assert_near(ours.model.layers[1].mlp(x), layer(x[None])[0])


def prompt_of(ours, count):
    return document_prompt([count], ours.config.tokens, [11, 12, 13], has_markers=False)


def test_scores_of_a_whole_prompt_match(ours, reference):
    views = page_views(page(), ours.config.vision)
    image = ours.encode_image(views.overview)
    prompt = prompt_of(ours, image.shape[0])
    theirs = reference(input_ids=prompt.ids[None], pixel_values=views.overview[None]).logits[0]
    sparse = ours.config.sparse
    blocks = -(-len(prompt.ids) // sparse.block_size)
    cache = ours.new_cache(blocks + 1, torch.device("cpu"), torch.float32)
    real = torch.zeros(blocks + 1, sparse.block_size, dtype=torch.bool)
    plan = prefill_plan(
        prompt.roles,
        torch.arange(1, blocks + 1),
        len(prompt.ids),
        sparse,
        line_coordinates(prompt.roles, 1),
    )
    embeddings = ours.embed_tokens(prompt.ids)
    embeddings[prompt.roles == IMAGE] = image
    mine = ours.logits(ours.prefill_hidden(embeddings, plan, cache, real))
    assert_near(mine, theirs)


def test_positions_turn_as_in_the_reference(ours, reference):
    index = torch.arange(40)
    phases = rope_phases(index, torch.zeros_like(index), 8, ours.config.sparse)
    cos, sin = reference.model.language_model.rotary_emb(torch.zeros(1, 1, 8), index[None])
    assert_near(phases.main_cos, cos[0])
    assert_near(phases.main_sin, sin[0])


class Codec:
    def encode(self, text):
        return [11, 12, 13]

    def decode(self, ids):
        return self.decode_with_ends(ids)[0]

    def decode_with_ends(self, ids):
        texts = [" ".join(map(str, ids[: count + 1])) for count in range(len(ids))]
        return (texts[-1] if texts else ""), [len(text) for text in texts]


class Endless:
    """A model that never writes the end."""

    def __init__(self, model):
        self.config, self.parameters = model.config, model.parameters
        self.has_orientation_head = False
        self.encode_image, self.encode_tiles = model.encode_image, model.encode_tiles
        self.embed_tokens, self.new_cache = model.embed_tokens, model.new_cache
        self._model = model

    def prefill(self, *arguments):
        return self._mute(self._model.prefill(*arguments))

    def decode(self, *arguments):
        return self._mute(self._model.decode(*arguments))

    def _mute(self, logits):
        logits[..., self.config.tokens.eos] = -torch.inf
        return logits


def reference_ban(size, window):
    from transformers.models.unlimited_ocr import generation_unlimited_ocr as generation

    return generation.UnlimitedOcrSlidingWindowNoRepeatNgramLogitsProcessor(size, window)


@pytest.mark.parametrize("ban", [None, NoRepeatNgram(3, 60)])
def test_greedy_tokens_match_over_two_hundred_steps(ours, reference, ban):
    limits = GenerationLimits(
        max_tokens_per_page=200,
        max_tiles=6,
        loop_guard=None,
        no_repeat_ngram=ban,
    )
    sheet = SimpleNamespace(page_number=1, pixels=page())
    (result,) = Engine(Endless(ours), Codec(), limits).transcribe([sheet])
    views = page_views(page(), ours.config.vision, max_tiles=6)
    count = view_tokens(ours.config.vision, 2, 3)
    prompt = prompt_of(ours, count)
    tokens = ours.config.tokens
    theirs = reference.generate(
        input_ids=prompt.ids[None],
        attention_mask=torch.ones_like(prompt.ids)[None],
        pixel_values=views.overview[None],
        pixel_values_local=views.tiles,
        num_local_patches=[6],
        patches_grid=[[2, 3]],
        do_sample=False,
        max_new_tokens=200,
        suppress_tokens=[tokens.bos, tokens.eos, tokens.pad, tokens.image],
        logits_processor=[] if ban is None else [reference_ban(ban.size, ban.window)],
    )
    assert result.prompt_tokens == count
    assert list(result.token_ids) == theirs[0, len(prompt.ids) :].tolist()
    assert len(set(result.token_ids)) > 10


def test_ban_on_repetition_is_the_reference_s():
    theirs = reference_ban(3, 12)
    dice = np.random.default_rng(0)
    for length in [1, 2, 3, 4, 11, 12, 13, *range(20, 60)]:
        ids = dice.integers(0, 4, length).tolist()
        scores = theirs(torch.tensor([ids]), torch.zeros(1, 4))[0]
        expected = set(torch.where(torch.isinf(scores))[0].tolist())
        assert NoRepeatNgram(3, 12).banned(ids) == expected, ids
