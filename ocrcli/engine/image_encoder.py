"""Page pictures to image tokens, upright: pages that lie on their side are turned first."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ocrcli.models.interface import OcrModel
from ocrcli.prompt import page_tensor

MIN_TURN_PROBABILITY = 0.9
"""Probability of one turn below which a page is read as it lies."""


class ImageEncoder:
    """Encodes one page at a time.

    The model's orientation head is asked twice: a page is turned only when the head is sure that it
    lies on its side, and finds it upright once it was turned.
    """

    def __init__(self, model: OcrModel, rotate: bool) -> None:
        """Create an encoder.

        Args:
            model: Encodes; pages stay as they are if it has no orientation head.
            rotate: Whether pages may be turned.
        """
        weight = next(iter(model.parameters()))
        self._model, self._device, self._dtype = model, weight.device, weight.dtype
        self._rotate = rotate and model.has_orientation_head

    def __call__(self, pixels: NDArray[np.uint8], may_turn: bool) -> tuple[Tensor, int]:
        """Return the image tokens [n, hidden] of a page, and the degrees it was turned clockwise.

        Args:
            pixels: Grey values 0 (black) to 255 (white), uint8 [height, width].
            may_turn: Whether the page has enough ink to tell which way up it lies.

        Raises:
            ValueError: `pixels` is not a non-empty uint8 [height, width] array.
        """
        if not (self._rotate and may_turn):
            return self._model.encode_image(self._tensor(pixels)), 0
        quarters = 0
        features = self._features(pixels)
        lies = self._sure_turn(features)
        if lies:
            turned = self._features(np.rot90(pixels, -lies))
            if self._sure_turn(turned) == 0:
                features, quarters = turned, lies
        return self._model.visual_tokens(features)[0], 90 * quarters

    def _features(self, pixels: NDArray[np.uint8]) -> Tensor:
        return self._model.visual_features(self._tensor(pixels)[None])

    def _tensor(self, pixels: NDArray[np.uint8]) -> Tensor:
        image = page_tensor(pixels, self._model.config.vision)
        return image.to(self._device, self._dtype)

    def _sure_turn(self, features: Tensor) -> int:
        """Return how many quarters counter-clockwise the content is turned; 0 if unsure."""
        scores = self._model.orientation_scores(features)[0].float()
        probability, turn = torch.softmax(scores, 0).max(0)
        return int(turn) if float(probability) >= MIN_TURN_PROBABILITY else 0
