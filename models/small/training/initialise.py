"""Starting weights of the small model."""

import torch
from torch import nn

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
