"""What several tests of the program use."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ocrcli.confidence import TokenTrace

# Test folders are no packages: what stands beside the tests is loaded by its path.
for _name in ("made_records", "made_pixels"):
    _spec = importlib.util.spec_from_file_location(_name, Path(__file__).with_name(f"{_name}.py"))
    assert _spec is not None and _spec.loader is not None, f"no {_name}.py beside this file"
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])

UNSURE = 0.97
"""A confidence that makes a page doubtful, but not suspect."""


@pytest.fixture
def doubtful(fakes):
    """First and second answers to doubtful pages."""

    def make(*numbers, second=0.99, **fields):
        return {
            "script": {
                n: fakes.result(n, fakes.block("First"), confidence=UNSURE) for n in numbers
            },
            "later": {
                n: fakes.result(n, fakes.block("Second"), confidence=second, **fields)
                for n in numbers
            },
        }

    return make


@pytest.fixture
def written(fakes):
    """Returns a result of one block whose lines come with their confidence."""

    def make(*lines, header=0.99):
        markup, sure = fakes.block(""), []
        sure += [header] * len(markup)
        for index, (text, probability) in enumerate(lines):
            text = ("\n" if index else "") + text
            markup += text
            sure += [probability] * len(text)
        trace = TokenTrace(tuple(range(1, len(markup) + 1)), tuple(sure))
        return replace(fakes.result(1, markup), trace=trace)

    return make
