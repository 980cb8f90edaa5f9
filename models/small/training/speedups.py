"""What makes a step fast and can be switched off by name, should it fail on some machine.

The names stand in `OCRCLI_TRAIN_WITHOUT`, separated by commas, where processes that are started
later find them too; `train.py --without` and `profile.py --without` write them there.
"""

import os

VARIABLE = "OCRCLI_TRAIN_WITHOUT"

SPEEDUPS = {
    "routing": "block summaries and the choice of blocks in Triton kernels",
    "cross_entropy": "losses in Triton kernels, without float32 copies of the scores",
    "flat": "parameters, gradients and Muon's momentum in a few large tensors",
    "ahead": "the next batch is painted on a second CUDA stream while a step runs",
    "packed": "turned pages are encoded with the batch, tokens in the order of windows",
    "alias": "views are aliased, not copied, before compiled functions",
    "stamping": "glyphs are drawn by a Triton kernel",
    "figures": "fills and figures are drawn only on the pages that have some",
    "cudnn": "cuDNN's attention in the encoder before all others",
}
"""Every speedup and what it does."""


def is_on(name: str) -> bool:
    """Return whether the speedup `name` is in use."""
    return name not in os.environ.get(VARIABLE, "").split(",")


def switch_off(names: str) -> None:
    """Do without speedups, in this process and those it starts.

    Args:
        names: Names separated by commas; "all" for every one.

    Raises:
        ValueError: A name is not known.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    chosen = list(SPEEDUPS) if "all" in chosen else chosen
    unknown = [name for name in chosen if name not in SPEEDUPS]
    if unknown:
        raise ValueError(f"unknown speedups {unknown}; known are all, {', '.join(SPEEDUPS)}")
    os.environ[VARIABLE] = ",".join(chosen)
