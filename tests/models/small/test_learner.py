"""A fast step learns what the plain formulas say: losses, gradients and updates."""

import random

import pytest
import torch
import torch.nn.functional as F

from ocrcli.models.small.training.compiling import compiled, without_base
from ocrcli.models.small.training.encoding import features_of
from ocrcli.models.small.training.flat import FlatParameters
from ocrcli.models.small.training.forward import response_logits
from ocrcli.models.small.training.initialise import initialise
from ocrcli.models.small.training.learner import Learner
from ocrcli.models.small.training.optimiser import BatchedMuon, orthogonalise, split_parameters
from ocrcli.models.small.training.painted import PaintedBatch, asked_slots
from ocrcli.models.small.training.painter import CODES, SLOTS
from ocrcli.models.small.training.speedups import SPEEDUPS, VARIABLE, is_on, switch_off
from ocrcli.models.small.training.turning import orientation_loss, turn


@pytest.fixture
def learner(tiny_config):
    learner = Learner(tiny_config)
    initialise(learner.model, seed=1)
    with torch.no_grad():
        for name, param in learner.model.named_parameters():
            # Larger router weights, so that routing is sharp and wrong blocks would show.
            if ".router." in name:
                param.mul_(20) if param.ndim > 1 else param.normal_()
    return learner


def page_batch(pad):
    """Return a batch of three pages of 128 x 192 pixels, its padded tokens and its codes."""
    rng = torch.Generator().manual_seed(3)
    images = torch.rand(3, 1, 192, 128, generator=rng) * 2 - 1
    tokens = torch.randint(5, 6000, (3, 41), generator=rng)
    for row, length in enumerate((41, 30, 7)):
        tokens[row, length:] = pad
    codes = torch.randint(1, CODES, (3, 6, 4, SLOTS), generator=rng)
    count = torch.randint(0, SLOTS + 1, (3, 6, 4, 1), generator=rng)
    codes = codes * (torch.arange(SLOTS) < count)
    extent = torch.tensor([[128.0, 192.0], [120.0, 190.0], [128.0, 192.0]])
    orientable = torch.tensor([True, False, True])
    turned = turn(images, extent, orientable, torch.tensor([0, 1]), 1)
    kept = (tokens[:, 1:] != pad).flatten().nonzero()[:, 0]
    asked = asked_slots(codes)
    batch = PaintedBatch(
        images=images,
        tokens=tokens[:, :-1],
        kept=kept,
        target=tokens[:, 1:].flatten()[kept],
        asked=asked,
        codes=codes.flatten()[asked],
        offset=(8, 16),
        turned=turned,
    )
    return batch, tokens, codes


def plain_losses(learner, batch, tokens, codes):
    """The losses by their definition, with masks instead of indices."""
    model = learner.model
    features = model.visual_features(batch.images, batch.offset)
    scores = response_logits(model, model.visual_tokens(features), tokens[:, :-1])
    pad = model.config.tokens.pad
    text = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad)
    real = tokens[:, 1:] != pad
    right = (scores.argmax(-1) == tokens[:, 1:])[real].float().mean()
    slots = learner.characters.slots(features).view(*codes.shape, -1)
    named = learner.characters.classes(F.gelu(slots)).movedim(-1, 1)
    losses = F.cross_entropy(named, codes, reduction="none")
    asked = torch.arange(SLOTS) <= (codes > 0).sum(-1, keepdim=True)
    characters = losses[asked].mean()
    turned = batch.turned
    turns = orientation_loss(model, features, model.visual_features(turned.images), turned)
    return text, characters, turns, right


