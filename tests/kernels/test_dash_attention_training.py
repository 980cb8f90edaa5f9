import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ocrcli.kernels.dash_attention import training
from ocrcli.kernels.dash_attention.training import (
    dash_attention_training,
    dash_attention_training_reference,
)

# num_image_tokens, prompt_length, response tokens, heads, head size, local, block size
AWKWARD = [
    (75, 96, 45, 2, 32, 32, 8),
    (96, 96, 1, 1, 16, 20, 32),
    (33, 96, 50, 1, 16, 7, 16),
    (1, 32, 40, 1, 16, 100, 16),
    (40, 40, 0, 1, 16, 16, 8),
    (0, 0, 37, 1, 16, 16, 8),
]
# Queries and keys per tile for the interpreter; None keeps the sizes used on the GPU.
TILES = [(16, 16), (32, 16), (16, 32), None]


def make_inputs(case, batch=1, seed=0, device="cpu", dtype=torch.float32, unselected=0.4):
    num_image, prompt, response, heads, head_size, _, block = case
    generator = torch.Generator().manual_seed(seed)
    length = prompt + response
    fused = torch.randn(batch, length, 3, heads, head_size, generator=generator)
    bias = -3 * torch.rand(batch, length, prompt // block, generator=generator)
    dropped = torch.rand(bias.shape, generator=generator) < unselected
    bias = bias.masked_fill(dropped, -math.inf)
    grad = torch.randn(batch, length, heads, head_size, generator=generator)
    # Padding queries take part in no loss.
    grad[:, num_image:prompt] = 0
    return fused.to(device, dtype), bias.to(device), grad.to(device, dtype)


def run(function, case, fused, bias, grad, poison=False):
    num_image, prompt, _, _, _, local, block = case
    fused = fused.clone().requires_grad_()
    bias = bias.clone().requires_grad_()
    q, k, v = fused.unbind(2)
    if poison:
        padding = torch.zeros(k.shape[1], 1, 1, dtype=torch.bool, device=k.device)
        padding[num_image:prompt] = True
        k, v = (t.masked_fill(padding, math.nan) for t in (k, v))
    out = function(q, k, v, bias, num_image, prompt, local, block)
    out.backward(grad)
    return {
        "out": out.detach(),
        "dq": fused.grad[:, :, 0],
        "dk": fused.grad[:, :, 1],
        "dv": fused.grad[:, :, 2],
        "dbias": bias.grad,
    }


def largest_differences(actual, expected):
    return {
        name: ((actual[name].float() - expected[name].float()).abs().max().item())
        if actual[name].numel()
        else 0.0
        for name in expected
    }


def one_position(case, q, k, v, bias, i, h):
    """The rules read aloud for a single query, key by key."""
    num_image, prompt, _, _, head_size, local, block = case
    section = 0 if i < prompt else prompt
    window = max(i - local + 1, section)
    scores, values = [], []
    for j in range(i + 1):
        if num_image <= j < prompt:
            continue
        extra = torch.zeros(())
        if j < window:
            if j >= num_image:
                continue
            extra = bias[i, j // block]
            if extra <= -1e4:
                continue
        scores.append(q[i, h] @ k[j, h] / math.sqrt(head_size) + extra)
        values.append(v[j, h])
    if not scores:
        return torch.zeros(head_size)
    return torch.stack(scores).softmax(0) @ torch.stack(values)


@pytest.mark.parametrize("case", AWKWARD[:4])
def test_reference_follows_the_reading_rules_key_by_key(case):
    fused, bias, _ = make_inputs(case)
    q, k, v = fused[0].unbind(1)
    out = dash_attention_training_reference(
        *fused.unbind(2), bias, case[0], case[1], case[5], case[6]
    )
    for i in range(0, q.shape[0], 3):
        expected = one_position(case, q, k, v, bias[0], i, h=0)
        torch.testing.assert_close(out[0, i, 0], expected, atol=1e-5, rtol=1e-5)


def test_padding_keys_may_hold_nan_and_get_no_gradient():
    case = AWKWARD[0]
    inputs = make_inputs(case)
    clean = run(dash_attention_training_reference, case, *inputs)
    poisoned = run(dash_attention_training_reference, case, *inputs, poison=True)
    assert max(largest_differences(poisoned, clean).values()) == 0
    assert not poisoned["dk"][:, case[0] : case[1]].any()


def test_query_without_a_readable_key_gives_zero_and_no_gradient():
    case = (8, 32, 8, 1, 16, 4, 8)
    fused, bias, grad = make_inputs(case)
    result = run(
        dash_attention_training_reference,
        case,
        fused,
        torch.full_like(bias, -math.inf),
        torch.ones_like(grad),
    )
    assert not result["out"][:, 12:32].any()
    assert not result["dq"][:, 12:32].any()
    assert not result["dbias"].any()
    assert all(t.isfinite().all() for t in result.values())


def test_cpu_tensors_take_the_reference(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(training, "_run_fused", None)
    case = AWKWARD[0]
    inputs = make_inputs(case)
    actual = run(dash_attention_training, case, *inputs)
    expected = run(dash_attention_training_reference, case, *inputs)
    assert max(largest_differences(actual, expected).values()) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_length": 90}, "prompt_length must be a multiple of 8"),
        ({"num_image_tokens": 97}, "num_image_tokens must be in 0..96"),
        ({"block_size": 24}, "block_size must be one of"),
        ({"local": 0}, "local must be at least 1"),
        ({"bias": torch.zeros(1, 141, 3)}, r"bias must be \(1, 141, 12\)"),
        ({"k": torch.zeros(1, 140, 2, 32)}, "k must match q"),
    ],
)
def test_bad_arguments_are_named(change, message):
    fused, bias, _ = make_inputs(AWKWARD[0])
    q, k, v = fused.unbind(2)
    arguments = {
        "q": q,
        "k": k,
        "v": v,
        "bias": bias,
        "num_image_tokens": 75,
        "prompt_length": 96,
        "local": 32,
        "block_size": 8,
    }
    with pytest.raises(ValueError, match=message):
        dash_attention_training(**(arguments | change))


def interpret():
    """Prints the largest differences of the interpreted kernels from the reference, as JSON."""
    from ocrcli.kernels.dash_attention import training_backward, training_forward

    torch.set_num_threads(1)
    lines = []
    default = (
        training_forward.FORWARD_TILE,
        training_backward.QUERY_GRAD_TILE,
        training_backward.KEY_GRAD_TILE,
    )
    for case in AWKWARD:
        for tile in TILES if case == AWKWARD[0] else TILES[:1]:
            shapes = default
            if tile is not None:
                shapes = (training_forward.TileShape(*tile, 4, 1),) * 3
            training_forward.FORWARD_TILE = shapes[0]
            training_backward.QUERY_GRAD_TILE = shapes[1]
            training_backward.KEY_GRAD_TILE = shapes[2]
            inputs = make_inputs(case)
            expected = run(dash_attention_training_reference, case, *inputs)
            actual = run(dash_attention_training, case, *inputs, poison=True)
            # Finite, everywhere: a maximum over NaN differences could hide behind a comparison.
            finite = all(t.isfinite().all().item() for t in actual.values())
            difference = largest_differences(actual, expected)
            lines.append({"case": case, "tile": tile, "finite": finite, "difference": difference})
    # Padding queries with a gradient of their own, and nothing selected.
    case = (8, 32, 8, 1, 16, 4, 8)
    fused, bias, grad = make_inputs(case)
    inputs = fused, torch.full_like(bias, -2e4), torch.ones_like(grad)
    actual = run(dash_attention_training, case, *inputs)
    expected = run(dash_attention_training_reference, case, *inputs)
    finite = all(t.isfinite().all().item() for t in actual.values())
    difference = largest_differences(actual, expected)
    lines.append({"case": case, "tile": "empty", "finite": finite, "difference": difference})
    print(json.dumps(lines))


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.slow
def test_interpreted_kernels_match_the_reference_forward_and_backward():
    # The interpreter is chosen when triton is imported, hence a process of its own.
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, str(Path(__file__)), "interpret"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    for line in json.loads(finished.stdout.splitlines()[-1]):
        assert line["finite"], line
        # float32 throughout; only the order of summation differs.
        assert max(line["difference"].values()) < 2e-5, line


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("response", [1, 700, 1024])
def test_bfloat16_kernels_match_the_float32_reference_at_page_size(response):
    case = (1301, 1344, response, 6, 64, 128, 32)
    fused, bias, grad = make_inputs(case, 2, 0, "cuda", torch.bfloat16, unselected=0.7)
    actual = run(dash_attention_training, case, fused, bias, grad, poison=True)
    expected = run(dash_attention_training_reference, case, fused.float(), bias, grad.float())
    for name, tensor in actual.items():
        assert tensor.isfinite().all(), name
        error = (tensor.float() - expected[name]).norm() / expected[name].norm()
        # bfloat16 keeps 8 bits: 2^-9 per rounding, a few roundings per result.
        assert error < 1e-2, (name, error.item())


if __name__ == "__main__" and sys.argv[1:] == ["interpret"]:
    interpret()
