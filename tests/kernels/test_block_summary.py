"""Block summaries against a loop in double precision, and blind to what is not real."""

import math

import pytest
import torch

from ocrcli.kernels.block_summary import block_summary


def summary_by_loop(
    keys: list[list[float]], head_cls: list[float], real: list[bool], block_size: int
) -> list[list[float]]:
    dim, out = len(head_cls), []
    for start in range(0, len(keys), block_size):
        rows = [k for k, r in list(zip(keys, real, strict=True))[start : start + block_size] if r]
        logits = [
            sum(a * b for a, b in zip(row, head_cls, strict=True)) / math.sqrt(dim) for row in rows
        ]
        weights = [math.exp(each - max(logits)) for each in logits]
        out.append(
            [
                sum(w * row[d] for w, row in zip(weights, rows, strict=True)) / sum(weights)
                if rows
                else 0.0
                for d in range(dim)
            ]
        )
    return out


@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_summary_equals_loop(length: int, dtype: torch.dtype) -> None:
    g = torch.Generator().manual_seed(length)
    keys = torch.randn(length, 6, generator=g).to(dtype)
    head_cls = torch.randn(6, generator=g).to(dtype)
    real = torch.rand(length, generator=g) > 0.3
    got = block_summary(keys, head_cls, real, 32)
    wanted = summary_by_loop(keys.tolist(), head_cls.tolist(), real.tolist(), 32)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, torch.tensor(wanted), rtol=1e-5, atol=1e-5)


def test_content_of_unreal_tokens_has_no_effect() -> None:
    keys, real = torch.randn(40, 4), torch.ones(40, dtype=torch.bool)
    real[5:9] = real[35:] = False
    poisoned = keys.masked_fill(~real[:, None], float("nan"))
    poisoned[6] = float("inf")
    head_cls = torch.randn(4)
    assert torch.equal(
        block_summary(keys, head_cls, real, 16), block_summary(poisoned, head_cls, real, 16)
    )


def test_block_without_real_tokens_is_zero() -> None:
    real = torch.zeros(20, dtype=torch.bool)
    for content in (float("nan"), 3.0):
        got = block_summary(torch.full((20, 4), content), torch.ones(4), real, 8)
        assert torch.equal(got, torch.zeros(3, 4))


def test_huge_logits_stay_finite() -> None:
    keys = torch.full((8, 4), 1e6)
    assert block_summary(keys, torch.full((4,), 1e6), torch.ones(8) > 0, 8).isfinite().all()


def test_wrong_arguments_are_named() -> None:
    keys, real = torch.zeros(5, 4), torch.ones(5, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"^router_keys must have shape"):
        block_summary(keys[0], torch.zeros(4), real, 8)
    with pytest.raises(ValueError, match=r"^head_cls must have shape \[4\], got \[3\]"):
        block_summary(keys, torch.zeros(3), real, 8)
    with pytest.raises(ValueError, match=r"^real must be torch\.bool"):
        block_summary(keys, torch.zeros(4), real.long(), 8)
    with pytest.raises(ValueError, match=r"^block_size must be positive, got 0"):
        block_summary(keys, torch.zeros(4), real, 0)
