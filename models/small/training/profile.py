"""Says where the time of a training step goes: `python -m ocrcli.models.small.training.profile`.

Takes the options of `train.py`. For every stage of `--plan` (seconds are ignored) it prints how
long each part takes alone, once until everything is launched and once until it is done; how long
whole steps take; how much of that the GPU is idle, which kernels it runs, and how often the host
waits for it. `--compare` takes the same steps without each speedup in turn.
"""

import argparse
import itertools
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import DeviceType

from ocrcli.models.small.training import train
from ocrcli.models.small.training.batches import TrainingBatch
from ocrcli.models.small.training.forward import text_loss
from ocrcli.models.small.training.painted import PaintedBatch
from ocrcli.models.small.training.speedups import SPEEDUPS, VARIABLE, switch_off
from ocrcli.models.small.training.stages import STAGES, Stage

_RATE = 1e-6
_WAITS = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy")


def main(argv: list[str] | None = None) -> None:
    """Print the report for every stage of the plan."""
    options = train.parser(__doc__)
    options.set_defaults(plan="pages,scans", steps=6)
    options.add_argument("--compare", action="store_true", help="also without each speedup")
    options.add_argument("--rows", type=int, default=40, help="kernels that are listed")
    arguments = options.parse_args(argv)
    train.prepare(arguments)
    begun = time.time()
    run = train.start(0, 1, arguments)
    _say(f"started in {time.time() - begun:.1f} s; {_described(run.device)}")
    for name in (part.split(":")[0] for part in arguments.plan.split(",")):
        _report(run, name, arguments)


def _report(run: train.Run, name: str, arguments: argparse.Namespace) -> None:
    stage = STAGES[name]
    if arguments.batch:
        stage = Stage(**{**vars(stage), "batch": arguments.batch})
    batches = list(itertools.islice(train.stage_batches(run, stage), arguments.steps))
    begun = time.time()
    _steps(run, stage, batches)
    _say(
        f"\n{name}: {len(batches) + 1} first steps, compiling included, {time.time() - begun:.1f} s"
    )
    _parts(run, stage, batches)
    times = _steps(run, stage, batches)
    shapes = [(*b.tokens.shape, b.width, b.height) for b in batches]
    _say(f"{name} step ms {[round(t) for t in times]} median {statistics.median(times):.0f}")
    _say(f"{name} shapes {shapes}")
    if run.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e9
        _say(f"{name} peak memory {peak:.1f} GB")
    _kernels(run, stage, batches, arguments.rows)
    if arguments.compare:
        _compare(run, stage, batches)


def _steps(run: train.Run, stage: Stage, batches: list[TrainingBatch]) -> list[float]:
    """Take a step with every batch, as training does, and return their milliseconds.

    A further step before them starts the painting ahead.
    """
    painted = train.paint_stage(run, stage, itertools.cycle(batches))
    marks = []
    for _ in range(len(batches) + 1):
        train.take_step(run, painted.take(), _RATE)
        painted.prepare()
        marks.append(_mark(run))
    if run.device.type != "cuda":
        return [1e3 * (late - early) for early, late in itertools.pairwise(marks)]
    torch.cuda.synchronize(run.device)
    return [early.elapsed_time(late) for early, late in itertools.pairwise(marks)]


def _mark(run: train.Run) -> Any:
    """Return this moment, or on a GPU the moment when it will have done what is launched."""
    if run.device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _parts(run: train.Run, stage: Stage, batches: list[TrainingBatch]) -> None:
    """Print launching and total milliseconds of each part, alone, mean over the batches."""
    spent: dict[str, list[tuple[float, float]]] = {}

    def timed(part: str, work: Callable[[], Any]) -> Any:
        _synchronise(run)
        begun = time.perf_counter()
        result = work()
        launched = time.perf_counter()
        _synchronise(run)
        figures = 1e3 * (launched - begun), 1e3 * (time.perf_counter() - begun)
        spent.setdefault(part, []).append(figures)
        return result

    painted = train.paint_stage(run, stage, iter(batches))
    for _ in batches:
        batch = timed("paint", painted.take)
        _part_by_part(run, batch, timed)
    for part, figures in spent.items():
        launch, total = (statistics.mean(column) for column in zip(*figures, strict=True))
        _say(f"  {part:<20} launched {launch:7.1f} ms   done {total:7.1f} ms")


