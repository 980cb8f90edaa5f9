"""The parameters of the large architecture against the inventory of the published file."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import ocrcli.models.small
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

Named = Iterator[tuple[str, tuple[int, ...]]]
UNUSED = "model.vision_model.embeddings.patch_embedding.weight"
WIDTH, VOCABULARY, LAYERS, EXPERTS = 1280, 129280, 12, 64


def linear(name: str, out: int, width: int, bias: bool = False) -> Named:
    yield f"{name}.weight", (out, width)
    if bias:
        yield f"{name}.bias", (out,)


def norm(name: str, width: int) -> Named:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def gated(name: str, hidden: int) -> Named:
    yield from linear(f"{name}.gate_proj", hidden, WIDTH)
    yield from linear(f"{name}.up_proj", hidden, WIDTH)
    yield from linear(f"{name}.down_proj", WIDTH, hidden)


def decoder() -> Named:
    yield "model.embed_tokens.weight", (VOCABULARY, WIDTH)
    yield "lm_head.weight", (VOCABULARY, WIDTH)
    yield "model.norm.weight", (WIDTH,)
    for index in range(LAYERS):
        layer = f"model.layers.{index}"
        yield f"{layer}.input_layernorm.weight", (WIDTH,)
        yield f"{layer}.post_attention_layernorm.weight", (WIDTH,)
        for part in "qkvo":
            yield from linear(f"{layer}.self_attn.{part}_proj", WIDTH, WIDTH)
        if index == 0:
            yield from gated(f"{layer}.mlp", 6848)
            continue
        yield from linear(f"{layer}.mlp.gate", EXPERTS, WIDTH)
        for expert in range(EXPERTS):
            yield from gated(f"{layer}.mlp.experts.{expert}", 896)
        yield from gated(f"{layer}.mlp.shared_experts", 1792)


def connector() -> Named:
    yield from linear("model.projector.layers", WIDTH, 2048, bias=True)
    yield "model.image_newline", (WIDTH,)
    yield "model.view_seperator", (WIDTH,)


def first_stage() -> Named:
    sam = "model.sam_model"
    yield f"{sam}.pos_embed", (1, 64, 64, 768)
    yield f"{sam}.patch_embed.proj.weight", (768, 3, 16, 16)
    yield f"{sam}.patch_embed.proj.bias", (768,)
    for index in range(12):
        block = f"{sam}.blocks.{index}"
        yield from norm(f"{block}.norm1", 768)
        yield from norm(f"{block}.norm2", 768)
        yield from linear(f"{block}.attn.qkv", 2304, 768, bias=True)
        yield from linear(f"{block}.attn.proj", 768, 768, bias=True)
        table = 127 if index in (2, 5, 8, 11) else 27
        yield f"{block}.attn.rel_pos_h", (table, 64)
        yield f"{block}.attn.rel_pos_w", (table, 64)
        yield from linear(f"{block}.mlp.lin1", 3072, 768, bias=True)
        yield from linear(f"{block}.mlp.lin2", 768, 3072, bias=True)
    yield f"{sam}.neck.0.weight", (256, 768, 1, 1)
    yield from norm(f"{sam}.neck.1", 256)
    yield f"{sam}.neck.2.weight", (256, 256, 3, 3)
    yield from norm(f"{sam}.neck.3", 256)
    yield f"{sam}.net_2.weight", (512, 256, 3, 3)
    yield f"{sam}.net_3.weight", (1024, 512, 3, 3)


def second_stage() -> Named:
    clip = "model.vision_model"
    yield f"{clip}.embeddings.class_embedding", (1024,)
    yield UNUSED, (1024, 3, 14, 14)
    yield f"{clip}.embeddings.position_embedding.weight", (257, 1024)
    yield from norm(f"{clip}.pre_layrnorm", 1024)
    for index in range(24):
        layer = f"{clip}.transformer.layers.{index}"
        yield from norm(f"{layer}.layer_norm1", 1024)
        yield from norm(f"{layer}.layer_norm2", 1024)
        yield from linear(f"{layer}.self_attn.qkv_proj", 3072, 1024, bias=True)
        yield from linear(f"{layer}.self_attn.out_proj", 1024, 1024, bias=True)
        yield from linear(f"{layer}.mlp.fc1", 4096, 1024, bias=True)
        yield from linear(f"{layer}.mlp.fc2", 1024, 4096, bias=True)


def router() -> Named:
    for index in range(LAYERS):
        part = f"model.layers.{index}.self_attn.router"
        yield from linear(f"{part}.q_proj", 128, WIDTH)
        yield from linear(f"{part}.k_proj", 128, WIDTH)
        yield f"{part}.q_norm.weight", (128,)
        yield f"{part}.k_norm.weight", (128,)
        yield f"{part}.head_cls", (128,)


def published() -> dict[str, tuple[int, ...]]:
    parts = (decoder(), connector(), first_stage(), second_stage())
    return {name: shape for part in parts for name, shape in part}


@pytest.fixture(scope="module")
def shapes() -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        model = UnlimitedOcr(ModelConfig.from_dict({}))
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


def test_inventory_adds_up_to_the_published_file():
    tensors = published()
    assert len(tensors) == 2710
    assert 2 * sum(map(math.prod, tensors.values())) == 6_672_212_480
    assert len(list(first_stage())) == 179
    assert len(list(second_stage())) == 293


def test_model_has_the_published_tensors_and_one_router_per_layer(shapes):
    expected = published() | dict(router())
    assert len(expected) == 2770
    del expected[UNUSED]
    assert sorted(shapes) == sorted(expected)
    assert shapes == expected


def test_every_tensor_is_a_parameter():
    folder = Path(ocrcli.models.small.__file__).parent
    for config in (ModelConfig.from_dict({}), ModelConfig.from_file(folder / "config.json")):
        with torch.device("meta"):
            model = UnlimitedOcr(config)
        assert set(model.state_dict()) == set(dict(model.named_parameters()))


def test_small_model_has_no_tensor_of_an_unused_part():
    folder = Path(ocrcli.models.small.__file__).parent
    with torch.device("meta"):
        model = UnlimitedOcr(ModelConfig.from_file(folder / "config.json"))
    names = " ".join(model.state_dict())
    for part in ("lm_head", "rel_pos", "neck", "net_3", "class_embedding", "view_sep", "experts"):
        assert part not in names
    for part in ("pos_embed_rows", "position_cols", "post_layernorm", "image_newline"):
        assert part in names
    # One byte per weight must leave room below 50 MB.
    assert sum(value.numel() for value in model.parameters()) < 48_000_000
