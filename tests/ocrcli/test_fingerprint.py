"""What makes an earlier output worthless, and what does not."""

from pathlib import Path

import pytest

from ocrcli.fingerprint import fingerprint
from ocrcli.options import Options, OutputFormat


@pytest.fixture
def model(tmp_path):
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "changed",
    [{"rotate": False}, {"format": OutputFormat.MD}, {"max_tokens": 9}, {"figures": Path("f")}],
)
def test_what_changes_the_output_counts(model, changed):
    assert fingerprint(Options(model=model)) != fingerprint(Options(model=model, **changed))


@pytest.mark.parametrize("changed", [{"jobs": 3}, {"threads": 1}, {"page_timeout": 5.0}])
def test_what_changes_only_the_time_does_not(model, changed):
    assert fingerprint(Options(model=model)) == fingerprint(Options(model=model, **changed))


def test_the_weights_count(model):
    before = fingerprint(Options(model=model))
    (model / "model.safetensors").write_text("others")
    assert fingerprint(Options(model=model)) != before
