"""The layout that is fast on CPUs changes strides and nothing else."""

import torch
from torch import nn

from ocrcli.models.layers.column_order import use_column_order


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
