"""Drawing: fills, figures, geometry and damage, in the same places as the labels."""

import math
import random

import numpy as np
import pytest
import torch

from ocrcli.engine import LinePlaces
from ocrcli.models.small.training.atlas import GLYPH_INDEX, SIZES
from ocrcli.models.small.training.batches import _collate, _Sample, _View, _view
from ocrcli.models.small.training.composed import ComposedBlock, ComposedPage
from ocrcli.models.small.training.damage import age, jpeg, print_roughly
from ocrcli.models.small.training.geometry import STRAIGHT, displacement, to_page
from ocrcli.models.small.training.painter import Painter
from ocrcli.models.small.training.textures import TEXTURES, texture_bank

WIDTH, HEIGHT = 256, 320


def generator():
    return torch.Generator().manual_seed(4)


def page_of(glyphs=(), fills=(), figures=()):
    letters = np.array(glyphs, np.int64).reshape(-1, 3)
    return ComposedPage(
        glyph=letters[:, 0],
        x=letters[:, 1].astype(np.int32),
        y=letters[:, 2].astype(np.int32),
        fills=np.array(fills, np.float32).reshape(-1, 5),
        figures=np.array(figures, np.int64).reshape(-1, 5),
        blocks=[],
    )


def straight():
    matrix = np.eye(2, dtype=np.float32) / 2
    return _View(matrix, np.zeros(2, np.float32), np.array(STRAIGHT, np.float32))


def collated(pages, views=None, damage=0.0):
    samples = [
        _Sample(page, [4, 2], view, (WIDTH, HEIGHT), damage)
        for page, view in zip(pages, views or [straight()] * len(pages), strict=True)
    ]
    line_places = LinePlaces(first=10, count=2, det=5, cue=6, openers=frozenset())
    return _collate(samples, WIDTH, HEIGHT, 0, random.Random(0), line_places)


def ink_of(painter, pages, views=None):
    batch = collated(pages, views).paint
    canvas = painter._ink(batch, len(pages), WIDTH, HEIGHT)
    return painter._ground(canvas, batch, generator()), batch


@pytest.fixture(scope="module")
def painter(block_atlas):
    return Painter(block_atlas, torch.device("cpu"))


def test_fills_are_exact_and_text_on_dark_is_white(painter):
    size = SIZES.index(30)
    letter = size * len(GLYPH_INDEX) + GLYPH_INDEX["H"]
    fills = [(10, 20, 200, 120, 0.875), (10, 140, 200, 240, 0.125)]
    ink, _ = ink_of(painter, [page_of([(letter, 50, 80), (letter, 50, 200)], fills), page_of()])
    assert ink[0, 0, 20:120, 10:200].min() == 0.0
    assert ink[0, 0, 25, 150] == 0.875
    assert ink[0, 0, 75, 52] == 0.0
    assert ink[0, 0, 145, 150] == 0.125
    assert ink[0, 0, 195, 52] == 1.0
    outside = ink[0, 0].clone()
    outside[20:120, 10:200] = outside[140:240, 10:200] = 0
    assert not outside.any()
    assert not ink[1].any()


def test_figures_stay_inside_their_boxes(painter):
    ink, _ = ink_of(painter, [page_of(), page_of(figures=[(40, 60, 240, 300, 5)])])
    assert not ink[0].any()
    inside = ink[1, 0, 60:300, 40:240]
    assert inside.std() > 0.1
    inside.zero_()
    assert not ink[1].any()


def test_textures_differ_and_are_ink():
    bank = texture_bank(96, 64, torch.device("cpu"), generator())
    assert bank.shape == (TEXTURES, 64, 96)
    assert 0 <= bank.min() <= bank.max() <= 1
    assert all(bank[index].std() > 0.01 for index in range(TEXTURES))


