"""DeepEncoder: a windowed SAM stage, a strided compressor, and a CLIP-like global stage.

Structure comes from `VisionConfig`: the large model uses square images, relative positions, a class
token and the concatenation of both stages; the small one grey pages of any aspect ratio, factored
position tables and one compression step. Tensor names are those of the published checkpoints.
Every block is split into per-token steps and one attention call, so that training can compile the
steps over a single dynamic dimension.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocrcli.models.unlimited_ocr.config import VisionConfig


class VisionAttention(nn.Module):
    """Self-attention over a grid of cells, with optional decomposed relative positions."""

    def __init__(self, width: int, heads: int, relative_size: int = 0) -> None:
        """Create the layer; `relative_size` is the grid side of the bias tables, 0 for none."""
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.relative_size = relative_size
        if relative_size:
            head_dim = width // heads
            self.rel_pos_h = nn.Parameter(torch.zeros(2 * relative_size - 1, head_dim))
            self.rel_pos_w = nn.Parameter(torch.zeros(2 * relative_size - 1, head_dim))

    def attend(self, qkv: Tensor, grid: tuple[int, int]) -> Tensor:
        """Return mixed values [G, N, D] of fused projections [G, N, 3*D]; N = grid h*w."""
        groups, count, width = qkv.shape
        parts = qkv.view(groups, count, 3, self.heads, width // 3 // self.heads)
        # Taken apart first and turned then, the three gradients are put together without a copy.
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        bias = self._relative_bias(query, grid) if self.relative_size else None
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return mixed.transpose(1, 2).reshape(groups, count, width // 3)

    def _relative_bias(self, query: Tensor, grid: tuple[int, int]) -> Tensor:
        groups, heads, _, dim = query.shape
        height, width = grid
        cells = query.reshape(groups, heads, height, width, dim)
        rows = torch.einsum("ghyxd,yud->ghyxu", cells, _relative_table(self.rel_pos_h, height))
        cols = torch.einsum("ghyxd,xvd->ghyxv", cells, _relative_table(self.rel_pos_w, width))
        bias = rows[..., :, None] + cols[..., None, :]  # [G, heads, h, w, h, w]
        return bias.reshape(groups, heads, height * width, height * width)


def _relative_table(table: Tensor, size: int) -> Tensor:
    wanted = 2 * size - 1
    if table.shape[0] != wanted:
        # Published tables are resized in float32, whatever the weights' type.
        resized = F.interpolate(table.float().T[None], size=wanted, mode="linear")
        table = resized[0].T.to(table.dtype)
    index = torch.arange(size, device=table.device)
    return table[index[:, None] - index[None] + size - 1]  # [size, size, dim]


class SamMlp(nn.Module):
    """Feed-forward part of a first-stage block."""

    def __init__(self, width: int) -> None:
        """Create both linear layers with a hidden size of four widths."""
        super().__init__()
        self.lin1 = nn.Linear(width, 4 * width)
        self.lin2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed tokens, same shape."""
        return self.lin2(F.gelu(self.lin1(x)))


class SamBlock(nn.Module):
    """Pre-norm block; attends inside windows, or globally when `window` is 0."""

    def __init__(self, config: VisionConfig, window: int) -> None:
        """Create the block; `window` is the window side in patches."""
        super().__init__()
        width = config.sam_width
        relative = (window or config.position_size) if config.relative_position else 0
        self.window = window
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = VisionAttention(width, config.sam_heads, relative)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = SamMlp(width)

    def project(self, x: Tensor) -> Tensor:
        """Return normalised tokens as fused queries, keys and values; x is [T, D]."""
        return self.attn.qkv(self.norm1(x))

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Return the block's output for tokens x [T, D] and their attention values [T, D]."""
        x = x + self.attn.proj(mixed)
        return x + self.mlp(self.norm2(x))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for a grid x [B, h, w, D], same shape."""
        batch, height, width, dim = x.shape
        tokens = x.reshape(-1, dim)
        qkv = self.project(tokens).view(batch, height, width, 3 * dim)
        return self.finish(tokens, self.mix(qkv)).view(batch, height, width, dim)

    def mix(self, qkv: Tensor) -> Tensor:
        """Return attention values [B*h*w, D] of fused projections [B, h, w, 3*D]."""
        batch, height, width, triple = qkv.shape
        if self.window:
            return self._windowed(qkv).reshape(-1, triple // 3)
        flat = qkv.view(batch, height * width, triple)
        return self.attn.attend(flat, (height, width)).reshape(-1, triple // 3)

    def _windowed(self, qkv: Tensor) -> Tensor:
        batch, height, width, triple = qkv.shape
        side = self.window
        pad_h, pad_w = -height % side, -width % side
        if pad_h or pad_w:
            # The reference pads normalised tokens with zeros, so a padded cell holds the biases.
            padded = self.attn.qkv.bias.to(qkv.dtype).expand(
                batch, height + pad_h, width + pad_w, triple
            )
            padded = padded.clone()
            padded[:, :height, :width] = qkv
            qkv = padded
        rows, cols = (height + pad_h) // side, (width + pad_w) // side
        parts = qkv.view(batch, rows, side, cols, side, triple).transpose(2, 3)
        mixed = self.attn.attend(parts.reshape(-1, side * side, triple), (side, side))
        mixed = mixed.view(batch, rows, cols, side, side, triple // 3).transpose(2, 3)
        mixed = mixed.reshape(batch, rows * side, cols * side, triple // 3)
        return mixed[:, :height, :width]


class ChannelNorm(nn.Module):
    """LayerNorm over the channels of an image tensor [B, C, h, w]."""

    def __init__(self, channels: int) -> None:
        """Create scale and offset for `channels` channels."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor, same shape."""
        channels_last = x.permute(0, 2, 3, 1)
        normed = F.layer_norm(channels_last, self.weight.shape, self.weight, self.bias, 1e-6)
        return normed.permute(0, 3, 1, 2)


