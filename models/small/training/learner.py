"""What is trained, and its losses."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ocrcli.models.small.training.encoding import features_of
from ocrcli.models.small.training.forward import CharacterHead, text_loss
from ocrcli.models.small.training.painted import PaintedBatch
from ocrcli.models.small.training.speedups import is_on
from ocrcli.models.small.training.turning import orientation_loss
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

# At full weight a few misjudged pages made gradients forty times the clipping norm, and the other
# losses stood still.
_TURNS_WEIGHT = 0.05
_ATTENTION_ORDER = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]


@dataclass(frozen=True)
class Losses:
    """Losses of one batch, and the share of next tokens that were right."""

    text: Tensor
    characters: Tensor
    turns: Tensor
    right: Tensor

    @property
    def total(self) -> Tensor:
        """The weighted sum that is minimised."""
        return self.text + self.characters + _TURNS_WEIGHT * self.turns


class Learner(nn.Module):
    """The model that ships together with the auxiliary head that does not."""

    def __init__(self, config: ModelConfig) -> None:
        """Create both."""
        super().__init__()
        self.model = UnlimitedOcr(config)
        self.characters = CharacterHead(config.vision.feature_width)

    def losses(self, batch: PaintedBatch) -> Losses:
        """Return the losses of one batch on the model's device; nothing waits for the device."""
        device = batch.images.device.type
        bfloat16 = torch.autocast(device, torch.bfloat16, enabled=device == "cuda")
        with bfloat16, _attention_order(device):
            features, asked = self._features(batch)
            visual = self.model.visual_tokens(features)
            text, right = text_loss(self.model, visual, batch.tokens, batch.kept, batch.target)
            turns = text.new_zeros(())
            if batch.turned is not None and asked is not None:
                turns = orientation_loss(self.model, features, asked, batch.turned)
            characters = self.characters.loss(features, batch.asked, batch.codes)
        return Losses(text, characters, turns, right)

    def _features(self, batch: PaintedBatch) -> tuple[Tensor, Tensor | None]:
        """Return the features of the pages and of the turned pages."""
        model = self.model
        images, offsets = [batch.images], [batch.offset]
        if batch.turned is not None:
            images.append(batch.turned.images)
            offsets.append((0, 0))
        if is_on("packed"):
            features = features_of(model, images, offsets)
        else:
            pairs = zip(images, offsets, strict=True)
            features = [model.visual_features(*pair) for pair in pairs]
        return features[0], features[1] if batch.turned is not None else None


def _attention_order(device: str) -> AbstractContextManager[None]:
    if device == "cuda" and is_on("cudnn"):
        return sdpa_kernel(_ATTENTION_ORDER, set_priority=True)
    return nullcontext()
