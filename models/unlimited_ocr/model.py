"""Unlimited-OCR: DeepEncoder, projector and DASH decoder behind the engine's interface.

One class serves the large checkpoint and the small one; the attribute names below are the tensor
names of the published files.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.kernels.paged_kv import PagedKv
from ocrcli.models.interface import DecodePlan, PrefillPlan
from ocrcli.models.layers.norm import RmsNorm
from ocrcli.models.unlimited_ocr.config import ModelConfig, SparseConfig
from ocrcli.models.unlimited_ocr.decoder import DecoderLayer, RopePhases, rope_phases
from ocrcli.models.unlimited_ocr.orientation import OrientationHead
from ocrcli.models.unlimited_ocr.rswa_decoder import RswaLayer
from ocrcli.models.unlimited_ocr.vision import GlobalEncoder, SamEncoder


class Projector(nn.Module):
    """Linear map from visual features to the decoder's width."""

    def __init__(self, config: ModelConfig) -> None:
        """Create the map."""
        super().__init__()
        self.layers = nn.Linear(config.vision.feature_width, config.decoder.hidden_size)

    def forward(self, features: Tensor) -> Tensor:
        """Return embeddings [..., hidden] of features [..., feature_width]."""
        return self.layers(features)


class UnlimitedOcrBody(nn.Module):
    """Everything but the output head, under the published prefix `model.`."""

    def __init__(self, config: ModelConfig) -> None:
        """Create all parts from the configuration."""
        super().__init__()
        decoder = config.decoder
        self.sam_model = SamEncoder(config.vision)
        self.vision_model = GlobalEncoder(config.vision)
        self.projector = Projector(config)
        if config.vision.image_newline:
            self.image_newline = nn.Parameter(torch.zeros(decoder.hidden_size))
        if config.vision.view_separator:
            # The published name carries this spelling.
            self.view_seperator = nn.Parameter(torch.zeros(decoder.hidden_size))
        if config.vision.orientation_head:
            self.orientation = OrientationHead(config.vision.feature_width)
        self.embed_tokens = nn.Embedding(decoder.vocab_size, decoder.hidden_size)
        layer = DecoderLayer if config.attention == "dash" else RswaLayer
        self.layers = nn.ModuleList(layer(config, index) for index in range(decoder.num_layers))
        self.norm = RmsNorm(decoder.hidden_size, decoder.rms_norm_eps)