def test_glyphs_boxes_and_cells_agree_on_bent_and_turned_pages(painter):
    size = SIZES.index(22)
    letter = size * len(GLYPH_INDEX) + GLYPH_INDEX["o"]
    turn = math.radians(2.5)
    matrix = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    bend = np.array([5.0, -4.0, 4.0, 2.0, 0.3], np.float32)
    view = _View((0.95 * matrix / 2).astype(np.float32), np.array([4, -3], np.float32), bend)
    for x, y in ((60, 80), (400, 100), (90, 560), (300, 330)):
        page = page_of([(letter, x, y)])
        batch = collated([page], [view]).paint
        images, codes = painter.paint(batch, 1, WIDTH, HEIGHT, generator())
        dark = images[0, 0] < 0
        rows, cols = dark.nonzero().float().mean(0)
        wide, high = painter.shape[letter, :2].tolist()
        centre = np.array([[x + wide / 2, y - high / 2]])
        (place,) = to_page(centre, view.matrix, view.shift, bend, (WIDTH, HEIGHT))
        assert abs(place[0] - float(cols) - 0.5) < 0.8
        assert abs(place[1] - float(rows) - 0.5) < 0.8
        found = (codes[0, :, :, 0] == GLYPH_INDEX["o"] + 1).nonzero()
        assert found.tolist() == [[int(place[1] // 32), int(place[0] // 32)]]


def test_bend_is_the_same_for_arrays_and_tensors():
    bend = np.array([1.0, 2.0, 3.0, 4.0, 0.2])
    array = displacement(bend, np.array([0.5]), np.array([-0.3]), np.sin)
    tensor = displacement(torch.tensor(bend), torch.tensor([0.5]), torch.tensor([-0.3]), torch.sin)
    np.testing.assert_allclose(array, tensor.numpy(), rtol=1e-6)


def test_no_text_leaves_the_paper():
    rng = random.Random(1)
    block = ComposedBlock("text")
    block.cover(8, 8, 2 * WIDTH - 20, 2 * HEIGHT - 20)
    page = page_of()
    page.blocks.append(block)
    extent = (WIDTH - 6, HEIGHT - 6)
    for _ in range(100):
        view = _view(rng, page, 1.0, True, (WIDTH, HEIGHT), extent)
        corners = np.array([(x, y) for x in block.box[::2] for y in block.box[1::2]])
        seen = to_page(corners, view.matrix, view.shift, view.bend, (WIDTH, HEIGHT))
        assert seen.min() >= 0
        assert (seen.max(0) <= extent).all()


def test_only_damaged_pages_are_damaged(painter):
    canvas = torch.rand(3, 1, 64, 64, generator=generator())
    damage = torch.tensor([0.0, 1.0, 0.0])
    rough = print_roughly(canvas, damage, generator())
    assert torch.equal(rough[damage == 0], canvas[damage == 0])
    assert torch.equal(print_roughly(canvas, torch.zeros(3), generator()), canvas)


def test_damage_differs_from_page_to_page_and_stays_in_range():
    ink = torch.zeros(6, 1, 64, 96)
    ink[:, :, 20:24, 10:80] = 1
    pages = age(ink, torch.zeros_like(ink, dtype=torch.bool), torch.ones(6), generator())
    assert pages.shape == ink.shape
    assert 0 <= pages.min() <= pages.max() <= 1
    assert len({round(float(page.mean()), 5) for page in pages}) == 6
    # The line is still the darkest part of each page.
    assert (pages[:, 0, 21:23, 20:70].mean((1, 2)) < pages[:, 0, 40:60].mean((1, 2))).all()


def test_jpeg_loses_more_at_lower_quality():
    u = torch.linspace(0, 20, 64)
    image = (0.5 + 0.5 * torch.sin(u[:, None] * u[None] / 6)).view(1, 1, 64, 64).repeat(3, 1, 1, 1)
    packed = jpeg(image, torch.tensor([10.0, 50.0, 100.0]))
    errors = (packed - image).abs().mean((1, 2, 3))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.005
