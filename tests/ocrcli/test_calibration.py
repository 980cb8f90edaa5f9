"""Calibration finds the settings that a transcript was written under, and admits what it cannot."""

from dataclasses import replace

import pytest
import torch

from ocrcli.calibration import KnownPages, calibrate, table_of
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.open_settings import OPEN_SETTINGS, listed

PAGE_ID, VOCABULARY, WIDTH = 4, 61, 24
SETTINGS = {setting.key: setting for setting in OPEN_SETTINGS}


def tiny_model(seed):
    config = ModelConfig.from_dict(
        {
            "hidden_size": WIDTH,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 32,
            "first_k_dense_replace": 3,
            "n_routed_experts": 0,
            "vocab_size": VOCABULARY,
            "bos_token_id": 0,
            "image_token_id": 3,
            "page_token_id": PAGE_ID,
            "sparse_block_size": 4,
            "sparse_local_block": 1,
            "sparse_router_dim": 8,
            "vision_config": {
                "width": {
                    "sam_vit_b": {
                        "width": 2,
                        "heads": 1,
                        "layers": 1,
                        "position_size": 1,
                        "downsample_channels": [2],
                    },
                    "clip-l-14-224": {"width": 2, "heads": 1, "layers": 1, "position_size": 1},
                }
            },
        }
    )
    generator = torch.Generator().manual_seed(seed)
    model = UnlimitedOcr(config).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        scale = 1.0 if "embed" in name or weight.dim() < 2 else 2.0 / weight.shape[-1] ** 0.5
        weight.normal_(0.0, 0.3 * scale if "norm" in name else scale, generator=generator)
        if "norm" in name and ".router." not in name:
            weight.add_(1.0)
    # A sure hand: what the model writes is then far likelier than anything else.
    model.lm_head.weight.mul_(8.0)
    model.lm_head.weight[PAGE_ID] = 0.0
    return model


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def images(pages=2, tokens=70):
    generator = torch.Generator().manual_seed(9)
    return [torch.randn(tokens, WIDTH, generator=generator) for _ in range(pages)]


@torch.inference_mode()
def written(model, pictures, length=24):
    """Return what the model writes greedily, a section of `length` ids per page."""
    answer = []
    for _ in pictures:
        answer.append(PAGE_ID)
        for _ in range(length):
            # The number of markers must fit, so those that are still to come are put behind.
            missing = len(pictures) - answer.count(PAGE_ID)
            known = KnownPages(model, pictures, [5, 6], [*answer, *[PAGE_ID] * missing])
            scores = known._scores(model.config.sparse)[len(answer) - 1]
            scores[PAGE_ID] = -torch.inf
            answer.append(int(scores.argmax()))
    return answer


PLANTS = [
    {},
    {"sparse_bias_mode": "zero", "sparse_page_gate": False},
    {"sparse_router_norm_offset": 0.0, "sparse_main_rope_tok_freq_mode": "truncate"},
    {"sparse_entmax_alpha": 1.0, "sparse_rope_page_pairs": 2},
    {"sparse_bias_mode": "logp_minus_logbs", "sparse_rope_tok_freq_mode": "truncate"},
    # Entmax drops most blocks by itself; the cuts show where softmax keeps them all.
    {"sparse_entmax_alpha": 1.0, "sparse_topk_blocks": 8},
    {"sparse_entmax_alpha": 1.0, "sparse_entmax_topn": 12},
    # With 12 kept, dividing by their sum would be the same as a softmax over 12.
    {"sparse_entmax_alpha": 1.0, "sparse_topk_blocks": 8, "sparse_renormalise": True},
    {"sparse_router_scale": 2.0},
    {"sparse_candidate_scope": "candidate"},
    {"sparse_rope_page_pairs": 2, "sparse_rope_page_theta": 10000.0},
    {"sparse_rope_page_mod": 2},
    {"sparse_rope_tok_theta": 1e5},
    {"sparse_router_norm_last": True},
    {"sparse_fallback": "local_only"},
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: "+".join(plant) or "defaults")
def test_planted_settings_are_recovered(plant):
    model = tiny_model(seed=3)
    default = model.config.sparse
    planted = default
    for key, value in plant.items():
        planted = SETTINGS[key].put(planted, value)
    model.use_sparse(planted)
    pictures = images()
    answer = written(model, pictures)
    model.use_sparse(default)
    known = KnownPages(model, pictures, [5, 6], answer)
    found, verdicts = calibrate(known, default)
    assert known.perplexity(found) <= known.perplexity(planted) * 1.01
    for verdict in verdicts:
        setting = SETTINGS[verdict.key]
        if verdict.winner is None:
            assert setting.of(found) == setting.of(default)
        else:
            assert setting.of(found) == setting.of(planted), verdict
    assert model.config.sparse == default


def test_setting_that_changes_nothing_is_called_so():
    model = tiny_model(seed=3)
    pictures = images(tokens=12)
    known = KnownPages(model, pictures, [5, 6], [PAGE_ID, 7, 8, PAGE_ID, 9])
    _, verdicts = calibrate(known, model.config.sparse)
    told = {verdict.key: verdict.winner for verdict in verdicts}
    # Twelve image tokens are three blocks: no cut at eight or more of them can bind.
    assert told["sparse_topk_blocks"] is None
    assert any(
        line.startswith("sparse_topk_blocks: indistinguishable") for line in table_of(verdicts)
    )


def test_transcript_must_have_as_many_sections_as_pages():
    model = tiny_model(seed=3)
    with pytest.raises(ValueError, match="one <PAGE> before the text of each of 2 pages, got 1"):
        KnownPages(model, images(), [5], [PAGE_ID, 7, 8])


def test_first_generation_has_nothing_to_calibrate():
    model = tiny_model(seed=3)
    model.config = replace(model.config, attention="rswa")
    with pytest.raises(ValueError, match="second generation"):
        KnownPages(model, images(), [5], [PAGE_ID, PAGE_ID])


def test_every_open_setting_is_listed_once_with_its_source():
    lines = list(listed(tiny_model(seed=3).config.sparse))
    assert len(lines) == len(OPEN_SETTINGS) == len(SETTINGS)
    assert all("; source: " in line for line in lines)
    assert "open.sparse_bias_mode: logp; default logp; source: " in lines[0]


def test_defaults_are_those_of_the_configuration():
    sparse = ModelConfig.from_dict({}).sparse
    for setting in OPEN_SETTINGS:
        if setting.field:
            assert setting.of(sparse) == setting.choices[0], setting.key
