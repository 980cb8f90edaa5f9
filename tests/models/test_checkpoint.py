import hashlib
import json
import re

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import ocrcli.models.filling
from ocrcli.models.checkpoint import CheckpointError, describe, load_weights, mean_of
from ocrcli.models.filling import Filling
from ocrcli.models.placement import Placement
from ocrcli.models.small.training.export import export, quantise


class Net(nn.Module):
    """A matrix, a vector and a convolution, under dotted names."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(5, 3)
        self.conv = nn.Conv2d(2, 4, 3, bias=False)


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(0)
    shapes = {"part.weight": (3, 5), "part.bias": (3,), "conv.weight": (4, 2, 3, 3)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def loaded(paths, dtype=torch.float32):
    model = Net().requires_grad_(False)
    load_weights(model, paths, dtype)
    return model.state_dict()


def saved(path, weights):
    save_file(weights, path)
    return path


def refused(paths, *fragments):
    with pytest.raises(CheckpointError) as caught:
        loaded(paths)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_plain_weights_arrive_unchanged(tmp_path, weights):
    state = loaded([saved(tmp_path / "w.safetensors", weights)])
    assert all(torch.equal(state[name], weights[name]) for name in weights)


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_floating_types_are_converted(tmp_path, weights, stored, dtype):
    kept = {name: value.to(stored) for name, value in weights.items()}
    state = loaded([saved(tmp_path / "w.safetensors", kept)], dtype)
    for name, value in kept.items():
        assert state[name].dtype == dtype
        assert torch.equal(state[name], value.to(dtype))


def test_exported_weights_come_back_within_half_a_step(tmp_path, weights):
    path = tmp_path / "model.safetensors"
    weights["part.weight"][1] = 0.0
    export(weights, path, {"licence": "none"})
    state = loaded([path])
    step = weights["part.weight"].abs().amax(1, keepdim=True) / 127
    error = (state["part.weight"] - weights["part.weight"]).abs()
    assert (error <= step / 2 * 1.0001).all()
    assert (state["part.weight"][1] == 0).all()
    for name in ("part.bias", "conv.weight"):
        assert torch.equal(state[name], weights[name])


def test_exported_weights_equal_integers_times_row_scales(tmp_path, weights):
    path = tmp_path / "model.safetensors"
    export(weights, path, {})
    integers = quantise(weights)["part.weight"]
    scale = quantise(weights)["part.weight.scale"]
    expected = [
        [i * s for i in row] for row, s in zip(integers.tolist(), scale.tolist(), strict=True)
    ]
    assert integers.dtype == torch.int8
    assert integers.abs().amax(1).tolist() == [127] * 3
    torch.testing.assert_close(loaded([path])["part.weight"], torch.tensor(expected))


def test_loaded_weights_can_be_exported_again_without_loss(tmp_path, weights):
    first, second = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    export(weights, first, {})
    export(loaded([first]), second, {})
    again, before = loaded([second]), loaded([first])
    for name in weights:
        torch.testing.assert_close(again[name], before[name], rtol=1e-6, atol=0)


def test_integers_of_any_rank_take_one_scale_per_row(tmp_path, weights):
    weights["conv.weight"] = torch.arange(72, dtype=torch.int8).view(4, 2, 3, 3)
    weights["conv.weight.scale"] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    state = loaded([saved(tmp_path / "w.safetensors", weights)])
    for row in range(4):
        assert torch.equal(state["conv.weight"][row], weights["conv.weight"][row] * (row + 1.0))


def test_missing_tensor_is_named(tmp_path, weights):
    del weights["part.bias"]
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "w.safetensors: missing tensor part.bias")


def test_unexpected_tensor_is_named(tmp_path, weights):
    weights["part.extra"] = torch.zeros(1)
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "w.safetensors: unexpected tensor part.extra")


def test_renamed_tensors_are_named_on_both_sides(tmp_path, weights):
    weights["router.weight"] = weights.pop("part.weight")
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "missing tensor part.weight", "unexpected tensor router.weight")


def test_long_lists_are_cut(tmp_path):
    path = saved(tmp_path / "w.safetensors", {f"t{n}": torch.zeros(1) for n in range(9)})
    refused([path], "missing tensor conv.weight, part.bias, part.weight;", "t0, t1, t2 and 6 more")


def test_wrong_shape_is_named_with_both_shapes(tmp_path, weights):
    weights["part.weight"] = torch.zeros(5, 3)
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "w.safetensors: tensor part.weight must have shape (3, 5)", "got (5, 3)")


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_values_that_are_not_finite_are_refused(tmp_path, weights, bad):
    weights["conv.weight"][1, 0, 2, 2] = bad
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "w.safetensors: tensor conv.weight holds values that are not finite")


def test_scale_that_is_not_finite_is_refused(tmp_path, weights):
    shipped = quantise(weights)
    shipped["part.weight.scale"][0] = torch.nan
    refused([saved(tmp_path / "w.safetensors", shipped)], "part.weight holds values that are not")


def test_integers_without_scale_are_refused(tmp_path, weights):
    shipped = quantise(weights)
    del shipped["part.weight.scale"]
    path = saved(tmp_path / "w.safetensors", shipped)
    refused([path], "int8 tensor part.weight has no part.weight.scale")


def test_scale_of_another_length_is_refused(tmp_path, weights):
    shipped = quantise(weights)
    shipped["part.weight.scale"] = torch.ones(5)
    path = saved(tmp_path / "w.safetensors", shipped)
    refused([path], "part.weight.scale must hold one value per row of part.weight (3)", "(5,)")


def test_integer_of_no_rank_is_refused(tmp_path, weights):
    shipped = quantise(weights) | {"part.weight": torch.tensor(1, dtype=torch.int8)}
    path = saved(tmp_path / "w.safetensors", shipped)
    refused([path], "part.weight.scale must hold one value per row of part.weight (1)", "(3,)")


def test_scale_beside_floats_is_refused_not_ignored(tmp_path, weights):
    weights["part.weight.scale"] = torch.ones(3)
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "part.weight.scale belongs to an int8 tensor, but part.weight has type")


def test_scale_without_its_tensor_is_unexpected(tmp_path, weights):
    weights["gone.weight.scale"] = torch.ones(3)
    path = saved(tmp_path / "w.safetensors", weights)
    refused([path], "unexpected tensor gone.weight.scale")


@pytest.mark.parametrize(
    ("dtype", "named"),
    [
        (torch.int64, "I64"),
        (torch.complex64, "C64"),
        (torch.float8_e4m3fn, "F8_E4M3"),
        (torch.float8_e5m2, "F8_E5M2"),
    ],
)
def test_weights_of_an_unusable_type_are_refused(tmp_path, weights, dtype, named):
    weights["part.bias"] = torch.zeros(3, dtype=dtype)
    path = saved(tmp_path / "w.safetensors", weights)
    message = f"w.safetensors: tensor part.bias has unusable type {named}; convert it to F32"
    refused([path], message)
    with pytest.raises(CheckpointError, match=message):
        mean_of([path], ["part.bias"])


def test_type_that_pytorch_lacks_is_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    tensor = {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}
    header = json.dumps({"part.bias": tensor}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(3))
    # Releases of safetensors that lack it too say so in words of their own.
    refused([path], "w.safetensors", "F6_E2M3")


def test_index_buffers_and_the_unused_convolution_are_skipped(tmp_path, weights):
    weights["part.position_ids"] = torch.arange(7)
    weights["model.vision_model.embeddings.patch_embedding.weight"] = torch.zeros(2, 2)
    loaded([saved(tmp_path / "w.safetensors", weights)])


def test_shards_are_read_together(tmp_path, weights):
    paths = [
        saved(tmp_path / f"{n}.safetensors", {name: weights[name]})
        for n, name in enumerate(weights)
    ]
    state = loaded(iter(paths))
    assert all(torch.equal(state[name], weights[name]) for name in weights)
    refused(iter(paths[:2]), "0.safetensors, 1.safetensors: missing tensor conv.weight")


def test_tensor_in_two_shards_is_refused(tmp_path, weights):
    first = saved(tmp_path / "1.safetensors", weights)
    second = saved(tmp_path / "2.safetensors", {"part.bias": weights["part.bias"]})
    refused([first, second], "2.safetensors: tensor part.bias is in two files")


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_truncated_file_is_refused(tmp_path, weights, kept):
    path = saved(tmp_path / "w.safetensors", weights)
    path.write_bytes(path.read_bytes()[:kept])
    refused([path], f"{path}: not a whole safetensors file")


def test_pointer_of_git_lfs_is_recognised(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n")
    refused([path], f"{path}: is a git-lfs pointer", "git lfs pull")


def test_missing_file_is_named(tmp_path):
    refused([tmp_path / "none.safetensors"], "none.safetensors: no such weights file")
    refused([tmp_path], "no such weights file")


def test_describe_tells_hash_size_and_metadata(tmp_path, weights):
    path = tmp_path / "model.safetensors"
    written = export(weights, path, {"licence": "Apache-2.0"})
    facts = describe(path)
    assert facts.sha256 == written == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts.size == path.stat().st_size
    assert facts.path == path
    assert facts.metadata == {"format": "pt", "licence": "Apache-2.0"}
    assert describe(saved(tmp_path / "bare.safetensors", weights)).metadata == {}


def test_describe_refuses_what_is_no_weights_file(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_text("hello")
    with pytest.raises(CheckpointError, match=re.escape(str(path))):
        describe(path)


@pytest.mark.parametrize("checks_copies", [True, False])
@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
def test_pieces_tell_whether_they_are_finite_wherever_they_are_looked_at(checks_copies, stored):
    net = Net().requires_grad_(False)
    filling = Filling(net, torch.float32, checks_copies)
    values = torch.ones(3, 5, dtype=stored)
    assert filling.put(Placement("part.weight"), values).item() is True
    values[2, 4] = -torch.inf
    filling = Filling(net, torch.float32, checks_copies)
    assert filling.put(Placement("part.weight"), values).item() is False
    assert net.part.weight[2, 4] == -torch.inf


def test_every_piece_of_a_large_matrix_is_looked_at(monkeypatch):
    monkeypatch.setattr(ocrcli.models.filling, "_ROWS_AT_ONCE", 5)
    values = torch.ones(3, 5)
    values[1, 0] = torch.nan
    filling = Filling(Net().requires_grad_(False), torch.float32)
    assert filling.put(Placement("part.weight"), values).item() is False
