"""Turned pages and the head that finds out how far they are turned."""

import pytest
import torch

from ocrcli.models.small.training.turning import orientation_loss, turn
from ocrcli.models.unlimited_ocr.orientation import TURNS, OrientationHead


class Headed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = OrientationHead(8)

    def orientation_scores(self, features):
        return self.head(features)


def pictures():
    torch.manual_seed(0)
    return torch.rand(3, 1, 64, 128)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_whole_pages_turn_counter_clockwise(quarters):
    images = pictures()
    extent = torch.tensor([[128.0, 64.0]]).repeat(3, 1)
    able = torch.tensor([True, False, True])
    turned = turn(images, extent, able, torch.tensor([1, 2]), quarters)
    assert torch.equal(turned.images, torch.rot90(images[1:], quarters, (2, 3)))
    assert turned.kept.tolist() == [False, True]
    assert turned.upright.tolist() == [True, False, True]


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_padding_stays_at_the_right_and_bottom(quarters):
    images = pictures()
    images[:, :, 50:] = 1.0
    images[:, :, :, 100:] = 1.0
    extent = torch.tensor([[100.0, 50.0]]).repeat(3, 1)
    turned = turn(images, extent, torch.ones(3, dtype=torch.bool), torch.tensor([0]), quarters)
    wanted = torch.rot90(images[:1, :, :50, :100], quarters, (2, 3))
    high, wide = wanted.shape[2:]
    assert torch.equal(turned.images[:, :, :high, :wide], wanted)
    assert (turned.images[:, :, high:] == 1).all()
    assert (turned.images[:, :, :, wide:] == 1).all()


def test_a_few_steps_teach_the_head():
    torch.manual_seed(1)
    model = Headed()
    directions = torch.randn(TURNS, 8)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(60):
        quarters = 1 + step % 3
        upright = torch.randn(4, 3, 5, 8) + directions[0]
        asked = torch.randn(2, 5, 3, 8) + directions[quarters]
        turned = turn(
            torch.zeros(4, 1, 64, 64),
            torch.full((4, 2), 64.0),
            torch.ones(4, dtype=torch.bool),
            torch.tensor([0, 1]),
            quarters,
        )
        loss = orientation_loss(model, upright, asked, turned)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert sum(losses[-6:]) < 0.2 * sum(losses[:6])


def test_pages_without_text_have_no_say():
    model = Headed()
    nothing = torch.zeros(2, dtype=torch.bool)
    images = torch.zeros(2, 1, 64, 64)
    turned = turn(images, torch.full((2, 2), 64.0), nothing, torch.tensor([0]), 2)
    loss = orientation_loss(model, torch.randn(2, 2, 2, 8), torch.randn(1, 2, 2, 8), turned)
    loss.backward()
    assert loss.item() == 0.0
    # Every process of a run must bring the same gradients, zero or not.
    assert all(param.grad is not None for param in model.parameters())
