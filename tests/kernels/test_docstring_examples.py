"""The examples in the docstrings of the ops run and print what they say."""

import doctest
import importlib

import pytest

MODULES = ["block_routing", "block_summary", "page_rope", "page_rope.coordinates", "paged_kv"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"ocrcli.kernels.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
