"""The training forward pass: one page per row, through the shipped model's own layers.

Only the attention call differs from inference: the engine reads a paged cache, training a dense
batch. Both follow the rules of page-isolated DASH, and a test holds one against the other.
"""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.kernels.block_routing import route_blocks
from ocrcli.kernels.block_summary import block_summary
from ocrcli.kernels.dash_attention.training import dash_attention_training
from ocrcli.models.small.training.painter import CODES, SLOTS
from ocrcli.models.unlimited_ocr.decoder import AttentionInputs, DecoderLayer, rope_phases
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

_SLOT_WIDTH = 96
_NOT_SELECTED = -1e5


class CharacterHead(nn.Module):
    """Auxiliary head: every visual token names the characters in its cell; never shipped."""

    def __init__(self, width: int) -> None:
        """Create the head for visual features of `width` channels."""
        super().__init__()
        self.slots = nn.Linear(width, SLOTS * _SLOT_WIDTH)
        self.classes = nn.Linear(_SLOT_WIDTH, CODES)

    def loss(self, features: Tensor, codes: Tensor) -> Tensor:
        """Return the mean cross-entropy over named characters and each cell's end mark.

        Args:
            features: Visual features [B, h, w, width].
            codes: Character codes [B, h, w, SLOTS], 0 after the last.
        """
        codes = codes.flatten(0, 2)
        slots = self.slots(features.flatten(0, 2)).view(-1, SLOTS, _SLOT_WIDTH)
        asked = torch.arange(SLOTS, device=codes.device) <= (codes > 0).sum(1, keepdim=True)
        scores = self.classes(F.gelu(slots[asked]))
        return F.cross_entropy(scores.float(), codes[asked])


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


def response_logits(model: UnlimitedOcr, visual: Tensor, tokens: Tensor) -> Tensor:
    """Return scores [B, T, vocabulary] for the token after each response token.

    Args:
        model: The model that will be shipped.
        visual: Image tokens [B, n, hidden].
        tokens: Response tokens from `<PAGE>` on, int64 [B, T].
    """
    config = model.config
    batch, count, hidden = visual.shape
    block = config.sparse.block_size
    real = count + 1
    shape = PageShape(real, -(-real // block) * block, tokens.shape[1])
    page_id = config.tokens.page
    marker = model.embed_tokens(tokens.new_tensor([page_id])).to(visual.dtype)
    padding = visual.new_zeros(batch, shape.prompt - real, hidden)
    text = model.embed_tokens(tokens).to(visual.dtype)
    x = torch.cat((marker.expand(batch, 1, hidden), visual, padding, text), 1).flatten(0, 1)
    token = _token_coordinates(shape, tokens.device).repeat(batch)
    phases = rope_phases(token, torch.ones_like(token), config.decoder.head_dim, config.sparse)
    masks = _block_masks(shape, block, config.sparse.local_tokens, tokens.device)
    for module in model.model.layers:
        layer = cast(DecoderLayer, module)
        inputs = layer.project(x, phases)
        mixed = _attend(layer, inputs, batch, shape, masks)
        x = layer.finish(x, mixed)
    answers = x.view(batch, shape.total, hidden)[:, shape.prompt :].flatten(0, 1)
    normed = model.model.norm(answers)
    scores = F.linear(normed, model.model.embed_tokens.weight)
    return scores.view(batch, shape.response, -1)


def _token_coordinates(shape: PageShape, device: torch.device) -> Tensor:
    prompt = torch.arange(shape.prompt, device=device)
    return torch.cat((prompt, shape.real + torch.arange(shape.response, device=device)))


def _block_masks(shape: PageShape, block: int, local: int, device: torch.device) -> Tensor:
    """Return bool [S, nblk]: which blocks begin before the local window of each query."""
    position = torch.arange(shape.total, device=device)
    section = torch.where(position < shape.prompt, 0, shape.prompt)
    window = torch.maximum(position - local + 1, section)
    starts = torch.arange(0, shape.prompt, block, device=device)
    return starts[None] < window[:, None]


def _attend(
    layer: DecoderLayer, inputs: AttentionInputs, batch: int, shape: PageShape, remote: Tensor
) -> Tensor:
    sparse = layer.sparse
    with torch.autocast(inputs.query.device.type, enabled=False):
        bias = _routing_bias(layer, inputs, batch, shape, remote)
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


def _routing_bias(
    layer: DecoderLayer, inputs: AttentionInputs, batch: int, shape: PageShape, remote: Tensor
) -> Tensor:
    """Return the additive bias [B, S, nblk] of every block, far below zero where not chosen."""
    sparse = layer.sparse
    dim = inputs.router_key.shape[-1]
    keys = inputs.router_key.view(batch, shape.total, dim)[:, : shape.prompt]
    readable = torch.arange(shape.prompt, device=keys.device) < shape.real
    summaries = block_summary(
        keys.flatten(0, 1),
        layer.self_attn.router.head_cls,
        readable.repeat(batch),
        sparse.block_size,
    ).view(batch, -1, dim)
    queries = inputs.router_query.view(batch, shape.total, dim)
    scores = torch.einsum("bsr,bnr->bsn", queries, summaries) * dim**-0.5
    scores = scores.clamp(-1e4, 1e4).flatten(0, 1)
    eligible = remote.repeat(batch, 1)
    routed = route_blocks(scores, eligible, eligible, sparse.policy, layer.index)
    chosen = routed.bias.masked_fill(~routed.valid, _NOT_SELECTED)
    bias = torch.full_like(scores, _NOT_SELECTED).scatter(1, routed.selected, chosen)
    return bias.view(batch, shape.total, -1)


__all__ = ["CharacterHead", "PageShape", "response_logits"]
