"""A decode step asks the device for nothing, so that a GPU is never waited for inside the model."""

from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ocrcli.engine.attention_plan import DecodeBatch, prefill_plan, sequence_layout
from ocrcli.kernels.page_rope import page_coordinates
from ocrcli.models.layers.mlp import MixtureOfExperts

WAITING = {"_local_scalar_dense", "nonzero", "_unique2", "unique_dim", "masked_select"}
PYTHON_WAYS = ("tolist", "item", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__")


class Waiting(TorchDispatchMode):
    """Refuses the operations whose result's size or value the processor has to know."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        by_mask = name.startswith("index") and any(
            isinstance(index, torch.Tensor) and index.dtype == torch.bool
            for indices in args[1:2]
            if isinstance(indices, list | tuple)
            for index in indices
        )
        if name in WAITING or by_mask:
            raise AssertionError(f"{name} waits for the device")
        return func(*args, **(kwargs or {}))


def refuse_python_ways(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a value was asked for")

    for name in PYTHON_WAYS:
        monkeypatch.setattr(torch.Tensor, name, refuse)


@pytest.mark.parametrize("rows", [1, 2])
@torch.inference_mode()
def test_a_decode_step_never_waits(kit, monkeypatch, rows):
    model = kit.random_model(kit.large_config(), seed=3)
    values = {name: value.clone() for name, value in model.state_dict().items()}
    mixtures = [layer for layer in model.modules() if isinstance(layer, MixtureOfExperts)]
    for layer in mixtures:
        layer.stack_experts("cpu")
    model.load_state_dict(values)
    batch, ids, cache, real = started(kit, model, rows)
    expected = model.decode(ids, batch.plan, cache, real)
    with monkeypatch.context() as patch, Waiting():
        refuse_python_ways(patch)
        found = model.decode(ids, batch.plan, cache, real)
        batch.advance()
    assert mixtures
    assert torch.equal(found, expected)


@torch.inference_mode()
def test_experts_that_are_called_one_by_one_are_noticed(kit, monkeypatch):
    model = kit.random_model(kit.large_config(), seed=3)
    batch, ids, cache, real = started(kit, model, 1)
    with monkeypatch.context() as patch, Waiting():
        refuse_python_ways(patch)
        with pytest.raises(AssertionError, match="asked for"):
            model.decode(ids, batch.plan, cache, real)


def started(kit, model, rows):
    """Return a batch of sequences with a prompt of two pages, its ids, the cache and its flags."""
    sparse = model.config.sparse
    roles, length = kit.document([70, 40], [1])
    roles, blocks = roles[:length], -(-length // sparse.block_size)
    held = blocks + sparse.local_blocks
    cache, real = kit.empty_memory(model, 2 + rows * held)
    places = page_coordinates(roles, sparse.page_isolated)
    embeddings = kit.embedded(model, roles, kit.random_ids(roles))
    members = []
    for row in range(rows):
        own = list(range(2 + row * held, 2 + (row + 1) * held))
        plan = prefill_plan(roles, torch.tensor(own[:blocks]), length, sparse)
        real.view(-1)[plan.slots] = plan.real
        model.prefill(embeddings, plan, cache, real)
        layout = sequence_layout(places, own[:blocks], own[blocks:], sparse)
        state = {"token": 71, "page": 1, "query_page": 0, "section_start": 0, "num_pages": 2}
        members.append(
            SimpleNamespace(layout=layout, position=length, prompt_length=length, **state)
        )
    batch = DecodeBatch(members, rows, sparse)
    real.view(-1)[batch.plan.write_slots] = True
    return batch, torch.tensor([9] * rows), cache, real
