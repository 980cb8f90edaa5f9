"""Trains the small model: `python -m ocrcli.models.small.training.train --data DIR --out DIR`.

Uses every GPU it finds. A run is a list of stages with the seconds each may take; a later run goes
on from weights (`--init-from`) or, on the same machine, from the whole state (`--state`).
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor, nn

from ocrcli.models.small.training.atlas import Atlas, build_atlas
from ocrcli.models.small.training.batches import PageBatches, TrainingBatch
from ocrcli.models.small.training.compiling import compile_blocks, keep_compiled
from ocrcli.models.small.training.flat import FlatParameters
from ocrcli.models.small.training.initialise import initialise, read_weights
from ocrcli.models.small.training.learner import Learner
from ocrcli.models.small.training.optimiser import BatchedMuon, split_parameters
from ocrcli.models.small.training.painted import PaintedBatch, PaintedBatches
from ocrcli.models.small.training.painter import Painter
from ocrcli.models.small.training.speedups import SPEEDUPS, is_on, switch_off
from ocrcli.models.small.training.stages import STAGES, Stage
from ocrcli.models.unlimited_ocr.config import ModelConfig

_FOLDER = Path(__file__).resolve().parent.parent
_WARM_UP_STEPS = 300
_STAGE_WARM_UP_STEPS = 60
_PART_BYTES = 15_000_000


@dataclass
class Run:
    """What one process needs to take steps."""

    rank: int
    world: int
    device: torch.device
    learner: Learner
    flat: FlatParameters | None
    optimisers: list[torch.optim.Optimizer]
    painter: Painter
    arguments: argparse.Namespace
    step: int = 0
    begun: float = 0.0
    verdict: "_Verdict | None" = None

    def say(self, **figures: Any) -> None:
        """Append one line of figures to the log and to the standard output."""
        if self.rank:
            return
        figures = {"seconds": round(time.time() - self.begun, 1), **figures}
        line = json.dumps(figures)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        with (self.arguments.out / "train.log").open("a", encoding="utf-8") as log:
            log.write(line + "\n")


def main(argv: list[str] | None = None) -> None:
    """Parse the command line and train on every GPU, or on the CPU without one."""
    arguments = parser(__doc__).parse_args(argv)
    prepare(arguments)
    world = max(1, torch.cuda.device_count())
    if world == 1:
        _work(0, 1, arguments)
    else:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29517")
        torch.multiprocessing.spawn(_work, args=(world, arguments), nprocs=world)


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options of everything that takes training steps."""
    options = argparse.ArgumentParser(description=description)
    add = options.add_argument
    add("--data", type=Path, required=True, help="folder with fonts/ and text/")
    add("--out", type=Path, required=True, help="where weights and log go")
    add("--plan", default="lines:110,crops:110,blocks:150,sheets:150,pages:900")
    add("--learning-rate", default="2e-3:2e-3", help="first:last, linear")
    add("--init-from", type=Path, nargs="*", default=[], help="safetensors parts")
    add("--state", type=Path, help="read if present, written at the end")
    add("--scratch", type=Path, default=Path("/tmp/ocrcli-training"))
    add("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    add("--batch", type=int, default=0, help="images per GPU; 0: the stage's")
    add("--steps", type=int, default=0, help="stop every stage after so many")
    add("--save-every", type=float, default=0.0, help="seconds; 0: after every stage only")
    add("--compile", action=argparse.BooleanOptionalAction, default=True)
    add("--compile-cache", type=Path, help="default: compiled/ in --scratch")
    add("--without", default="", help=f"speedups: all, or some of {', '.join(SPEEDUPS)}")
    add("--in-step", action="store_true", help="all GPUs draw pages of one kind at a time")
    add("--seed", type=int, default=0)
    return options


def prepare(arguments: argparse.Namespace) -> None:
    """Make folders and the atlas, and set what processes inherit."""
    # Told once for all processes: later runs see other pages.
    arguments.begun = int(time.time()) % 100_003
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.without:
        switch_off(arguments.without)
    keep_compiled(arguments.compile_cache or arguments.scratch / "compiled")
    fonts = sorted((arguments.data / "fonts" / "train").iterdir())
    missing = json.loads((arguments.data / "fonts" / "train_coverage.json").read_text("utf-8"))
    if not (arguments.scratch / "atlas" / "names.json").exists():
        begun = time.time()
        build_atlas(fonts, missing, arguments.workers).save(arguments.scratch / "atlas")
        sys.stdout.write(f"atlas of {len(fonts)} fonts in {time.time() - begun:.1f} s\n")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Every tensor that a worker hands over is an open file.
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))