class PatchEmbedding(nn.Module):
    """Non-overlapping patches through one convolution."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the projection."""
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(config.image_channels, config.sam_width, size, size)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return patches [B, h, w, D] of pixels [B, C, H, W]."""
        return self.proj(pixels).permute(0, 2, 3, 1)


class SamEncoder(nn.Module):
    """First stage: patches, windowed blocks, neck and stride-2 compressor."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the stage from its configuration."""
        super().__init__()
        self.config = config
        size, width = config.position_size, config.sam_width
        self.patch_embed = PatchEmbedding(config)
        if config.position_layout == "grid":
            self.pos_embed = nn.Parameter(torch.zeros(1, size, size, width))
        else:
            self.pos_embed_rows = nn.Parameter(torch.zeros(1, size, 1, width))
            self.pos_embed_cols = nn.Parameter(torch.zeros(1, 1, size, width))
        self.blocks = nn.ModuleList(
            SamBlock(config, 0 if index in config.global_layers else config.window_size)
            for index in range(config.sam_layers)
        )
        channels = width
        if config.neck_channels:
            channels = config.neck_channels
            self.neck = nn.Sequential(
                nn.Conv2d(width, channels, 1, bias=False),
                ChannelNorm(channels),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                ChannelNorm(channels),
            )
        # The published names of the compressor's steps are net_2, net_3, ...
        for index, out in enumerate(config.compressor_channels):
            step = nn.Conv2d(channels, out, 3, stride=2, padding=1, bias=False)
            setattr(self, f"net_{index + 2}", step)
            channels = out

    def forward(self, pixels: Tensor, offset: tuple[int, int] = (0, 0)) -> Tensor:
        """Return compressed features [B, C, h, w] of pixels [B, channels, H, W].

        Args:
            pixels: Normalised image; sides are multiples of the patch size.
            offset: First row and column of the factored position tables, in patches.

        Raises:
            ValueError: The image is larger than the position tables.
        """
        x = self.patch_embed(pixels)
        x = x + self.positions(x.shape[1], x.shape[2], offset)
        for block in self.blocks:
            x = block(x)
        return self.compress(x)

    def compress(self, x: Tensor) -> Tensor:
        """Return features [B, C, h', w'] of the blocks' output [B, h, w, D]."""
        x = x.permute(0, 3, 1, 2)
        if self.config.neck_channels:
            x = self.neck(x)
        for index in range(len(self.config.compressor_channels)):
            x = getattr(self, f"net_{index + 2}")(x)
        return x

    def positions(self, height: int, width: int, offset: tuple[int, int]) -> Tensor:
        """Return what is added to patches [B, height, width, D]; `offset` as in `forward`."""
        size = self.config.position_size
        if self.config.position_layout == "grid":
            return _resized_grid(self.pos_embed, height, width)
        top, left = offset
        _check_extent(top + height, left + width, size)
        rows = self.pos_embed_rows[:, top : top + height]
        return rows + self.pos_embed_cols[:, :, left : left + width]


def _check_extent(rows: int, cols: int, size: int) -> None:
    if rows > size or cols > size:
        raise ValueError(
            f"pixels reach position {rows} x {cols} but the tables hold {size} x {size}; "
            "scale the image down"
        )


def _resized_grid(table: Tensor, height: int, width: int) -> Tensor:
    if table.shape[1:3] == (height, width):
        return table
    resized = F.interpolate(
        table.float().permute(0, 3, 1, 2),
        size=(height, width),
        mode="bicubic",
        antialias=True,
        align_corners=False,
    )
    return resized.permute(0, 2, 3, 1).to(table.dtype)


