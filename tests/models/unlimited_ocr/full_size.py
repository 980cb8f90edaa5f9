"""Loads a model of the published size and reads a long document in one pass, for time and memory.

Random weights take the memory and the time of real ones; their text means nothing. The model is
kept from ending a page, so every page gets its whole budget of tokens. Prints a JSON object per
stage and appends it to a log. Needs PyTorch, NumPy, Pillow and safetensors, and no network:

    python tests/link_tree.py
    PYTHONPATH=build/typing python -P tests/models/unlimited_ocr/full_size.py --log full_size.jsonl

`--tiny` tries the script itself with a small model on any machine.
"""

import argparse
import json
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image, ImageDraw

from ocrcli.engine import Engine, GenerationLimits
from ocrcli.models import load_model
from ocrcli.models.unlimited_ocr.random_checkpoint import (
    published_settings,
    write_random_checkpoint,
)

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 300,
    "image_token_id": 7,
    "page_token_id": 13,
    "sparse_router_dim": 8,
    "vision_config": {
        "neck_channels": 8,
        "width": {
            "sam_vit_b": {
                "width": 16,
                "layers": 2,
                "heads": 2,
                "window_size": 4,
                "global_attn_indexes": [1],
                "position_size": 16,
                "downsample_channels": [16, 16],
            },
            "clip-l-14-224": {"width": 16, "layers": 1, "heads": 2, "position_size": 4},
        },
    },
}


class Log:
    """Lines of JSON on standard output and in a file."""

    def __init__(self, path: Path | None) -> None:
        """Append to `path`, if given."""
        self._path = path

    def add(self, stage: str, **facts: object) -> None:
        """Write what a stage found."""
        line = json.dumps({"stage": stage} | facts)
        print(line, flush=True)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


class Memory:
    """Bytes in use, on the GPU or, without one, by the process."""

    def __init__(self, device: str) -> None:
        """Watch a device."""
        self._cuda = device == "cuda"

    def now(self) -> int | None:
        """Return what is allocated, or None where only the peak is known."""
        return torch.cuda.memory_allocated() if self._cuda else None

    def peak(self) -> int:
        """Return the most since the last `reset`, or of the process so far."""
        if self._cuda:
            return torch.cuda.max_memory_allocated()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def reset(self) -> None:
        """Forget the peak, where that is possible."""
        if self._cuda:
            torch.cuda.reset_peak_memory_stats()

    def settle(self) -> None:
        """Wait for what has been begun, so that a clock shows its time."""
        if self._cuda:
            torch.cuda.synchronize()


def sheets(count: int) -> Iterator[SimpleNamespace]:
    """Yield pages of printed lines, A4 at 150 dots per inch, in colour."""
    for number in range(1, count + 1):
        image = Image.new("RGB", (1240, 1754), "white")
        draw = ImageDraw.Draw(image)
        for row in range(60):
            words = " ".join(f"{(row * 7 + column * number) % 9973:04d}" for column in range(30))
            draw.text((100, 100 + 25 * row), words, fill="black")
        yield SimpleNamespace(page_number=number, pixels=np.asarray(image))