def _work(rank: int, world: int, arguments: argparse.Namespace) -> None:
    run = start(rank, world, arguments)
    plan = [part.split(":") for part in arguments.plan.split(",")]
    total = sum(float(seconds) for _, seconds in plan)
    first, last = (float(rate) for rate in arguments.learning_rate.split(":"))
    done = 0.0
    for name, seconds in plan:
        share = (done / total, (done + float(seconds)) / total)
        rates = (first + (last - first) * share[0], first + (last - first) * share[1])
        _run_stage(run, name, float(seconds), rates)
        done += float(seconds)
        _save(run)
    if arguments.state and rank == 0:
        state = {
            "learner": run.learner.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in run.optimisers],
            "step": run.step,
        }
        torch.save(state, arguments.state)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def start(rank: int, world: int, arguments: argparse.Namespace) -> Run:
    """Return a run with its weights read, its optimisers made and its blocks compiled."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    if world > 1:
        dist.init_process_group("nccl", rank=rank, world_size=world, device_id=device)
    learner = Learner(ModelConfig.from_file(_FOLDER / "config.json"))
    torch.manual_seed(arguments.seed)
    initialise(learner.model, arguments.seed)
    for path in arguments.init_from:
        _, unexpected = learner.load_state_dict(read_weights(path), strict=False)
        if unexpected:
            raise ValueError(f"{path} holds tensors that the model lacks: {unexpected[:3]}")
    learner.to(device)
    flat, optimisers = make_optimisers(learner, device)
    run = Run(
        rank=rank,
        world=world,
        device=device,
        learner=learner,
        flat=flat,
        optimisers=optimisers,
        painter=Painter(Atlas.load(arguments.scratch / "atlas"), device),
        arguments=arguments,
        begun=time.time(),
    )
    if arguments.state and arguments.state.exists():
        state = torch.load(arguments.state, map_location=device, weights_only=True)
        learner.load_state_dict(state["learner"])
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        run.step = state["step"]
    if arguments.compile and cuda:
        compile_blocks()
    return run


def make_optimisers(
    learner: Learner, device: torch.device
) -> tuple[FlatParameters | None, list[torch.optim.Optimizer]]:
    """Return the flat parameters, unless they are switched off, and the optimisers."""
    hidden, other = split_parameters(learner.model)
    other += list(learner.characters.parameters())
    flat = None
    if is_on("flat"):
        flat = FlatParameters(hidden, other)
        hidden, other = flat.stacks, [flat.rest]
    fused = device.type == "cuda"
    return flat, [
        BatchedMuon(hidden, lr=1e-3, momentum=0.95, weight_decay=0.05),
        torch.optim.AdamW(other, lr=1e-3, betas=(0.9, 0.95), weight_decay=0.0, fused=fused),
    ]


def stage_batches(run: Run, stage: Stage) -> Iterator[TrainingBatch]:
    """Return endless batches of a stage, composed by worker processes where there is a GPU."""
    arguments = run.arguments
    moment = arguments.seed * 7919 + arguments.begun + run.step
    data = PageBatches(
        arguments.data,
        arguments.scratch / "atlas",
        _FOLDER / "tokenizer.json",
        stage,
        seed=moment * run.world + run.rank,
        order_seed=moment if arguments.in_step else None,
    )
    workers = max(1, arguments.workers // run.world)
    loader = torch.utils.data.DataLoader(
        data,
        batch_size=None,
        num_workers=workers if run.device.type == "cuda" else 0,
        prefetch_factor=4 if run.device.type == "cuda" else None,
    )
    return iter(loader)


def paint_stage(run: Run, stage: Stage, batches: Iterator[TrainingBatch]) -> PaintedBatches:
    """Return `batches` of a stage, painted on the device of the run."""
    size = run.learner.model.config.vision.position_size
    return PaintedBatches(batches, run.painter, stage, size, run.step * 31 + run.rank)


def _run_stage(run: Run, name: str, seconds: float, rates: tuple[float, float]) -> None:
    stage = STAGES[name]
    if run.arguments.batch:
        stage = replace(stage, batch=run.arguments.batch)
    painted = paint_stage(run, stage, stage_batches(run, stage))
    begun, first_step, images = time.time(), run.step, 0
    log_time, log_step, save_time = begun, run.step, begun
    while True:
        elapsed = time.time() - begun
        stop = elapsed > seconds or (
            run.arguments.steps and run.step - first_step >= run.arguments.steps
        )
        if _agreed(run, stop):
            break
        share = min(1.0, elapsed / seconds)
        rate = rates[0] + (rates[1] - rates[0]) * share
        rate *= min(1.0, (run.step + 1) / _WARM_UP_STEPS)
        rate *= min(1.0, (run.step - first_step + 1) / _STAGE_WARM_UP_STEPS)
        batch = painted.take()
        figures = take_step(run, batch, rate)
        painted.prepare()
        images += len(batch.tokens) * run.world
        if run.arguments.save_every and time.time() - save_time > run.arguments.save_every:
            _save(run)
            save_time = time.time()
        if run.step - log_step >= 50:
            values = [round(float(figure), 4) for figure in figures]
            spent = time.time() - log_time
            run.say(
                stage=name,
                step=run.step,
                text=values[0],
                characters=values[1],
                right=values[2],
                turns=values[3],
                gradient=values[4],
                rate=round(rate, 6),
                images_per_s=round(images / spent, 1),
                waited=round(painted.waited / spent, 3),
            )
            log_time, log_step, images, painted.waited = time.time(), run.step, 0, 0.0
    memory = torch.cuda.max_memory_allocated() / 1e9 if run.device.type == "cuda" else 0.0
    run.say(stage=name, ended=run.step, memory_gb=round(memory, 1))


class _Verdict:
    """What the first process said on whether to stop, on its way to the host."""

    def __init__(self, stop: bool, device: torch.device) -> None:
        flag = torch.full((1,), int(stop), device=device)
        dist.broadcast(flag, 0)
        self.host = torch.empty(1, dtype=flag.dtype, pin_memory=True)
        self.host.copy_(flag, non_blocking=True)
        self.event = torch.cuda.Event()
        self.event.record()

    def __bool__(self) -> bool:
        self.event.synchronize()
        return bool(self.host[0])


def _agreed(run: Run, stop: bool) -> bool:
    """Whether to stop, decided by the first process for all: clocks differ."""
    if run.world == 1:
        return bool(stop)
    if run.step % 8:
        return False
    # What was said eight steps ago has arrived; an answer of now would have to be waited for.
    earlier, run.verdict = run.verdict, _Verdict(stop, run.device)
    if earlier is None or not earlier:
        return False
    run.verdict = None
    return True


def take_step(run: Run, batch: PaintedBatch, rate: float) -> tuple[Tensor, ...]:
    """Learn from one batch; return losses, the share of right tokens and the gradient's norm."""
    losses = run.learner.losses(batch)
    losses.total.backward()
    gradient = update(run, rate)
    run.step += 1
    figures = (losses.text, losses.characters, losses.right, losses.turns, gradient)
    return tuple(figure.detach() for figure in figures)