class UnlimitedOcr(nn.Module):
    """The whole model; see `ocrcli.models.interface.OcrModel` for the engine's view of it."""

    OPTIONAL_PARTS = ("model.orientation.",)
    """Beginnings of the names of parameters that a checkpoint may leave out all together."""

    def __init__(self, config: ModelConfig) -> None:
        """Create the model with uninitialised sizes taken from `config`."""
        super().__init__()
        self.config = config
        self.model = UnlimitedOcrBody(config)
        if not config.decoder.tie_word_embeddings:
            self.lm_head = nn.Linear(
                config.decoder.hidden_size, config.decoder.vocab_size, bias=False
            )

    def use_page_id(self, page: int) -> None:
        """Take the id of `<PAGE>` from outside, for a configuration that does not name it.

        Raises:
            ConfigError: The embedding has no row for it, or it means something else already.
        """
        tokens = replace(self.config.tokens, page=page)
        tokens.check(self.config.decoder.vocab_size)
        self.config = replace(self.config, tokens=tokens)

    def use_sparse(self, sparse: SparseConfig) -> None:
        """Go on with other attention settings of the same geometry; only for "dash" attention.

        Args:
            sparse: Equal to the present settings in block size and router width.
        """
        self.config = replace(self.config, sparse=sparse)
        for layer in cast(Iterable[DecoderLayer], self.model.layers):
            layer.sparse = sparse
            router = layer.self_attn.router
            router.q_norm.offset = router.k_norm.offset = sparse.router_norm_offset
            router.norm_last = sparse.router_norm_last

    def visual_features(self, pixels: Tensor, offset: tuple[int, int] = (0, 0)) -> Tensor:
        """Return encoder features before the projector.

        Args:
            pixels: Normalised images in [-1, 1], [B, C, H, W]; sides are multiples of the cell.
            offset: First row and column in the factored position tables, in patches.

        Returns:
            Features [B, H / cell, W / cell, feature_width].
        """
        compressed = self.model.sam_model(pixels, offset)
        steps = len(self.config.vision.compressor_channels)
        coarse = (offset[0] >> steps, offset[1] >> steps)
        features = self.model.vision_model(compressed, coarse)
        if self.config.vision.fusion == "concat":
            features = torch.cat((features, compressed.flatten(2).transpose(1, 2)), -1)
        batch, _, height, width = compressed.shape
        return features.view(batch, height, width, -1)

    def visual_tokens(self, features: Tensor) -> Tensor:
        """Return decoder embeddings [B, n, hidden] of features [B, h, w, feature_width].

        Rows are read left to right and closed by the newline embedding; n = h * (w + 1), plus one
        when the model separates views.
        """
        x = self.model.projector(features)
        batch, height, _, hidden = x.shape
        if self.config.vision.image_newline:
            newline = self.model.image_newline.to(x.dtype).expand(batch, height, 1, hidden)
            x = torch.cat((x, newline), 2)
        x = x.reshape(batch, -1, hidden)
        if self.config.vision.view_separator:
            separator = self.model.view_seperator.to(x.dtype).expand(batch, 1, hidden)
            x = torch.cat((x, separator), 1)
        return x

    @property
    def has_orientation_head(self) -> bool:
        """Whether `orientation_scores` can be asked for."""
        return hasattr(self.model, "orientation")

    def drop_orientation_head(self) -> None:
        """Remove the orientation head, for weights that were made without one."""
        if self.has_orientation_head:
            del self.model.orientation

    def orientation_scores(self, features: Tensor) -> Tensor:
        """Return scores [B, 4] of how far pages are turned.

        Args:
            features: Features of whole pages, [B, h, w, feature_width].

        Returns:
            Score k is for content turned k * 90 degrees counter-clockwise: turning the image
            k * 90 degrees clockwise sets it upright.

        Raises:
            ValueError: The model has no orientation head.
        """
        if not self.has_orientation_head:
            raise ValueError(
                "orientation_scores needs an orientation head and this model has none; "
                "check has_orientation_head first"
            )
        return self.model.orientation(features)

    def encode_image(self, pixels: Tensor) -> Tensor:
        """Return the image tokens [n, hidden] of one image [C, H, W], normalised to [-1, 1].

        Raises:
            ValueError: `pixels` has another number of channels, or sides that are not multiples of
                the cell.
        """
        channels, cell = self.config.vision.image_channels, self.config.vision.cell_size
        if pixels.dim() != 3 or pixels.shape[0] != channels or not _in_cells(pixels, cell):
            raise ValueError(
                f"pixels must have shape [{channels}, H, W] with H and W multiples of {cell}, got "
                f"{list(pixels.shape)}; pad the image"
            )
        return self.visual_tokens(self.visual_features(pixels[None]))[0]

    def encode_tiles(self, tiles: Tensor, columns: int) -> Tensor:
        """Return the image tokens [n, hidden] of one image that was cut into square tiles.

        The tiles' tokens are put together as the image lies, and every row of the whole is closed
        by the newline embedding.

        Args:
            tiles: Normalised tiles [T, C, H, W], row by row.
            columns: Tiles in a row.
        """
        # One at a time: the first stage's global attention makes memory grow with the batch.
        features = torch.cat(
            [self.model.projector(self.visual_features(tile[None])) for tile in tiles]
        )
        _, height, width, hidden = features.shape
        rows = tiles.shape[0] // columns
        grid = features.view(rows, columns, height, width, hidden).transpose(1, 2)
        grid = grid.reshape(rows * height, columns * width, hidden)
        if self.config.vision.image_newline:
            newline = self.model.image_newline.to(grid.dtype)
            grid = torch.cat((grid, newline.expand(rows * height, 1, hidden)), 1)
        return grid.reshape(-1, hidden)

    def embed_tokens(self, ids: Tensor) -> Tensor:
        """Return embeddings [T, hidden] of token ids [T]."""
        return self.model.embed_tokens(ids)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return float32 scores [T, vocabulary] of final hidden states [T, hidden]."""
        normed = self.model.norm(hidden)
        if self.config.decoder.tie_word_embeddings:
            return F.linear(normed, self.model.embed_tokens.weight).float()
        return self.lm_head(normed).float()

    def prefill_hidden(
        self, embeddings: Tensor, plan: PrefillPlan, cache: list[PagedKv], real: Tensor
    ) -> Tensor:
        """Return final hidden states [S, hidden] of a whole sequence and fill the cache.

        Args:
            embeddings: Token and image embeddings [S, hidden].
            plan: Positions, windows, candidates and block table of the sequence.
            cache: One pool per layer.
            real: Readable slots, bool [N, block_size]; the sequence's own are already marked.
        """
        x = embeddings
        phases = self._phases(plan.token, plan.page).to(x.dtype)
        for layer, paged in self._layers_with(cache):
            x = layer.prefill(x, phases, plan, paged, real)
        return x

    def prefill(
        self, embeddings: Tensor, plan: PrefillPlan, cache: list[PagedKv], real: Tensor
    ) -> Tensor:
        """Return scores [vocabulary] after the last token; arguments as `prefill_hidden`."""
        return self.logits(self.prefill_hidden(embeddings, plan, cache, real)[-1:])[0]

    def decode(
        self, token_ids: Tensor, plan: DecodePlan, cache: list[PagedKv], real: Tensor
    ) -> Tensor:
        """Return scores [B, vocabulary] after one more token in each of B sequences.

        Args:
            token_ids: The new tokens, int64 [B].
            plan: Positions, windows, candidates and slots of the step.
            cache: One pool per layer.
            real: Readable slots, bool [N, block_size]; the new slots are already marked.
        """
        x = self.embed_tokens(token_ids)
        phases = self._phases(plan.token, plan.page).to(x.dtype)
        for layer, paged in self._layers_with(cache):
            x = layer.decode(x, phases, plan, paged, real)
        return self.logits(x)

    def new_cache(self, num_blocks: int, device: torch.device, dtype: torch.dtype) -> list[PagedKv]:
        """Return zeroed pools of `num_blocks` blocks, one per layer."""
        decoder, sparse = self.config.decoder, self.config.sparse
        shape = (num_blocks, sparse.block_size, decoder.num_kv_heads, decoder.head_dim)
        return [
            PagedKv(
                keys=torch.zeros(shape, device=device, dtype=dtype),
                values=torch.zeros(shape, device=device, dtype=dtype),
                summaries=torch.zeros(num_blocks, sparse.router_dim, device=device),
            )
            for _ in range(decoder.num_layers)
        ]

    def _layers_with(
        self, cache: list[PagedKv]
    ) -> Iterator[tuple[DecoderLayer | RswaLayer, PagedKv]]:
        layers = cast(Iterable[DecoderLayer | RswaLayer], self.model.layers)
        return zip(layers, cache, strict=True)

    def _phases(self, token: Tensor, page: Tensor) -> RopePhases:
        return rope_phases(token, page, self.config.decoder.head_dim, self.config.sparse)


def _in_cells(pixels: Tensor, cell: int) -> bool:
    return all(side > 0 and side % cell == 0 for side in pixels.shape[1:])
