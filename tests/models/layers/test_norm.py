import pytest
import torch

from ocrcli.models.layers.norm import RmsNorm


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2**-8), (torch.float16, 2e-3)]
)
def test_norm_equals_the_formula_in_float64(offset, dtype, tolerance):
    generator = torch.Generator().manual_seed(0)
    norm = RmsNorm(12, 1e-3, offset)
    with torch.no_grad():
        norm.weight.normal_(0.3, 1.0, generator=generator)
    norm = norm.to(dtype)
    x = (torch.randn(2, 5, 12, generator=generator) * 3).to(dtype)
    wide, scale = x.double(), norm.weight.double() + offset
    expected = wide / (wide.square().mean(-1, keepdim=True) + 1e-3).sqrt() * scale
    actual = norm(x)
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_fresh_norm_only_normalises(offset):
    x = torch.tensor([[3.0, 4.0]])
    torch.testing.assert_close(RmsNorm(2, 0.0, offset)(x), x / 12.5**0.5)


def test_eps_keeps_zeros_finite():
    assert (RmsNorm(4, 1e-6)(torch.zeros(1, 4)) == 0).all()


def test_large_values_do_not_overflow_half_precision():
    x = torch.full((1, 4), 6e4, dtype=torch.float16)
    torch.testing.assert_close(RmsNorm(4, 1e-6)(x), torch.ones(1, 4, dtype=torch.float16))