def _part_by_part(
    run: train.Run, batch: PaintedBatch, timed: Callable[[str, Callable[[], Any]], Any]
) -> None:
    model, heads = run.learner.model, run.learner.characters
    device = run.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        features = timed("encoder", lambda: model.visual_features(batch.images, batch.offset))
        cut = features.detach().requires_grad_()
        decoded = timed("decoder and loss", lambda: _decoded(run, cut, batch))
        named = timed("character head", lambda: heads.loss(cut, batch.asked, batch.codes))
    timed("backward: characters", named.backward)
    timed("backward: decoder", decoded.backward)
    timed("backward: encoder", lambda: features.backward(cut.grad))
    _zero(run)
    total = timed("all forward", lambda: run.learner.losses(batch)).total
    timed("all backward", total.backward)
    timed("optimisers", lambda: train.update(run, _RATE))


def _decoded(run: train.Run, features: Tensor, batch: PaintedBatch) -> Tensor:
    visual = run.learner.model.visual_tokens(features)
    return text_loss(run.learner.model, visual, batch.tokens, batch.kept, batch.target)[0]


def _kernels(run: train.Run, stage: Stage, batches: list[TrainingBatch], rows: int) -> None:
    """Print what the GPU does in whole steps: its idle share, its kernels, and waits of the host.

    Without a GPU the table holds the operations of the CPU.
    """
    cuda = run.device.type == "cuda"
    # The host's operations would slow the host down, and only their calls of CUDA are wanted.
    activity = torch.profiler.ProfilerActivity.CUDA if cuda else torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[activity], acc_events=True) as profiler:
        _steps(run, stage, batches)
    steps = len(batches) + 1
    events = list(profiler.events() or ())
    kind = DeviceType.CUDA if cuda else DeviceType.CPU
    kernels = [event for event in events if event.device_type == kind]
    spans = sorted((event.time_range.start, event.time_range.end) for event in kernels)
    if not spans:
        _say("  the profiler saw no kernels")
        return
    busy, length = _busy(spans), max(end for _, end in spans) - spans[0][0]
    _say(
        f"  {length / steps / 1e3:.1f} ms a step under the profiler, busy {busy / steps / 1e3:.1f} "
        f"ms, idle {100 * (1 - busy / length):.0f} %, {len(kernels) / steps:.0f} launches a step"
    )
    waits = Counter(event.name for event in events if event.name in _WAITS)
    _say(f"  waits a step: { {name: round(count / steps, 1) for name, count in waits.items()} }")
    spent: Counter[str] = Counter()
    for event in kernels:
        spent[event.name] += event.time_range.end - event.time_range.start
    calls = Counter(event.name for event in kernels)
    for name, total in spent.most_common(rows):
        _say(f"  {total / steps / 1e3:8.2f} ms {calls[name] / steps:7.1f} x  {name[:150]}")


def _busy(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of spans that are sorted by their beginnings."""
    busy, reached = 0.0, float("-inf")
    for begin, end in spans:
        busy += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return busy


def _compare(run: train.Run, stage: Stage, batches: list[TrainingBatch]) -> None:
    """Print the milliseconds of a step with all speedups and without each in turn."""
    before = os.environ.get(VARIABLE, "")
    kept = run.flat, run.optimisers
    for name in ("", *SPEEDUPS, ""):
        switch_off(",".join(filter(None, (before, name))))
        if name == "flat":
            run.flat, run.optimisers = train.make_optimisers(run.learner, run.device)
        _steps(run, stage, batches[:2])
        figure = statistics.median(_steps(run, stage, batches))
        _say(f"  {figure:7.1f} ms a step {f'without {name}' if name else 'with all'}")
        run.flat, run.optimisers = kept
    os.environ[VARIABLE] = before


def _zero(run: train.Run) -> None:
    for param in run.learner.parameters():
        param.grad = None


def _synchronise(run: train.Run) -> None:
    if run.device.type == "cuda":
        torch.cuda.synchronize(run.device)


def _described(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    return f"CPU, torch {torch.__version__}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


__all__ = ["main"]


if __name__ == "__main__":
    main()
