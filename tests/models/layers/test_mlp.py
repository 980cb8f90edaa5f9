import math

import pytest
import torch

from ocrcli.models.layers.int8_linear import use_int8
from ocrcli.models.layers.mlp import MixtureOfExperts, SwiGlu
from ocrcli.models.unlimited_ocr.config import DecoderConfig


def randomise(module, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.normal_(0.0, 0.5, generator=generator)
    return module.requires_grad_(False)


def gated(layer, x):
    """Return one token's output, number by number."""
    gate, up, down = (
        getattr(layer, name).weight.double().tolist()
        for name in ("gate_proj", "up_proj", "down_proj")
    )
    hidden = []
    for row_gate, row_up in zip(gate, up, strict=True):
        opened = sum(w * v for w, v in zip(row_gate, x, strict=True))
        raised = sum(w * v for w, v in zip(row_up, x, strict=True))
        hidden.append(opened / (1 + math.exp(-opened)) * raised)
    return [sum(w * v for w, v in zip(row, hidden, strict=True)) for row in down]


def mixture(layer, x):
    """Return one token's output: its best experts, weighed, and the shared one."""
    config = layer.config
    logits = [sum(w * v for w, v in zip(row, x, strict=True)) for row in layer.gate.weight.tolist()]
    total = sum(math.exp(logit) for logit in logits)
    chance = [math.exp(logit) / total for logit in logits]
    best = sorted(range(len(chance)), key=lambda e: -chance[e])[: config.experts_per_token]
    share = sum(chance[e] for e in best) if config.normalise_expert_weights else 1.0
    out = gated(layer.shared_experts, x) if config.num_shared_experts else [0.0] * len(x)
    for expert in best:
        weight = chance[expert] / share * config.routed_scaling
        value = gated(layer.experts[expert], x)
        out = [o + weight * v for o, v in zip(out, value, strict=True)]
    return out


def moe_config(**changes):
    settings = {
        "hidden_size": 6,
        "moe_intermediate_size": 5,
        "num_experts": 7,
        "num_shared_experts": 2,
        "experts_per_token": 3,
    }
    return DecoderConfig(**{**settings, **changes})


def test_dense_layer_equals_the_formula():
    layer = randomise(SwiGlu(6, 9))
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    expected = torch.tensor([gated(layer, row) for row in x.tolist()])
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"normalise_expert_weights": True},
        {"routed_scaling": 2.5},
        {"num_shared_experts": 0},
        {"experts_per_token": 1},
        {"experts_per_token": 7},
    ],
)
def test_mixture_equals_a_loop_over_tokens_and_experts(changes):
    layer = randomise(MixtureOfExperts(moe_config(**changes)))
    x = torch.randn(23, 6, generator=torch.Generator().manual_seed(2))
    expected = torch.tensor([mixture(layer, row) for row in x.tolist()])
    torch.testing.assert_close(layer(x), expected)


def test_expert_weights_keep_their_share_of_all_experts():
    """With equal experts the published rule scales the output by the kept probability."""
    layer = randomise(MixtureOfExperts(moe_config(num_shared_experts=0)))
    for expert in layer.experts[1:]:
        expert.load_state_dict(layer.experts[0].state_dict())
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(3))
    kept = layer.gate(x).softmax(-1).topk(3).values.sum(-1, keepdim=True)
    assert (kept < 0.999).all()
    torch.testing.assert_close(layer(x), layer.experts[0](x) * kept)


def test_shared_experts_are_one_layer_as_wide_as_all_of_them():
    layer = MixtureOfExperts(moe_config(num_shared_experts=3))
    assert layer.shared_experts.gate_proj.weight.shape == (15, 6)
    assert not hasattr(MixtureOfExperts(moe_config(num_shared_experts=0)), "shared_experts")


def test_lone_token_gets_what_it_gets_among_others():
    layer = randomise(MixtureOfExperts(moe_config()))
    x = torch.randn(9, 6, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(torch.cat([layer(row[None]) for row in x]), layer(x))


def test_experts_that_nobody_chose_have_no_influence():
    layer = randomise(MixtureOfExperts(moe_config()))
    x = torch.randn(1, 6, generator=torch.Generator().manual_seed(4))
    before = layer(x)
    chosen = layer.gate(x).topk(3).indices[0].tolist()
    for index, expert in enumerate(layer.experts):
        if index not in chosen:
            expert.down_proj.weight.fill_(torch.nan)
    assert torch.equal(layer(x), before)


def test_mixture_keeps_the_dtype_and_takes_no_tokens():
    layer = randomise(MixtureOfExperts(moe_config())).bfloat16()
    assert layer(torch.zeros(2, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert layer(torch.zeros(0, 6, dtype=torch.bfloat16)).shape == (0, 6)


@pytest.mark.parametrize("changes", [{}, {"routed_scaling": 2.5}, {"experts_per_token": 1}])
@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_stacked_experts_compute_what_they_compute_one_by_one(changes, tokens):
    config = moe_config(**changes)
    plain, stacked = MixtureOfExperts(config), MixtureOfExperts(config)
    stacked.stack_experts("cpu")
    randomise(plain), randomise(stacked)
    assert same_weights(plain, stacked)
    x = torch.randn(tokens, 6, generator=torch.Generator().manual_seed(6))
    torch.testing.assert_close(stacked(x), plain(x))


def same_weights(one, other):
    ours, theirs = one.state_dict(), other.state_dict()
    return list(ours) == list(theirs) and all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_few_tokens_of_a_stack_never_ask_the_device_for_a_number(monkeypatch):
    layer = MixtureOfExperts(moe_config())
    layer.stack_experts("cpu")
    randomise(layer)

    def refuse(*arguments):
        raise AssertionError("the processor waited")

    for name in ("tolist", "item", "__bool__", "__int__", "unique", "nonzero"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    assert layer(torch.ones(2, 6)).shape == (2, 6)
    with pytest.raises(AssertionError, match="waited"):
        layer(torch.ones(3, 6))


def test_experts_that_were_moved_are_found_where_they_are():
    layer = MixtureOfExperts(moe_config())
    layer.stack_experts("cpu")
    randomise(layer)
    x = torch.randn(2, 6, generator=torch.Generator().manual_seed(7))
    expected = layer(x)
    layer.double()
    for expert in layer.experts:
        expert.down_proj.weight.mul_(2.0)
    doubled = layer(x.double()) - layer.shared_experts(x.double())
    alone = expected - layer.shared_experts.float()(x)
    torch.testing.assert_close(doubled.float(), 2.0 * alone)


def test_layers_of_another_kind_are_not_stacked():
    layer = MixtureOfExperts(moe_config())
    use_int8(layer.experts)
    before = [weight.data_ptr() for weight in layer.parameters()]
    layer.stack_experts("cpu")
    assert [weight.data_ptr() for weight in layer.parameters()] == before
