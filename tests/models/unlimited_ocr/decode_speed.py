"""Times decoding of the first generation against transformers, on the same random weights.

Writes a checkpoint with a quarter of the published layers in float32, then lets both programs write
the same number of tokens after the same picture, in processes of their own that take turns: what
else the machine does meets both. Seconds count from the first token to the last, so that loading,
encoder and prompt stay out. Prints a JSON object per run and one with the ratio of the medians: of
tokens per second, and of tokens per second of processor time, which says more on a busy machine.

    pip install ".[parity]"
    python -P tests/models/unlimited_ocr/decode_speed.py --threads 2
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from ocrcli.models.unlimited_ocr.random_checkpoint import (
    published_settings,
    write_random_checkpoint,
)

SIDES = ("ocrcli", "transformers")
INSTRUCTION = (11, 12, 13)
VISION = {"layers": 3, "global_attn_indexes": [2]}, {"layers": 6}


def settings(layers: int) -> dict[str, object]:
    """Return the first generation's settings with fewer layers, in encoder and decoder."""
    sam, clip = VISION
    vision = {"width": {"sam_vit_b": sam, "clip-l-14-224": clip}}
    return published_settings(1) | {"num_hidden_layers": layers, "vision_config": vision}


def picture() -> np.ndarray:
    """Return a page of noise, small enough not to be tiled."""
    return np.random.default_rng(3).integers(0, 256, (600, 600, 3), dtype=np.uint8)


class Clock:
    """Wall and processor seconds of every step."""

    def __init__(self) -> None:
        """Start without a step."""
        self.wall: list[float] = []
        self.processor: list[float] = []

    def tick(self) -> None:
        """Remember a moment."""
        self.wall.append(time.perf_counter())
        self.processor.append(time.process_time())


def decode_with_ocrcli(folder: Path, count: int, clock: Clock) -> list[int]:
    """Return the tokens; the clock ticks when the first is there, and each one after."""
    from ocrcli.engine import Engine, GenerationLimits
    from ocrcli.models import load_model

    model = load_model(folder).model
    codec = SimpleNamespace(
        encode=lambda text: list(INSTRUCTION),
        decode=lambda ids: "",
        decode_with_ends=lambda ids: ("", [0] * len(ids)),
    )
    prefill, decode, end = model.prefill, model.decode, model.config.tokens.eos

    def endless(step, starts):
        def scores(*arguments):
            # A step of decoding begins when the token before it is known.
            if starts:
                clock.tick()
            logits = step(*arguments)
            logits[..., end] = -torch.inf
            return logits

        return scores

    model.prefill, model.decode = endless(prefill, False), endless(decode, True)
    limits = GenerationLimits(max_tokens_per_page=count, loop_guard=None)
    page = SimpleNamespace(page_number=1, pixels=picture())
    (result,) = Engine(model, codec, limits).transcribe([page])
    clock.tick()
    return list(result.token_ids)


def decode_with_transformers(folder: Path, count: int, clock: Clock) -> list[int]:
    """Return the tokens; the clock ticks when the first is there, and each one after."""
    import transformers

    from ocrcli.models import load_model
    from ocrcli.models.unlimited_ocr.config import ModelConfig
    from ocrcli.prompt import document_prompt
    from ocrcli.views import page_views

    config = ModelConfig.from_file(folder / "config.json")
    sam, clip = VISION
    theirs = transformers.UnlimitedOcrConfig(
        image_token_id=config.tokens.image,
        text_config={"num_hidden_layers": config.decoder.num_layers},
        vision_config={
            "sam_config": {
                "num_hidden_layers": sam["layers"],
                "global_attn_indexes": sam["global_attn_indexes"],
            },
            "encoder_config": {"num_hidden_layers": clip["layers"]},
        },
    )
    reference = transformers.UnlimitedOcrForConditionalGeneration
    model = reference.from_pretrained(folder, config=theirs, dtype=torch.float32).eval()
    image = page_views(picture(), config.vision).overview
    tokens = load_model(folder).model.encode_image(image).shape[0]
    prompt = document_prompt([tokens], config.tokens, INSTRUCTION, has_markers=False)

    def tick(ids, scores):
        clock.tick()
        return scores

    special = config.tokens
    written = model.generate(
        input_ids=prompt.ids[None],
        attention_mask=torch.ones_like(prompt.ids)[None],
        pixel_values=image[None],
        do_sample=False,
        max_new_tokens=count,
        suppress_tokens=[special.bos, special.eos, special.pad, special.image],
        logits_processor=[tick],
    )
    return written[0, len(prompt.ids) :].tolist()


def measure(side: str, folder: Path, count: int, threads: int) -> dict[str, object]:
    """Decode once and return what was measured."""
    torch.set_num_threads(threads)
    run = decode_with_ocrcli if side == "ocrcli" else decode_with_transformers
    clock = Clock()
    with torch.inference_mode():
        ids = run(folder, count, clock)
    wall, processor = (times[count - 1] - times[0] for times in (clock.wall, clock.processor))
    return {
        "side": side,
        "threads": threads,
        "tokens_per_second": round((count - 1) / wall, 3),
        "tokens_per_processor_second": round((count - 1) / processor, 3),
        "ids": ids,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Compare both programs, or be one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--layers", type=int, default=3, help="of the decoder")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.side:
        print(json.dumps(measure(options.side, options.folder, options.tokens, options.threads)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write_random_checkpoint(Path(folder), settings(options.layers), dtype=torch.float32)
        common = ["--tokens", str(options.tokens), "--threads", str(options.threads)]
        found: dict[str, list[dict]] = {side: [] for side in SIDES}
        for _ in range(options.rounds):
            for side, runs in found.items():
                command = [sys.executable, "-P", __file__, *common, "--side", side]
                done = subprocess.run(
                    [*command, "--folder", folder], check=True, capture_output=True, text=True
                )
                runs.append(json.loads(done.stdout.splitlines()[-1]))
                shown = {key: value for key, value in runs[-1].items() if key != "ids"}
                print(json.dumps(shown), flush=True)
    rates = ("tokens_per_second", "tokens_per_processor_second")
    median = {
        (side, rate): statistics.median(run[rate] for run in found[side])
        for side in SIDES
        for rate in rates
    }
    ratios = {rate: round(median[SIDES[0], rate] / median[SIDES[1], rate], 3) for rate in rates}
    same = all(run["ids"] == found[SIDES[0]][0]["ids"] for runs in found.values() for run in runs)
    print(json.dumps({"ratio": ratios, "same_tokens": same}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
