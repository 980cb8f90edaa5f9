"""The layout that is fast on CPUs changes strides and nothing else."""

import pytest
import torch
from torch import nn

from ocrcli.models.layers.column_order import (
    apply_all,
    join_columns,
    use_column_order,
)


def test_matrices_keep_shape_and_type_and_change_strides():
    module = nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 3), nn.LayerNorm(3)).half()
    use_column_order(module)
    assert module[0].weight.shape == (3, 5)
    assert module[0].weight.stride() == (1, 3)
    assert module[0].weight.dtype == torch.float16
    assert module[1].weight.stride() == (3, 1)


def test_layout_survives_the_way_from_meta_to_memory():
    with torch.device("meta"):
        module = nn.Linear(5, 3, bias=False)
        use_column_order(module)
    module = module.to_empty(device="cpu")
    assert module.weight.stride() == (1, 3)
    values = torch.randn(3, 5)
    module.weight.data.copy_(values)
    x = torch.randn(2, 5)
    torch.testing.assert_close(module(x), x @ values.t())


class Pair(nn.Module):
    SAME_INPUT = ("first", "second")

    def __init__(self, bias=False):
        super().__init__()
        self.first, self.second = nn.Linear(5, 3, bias=bias), nn.Linear(5, 4, bias=bias)

    def forward(self, x):
        return apply_all((self.first, self.second), x)


def filled(module):
    generator = torch.Generator().manual_seed(0)
    for weight in module.parameters():
        weight.data.normal_(generator=generator)
    return module


def counted(monkeypatch):
    """Return a list that grows with every matrix product."""
    calls, linear = [], torch.nn.functional.linear

    def count(*arguments):
        calls.append(arguments[1].shape)
        return linear(*arguments)

    monkeypatch.setattr(torch.nn.functional, "linear", count)
    return calls


def test_joined_matrices_are_multiplied_as_one(monkeypatch):
    module = Pair()
    use_column_order(module)
    join_columns(module)
    filled(module)
    x = torch.randn(2, 5)
    expected = x @ module.first.weight.t(), x @ module.second.weight.t()
    calls = counted(monkeypatch)
    torch.testing.assert_close(tuple(module(x)), expected)
    assert calls == [(7, 5)]


@pytest.mark.parametrize("prepare", [lambda module: None, use_column_order])
def test_matrices_that_are_not_joined_are_multiplied_one_by_one(monkeypatch, prepare):
    module = Pair()
    prepare(module)
    filled(module)
    calls = counted(monkeypatch)
    first, second = module(torch.ones(1, 5))
    assert calls == [(3, 5), (4, 5)]
    torch.testing.assert_close(first, module.first.weight.sum(1)[None])
    torch.testing.assert_close(second, module.second.weight.sum(1)[None])


def test_rows_in_a_row_and_biases_are_left_alone():
    for module in (Pair(), Pair(bias=True)):
        before = [weight.data_ptr() for weight in module.parameters()]
        join_columns(module)
        assert [weight.data_ptr() for weight in module.parameters()] == before


def test_matrices_that_were_parted_again_are_still_right():
    module = Pair()
    use_column_order(module)
    join_columns(module)
    filled(module)
    module.second.weight = nn.Parameter(module.second.weight.detach().clone())
    first, second = module(torch.ones(1, 5))
    torch.testing.assert_close(second, module.second.weight.sum(1)[None])
    torch.testing.assert_close(first, module.first.weight.sum(1)[None])
