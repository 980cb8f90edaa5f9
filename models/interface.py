"""What the engine and a model know of each other: two plans and one protocol.

A plan is the per-step metadata of attention. The engine works it out once from its sequences and
every layer of the model reads it, so a model holds no notion of requests, and the engine none of
layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from ocrcli.kernels.paged_kv import PagedKv

if TYPE_CHECKING:
    from ocrcli.models.unlimited_ocr.config import ModelConfig


@dataclass(frozen=True)
class PrefillPlan:
    """Attention metadata of one whole sequence of S tokens in nblk blocks.

    Attributes:
        token: Offset of each token inside its page, the first rotary axis, int64 [S].
        page: One-based page of each token, 0 for none, the second rotary axis, int64 [S].
        window_start: First position of each token's local window, int64 [S].
        position: Index of each token in the sequence, int64 [S].
        candidate: Whether a block holds an image token of the query's page, bool [S, nblk].
        remote: Whether a block starts before the window and inside the prompt, bool [S, nblk].
        real: Whether a token may be read at all (padding may not), bool [S].
        block_table: Physical block of each logical block, int64 [nblk].
        slots: Physical slot (block * block_size + offset) of each token, int64 [S].
        prompt_length: Tokens that remote reads may reach; later ones are visible locally only.
    """

    token: Tensor
    page: Tensor
    window_start: Tensor
    position: Tensor
    candidate: Tensor
    remote: Tensor
    real: Tensor
    block_table: Tensor
    slots: Tensor
    prompt_length: int


@dataclass(frozen=True)
class DecodePlan:
    """Attention metadata of one new token in each of B sequences.

    Block tables cover prompts only: generated tokens are read through `local_slots` alone. Unused
    rows read and write nothing but a scratch block.

    Attributes:
        token: Offset of each token inside its page, int64 [B].
        page: One-based page of each token, int64 [B].
        position: Index of each token in its sequence, int64 [B].
        window_start: First position of each local window, int64 [B].
        remote_limit: Remote keys are read below this position only, int64 [B].
        candidate: Whether a block holds an image token of the query's page, bool [B, nblk].
        remote: Whether a block starts below `remote_limit`, bool [B, nblk].
        block_table: Physical block of each logical prompt block, padded with the null block 0,
            int64 [B, nblk].
        local_slots: Physical slots of the local window, the new token's included, in no
            particular order, int64 [B, L].
        local_valid: Which entries of `local_slots` hold a token of the window, bool [B, L].
        write_slots: Physical slot of each new token, int64 [B].
    """

    token: Tensor
    page: Tensor
    position: Tensor
    window_start: Tensor
    remote_limit: Tensor
    candidate: Tensor
    remote: Tensor
    block_table: Tensor
    local_slots: Tensor
    local_valid: Tensor
    write_slots: Tensor


class OcrModel(Protocol):
    """A model that the engine can run."""

    @property
    def config(self) -> "ModelConfig":
        """Everything that shapes the model."""

    def parameters(self) -> Iterator[Tensor]:
        """Return the weights; the first one tells the engine the device and the dtype."""

    @property
    def has_orientation_head(self) -> bool:
        """Whether the model tells which way up a page lies."""

    def encode_image(self, pixels: Tensor) -> Tensor:
        """Return the image tokens [n, hidden] of one page, pixels [C, H, W] in [-1, 1]."""

    def encode_tiles(self, tiles: Tensor, columns: int) -> Tensor:
        """Return the image tokens [n, hidden] of one page cut into tiles [T, C, H, W], by rows."""

    def visual_features(self, pixels: Tensor) -> Tensor:
        """Return encoder features [B, h, w, width] of pixels [B, C, H, W] in [-1, 1]."""

    def visual_tokens(self, features: Tensor) -> Tensor:
        """Return image tokens [B, n, hidden] of features [B, h, w, width]."""

    def orientation_scores(self, features: Tensor) -> Tensor:
        """Return scores [B, 4]: score k is for content turned k * 90 degrees counter-clockwise."""

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """Return embeddings [T, hidden] of token ids, int64 [T]."""

    def prefill(
        self, embeddings: Tensor, plan: PrefillPlan, cache: list[PagedKv], real: Tensor
    ) -> Tensor:
        """Return scores float32 [vocabulary] after the last token and fill the cache.

        Args:
            embeddings: Token and image embeddings [S, hidden].
            plan: Metadata of the sequence.
            cache: One pool per layer.
            real: Readable slots of the pool, bool [N, block_size]; the sequence's are marked.
        """

    def decode(
        self, token_ids: Tensor, plan: DecodePlan, cache: list[PagedKv], real: Tensor
    ) -> Tensor:
        """Return scores float32 [B, vocabulary] after one more token in each of B sequences.

        Args:
            token_ids: The new tokens, int64 [B].
            plan: Metadata of the step.
            cache: One pool per layer.
            real: Readable slots of the pool, bool [N, block_size]; the new ones are marked.
        """

    def new_cache(self, num_blocks: int, device: torch.device, dtype: torch.dtype) -> list[PagedKv]:
        """Return empty pools of `num_blocks` blocks, one per layer."""