def test_losses_and_gradients_are_those_of_the_definition(learner):
    batch, tokens, codes = page_batch(learner.model.config.tokens.pad)
    text, characters, turns, right = plain_losses(learner, batch, tokens, codes)
    (text + characters + 0.05 * turns).backward()
    expected = {name: param.grad.clone() for name, param in learner.named_parameters()}
    learner.zero_grad()
    losses = learner.losses(batch)
    losses.total.backward()
    torch.testing.assert_close(losses.text, text, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(losses.characters, characters, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(losses.turns, turns, rtol=1e-5, atol=1e-5)
    assert losses.right == right
    for name, param in learner.named_parameters():
        torch.testing.assert_close(param.grad, expected[name], rtol=1e-4, atol=1e-6, msg=name)


def test_images_of_two_sizes_are_encoded_as_each_alone(learner):
    batch, _, _ = page_batch(learner.model.config.tokens.pad)
    model = learner.model
    turned = batch.turned.images
    # 12 x 8, 4 x 12, 8 x 16 and 16 x 8 cells: windows of 8 x 8 fit the last two.
    whole = torch.rand(2, 1, 128, 256, generator=torch.Generator().manual_seed(1))
    images = (batch.images, turned[:, :, :64], whole, whole.mT.contiguous())
    offsets = ((8, 16), (0, 0), (0, 8), (0, 0))
    alone = [model.visual_features(*pair) for pair in zip(images, offsets, strict=True)]
    together = features_of(model, images, offsets)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    encoder = [*model.model.sam_model.parameters(), *model.model.vision_model.parameters()]
    wanted, actual = (
        torch.autograd.grad(sum(part.pow(3).sum() for part in features), encoder)
        for features in (alone, together)
    )
    torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-3)
    assert all(grad.abs().max() > 0.1 for grad in wanted)


def optimisers_of(hidden, other):
    return [
        BatchedMuon(hidden, lr=0.02, momentum=0.95, weight_decay=0.05),
        torch.optim.AdamW(other, lr=0.02, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def parameters_of(learner):
    hidden, other = split_parameters(learner.model)
    return hidden, other + list(learner.characters.parameters())


def test_flat_parameters_are_updated_as_single_ones(learner, tiny_config):
    single = Learner(tiny_config)
    single.load_state_dict(learner.state_dict())
    one_by_one = optimisers_of(*parameters_of(single))
    flat = FlatParameters(*parameters_of(learner))
    together = optimisers_of(flat.stacks, [flat.rest])
    assert sum(len(stack) for stack in flat.stacks) == len(parameters_of(single)[0])
    for name, value in single.state_dict().items():
        assert torch.equal(value, learner.state_dict()[name]), name
    rng = torch.Generator().manual_seed(5)
    for _ in range(3):
        for one, other in zip(single.parameters(), learner.parameters(), strict=True):
            one.grad = 0.1 * torch.randn(one.shape, generator=rng)
            other.grad = one.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(single.parameters(), 1.0)
        flat.gather()
        torch.testing.assert_close(flat.clip(1.0), norm, rtol=1e-5, atol=0)
        for optimiser in (*one_by_one, *together):
            optimiser.step()
    for (name, actual), (_, wanted) in zip(
        learner.named_parameters(), single.named_parameters(), strict=True
    ):
        assert actual.data_ptr() % 16 == flat.weights.data_ptr() % 16, name
        # Muon works in bfloat16, where the last bit of the clipped gradient may tip a rounding.
        muon = actual.ndim == 2 and (".layers." in name or ".blocks." in name)
        torch.testing.assert_close(actual, wanted, rtol=0, atol=1e-3 if muon else 1e-6, msg=name)


def test_flat_gradients_of_unused_parameters_are_zero(learner):
    flat = FlatParameters(*parameters_of(learner))
    batch, _, _ = page_batch(learner.model.config.tokens.pad)
    learner.losses(batch).total.backward()
    flat.gather()
    assert flat.clip(1e9) > 0
    place = next(
        part
        for param, part in zip(flat.params, flat._parts, strict=True)
        if param is learner.model.model.orientation.turns.weight
    )
    assert place.abs().sum() > 0
    plain = PaintedBatch(**{**vars(batch), "turned": None})
    learner.losses(plain).total.backward()
    flat.gather()
    assert place.abs().sum() == 0
    assert all(param.grad is None for param in learner.parameters())


def test_orthogonalised_matrices_have_singular_values_near_one():
    torch.manual_seed(0)
    for shape in ((3, 24, 40), (2, 40, 24)):
        update = orthogonalise(torch.randn(shape)).float()
        values = torch.linalg.svdvals(update)
        assert values.min() > 0.4 and values.max() < 1.4


# Dynamo looks at the gradients of its arguments.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_views_are_aliased_and_shapes_share_one_compiled_function(learner):
    block = learner.model.model.sam_model.blocks[0]
    width = block.norm1.weight.shape[0]
    torch._dynamo.reset()
    graphs = torch._dynamo.utils.counters["stats"]
    before = graphs["unique_graphs"]
    project = compiled(type(block).project, backend="aot_eager")
    rng = random.Random(0)
    for _ in range(5):
        x = torch.randn(rng.randrange(2, 9), 6, rng.randrange(3, 9), width, requires_grad=True)
        view = x.reshape(-1, width)
        alias = without_base(view)
        assert alias._base is None and alias.data_ptr() == view.data_ptr()
        actual = project(block, view)
        expected = type(block).project(block, view)
        torch.testing.assert_close(actual, expected)
        (grad,) = torch.autograd.grad(actual.square().sum(), x)
        (wanted,) = torch.autograd.grad(expected.square().sum(), x)
        torch.testing.assert_close(grad, wanted)
    assert graphs["unique_graphs"] - before == 1
    torch._dynamo.reset()


def test_views_with_gaps_are_copied():
    gaps = torch.randn(6, 8)[:, :4]
    alias = without_base(gaps)
    assert alias.is_contiguous() and torch.equal(alias, gaps)


def test_speedups_are_switched_off_by_name(monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert all(is_on(name) for name in SPEEDUPS)
    switch_off("routing, ahead")
    assert [name for name in SPEEDUPS if not is_on(name)] == ["routing", "ahead"]
    switch_off("all")
    assert not any(is_on(name) for name in SPEEDUPS)
    with pytest.raises(ValueError, match="unknown speedups \\['rooting'\\]"):
        switch_off("rooting")
