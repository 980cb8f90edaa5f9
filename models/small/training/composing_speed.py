"""Measures how long composing takes, so that the workers keep up with the GPUs.

python -m ocrcli.models.small.training.composing_speed --data data --atlas scratch/atlas
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ocrcli.models.small.training.batches import PageBatches
from ocrcli.models.small.training.stages import STAGES

_TOKENIZER = Path(__file__).parents[1] / "tokenizer.json"
# A multiple of the batches that are composed together.
_BATCHES = 12


def milliseconds(data: Path, atlas: Path, name: str, pages: int) -> float:
    """Return the milliseconds of this core that a page of a stage costs, encoding included.

    Pages that become too long are composed in vain; their time counts.

    Args:
        data: Folder with `text/`.
        atlas: Folder that `Atlas.save` wrote.
        name: One of `STAGES`, without a mixture.
        pages: About how many pages to compose; as many more come before, to warm up.
    """
    size = max(1, pages // _BATCHES)
    stage = replace(STAGES[name], batch=size)
    batches = iter(PageBatches(data, atlas, _TOKENIZER, stage, seed=0))
    list(islice(batches, _BATCHES))
    begun = time.process_time()
    list(islice(batches, _BATCHES))
    return (time.process_time() - begun) * 1000 / (size * _BATCHES)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = argparse.ArgumentParser(description="Measure how long composing takes.")
    parser.add_argument("--data", type=Path, required=True, help="folder with text/")
    parser.add_argument("--atlas", type=Path, required=True, help="folder of a glyph atlas")
    parser.add_argument("--pages", type=int, default=240, help="pages of each stage")
    arguments = parser.parse_args(argv)
    for name, _ in STAGES["mixed"].mixture:
        spent = milliseconds(arguments.data, arguments.atlas, name, arguments.pages)
        sys.stdout.write(f"{name:12} {spent:6.2f} ms a page\n")


if __name__ == "__main__":
    main()
