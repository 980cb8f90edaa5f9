import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ocrcli.kernels.cross_entropy import mean_cross_entropy, mean_cross_entropy_reference

# Rows, classes
CASES = [(1, 1), (7, 5), (33, 128), (5, 1000), (3, 6144)]


def run(function, scores, target):
    leaf = scores.clone().requires_grad_()
    loss, right = function(leaf, target)
    (3.0 * loss).backward()
    return {"loss": loss.detach(), "right": right, "grad": leaf.grad}


def make_inputs(rows, classes, dtype=torch.float32, device="cpu"):
    generator = torch.Generator().manual_seed(rows)
    scores = 4 * torch.randn(rows, classes, generator=generator)
    target = torch.randint(classes, (rows,), generator=generator)
    # Some are right.
    scores[::2].scatter_(1, target[::2, None], 20.0)
    return scores.to(device, dtype), target.to(device)


def test_loss_is_minus_the_mean_log_probability():
    scores, target = make_inputs(7, 5)
    result = run(mean_cross_entropy, scores, target)
    expected = -scores.double().softmax(-1)[torch.arange(7), target].log().mean()
    assert result["loss"].item() == pytest.approx(expected.item(), rel=1e-5)
    assert 4 / 7 <= result["right"].item() <= 1


@pytest.mark.parametrize(
    ("scores", "target", "message"),
    [
        (torch.zeros(3), torch.zeros(3, dtype=torch.long), "scores must have shape"),
        (torch.zeros(3, 4), torch.zeros(2, dtype=torch.long), "target must have shape"),
        (torch.zeros(3, 4), torch.zeros(3), "target must be torch.int64"),
        (torch.zeros(0, 4), torch.zeros(0, dtype=torch.long), "rows and classes"),
    ],
)
def test_bad_arguments_are_named(scores, target, message):
    with pytest.raises(ValueError, match=message):
        mean_cross_entropy(scores, target)


def interpret():
    """Prints the largest differences of the interpreted kernels from the reference, as JSON."""
    torch.set_num_threads(1)
    lines = []
    for case in CASES:
        for dtype in (torch.float32, torch.bfloat16):
            inputs = make_inputs(*case, dtype)
            actual = run(mean_cross_entropy, *inputs)
            expected = run(mean_cross_entropy_reference, *inputs)
            differences = {n: (actual[n] - v).abs().max().item() for n, v in expected.items()}
            lines.append({"case": case, "dtype": str(dtype), "difference": differences})
            assert actual["grad"].dtype == dtype
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
        difference = line["difference"]
        assert difference["loss"] < 2e-5 and difference["right"] == 0, line
        # A gradient is at most 3 here, and bfloat16 keeps 8 bits of it.
        assert difference["grad"] < (2e-2 if "bfloat16" in line["dtype"] else 1e-5), line


@pytest.mark.gpu
def test_bfloat16_kernels_match_the_reference_at_the_vocabulary_of_the_model():
    inputs = make_inputs(3000, 6144, torch.bfloat16, "cuda")
    actual = run(mean_cross_entropy, *inputs)
    expected = run(mean_cross_entropy_reference, *inputs)
    assert actual["right"] == expected["right"]
    torch.testing.assert_close(actual["loss"], expected["loss"], atol=1e-4, rtol=1e-4)
    error = (actual["grad"] - expected["grad"]).float().norm() / expected["grad"].float().norm()
    assert error < 1e-2


if __name__ == "__main__" and sys.argv[1:] == ["interpret"]:
    interpret()