def update(run: Run, rate: float) -> Tensor:
    """Move the parameters along their gradients and return the norm of these."""
    if run.flat is not None:
        run.flat.gather()
        if run.world > 1:
            dist.all_reduce(run.flat.grads, op=dist.ReduceOp.AVG)
        gradient = run.flat.clip(1.0)
    else:
        _share_gradients(run)
        gradient = nn.utils.clip_grad_norm_(run.learner.parameters(), 1.0)
    for optimiser in run.optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        if run.flat is None:
            optimiser.zero_grad(set_to_none=True)
    return gradient


def _share_gradients(run: Run) -> None:
    if run.world == 1:
        return
    grads = [param.grad for param in run.learner.parameters() if param.grad is not None]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    parts = flat.split([grad.numel() for grad in grads])
    torch._foreach_copy_(grads, [p.view_as(g) for p, g in zip(parts, grads, strict=True)])


def _save(run: Run) -> None:
    """Write bfloat16 weights in parts that can be carried one by one."""
    if run.rank:
        return
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, value in run.learner.state_dict().items():
        half = value.to(torch.bfloat16).cpu().contiguous()
        if size + half.numel() * 2 > _PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = half
        size += half.numel() * 2
    for index, part in enumerate(parts):
        save_file(part, run.arguments.out / f"weights-{index}.safetensors")


if __name__ == "__main__":
    main()
