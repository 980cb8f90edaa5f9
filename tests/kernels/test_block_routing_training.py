import importlib.util
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ocrcli.kernels.block_routing import RouterPolicy
from ocrcli.kernels.block_routing import training as routing
from ocrcli.kernels.block_routing.training import (
    NOT_SELECTED,
    routing_bias_training,
    routing_bias_training_reference,
)

SHIPPED = RouterPolicy(bias_floor=1e-3)
SMALL = RouterPolicy(topn=6, topk=4, bias_floor=1e-3, block_size=8)

# num_image_tokens, prompt_length, response tokens, router width, local, block size, policy, scale
CASES = [
    (75, 96, 45, 16, 32, 8, SMALL, 3.0),
    (96, 96, 5, 16, 20, 8, SMALL, 12.0),
    # Fewer blocks than the policy asks for, a block of padding only, and a single block.
    (33, 96, 40, 8, 7, 32, SHIPPED, 3.0),
    (20, 96, 40, 8, 7, 32, SHIPPED, 1.0),
    (5, 8, 20, 8, 4, 8, SHIPPED, 1.0),
    # More blocks than a warp has rows; no floor; another temperature.
    (700, 704, 33, 16, 16, 8, SHIPPED, 2.0),
    (300, 304, 33, 16, 16, 8, replace(SHIPPED, bias_floor=0.0, scale=0.5), 4.0),
    # So far apart that scores are cut off.
    (75, 96, 45, 16, 32, 8, SMALL, 4e3),
]


def make_inputs(case, batch=2, seed=0, device="cpu"):
    _, prompt, response, dim, _, _, _, scale = case
    generator = torch.Generator().manual_seed(seed)
    length = prompt + response
    query, key = torch.randn(2, batch, length, dim, generator=generator)
    head_cls = torch.randn(dim, generator=generator)
    grad = torch.randn(batch, length, prompt // case[5], generator=generator)
    return [t.to(device) for t in (scale * query, key, head_cls, grad)]


def run(function, case, query, key, head_cls, grad):
    leaves = [t.clone().requires_grad_() for t in (query, key, head_cls)]
    bias = function(*leaves, case[6], case[0], case[1], case[4], case[5])
    # Gradients of blocks that are not read are not zero here: they must be ignored.
    bias.backward(grad)
    names = ("bias", "query", "key", "head_cls")
    return dict(zip(names, (bias.detach(), *(leaf.grad for leaf in leaves)), strict=True))


def chosen(result):
    return result["bias"] > NOT_SELECTED / 2


def largest_errors(actual, expected):
    """Return the largest differences, those of gradients relative to the largest gradient."""
    errors = {
        name: ((actual[name] - value).abs().max() / value.abs().max().clamp(min=1.0)).item()
        for name, value in expected.items()
    }
    both = chosen(actual) & chosen(expected)
    errors["bias"] = (actual["bias"] - expected["bias"])[both].abs().amax().item()
    return errors


def by_hand(scores, policy):
    """Return the bias of one query's readable blocks, by bisection for the threshold."""
    order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))[: policy.topn]
    best = scores[order[0]]
    half = [(scores[n] - best) / 2 for n in order]
    low, high = -1.0, 0.0
    for _ in range(80):
        middle = (low + high) / 2
        if sum(max(h - middle, 0) ** 2 for h in half) > 1:
            low = middle
        else:
            high = middle
    share = [max(h - low, 0) ** 2 for h in half]
    kept = [(n, p) for n, p in zip(order, share, strict=True) if p > 0][: policy.topk]
    return {n: math.log(max(p, policy.bias_floor)) for n, p in kept}


def test_reference_follows_the_rules_query_by_query():
    case = CASES[0]
    query, key, head_cls, _ = make_inputs(case, batch=1)
    bias = routing_bias_training_reference(
        query, key, head_cls, case[6], case[0], case[1], case[4], case[5]
    )
    blocks = case[1] // case[5]
    summaries = torch.zeros(blocks, 16)
    for block in range(blocks):
        real = key[0, block * 8 : min(block * 8 + 8, case[0])]
        if len(real):
            summaries[block] = ((real @ head_cls) / 4).softmax(0) @ real
    for position in range(0, query.shape[1], 7):
        section = 0 if position < case[1] else case[1]
        readable = [n for n in range(blocks) if n * 8 < max(position - case[4] + 1, section)]
        expected = torch.full((blocks,), NOT_SELECTED)
        if readable:
            scores = [float(query[0, position] @ summaries[n]) / 4 for n in readable]
            for index, value in by_hand(scores, case[6]).items():
                expected[readable[index]] = value
        torch.testing.assert_close(bias[0, position], expected, atol=2e-3, rtol=1e-4)


