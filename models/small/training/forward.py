"""The training forward pass: one page per row, through the shipped model's own layers.

Only the attention call differs from inference: the engine reads a paged cache, training a dense
batch. Both follow the rules of page-isolated DASH, and a test holds one against the other.
"""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.kernels.block_routing.training import (
    routing_bias_training,
    routing_bias_training_reference,
)
from ocrcli.kernels.cross_entropy import mean_cross_entropy, mean_cross_entropy_reference
from ocrcli.kernels.dash_attention.training import dash_attention_training
from ocrcli.models.small.training.painter import CODES, SLOTS
from ocrcli.models.small.training.speedups import is_on
from ocrcli.models.unlimited_ocr.decoder import AttentionInputs, DecoderLayer, rope_phases
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

_SLOT_WIDTH = 96


class CharacterHead(nn.Module):
    """Auxiliary head: every visual token names the characters in its cell; never shipped."""

    def __init__(self, width: int) -> None:
        """Create the head for visual features of `width` channels."""
        super().__init__()
        self.slots = nn.Linear(width, SLOTS * _SLOT_WIDTH)
        self.classes = nn.Linear(_SLOT_WIDTH, CODES)

    def loss(self, features: Tensor, asked: Tensor, codes: Tensor) -> Tensor:
        """Return the mean cross-entropy over named characters and each cell's end mark.

        Args:
            features: Visual features [B, h, w, width].
            asked: Slots that are asked for, flat indices into [B, h, w, SLOTS], int64 [n].
            codes: Their character codes, int64 [n].
        """
        slots = self.slots(features.flatten(0, 2)).view(-1, _SLOT_WIDTH)
        scores = self.classes(F.gelu(slots.index_select(0, asked)))
        return next_token_loss(scores, codes)[0]


def next_token_loss(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of scores [N, V] and the share of best scores that are right.

    Args:
        scores: Scores of any floating type.
        target: Right classes, int64 [N].
    """
    loss = mean_cross_entropy if is_on("cross_entropy") else mean_cross_entropy_reference
    return loss(scores, target)


@dataclass(frozen=True)
class PageShape:
    """Lengths of the rows of one batch.

    Attributes:
        real: Tokens of the prompt before its padding: the marker and the image tokens.
        prompt: Tokens of the padded prompt, a whole number of blocks.
        response: Response tokens that are fed, from `<PAGE>` on.
    """

    real: int
    prompt: int
    response: int

    @property
    def total(self) -> int:
        """Tokens of a whole row."""
        return self.prompt + self.response


def response_states(model: UnlimitedOcr, visual: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return hidden states of whole rows, and where the states of response tokens lie among them.

    Args:
        model: The model that will be shipped.
        visual: Image tokens [B, n, hidden].
        tokens: Response tokens from `<PAGE>` on, int64 [B, T].

    Returns:
        States [B * S, hidden] before the final norm, and int64 [B, T].
    """
    config = model.config
    batch, count, hidden = visual.shape
    block = config.sparse.block_size
    real = count + 1
    shape = PageShape(real, -(-real // block) * block, tokens.shape[1])
    assert config.tokens.page is not None, "the configuration that is trained names its marker"
    # A tensor made on the device: one from the host would be waited for.
    marker_id = torch.full((1,), config.tokens.page, device=tokens.device)
    marker = model.embed_tokens(marker_id).to(visual.dtype)
    padding = visual.new_zeros(batch, shape.prompt - real, hidden)
    text = model.embed_tokens(tokens).to(visual.dtype)
    x = torch.cat((marker.expand(batch, 1, hidden), visual, padding, text), 1).flatten(0, 1)
    token = _token_coordinates(shape, tokens.device).repeat(batch)
    phases = rope_phases(token, torch.ones_like(token), config.decoder.head_dim, config.sparse)
    for module in model.model.layers:
        layer = cast(DecoderLayer, module)
        inputs = layer.project(x, phases)
        mixed = _attend(layer, inputs, batch, shape)
        x = layer.finish(x, mixed)
    rows = torch.arange(batch, device=x.device)[:, None] * shape.total + shape.prompt
    return x, rows + torch.arange(shape.response, device=x.device)


def scores_of(model: UnlimitedOcr, states: Tensor) -> Tensor:
    """Return scores [N, vocabulary] of hidden states [N, hidden] before the final norm."""
    return F.linear(model.model.norm(states), model.model.embed_tokens.weight)


def response_logits(model: UnlimitedOcr, visual: Tensor, tokens: Tensor) -> Tensor:
    """Return scores [B, T, vocabulary] for the token after each response token.

    Args:
        model: The model that will be shipped.
        visual: Image tokens [B, n, hidden].
        tokens: Response tokens from `<PAGE>` on, int64 [B, T].
    """
    states, rows = response_states(model, visual, tokens)
    return scores_of(model, states[rows.flatten()]).view(*tokens.shape, -1)


def text_loss(
    model: UnlimitedOcr, visual: Tensor, tokens: Tensor, kept: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of the next tokens, and the share that is right.

    Args:
        model: The model that will be shipped.
        visual: Image tokens [B, n, hidden].
        tokens: Response tokens from `<PAGE>` on, padded, int64 [B, T].
        kept: Tokens that are followed by a real one, flat indices into [B, T], int64 [n].
        target: What follows them, int64 [n].
    """
    states, rows = response_states(model, visual, tokens)
    answers = states.index_select(0, rows.flatten().index_select(0, kept))
    return next_token_loss(scores_of(model, answers), target)


def _token_coordinates(shape: PageShape, device: torch.device) -> Tensor:
    prompt = torch.arange(shape.prompt, device=device)
    return torch.cat((prompt, shape.real + torch.arange(shape.response, device=device)))


def _attend(layer: DecoderLayer, inputs: AttentionInputs, batch: int, shape: PageShape) -> Tensor:
    sparse = layer.sparse
    route = routing_bias_training if is_on("routing") else routing_bias_training_reference
    with torch.autocast(inputs.query.device.type, enabled=False):
        bias = route(
            inputs.router_query.view(batch, shape.total, -1),
            inputs.router_key.view(batch, shape.total, -1),
            layer.self_attn.router.head_cls,
            sparse.policy.for_layer(layer.index),
            num_image_tokens=shape.real,
            prompt_length=shape.prompt,
            local=sparse.local_tokens,
            block_size=sparse.block_size,
        )
    query, key, value = (
        part.view(batch, shape.total, *part.shape[1:])
        for part in (inputs.query, inputs.key, inputs.value)
    )
    mixed = dash_attention_training(
        query,
        key,
        value,
        bias,
        num_image_tokens=shape.real,
        prompt_length=shape.prompt,
        local=sparse.local_tokens,
        block_size=sparse.block_size,
    )
    return mixed.flatten(2).flatten(0, 1)


__all__ = [
    "CharacterHead",
    "PageShape",
    "next_token_loss",
    "response_logits",
    "response_states",
    "scores_of",
    "text_loss",
]
