"""Starting weights of the small model."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from ocrcli.models.checkpoint import SCALE_SUFFIX
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


def initialise(model: UnlimitedOcr, seed: int) -> None:
    """Fill the model with starting weights, in place.

    Matrices, embeddings and position tables are normal with standard deviation 0.02; what closes a
    residual branch is smaller, so that depth does not blow up the stream; convolutions keep
    PyTorch's default.

    Args:
        model: The model.
        seed: Makes the weights repeatable.
    """
    generator = torch.Generator().manual_seed(seed)
    depth = len(model.model.layers)
    for name, param in model.named_parameters():
        if name.endswith(("norm.weight", "norm.bias")) or "norm" in name.split(".")[-2]:
            continue
        if "patch_embed" in name or ".net_" in name:
            continue
        with torch.no_grad():
            if param.ndim >= 2:
                deviation = 0.02
                if name.endswith(("o_proj.weight", "down_proj.weight")):
                    deviation /= (2 * depth) ** 0.5
                param.normal_(0.0, deviation, generator=generator)
            elif name.endswith(".bias"):
                nn.init.zeros_(param)
            elif name.endswith("image_newline"):
                param.normal_(0.0, 0.02, generator=generator)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return float32 weights under the learner's names.

    Args:
        path: One part that a run wrote, or the file that ships: int8 matrices are expanded, and
            the auxiliary head is then missing.
    """
    stored = load_file(path)
    if not any(name + SCALE_SUFFIX in stored for name in stored):
        return {name: value.float() for name, value in stored.items()}
    weights = {}
    for name, value in stored.items():
        scale = stored.get(name + SCALE_SUFFIX)
        if scale is not None:
            weights[f"model.{name}"] = value.float() * scale.view(-1, *[1] * (value.dim() - 1))
        elif not name.endswith(SCALE_SUFFIX):
            weights[f"model.{name}"] = value.float()
    return weights