class Stopwatch:
    """Seconds and peak memory of the calls of one method."""

    def __init__(self, memory: Memory) -> None:
        """Start at zero."""
        self._memory, self.seconds, self.peak = memory, 0.0, 0

    def around(self, method: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """Return the method, timed."""

        def timed(*arguments: object) -> torch.Tensor:
            with self._running():
                return method(*arguments)

        return timed

    @contextmanager
    def _running(self) -> Iterator[None]:
        self._memory.settle()
        self._memory.reset()
        started = time.perf_counter()
        yield
        self._memory.settle()
        self.seconds += time.perf_counter() - started
        self.peak = max(self.peak, self._memory.peak())


def read(model, pages: int, budget: int, memory: Memory) -> dict[str, object]:
    """Read the document in one pass and return what that took."""
    config, tokens = model.config, model.config.tokens
    watches = {name: Stopwatch(memory) for name in ("encode_image", "prefill", "decode")}
    for name, watch in watches.items():
        method = getattr(model, name)
        if name != "encode_image":
            method = _endless(method, [tokens.eos, tokens.page])
        setattr(model, name, watch.around(method))
    caches: list[int] = []
    new_cache = model.new_cache

    def counted(*arguments):
        pools = new_cache(*arguments)
        caches.append(sum(part.nbytes for pool in pools for part in vars(pool).values()))
        return pools

    model.new_cache = counted
    limits = replace(
        GenerationLimits.for_model(config, pages), max_tokens_per_page=budget, loop_guard=None
    )
    codec = SimpleNamespace(
        encode=lambda text: [9, 10, 11],
        decode=lambda ids: "",
        decode_with_ends=lambda ids: ("", [0] * len(ids)),
    )
    # Drawn beforehand: what is timed is the engine.
    drawn = list(sheets(pages))
    started = time.perf_counter()
    results = list(Engine(model, codec, limits).transcribe(drawn))
    seconds = time.perf_counter() - started
    prompt, output = (
        sum(getattr(result, name) for result in results)
        for name in ("prompt_tokens", "output_tokens")
    )
    decoder = config.decoder
    token_bytes = 2 * decoder.num_layers * decoder.num_kv_heads * decoder.head_dim
    token_bytes *= next(iter(model.parameters())).element_size()
    return {
        "pages": len(results),
        "finished": sorted({str(result.finish) for result in results}),
        "prompt_tokens": prompt,
        "output_tokens": output,
        "seconds": round(seconds, 3),
        # As the engine counts them: with the pages' views, the plans and the choice of tokens.
        **{
            f"{stage}_stage_seconds": round(sum(vars(r.seconds)[stage] for r in results), 3)
            for stage in ("encode", "prefill", "decode")
        },
        **{f"{name}_seconds": round(watch.seconds, 3) for name, watch in watches.items()},
        **{f"{name}_peak_bytes": watch.peak for name, watch in watches.items()},
        "decode_tokens_per_second": round(output / watches["decode"].seconds, 2),
        "kv_cache_bytes": max(caches),
        # Keys and values of the prompt: 61,440 bytes a token at the published size in bfloat16.
        "kv_bytes_expected": prompt * token_bytes,
    }


def _endless(method: Callable[..., torch.Tensor], ids: list[int]) -> Callable[..., torch.Tensor]:
    def scores(*arguments: object) -> torch.Tensor:
        logits = method(*arguments)
        logits[..., ids] = -torch.inf
        return logits

    return scores


def main(argv: Sequence[str] | None = None) -> int:
    """Write, load and run the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--tokens-per-page", type=int, default=32)
    parser.add_argument("--generation", type=int, choices=(1, 2), default=2)
    parser.add_argument("--tiny", action="store_true", help="a small model, on the CPU")
    parser.add_argument("--folder", type=Path, help="where the checkpoint is kept")
    parser.add_argument("--log", type=Path, help="file that the lines are appended to")
    options = parser.parse_args(argv)
    device = "cuda" if torch.cuda.is_available() and not options.tiny else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    log, memory = Log(options.log), Memory(device)
    log.add(
        "machine",
        device=torch.cuda.get_device_name() if device == "cuda" else platform.processor(),
        torch=torch.__version__,
        dtype=str(dtype),
    )
    settings = published_settings(options.generation)
    if options.tiny:
        settings |= TINY
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "config.json").is_file():
            started = time.perf_counter()
            write_random_checkpoint(folder, settings, dtype=dtype, device=device)
            size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
            log.add("write", seconds=round(time.perf_counter() - started, 3), bytes=size)
        memory.reset()
        started = time.perf_counter()
        model = load_model(folder, device, dtype).model
        memory.settle()
        weights = sum(weight.nbytes for weight in model.parameters())
        log.add(
            "load",
            seconds=round(time.perf_counter() - started, 3),
            weight_bytes=weights,
            allocated_bytes=memory.now(),
            peak_bytes=memory.peak(),
        )
        log.add("read", **read(model, options.pages, options.tokens_per_page, memory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
