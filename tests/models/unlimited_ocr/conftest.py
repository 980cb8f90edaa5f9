"""Tiny models with every part of the large and the small structure, and documents for them."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


def published_file():
    """Return a `config.json` in the form of the published large model, without sparse settings."""
    decoder = {
        "bos_token_id": 0,
        "eos_token_id": 1,
        "first_k_dense_replace": 1,
        "hidden_size": 1280,
        "intermediate_size": 6848,
        "kv_lora_rank": None,
        "lm_head": True,
        "max_position_embeddings": 32768,
        "moe_intermediate_size": 896,
        "n_group": 1,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_attention_heads": 10,
        "num_experts_per_tok": 6,
        "num_hidden_layers": 12,
        "num_key_value_heads": 10,
        "q_lora_rank": None,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "rm_head": False,
        "topk_group": 1,
        "topk_method": "greedy",
        "use_mla": False,
        "v_head_dim": 128,
        "vocab_size": 129280,
    }
    return {
        **decoder,
        "architectures": ["UnlimitedOCRForCausalLM"],
        "auto_map": {"AutoConfig": "modeling_unlimitedocr.UnlimitedOCRConfig"},
        "candidate_resolutions": [[1024, 1024]],
        "global_view_pos": "head",
        "image_token_id": 128815,
        "language_config": {**decoder, "torch_dtype": "bfloat16"},
        "model_type": "unlimited-ocr",
        "page_token_id": 128827,
        "projector_config": {
            "input_dim": 2048,
            "model_type": "mlp_projector",
            "n_embed": 1280,
            "projector_type": "linear",
        },
        "tile_tag": "2D",
        "torch_dtype": "bfloat16",
        "vision_config": {
            "image_size": 1024,
            "mlp_ratio": 3.7362,
            "model_name": "deeplip_b_l",
            "model_type": "vision",
            "width": {
                "clip-l-14-224": {
                    "heads": 16,
                    "image_size": 224,
                    "layers": 24,
                    "patch_size": 14,
                    "width": 1024,
                },
                "sam_vit_b": {
                    "downsample_channels": [512, 1024],
                    "global_attn_indexes": [2, 5, 8, 11],
                    "heads": 12,
                    "layers": 12,
                    "width": 768,
                },
            },
        },
    }


def changed(raw, path, value):
    """Return a copy of `raw` with another value under a dotted path."""
    raw = copy.deepcopy(raw)
    *parents, last = path.split("/")
    place = raw
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return raw


WIDTH, VOCABULARY = 24, 31
PAGE_ID = 4


def large_structure(**vision):
    """Return a tiny configuration that uses every part of the large encoder."""
    return ModelConfig.from_dict(
        {
            "hidden_size": 14,
            "num_attention_heads": 1,
            "num_hidden_layers": 1,
            "first_k_dense_replace": 1,
            "n_routed_experts": 0,
            "intermediate_size": 4,
            "vocab_size": 5,
            "sparse_router_dim": 4,
            "vision_config": {
                "neck_channels": 6,
                **vision,
                "width": {
                    "sam_vit_b": {
                        "patch_size": 2,
                        "width": 8,
                        "layers": 3,
                        "heads": 2,
                        "window_size": 3,
                        "global_attn_indexes": [1],
                        "position_size": 8,
                        "downsample_channels": [10, 12],
                    },
                    "clip-l-14-224": {"width": 12, "layers": 2, "heads": 3, "position_size": 2},
                },
            },
        }
    )


def free_aspect(**vision):
    """Return a tiny configuration in the structure of the small encoder."""
    return ModelConfig.from_dict(
        {
            "hidden_size": 14,
            "num_attention_heads": 1,
            "num_hidden_layers": 1,
            "first_k_dense_replace": 1,
            "n_routed_experts": 0,
            "intermediate_size": 4,
            "vocab_size": 5,
            "sparse_router_dim": 4,
            "vision_config": {
                "image_channels": 1,
                "position_layout": "factored",
                "relative_position": False,
                "class_token": False,
                "neck_channels": 0,
                "fusion": "encoder",
                "encoder_activation": "gelu",
                "encoder_final_norm": True,
                "view_separator": False,
                **vision,
                "width": {
                    "sam_vit_b": {
                        "patch_size": 4,
                        "width": 8,
                        "layers": 2,
                        "heads": 2,
                        "window_size": 4,
                        "global_attn_indexes": [1],
                        "position_size": 16,
                        "downsample_channels": [12],
                    },
                    "clip-l-14-224": {"width": 12, "layers": 1, "heads": 3, "position_size": 8},
                },
            },
        }
    )


def random_model(config, seed=0, scale=0.4):
    """Return a model in which every parameter matters."""
    generator = torch.Generator().manual_seed(seed)
    model = UnlimitedOcr(config).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        weight.normal_(0.0, scale, generator=generator)
        if "norm" in name and name.endswith("weight") and ".router." not in name:
            weight.add_(1.0)
    return model


def large_config(**changes):
    """Return a tiny configuration with experts, grouped heads and pages in one document."""
    raw = {
        "hidden_size": WIDTH,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 20,
        "first_k_dense_replace": 1,
        "n_routed_experts": 5,
        "n_shared_experts": 2,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 10,
        "vocab_size": VOCABULARY,
        "page_token_id": PAGE_ID,
        "sparse_block_size": 8,
        "sparse_local_block": 2,
        "sparse_router_dim": 16,
        "sparse_topk_blocks": 3,
        "sparse_entmax_topn": 4,
        "sparse_rope_page_pairs": 2,
        "sparse_main_rope_tok_freq_mode": "truncate",
        "sparse_rope_tok_theta": 500.0,
        "vision_config": {
            # Only grey pages can be isolated.
            "image_channels": 1,
            "width": {
                "sam_vit_b": {
                    "width": 2,
                    "heads": 1,
                    "layers": 1,
                    "position_size": 1,
                    "downsample_channels": [2],
                },
                "clip-l-14-224": {"width": 2, "heads": 1, "layers": 1, "position_size": 1},
            },
        },
    }
    return ModelConfig.from_dict(raw | changes)


def isolated_config(**changes):
    settings = {"sparse_page_isolated": True, "sparse_bias_floor": 1e-3, "sparse_rope_page_mod": 1}
    return large_config(**(settings | changes))


def document(images, answers, block_size=0, surplus=0):
    """Return roles of a document prompt with its answers, and the length of the prompt.

    Args:
        images: Image tokens of each page.
        answers: Text tokens of each page's answer.
        block_size: Pages start on multiples of it; 0 for no padding.
        surplus: Text tokens after a marker too many; 0 for no such marker.
    """
    roles = [TEXT]
    for count in images:
        roles += [PADDING] * (-len(roles) % block_size if block_size else 0)
        roles += [PAGE] + [IMAGE] * count
    roles += [PADDING] * (-len(roles) % block_size if block_size else 0)
    roles += [TEXT] * 3
    prompt_length = len(roles)
    for count in answers:
        roles += [PAGE] + [TEXT] * count
    roles += [PAGE] + [TEXT] * surplus if surplus else []
    return torch.tensor(roles), prompt_length


def random_ids(roles, seed=0):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, VOCABULARY, roles.shape, generator=generator)
    return torch.where(roles == PAGE, PAGE_ID, ids)


def embedded(model, roles, ids, seed=0):
    """Return embeddings with noise in place of images."""
    noise = torch.randn(len(roles), WIDTH, generator=torch.Generator().manual_seed(seed + 1))
    return torch.where((roles == IMAGE)[:, None], noise, model.embed_tokens(ids))


def empty_memory(model, blocks):
    """Return a cache and its readable flags; whatever is read without being written is NaN."""
    cache = model.new_cache(blocks, torch.device("cpu"), torch.float32)
    for layer in cache:
        for memory in (layer.keys, layer.values, layer.summaries):
            memory.fill_(torch.nan)
    return cache, torch.zeros(blocks, model.config.sparse.block_size, dtype=torch.bool)


def whole_scores(model, embeddings, roles, prompt_length, page=None):
    """Return scores [S, V] from one prefill of everything; `page` replaces the page coordinates."""
    blocks = -(-len(roles) // model.config.sparse.block_size)
    cache, real = empty_memory(model, blocks + 1)
    table = torch.arange(1, blocks + 1).flip(0)
    plan = prefill_plan(roles, table, prompt_length, model.config.sparse)
    if page is not None:
        plan = replace(plan, page=page)
    real.view(-1)[plan.slots] = plan.real
    return model.logits(model.prefill_hidden(embeddings, plan, cache, real))


@pytest.fixture(scope="session")
def kit():
    """What tests build with, since test folders are not packages."""
    return SimpleNamespace(
        changed=changed,
        published_file=published_file,
        large_config=large_config,
        isolated_config=isolated_config,
        document=document,
        random_ids=random_ids,
        embedded=embedded,
        empty_memory=empty_memory,
        whole_scores=whole_scores,
        WIDTH=WIDTH,
        free_aspect=free_aspect,
        large_structure=large_structure,
        random_model=random_model,
    )
