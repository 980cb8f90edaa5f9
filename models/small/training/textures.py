"""Pictures without text: noise, gradients, patterns and shapes, drawn on the GPU."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

TEXTURES = 14
"""Pictures in a bank."""


def texture_bank(
    width: int, height: int, device: torch.device, generator: torch.Generator
) -> Tensor:
    """Return ink from 0 to 1 of `TEXTURES` different pictures, float32 [TEXTURES, H, W]."""

    def rand(*shape: int) -> Tensor:
        return torch.rand(shape, device=device, generator=generator)

    def noise(cells: int) -> Tensor:
        grid = rand(1, 1, cells, max(2, cells * width // height))
        wide = F.interpolate(grid, (height, width), mode="bicubic", align_corners=False)
        return wide[0, 0].clamp(0, 1)

    v = torch.linspace(0, 1, height, device=device)[:, None]
    u = torch.linspace(0, width / height, width, device=device)[None]
    r = rand(32).tolist()
    clouds = sum(noise(4 << octave) / (2 << octave) for octave in range(5))
    assert isinstance(clouds, Tensor), "a sum of tensors"
    turn = r[0] * math.pi
    across = u * math.cos(turn) + v * math.sin(turn)
    wave = torch.sin((40 + 300 * r[1]) * across)
    distance = ((u - r[2]) ** 2 + (v - r[3]) ** 2).sqrt()
    seeds = rand(24, 2)
    cells = torch.cdist(
        torch.stack(torch.broadcast_tensors(v * 6 % 1, u * 6 % 1), -1).view(-1, 2), seeds
    ).argmin(1)
    facets = rand(24)[cells].view(height, width)
    curve = 0.5 + 0.25 * torch.sin(9 * u + 6 * r[4]) + 0.1 * torch.sin(31 * u + 6 * r[5])
    plot = ((v * 4 % 1) - curve).abs() < 0.02
    bars = (v * 3 % 1) > rand(64)[(u * (14 + 20 * r[6])).long() % 64]
    bars &= (u * (14 + 20 * r[6])) % 1 > 0.3
    dots = ((u * 90 % 1 - 0.5) ** 2 + (v * 90 % 1 - 0.5) ** 2) < 0.5 * clouds**2
    checks = ((u * (8 + 30 * r[7])).long() + (v * (8 + 30 * r[7])).long()) % 2
    scene = torch.where(noise(3) > v, 0.15 + 0.2 * noise(5), 0.4 + 0.5 * clouds)
    return torch.stack(
        (
            noise(5),
            clouds * 1.1,
            (clouds - 0.5) * 3 * r[8] + 0.5 + 0.3 * (noise(200) - 0.5),
            (across * (0.4 + r[9])).remainder(1.0),
            (distance * (0.5 + r[10])).clamp(0, 1),
            0.5 + 0.5 * wave,
            checks.float() * (0.3 + 0.7 * r[11]),
            (noise(24) > 0.55).float() * (0.4 + 0.6 * r[12]),
            plot.float(),
            bars.float() * (0.3 + 0.7 * r[13]),
            dots.float(),
            facets,
            (torch.sin(distance * (60 + 100 * r[14])) > 0.2).float(),
            scene,
        )
    ).clamp(0, 1)
