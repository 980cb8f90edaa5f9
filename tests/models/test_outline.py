"""Modules in outline cost neither memory nor time."""

import os
import subprocess
import sys

import torch
from torch import nn

from ocrcli.models.outline import give_memory, in_outline

LOADED = """
import sys
from ocrcli.models.outline import in_outline
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.models.unlimited_ocr.random_checkpoint import published_settings

with in_outline():
    UnlimitedOcr(ModelConfig.from_dict(published_settings(2)))
print("torch._dynamo" in sys.modules)
"""


def parts():
    return nn.Sequential(nn.Linear(3, 2), nn.Conv2d(1, 2, 3), nn.Embedding(4, 3), nn.LayerNorm(3))


def test_outline_has_the_names_shapes_and_types_of_the_real_thing():
    with in_outline():
        outline = parts().half()
    assert {(name, param.shape) for name, param in outline.named_parameters()} == {
        (name, param.shape) for name, param in parts().named_parameters()
    }
    assert {(param.device.type, param.dtype) for param in outline.parameters()} == {
        ("meta", torch.float16)
    }


def test_modules_made_afterwards_have_initial_values_again():
    with in_outline():
        parts()
    torch.manual_seed(0)
    weight = nn.Linear(30, 20).weight
    assert not weight.is_meta
    assert 0.01 < weight.std() < 0.5


def test_the_compiler_stays_unloaded():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADED],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=True,
    )
    assert done.stdout == "False\n"


def test_memory_is_given_to_what_has_none():
    with in_outline():
        outline = nn.Sequential(nn.Linear(3, 2, bias=False).half(), nn.Linear(2, 2))
    outline[1] = kept = nn.Linear(2, 2)
    weight = kept.weight
    outline[0].weight.requires_grad_(False)
    give_memory(outline, "cpu")
    assert outline[1].weight is weight
    assert outline[0].weight.device.type == "cpu"
    assert (outline[0].weight.dtype, outline[0].weight.requires_grad) == (torch.float16, False)
