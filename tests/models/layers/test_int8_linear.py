import torch
from torch import nn

from ocrcli.models.layers.int8_linear import Int8Linear, quantised_rows, use_int8


def test_rows_come_back_within_half_a_step():
    value = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    value[2] = 0.0
    integers, scale = quantised_rows(value)
    assert integers.dtype == torch.int8
    error = (integers * scale[:, None] - value).abs()
    assert (error <= scale[:, None] * 0.5001).all()


def test_layer_multiplies_by_integers_times_scale():
    layer = Int8Linear(4, 3)
    layer.weight.data, layer.scale.data = quantised_rows(torch.arange(12.0).view(3, 4))
    x = torch.tensor([[1.0, -1.0, 2.0, 0.5]])
    expected = x @ (layer.weight.float() * layer.scale[:, None]).T
    torch.testing.assert_close(layer(x), expected)


def test_only_named_parts_and_layers_with_bias_are_spared():
    model = nn.ModuleDict(
        {
            "gate": nn.Linear(2, 2, bias=False),
            "biased": nn.Linear(2, 2),
            "deep": nn.Sequential(nn.Linear(2, 3, bias=False)),
        }
    )
    use_int8(model, skipped=("gate",))
    assert [type(part) for part in (model["gate"], model["biased"], model["deep"][0])] == [
        nn.Linear,
        nn.Linear,
        Int8Linear,
    ]
