"""The encoder against its formulas written once more, in float64 with loops."""

import math

import pytest
import torch

from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


def bicubic_matrix(size: int, wanted: int) -> torch.Tensor:
    """Return weights [wanted, size] of an antialiased bicubic resize with a = -0.5."""

    def kernel(x: float) -> float:
        x = abs(x)
        if x < 1:
            return (1.5 * x - 2.5) * x * x + 1
        return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0

    matrix = torch.zeros(wanted, size, dtype=torch.float64)
    step = size / wanted
    stretch = max(step, 1.0)
    for out in range(wanted):
        centre = (out + 0.5) * step
        for cell in range(size):
            matrix[out, cell] = kernel((cell + 0.5 - centre) / stretch)
    return matrix / matrix.sum(1, keepdim=True)


def linear_matrix(size: int, wanted: int) -> torch.Tensor:
    """Return weights [wanted, size] of a linear resize with half-pixel centres."""
    matrix = torch.zeros(wanted, size, dtype=torch.float64)
    for out in range(wanted):
        place = min(max((out + 0.5) * size / wanted - 0.5, 0.0), size - 1.0)
        low = min(int(place), size - 1)
        high = min(low + 1, size - 1)
        matrix[out, low] += 1 - (place - low)
        matrix[out, high] += place - low
    return matrix


