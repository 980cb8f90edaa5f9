"""Painting ahead changes when a batch is painted, and nothing else."""

import contextlib
import itertools
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import ocrcli.models.small
from ocrcli.models.small.training import train
from ocrcli.models.small.training.batches import PageBatches
from ocrcli.models.small.training.painted import PaintedBatches, asked_slots
from ocrcli.models.small.training.painter import Painter
from ocrcli.models.small.training.stages import STAGES

TOKENIZER = Path(ocrcli.models.small.__file__).parent / "tokenizer.json"


class FakeStream:
    """Notes what waits for what."""

    def __init__(self, events, name):
        self.events, self.name = events, name

    def wait_stream(self, other):
        self.events.append(f"{self.name} waits for {other.name}")


@pytest.fixture
def painted(block_atlas, text_folder, tmp_path):
    block_atlas.save(tmp_path / "atlas")
    stage = replace(STAGES["tiny"], batch=2)
    pages = PageBatches(text_folder, tmp_path / "atlas", TOKENIZER, stage, 3)
    batches = list(itertools.islice(pages, 3))
    painter = Painter(block_atlas, torch.device("cpu"))
    return lambda: PaintedBatches(iter(batches), painter, stage, 120, seed=5)


def tensors(batch):
    values = [getattr(batch, field.name) for field in fields(batch)]
    values += [batch.turned.images, batch.turned.kept, batch.turned.upright]
    return [value for value in values if isinstance(value, torch.Tensor)]


def test_batches_painted_ahead_are_the_same_ones(painted, monkeypatch):
    events, recorded = [], []
    main, side = FakeStream(events, "step"), FakeStream(events, "painting")

    @contextlib.contextmanager
    def stream(chosen):
        events.append("paint on " + chosen.name)
        yield

    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: main)
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda self, s: recorded.append((id(self), s))
    )
    ahead, plain = painted(), painted()
    ahead._stream = side
    for number in range(3):
        recorded.clear()
        actual, expected = ahead.take(), plain.take()
        events.append(f"step {number}")
        if number < 2:
            ahead.prepare()
        plain.prepare()
        assert {id(tensor) for tensor in tensors(actual)} == {each for each, _ in recorded}
        assert all(on is main for _, on in recorded)
        for one, other in zip(tensors(actual), tensors(expected), strict=True):
            assert torch.equal(one, other)
        assert actual.turned.quarters == expected.turned.quarters
    assert events == [
        "paint on painting",
        "step waits for painting",
        "step 0",
        "paint on painting",
        "step waits for painting",
        "step 1",
        "paint on painting",
        "step waits for painting",
        "step 2",
    ]
    with pytest.raises(StopIteration):
        ahead.take()


def test_asked_are_the_characters_and_one_end_mark():
    codes = torch.zeros(1, 1, 2, 20, dtype=torch.long)
    codes[0, 0, 0, :3] = 7
    codes[0, 0, 1] = 9
    assert asked_slots(codes).tolist() == [0, 1, 2, 3, *range(20, 40)]


def test_processes_stop_together_eight_steps_after_the_first_says_so(monkeypatch):
    monkeypatch.setattr(train, "_Verdict", lambda stop, device: stop)
    run = SimpleNamespace(world=2, step=0, device=None, verdict=None)
    stopped = []
    for step in range(40):
        run.step = step
        if train._agreed(run, step >= 11):
            stopped.append(step)
            break
    assert stopped == [24]
    assert run.verdict is None
    assert train._agreed(SimpleNamespace(world=1), True)