class EncoderAttention(VisionAttention):
    """Second-stage attention, under its published parameter names."""

    def __init__(self, width: int, heads: int) -> None:
        """Create the layer."""
        nn.Module.__init__(self)
        self.heads = heads
        self.relative_size = 0
        self.qkv_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)


class EncoderMlp(nn.Module):
    """Feed-forward part of a second-stage block."""

    def __init__(self, width: int, activation: str) -> None:
        """Create both layers; `activation` is "quick_gelu" or "gelu"."""
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)
        self.quick = activation == "quick_gelu"

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed tokens, same shape."""
        hidden = self.fc1(x)
        hidden = hidden * torch.sigmoid(1.702 * hidden) if self.quick else F.gelu(hidden)
        return self.fc2(hidden)


class EncoderBlock(nn.Module):
    """Pre-norm block with attention over the whole image."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the block."""
        super().__init__()
        width = config.encoder_width
        self.layer_norm1 = nn.LayerNorm(width, eps=1e-5)
        self.self_attn = EncoderAttention(width, config.encoder_heads)
        self.layer_norm2 = nn.LayerNorm(width, eps=1e-5)
        self.mlp = EncoderMlp(width, config.encoder_activation)

    def project(self, x: Tensor) -> Tensor:
        """Return normalised tokens as fused queries, keys and values; x is [T, D]."""
        return self.self_attn.qkv_proj(self.layer_norm1(x))

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Return the block's output for tokens x [T, D] and their attention values [T, D]."""
        x = x + self.self_attn.out_proj(mixed)
        return x + self.mlp(self.layer_norm2(x))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for tokens x [B, N, D], same shape."""
        batch, count, dim = x.shape
        tokens = x.reshape(-1, dim)
        mixed = self.mix(self.project(tokens).view(batch, count, 3 * dim))
        return self.finish(tokens, mixed).view(batch, count, dim)

    def mix(self, qkv: Tensor) -> Tensor:
        """Return attention values [B*N, D] of fused projections [B, N, 3*D]."""
        _, count, triple = qkv.shape
        return self.self_attn.attend(qkv, (count, 1)).reshape(-1, triple // 3)


class EncoderEmbeddings(nn.Module):
    """Class token and position table of the second stage."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the tables the configuration asks for."""
        super().__init__()
        self.config = config
        size, width = config.encoder_position_size, config.encoder_width
        if config.class_token:
            self.class_embedding = nn.Parameter(torch.zeros(width))
        if config.position_layout == "grid":
            extra = int(config.class_token)
            self.position_embedding = nn.Embedding(size * size + extra, width)
        else:
            self.position_rows = nn.Embedding(size, width)
            self.position_cols = nn.Embedding(size, width)

    def forward(self, x: Tensor, offset: tuple[int, int] = (0, 0)) -> Tensor:
        """Return tokens [B, (1 +) h*w, D] of a feature map [B, D, h, w]."""
        height, width = x.shape[2:]
        tokens = x.flatten(2).transpose(1, 2)
        if self.config.position_layout == "factored":
            top, left = offset
            size = self.config.encoder_position_size
            _check_extent(top + height, left + width, size)
            rows = self.position_rows.weight[top : top + height, None]
            cols = self.position_cols.weight[None, left : left + width]
            return tokens + (rows + cols).reshape(1, height * width, -1)
        table = self.position_embedding.weight
        size = self.config.encoder_position_size
        grid = table[table.shape[0] - size * size :].view(1, size, size, -1)
        positions = _resized_grid(grid, height, width).reshape(1, height * width, -1)
        if not self.config.class_token:
            return tokens + positions
        first = (self.class_embedding + table[0]).expand(x.shape[0], 1, -1)
        return torch.cat((first.to(tokens.dtype), tokens + positions), 1)


class EncoderLayers(nn.Module):
    """Holder that gives the second stage's blocks their published prefix."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the blocks."""
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(config) for _ in range(config.encoder_layers))


class GlobalEncoder(nn.Module):
    """Second stage: every cell attends to every other."""

    def __init__(self, config: VisionConfig) -> None:
        """Create the stage from its configuration."""
        super().__init__()
        self.config = config
        self.embeddings = EncoderEmbeddings(config)
        # The published name carries this spelling.
        self.pre_layrnorm = nn.LayerNorm(config.encoder_width, eps=1e-5)
        self.transformer = EncoderLayers(config)
        if config.encoder_final_norm:
            self.post_layernorm = nn.LayerNorm(config.encoder_width, eps=1e-5)

    def forward(self, features: Tensor, offset: tuple[int, int] = (0, 0)) -> Tensor:
        """Return tokens [B, h*w, D] of a feature map [B, D, h, w], without the class token."""
        x = self.pre_layrnorm(self.embeddings(features, offset))
        for layer in self.transformer.layers:
            x = layer(x)
        if self.config.class_token:
            x = x[:, 1:]
        return self.post_layernorm(x) if self.config.encoder_final_norm else x
