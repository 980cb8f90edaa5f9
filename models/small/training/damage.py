"""Damage of print, scanner and file, on whole batches at once; every page draws its own mixture."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

# Luminance quantisation of the JPEG standard, Annex K.
_QUANTISATION = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
_BLUR_SIDE = 7


class _Draw:
    """Random numbers, one per page, shaped [B, 1, 1, 1]."""

    def __init__(self, like: Tensor, generator: torch.Generator) -> None:
        self.pages, self.device, self.generator = len(like), like.device, generator

    def rand(self, *shape: int) -> Tensor:
        return torch.rand(self.pages, *shape, device=self.device, generator=self.generator)

    def uniform(self, low: float, high: float, chance: float = 1.0, other: float = 0.0) -> Tensor:
        value = low + (high - low) * self.rand(1, 1, 1)
        return torch.where(self.rand(1, 1, 1) < chance, value, torch.full_like(value, other))

    def smooth(self, rows: int, cols: int, height: int, width: int) -> Tensor:
        """Return a smooth field from 0 to 1, [B, 1, H, W]."""
        grid = self.rand(1, rows, cols)
        return F.interpolate(grid, (height, width), mode="bilinear", align_corners=False)


def print_roughly(canvas: Tensor, damage: Tensor, generator: torch.Generator) -> Tensor:
    """Return canvases with strokes grown or thinned, in two tones, or as a fax sends them.

    Args:
        canvas: Ink from 0 to 1 at twice the page's resolution, [B, 1, H, W].
        damage: How much each page may change, 0 to 1, [B].
        generator: Random numbers on the canvases' device.
    """
    chosen = damage.nonzero()[:, 0]
    if not len(chosen):
        return canvas
    limit = damage[chosen].view(-1, 1, 1, 1)
    ink = canvas[chosen]
    draw = _Draw(ink, generator)
    strength = draw.uniform(-0.5, 0.9, 0.45) * limit
    grown = F.max_pool2d(ink, 3, 1, 1)
    ink = torch.lerp(ink, grown, strength.clamp(min=0))
    thinned = -F.max_pool2d(-ink, 3, 1, 1)
    # Hairlines would vanish whole, so that thinning stops short.
    ink = torch.lerp(ink, thinned, 0.7 * (-strength).clamp(min=0))
    tone = draw.rand(1, 1, 1)
    fax, two_tone = tone < 0.08, tone < 0.30
    halved = F.avg_pool2d(ink, (2, 1)).repeat_interleave(2, 2)
    sent = torch.where(fax, halved, ink)
    grain = torch.rand(sent.shape, device=sent.device, generator=generator) - 0.5
    grain = grain * draw.uniform(0.0, 0.7) * limit
    grain += (draw.smooth(6, 5, *sent.shape[2:]) - 0.5) * draw.uniform(0.0, 0.3)
    hard = ((F.avg_pool2d(sent, 3, 1, 1) + 0.3 * grain) > draw.uniform(0.28, 0.52)).float()
    return canvas.index_copy(0, chosen, torch.where(two_tone, hard, ink))


def age(ink: Tensor, beyond: Tensor, damage: Tensor, generator: torch.Generator) -> Tensor:
    """Return pages as a bad scanner gives them: brightness from 0 to 1, [B, 1, H, W].

    Args:
        ink: Ink from 0 to 1 of damaged pages, [B, 1, H, W]; sides are multiples of 8.
        beyond: Where the sheet ends, bool [B, 1, H, W].
        damage: How far blur, noise and loss of contrast may go, above 0 to 1, [B].
        generator: Random numbers on the pages' device.
    """
    draw = _Draw(ink, generator)
    height, width = ink.shape[2:]
    limit = damage.view(-1, 1, 1, 1)
    ink = ink.clamp(1e-6, 1) ** draw.uniform(0.6, 1.6, 0.6, 1.0)
    ink = (ink + _marks(ink, draw)).clamp_(0, 1)
    ink = _blur(ink, draw, limit)
    paper = draw.uniform(0.72, 1.0, 0.6, 1.0)
    dark = draw.uniform(0.0, 0.3, 0.5)
    # Faint print: ink comes close to the paper.
    faint = paper * draw.uniform(0.35, 0.7) * limit
    dark = torch.where(draw.rand(1, 1, 1) < 0.12, torch.maximum(faint, dark), dark)
    through = _blur(ink.roll(1, 0).flip(3), draw, torch.ones_like(limit))
    bleed = draw.uniform(0.04, 0.22, 0.2)
    image = paper + (dark - paper) * (ink + bleed * through * (1 - ink)).clamp_(max=1)
    image = image * _light(draw, height, width)
    border = draw.uniform(0.0, 0.25)
    edged = beyond & (draw.rand(1, 1, 1) < 0.35)
    image = torch.where(edged, border, image)
    # Noise as strong as the contrast would drown the print.
    image = _grain(image, draw, limit * ((paper - dark) / 0.7).clamp(max=1))
    coarse = (draw.rand(1, 1, 1) < 0.2 * limit).float()
    image = torch.lerp(image, _coarser(image, draw), coarse)
    image = image.clamp_(0, 1)
    packed = jpeg(image, draw.uniform(12.0, 85.0).flatten())
    return torch.where(draw.rand(1, 1, 1) < 0.55, packed, image).clamp_(0, 1)


def jpeg(image: Tensor, quality: Tensor) -> Tensor:
    """Return images after quantisation of their 8 x 8 cosine blocks, as JPEG files hold them.

    Args:
        image: Brightness from 0 to 1, [B, 1, H, W]; sides are multiples of 8.
        quality: 1 to 100 per image, [B].
    """
    pages, _, height, width = image.shape
    index = torch.arange(8, device=image.device, dtype=torch.float32)
    basis = torch.cos(math.pi / 8 * (index[None] + 0.5) * index[:, None]) / 2
    basis[0] /= math.sqrt(2)
    blocks = (image * 255 - 128).view(pages, height // 8, 8, width // 8, 8)
    blocks = torch.einsum("ur,bhrwc,vc->bhuwv", basis, blocks, basis)
    scale = torch.where(quality < 50, 5000 / quality.clamp(min=1), 200 - 2 * quality)
    table = torch.tensor(_QUANTISATION, device=image.device, dtype=torch.float32)
    steps = ((table * scale[:, None, None] + 50) / 100).floor().clamp(1, 255)
    steps = steps[:, None, :, None]  # [B, 1, 8, 1, 8]
    blocks = (blocks / steps).round_() * steps
    back = torch.einsum("ur,bhuwv,vc->bhrwc", basis, blocks, basis)
    return ((back + 128) / 255).clamp_(0, 1).reshape(pages, 1, height, width)


def _blur(ink: Tensor, draw: _Draw, limit: Tensor) -> Tensor:
    """Return pages blurred by a Gauss, a disc (defocus) or a short line (motion)."""
    reach = torch.arange(_BLUR_SIDE, device=ink.device, dtype=torch.float32) - _BLUR_SIDE // 2
    y, x = reach[:, None], reach[None]
    square = x * x + y * y
    gauss = torch.exp(-square / (2 * (0.2 + draw.uniform(0.0, 1.0) * limit) ** 2)[:, 0])
    disc = ((0.5 + draw.uniform(0.0, 1.4) * limit)[:, 0] + 0.5 - square.sqrt()).clamp(0, 1)
    turn = draw.uniform(0, math.pi)[:, 0]
    away = (x * turn.sin() - y * turn.cos()).abs()
    motion = (1 - away).clamp(min=0) * (
        square.sqrt() <= (0.5 + draw.uniform(0.0, 1.9) * limit)[:, 0]
    )
    kind = draw.rand(1, 1)
    point = (square == 0).float().expand_as(gauss)
    kernel = torch.where(kind < 0.4, gauss, torch.where(kind < 0.6, disc, motion))
    kernel = torch.where(kind > 0.7, point, kernel)
    kernel = kernel / kernel.sum((1, 2), keepdim=True)
    flat = ink.transpose(0, 1)
    blurred = F.conv2d(flat, kernel[:, None], padding=_BLUR_SIDE // 2, groups=len(ink))
    return blurred.transpose(0, 1)


def _marks(ink: Tensor, draw: _Draw) -> Tensor:
    """Return ink of specks, dirt, scratches and the outlines of stamps."""
    height, width = ink.shape[2:]
    v = torch.linspace(0, 1, height, device=ink.device).view(1, 1, -1, 1)
    u = torch.linspace(0, 1, width, device=ink.device).view(1, 1, 1, -1)
    specks = draw.rand(1, height, width) < draw.uniform(0.0, 0.0025, 0.3)
    coarse = draw.rand(1, height // 2, width // 2) < draw.uniform(0.0, 0.0008, 0.25)
    dirt = F.interpolate(coarse.float(), (height, width), mode="bilinear", align_corners=False)
    marks = specks.float() * draw.uniform(0.3, 1.0) + dirt * draw.uniform(0.3, 1.0)
    slant = draw.uniform(-0.02, 0.02)
    for along, other in ((u, v), (v, u)):
        thick = draw.uniform(0.0006, 0.002)
        streak = ((along - draw.uniform(0.02, 0.98) - slant * other).abs() < thick).float()
        marks += streak * draw.uniform(0.1, 0.7, 0.07)
    aspect = height / width
    x, y = (u - draw.uniform(0.1, 0.9)), (v - draw.uniform(0.1, 0.9)) * aspect
    radius = draw.uniform(0.04, 0.12)
    ring = (((x * x + y * y).sqrt() - radius).abs() < 0.003).float()
    turn = draw.uniform(-0.4, 0.4)
    along, across = x * turn.cos() + y * turn.sin(), y * turn.cos() - x * turn.sin()
    box = torch.maximum(along.abs(), 2.5 * across.abs())
    plate = ((box - 1.6 * radius).abs() < 0.004).float()
    stamp = torch.where(draw.rand(1, 1, 1) < 0.5, ring, plate)
    return marks + stamp * draw.uniform(0.15, 0.6, 0.12)


def _light(draw: _Draw, height: int, width: int) -> Tensor:
    """Return how much light falls on each place, about 1."""
    field = (draw.smooth(3, 3, height, width) - 0.5) * draw.uniform(0.05, 0.35, 0.35)
    u = torch.linspace(0, 1, width, device=draw.device).view(1, 1, 1, -1)
    # The shadow where a bound book dips into its spine, at either side.
    edge = torch.where(draw.rand(1, 1, 1) < 0.5, u, 1 - u)
    spine = draw.uniform(0.15, 0.6, 0.15) * torch.exp(-edge / draw.uniform(0.02, 0.09))
    return (1 + field) * (1 - spine)


def _grain(image: Tensor, draw: _Draw, limit: Tensor) -> Tensor:
    """Return pages with white and coarse noise."""
    height, width = image.shape[2:]
    fine = draw.rand(1, height, width) - 0.5
    coarse = draw.smooth(height // 3, width // 3, height, width) - 0.5
    image = image + fine * draw.uniform(0.0, 0.35, 0.5) * limit
    return image + coarse * draw.uniform(0.0, 0.2, 0.3) * limit


def _coarser(image: Tensor, draw: _Draw) -> Tensor:
    """Return pages as scans of fewer dots, scaled up again; one factor for the batch."""
    factor = 0.62 + 0.33 * float(torch.rand((), device=draw.device, generator=draw.generator))
    size = image.shape[2:]
    small = F.interpolate(image, scale_factor=factor, mode="area")
    return F.interpolate(small, size=size, mode="bilinear", align_corners=False)