def test_cpu_tensors_and_other_policies_take_the_reference(monkeypatch):
    monkeypatch.setattr(routing, "_run_fused", None)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    inputs = make_inputs(CASES[0])
    run(routing_bias_training, CASES[0], *inputs)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    for change in ({"alpha": 1.0}, {"bias_mode": "centered"}, {"renormalise": True}):
        case = (*CASES[0][:6], replace(SMALL, **change), 1.0)
        run(routing_bias_training, case, *inputs)
    with pytest.raises(TypeError):
        run(routing_bias_training, CASES[0], *inputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_length": 90}, "prompt_length must be a multiple of 8"),
        ({"num_image_tokens": 97}, "num_image_tokens must be in 0..96"),
        ({"router_key": torch.zeros(2, 141, 8)}, r"router_key must be \(2, 141, 16\)"),
        ({"router_query": torch.zeros(141, 16)}, r"router_query must be \[B, S, R\]"),
    ],
)
def test_bad_arguments_are_named(change, message):
    query, key, head_cls, _ = make_inputs(CASES[0])
    arguments = {
        "router_query": query,
        "router_key": key,
        "head_cls": head_cls,
        "policy": SMALL,
        "num_image_tokens": 75,
        "prompt_length": 96,
        "local": 32,
        "block_size": 8,
    }
    with pytest.raises(ValueError, match=message):
        routing_bias_training(**(arguments | change))


def interpret():
    """Prints the largest errors of the interpreted kernels against the reference, as JSON."""
    torch.set_num_threads(1)
    lines = []
    for case in CASES:
        inputs = make_inputs(case)
        expected = run(routing_bias_training_reference, case, *inputs)
        actual = run(routing_bias_training, case, *inputs)
        lines.append(
            {
                "case": str(case),
                "finite": all(t.isfinite().all().item() for t in actual.values()),
                "same_blocks": bool((chosen(actual) == chosen(expected)).all()),
                "errors": largest_errors(actual, expected),
            }
        )
    # Equal scores: the lower block wins, however many are equal.
    query, key, head_cls, grad = make_inputs(CASES[0])
    inputs = query, torch.ones_like(key), head_cls, grad
    actual = run(routing_bias_training, CASES[0], *inputs)
    expected = run(routing_bias_training_reference, CASES[0], *inputs)
    same = bool((chosen(actual) == chosen(expected)).all())
    errors = largest_errors(actual, expected)
    lines.append({"case": "ties", "finite": True, "same_blocks": same, "errors": errors})
    print(json.dumps(lines))


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.slow
def test_interpreted_kernels_match_the_reference_forward_and_backward():
    # The interpreter is chosen when triton is imported, hence a process of its own.
    finished = subprocess.run(
        [sys.executable, str(Path(__file__)), "interpret"],
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    for line in json.loads(finished.stdout.splitlines()[-1]):
        assert line["finite"] and line["same_blocks"], line
        # float32 throughout, in another order; without a floor log p is steep where p ends.
        assert max(line["errors"].values()) < (2e-3 if "bias_floor=0.0" in line["case"] else 1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("response", [1, 700])
def test_kernels_match_the_reference_at_page_size(response):
    case = (1321, 1344, response, 64, 128, 32, SHIPPED, 1.0)
    inputs = make_inputs(case, device="cuda")
    actual = run(routing_bias_training, case, *inputs)
    expected = run(routing_bias_training_reference, case, *inputs)
    # Products are summed in another order, so that a few nearly equal blocks change places.
    assert (chosen(actual) != chosen(expected)).float().mean() < 1e-4
    for name in ("query", "key", "head_cls"):
        error = (actual[name] - expected[name]).norm() / expected[name].norm()
        assert error < 1e-2, (name, error.item())


if __name__ == "__main__" and sys.argv[1:] == ["interpret"]:
    interpret()