class ReferenceEncoder:
    """DeepEncoder of one image, written from the published description."""

    def __init__(self, model: UnlimitedOcr) -> None:
        self.config = model.config.vision
        self.weights = {name: value.double() for name, value in model.state_dict().items()}

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return features [h, w, width] of an image [C, H, W]."""
        compressed = self.first_stage(pixels.double())
        channels, height, width = compressed.shape
        cells = compressed.reshape(channels, -1).T
        encoded = self.second_stage(cells, height, width)
        return torch.cat((encoded, cells), 1).view(height, width, -1)

    def first_stage(self, pixels: torch.Tensor) -> torch.Tensor:
        config, sam = self.config, "model.sam_model."
        size = config.patch_size
        height, width = pixels.shape[1] // size, pixels.shape[2] // size
        kernel = self.weights[sam + "patch_embed.proj.weight"]
        x = torch.empty(height, width, config.sam_width, dtype=torch.float64)
        for row in range(height):
            for col in range(width):
                patch = pixels[:, row * size : (row + 1) * size, col * size : (col + 1) * size]
                x[row, col] = (kernel * patch).sum((1, 2, 3))
        x = x + self.weights[sam + "patch_embed.proj.bias"]
        x = x + self.resized(self.weights[sam + "pos_embed"][0], height, width)
        for index in range(config.sam_layers):
            window = 0 if index in config.global_layers else config.window_size
            x = self.first_stage_block(f"{sam}blocks.{index}.", x, window)
        x = x.permute(2, 0, 1)
        x = self.convolved(x, sam + "neck.0.weight", stride=1)
        x = self.normed(x.permute(1, 2, 0), sam + "neck.1", 1e-6).permute(2, 0, 1)
        x = self.convolved(x, sam + "neck.2.weight", stride=1)
        x = self.normed(x.permute(1, 2, 0), sam + "neck.3", 1e-6).permute(2, 0, 1)
        for step in range(len(config.compressor_channels)):
            x = self.convolved(x, f"{sam}net_{step + 2}.weight", stride=2)
        return x

    def first_stage_block(self, name: str, x: torch.Tensor, window: int) -> torch.Tensor:
        height, width, dim = x.shape
        side_h, side_w = (window, window) if window else (height, width)
        padded = torch.zeros(
            math.ceil(height / side_h) * side_h,
            math.ceil(width / side_w) * side_w,
            dim,
            dtype=torch.float64,
        )
        padded[:height, :width] = self.normed(x, name + "norm1", 1e-6)
        mixed = torch.empty_like(padded)
        for top in range(0, padded.shape[0], side_h):
            for left in range(0, padded.shape[1], side_w):
                cells = padded[top : top + side_h, left : left + side_w]
                mixed[top : top + side_h, left : left + side_w] = self.windowed(name, cells)
        x = x + mixed[:height, :width]
        hidden = self.mapped(self.normed(x, name + "norm2", 1e-6), name + "mlp.lin1")
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
        return x + self.mapped(hidden, name + "mlp.lin2")

    def windowed(self, name: str, cells: torch.Tensor) -> torch.Tensor:
        """Return the attention output [h, w, D] of one window, query by query."""
        height, width, dim = cells.shape
        heads = self.config.sam_heads
        each = dim // heads
        query, key, value = self.mapped(cells, name + "attn.qkv").split(dim, -1)
        rows = self.relative(name + "attn.rel_pos_h", height)
        cols = self.relative(name + "attn.rel_pos_w", width)
        mixed = torch.empty_like(cells)
        for head in range(heads):
            part = slice(head * each, (head + 1) * each)
            for y in range(height):
                for x in range(width):
                    one = query[y, x, part]
                    logits = key[..., part] @ one / math.sqrt(each)
                    for v in range(height):
                        logits[v] += one @ rows[y - v + height - 1]
                    for u in range(width):
                        logits[:, u] += one @ cols[x - u + width - 1]
                    chance = logits.flatten().softmax(0).view(height, width)
                    mixed[y, x, part] = torch.einsum("yx,yxd->d", chance, value[..., part])
        return self.mapped(mixed, name + "attn.proj")

    def relative(self, name: str, side: int) -> torch.Tensor:
        table = self.weights[name]
        return linear_matrix(table.shape[0], 2 * side - 1) @ table

    def resized(self, grid: torch.Tensor, height: int, width: int) -> torch.Tensor:
        rows = bicubic_matrix(grid.shape[0], height)
        cols = bicubic_matrix(grid.shape[1], width)
        if grid.shape[:2] == (height, width):
            return grid
        return torch.einsum("yr,xc,rcd->yxd", rows, cols, grid)

    def second_stage(self, cells: torch.Tensor, height: int, width: int) -> torch.Tensor:
        clip, side = "model.vision_model.", self.config.encoder_position_size
        table = self.weights[clip + "embeddings.position_embedding.weight"]
        grid = self.resized(table[1:].view(side, side, -1), height, width)
        first = self.weights[clip + "embeddings.class_embedding"] + table[0]
        x = torch.cat((first[None], cells + grid.reshape(len(cells), -1)))
        x = self.normed(x, clip + "pre_layrnorm", 1e-5)
        heads = self.config.encoder_heads
        for index in range(self.config.encoder_layers):
            name = f"{clip}transformer.layers.{index}."
            fused = self.mapped(
                self.normed(x, name + "layer_norm1", 1e-5), name + "self_attn.qkv_proj"
            )
            query, key, value = (part.chunk(heads, -1) for part in fused.chunk(3, -1))
            mixed = []
            for q, k, v in zip(query, key, value, strict=True):
                mixed.append((q @ k.T / math.sqrt(q.shape[1])).softmax(-1) @ v)
            x = x + self.mapped(torch.cat(mixed, -1), name + "self_attn.out_proj")
            hidden = self.mapped(self.normed(x, name + "layer_norm2", 1e-5), name + "mlp.fc1")
            hidden = hidden / (1 + torch.exp(-1.702 * hidden))
            x = x + self.mapped(hidden, name + "mlp.fc2")
        return x[1:]

    def mapped(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def normed(self, x: torch.Tensor, name: str, eps: float) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
        return centred / spread * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def convolved(self, x: torch.Tensor, name: str, stride: int) -> torch.Tensor:
        """Return a bias-free convolution [O, h, w] whose padding is half its kernel."""
        kernel = self.weights[name]
        reach = kernel.shape[2] // 2
        channels, height, width = x.shape
        padded = torch.zeros(channels, height + 2 * reach, width + 2 * reach, dtype=torch.float64)
        padded[:, reach : reach + height, reach : reach + width] = x
        out = 0.0
        for dy in range(kernel.shape[2]):
            for dx in range(kernel.shape[3]):
                shifted = padded[:, dy : dy + height : stride, dx : dx + width : stride]
                out = out + torch.einsum("oc,cyx->oyx", kernel[:, :, dy, dx], shifted)
        return out


def noise(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1


@pytest.fixture(scope="module")
def large(kit):
    return kit.random_model(kit.large_structure())


@pytest.mark.parametrize(
    ("height", "width"),
    [(16, 16), (24, 24), (8, 8), (16, 32), (24, 8)],
    ids=["native", "enlarged", "reduced", "wide", "tall"],
)
def test_features_equal_an_implementation_with_loops(large, height, width):
    """Windows of 3 patches need padding on sides of 4, 8 and 16 patches, and none on 12."""
    pixels = noise(3, height, width)
    expected = ReferenceEncoder(large)(pixels)
    actual = large.visual_features(pixels[None])[0]
    assert actual.shape == (height // 8, width // 8, 24)
    torch.testing.assert_close(actual.double(), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "part",
    [
        "sam_model.pos_embed",
        "sam_model.blocks.0.attn.rel_pos_h",
        "sam_model.blocks.1.attn.rel_pos_w",
        "sam_model.neck.2.weight",
        "sam_model.net_3.weight",
        "vision_model.embeddings.class_embedding",
        "vision_model.embeddings.position_embedding.weight",
        "vision_model.pre_layrnorm.bias",
    ],
)
def test_every_part_reaches_the_features(kit, part):
    model, pixels = kit.random_model(kit.large_structure()), noise(1, 3, 16, 16)
    before = model.visual_features(pixels)
    model.get_parameter(f"model.{part}").neg_()
    assert (model.visual_features(pixels) - before).abs().max() > 1e-3
