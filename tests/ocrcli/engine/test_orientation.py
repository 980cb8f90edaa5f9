"""Pages that lie on their side are turned before they are read."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from ocrcli.engine import Engine, GenerationLimits
from ocrcli.engine.image_encoder import ImageEncoder
from ocrcli.prompt import page_tensor

EOS = 2
GREY = 2
SCRIPTS = [[11, 12, EOS], [13, 14, 15, EOS], [16, EOS]]
"""The last is what is read where the page's first pixel is grey: on a page that was not turned."""


@dataclass
class TurnedPage:
    """A grey page whose upper left corner, when upright, names its script; turned by quarters."""

    page_number: int
    script: int = 0
    quarters: int = 0
    may_turn: bool = True

    @property
    def pixels(self):
        page = np.full((64, 128), GREY, np.uint8)
        page[0, 0] = self.script
        return np.ascontiguousarray(np.rot90(page, self.quarters))


@pytest.fixture
def model(kit):
    """A model whose head finds the corner that names the script, and is as sure as it is told."""

    class Oriented(kit.ScriptedModel):
        certainty = 20.0

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.has_orientation_head = True
            self.encoded = []

        def visual_features(self, pixels):
            self.encoded.append(tuple(pixels.shape[2:]))
            return pixels

        def orientation_scores(self, features):
            page = features[0, 0]
            corners = (page[0, 0], page[-1, 0], page[-1, -1], page[0, -1])
            scores = torch.zeros(1, 4)
            scores[0, int(torch.stack(corners).argmin())] = self.certainty
            return scores

        def visual_tokens(self, features):
            return self.encode_image(features[0])[None]

    return Oriented(kit.tiny_config(), SCRIPTS)


def read(model, kit, pages, **limits):
    engine = Engine(model, kit.DigitCodec(), GenerationLimits(**limits))
    return list(engine.transcribe(pages))


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_page_is_turned_back_and_read(model, kit, quarters):
    (result,) = read(model, kit, [TurnedPage(1, 1, quarters)])
    assert (result.token_ids, result.rotation) == ((13, 14, 15), 90 * quarters)
    assert model.encoded[-1] == (64, 128)
    assert len(model.encoded) == (2 if quarters else 1)


def test_turned_pages_are_the_same_alone_and_together(model, kit):
    pages = [TurnedPage(n, n % 2, quarters) for n, quarters in enumerate((3, 0, 1, 2, 1))]
    together = read(model, kit, pages)
    for page, result in zip(pages, together, strict=True):
        (alone,) = read(model, kit, [page])
        assert (result.markup, result.rotation) == (alone.markup, alone.rotation)
        assert result.rotation == 90 * page.quarters


@pytest.mark.parametrize(
    ("limits", "page"),
    [
        ({"rotate": False}, TurnedPage(1, 0, 1)),
        ({}, TurnedPage(1, 0, 1, may_turn=False)),
    ],
    ids=["not wanted", "too little ink"],
)
def test_page_stays_as_it_lies(model, kit, limits, page):
    (result,) = read(model, kit, [page], **limits)
    assert (result.rotation, result.token_ids) == (0, (16,))
    assert model.encoded == []


def test_an_unsure_head_turns_nothing(model, kit):
    model.certainty = 2.0
    (result,) = read(model, kit, [TurnedPage(1, 0, 2)])
    assert (result.rotation, result.token_ids) == (0, (16,))


def test_a_head_that_contradicts_itself_turns_nothing(model, kit):
    model.orientation_scores = lambda features: torch.tensor([[0.0, 20.0, 0.0, 0.0]])
    (result,) = read(model, kit, [TurnedPage(1, 0, 0)])
    assert (result.rotation, result.token_ids) == (0, (11, 12))


def test_a_model_without_a_head_is_not_asked(kit):
    model = kit.tiny_model(kit.tiny_config())
    page = TurnedPage(1, 0, 1)
    tokens, rotation = ImageEncoder(model, rotate=True)(page.pixels, may_turn=True)
    assert rotation == 0
    expected = model.encode_image(page_tensor(page.pixels, model.config.vision))
    assert torch.equal(tokens, expected)
