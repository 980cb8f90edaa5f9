"""Turns trained weights into the file that ships: int8 matrices with a scale per output row.

`python -m ocrcli.models.small.training.export PART... --out FILE` takes the parts that `train.py`
wrote, leaves the auxiliary head out, and notes in the file's header what it was made from. The head
goes into a file of its own, `--head FILE`, so that a later run can go on from what ships.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ocrcli.models.checkpoint import SCALE_SUFFIX

# The learner keeps the model that ships beside the auxiliary head, under this prefix.
_MODEL_PREFIX = "model."


def quantise(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return int8 matrices with float32 scales, and every other tensor in float32.

    A matrix W becomes round(W / s) with s = max|W| / 127 of each row, stored beside it under the
    name with `.scale` appended.

    Args:
        weights: Floating-point tensors by name.
    """
    shipped: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        value = tensor.detach().float().cpu()
        if value.ndim != 2:
            shipped[name] = value.contiguous()
            continue
        scale = value.abs().amax(1).clamp(min=1e-12) / 127
        rounded = (value / scale[:, None]).round().clamp(-127, 127)
        shipped[name] = rounded.to(torch.int8).contiguous()
        shipped[name + SCALE_SUFFIX] = scale.contiguous()
    return shipped


def export(weights: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> str:
    """Write the shipped form of `weights` to `path` and return the file's sha256.

    Args:
        weights: Floating-point tensors by name, without the auxiliary head.
        path: The safetensors file to write.
        metadata: Strings stored in the file's header.
    """
    save_file(quantise(weights), path, metadata={"format": "pt", **metadata})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(folder: Path) -> dict[str, str]:
    """Return what the header of a shipped file says about its making.

    Args:
        folder: The small model's folder, with `tokenizer.json` and `training/fonts.json`.
    """
    inputs = {
        "tokenizer_sha256": folder / "tokenizer.json",
        "config_sha256": folder / "config.json",
        "fonts_sha256": folder / "training" / "fonts.json",
    }
    return {
        "format_version": "1",
        "licence": "Apache-2.0",
        "quantisation": "int8 matrices, float32 scale per output row",
        **{name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in inputs.items()},
    }


def _ships(name: str) -> bool:
    return name.startswith(_MODEL_PREFIX)


def main(argv: list[str] | None = None) -> None:
    """Parse the command line and export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", type=Path, nargs="+", help="weights-*.safetensors of a run")
    parser.add_argument("--out", type=Path, required=True, help="the safetensors file to write")
    parser.add_argument("--head", type=Path, help="where the auxiliary head goes, in bfloat16")
    arguments = parser.parse_args(argv)
    weights: dict[str, Tensor] = {}
    for part in arguments.parts:
        weights |= load_file(part)
    shipped = {
        name.removeprefix(_MODEL_PREFIX): value for name, value in weights.items() if _ships(name)
    }
    if arguments.head:
        head = {name: value for name, value in weights.items() if not _ships(name)}
        save_file(head, arguments.head, metadata={"format": "pt"})
    digest = export(shipped, arguments.out, provenance(Path(__file__).resolve().parent.parent))
    sys.stdout.write(f"{digest}  {arguments.out}\n")


if __name__ == "__main__":
    main()
