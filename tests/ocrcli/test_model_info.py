"""What a model says of its own reading."""

import json
import shutil

import pytest

from ocrcli.document import BlockType
from ocrcli.errors import ModelError
from ocrcli.model_info import READS_FILE, describe_model


@pytest.fixture
def model(repository, tmp_path):
    """A copy of the small model's settings beside a weights file that holds nothing."""
    from safetensors.numpy import save_file

    for name in ("config.json", "tokenizer.json", READS_FILE):
        shutil.copy(repository / "models" / "small" / name, tmp_path / name)
    save_file({}, tmp_path / "model.safetensors")
    return tmp_path


def lines(path):
    return dict(line.split(": ", 1) for line in describe_model(path).splitlines())


def test_what_it_reads_is_listed(model):
    shown = lines(model)
    assert shown["reads.scripts"] == "Latin"
    assert "German, French" in shown["reads.languages"]
    assert shown["reads.characters"] == "290"


def test_a_model_may_say_nothing(model):
    (model / READS_FILE).unlink()
    assert not any(name.startswith("reads.") for name in lines(model))


@pytest.mark.parametrize("content", ["{", "[]", "\xff", pytest.param("[" * 100_000, id="deep")])
def test_a_damaged_file_is_named(model, content):
    (model / READS_FILE).write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelError) as raised:
        describe_model(model)
    assert raised.value.source == str(model / READS_FILE)


def test_card_and_training_agree(repository):
    from ocrcli.models.small.training.charset import CHARS
    from ocrcli.models.small.training.corpus import LANGUAGES

    folder = repository / "models" / "small"
    reads = json.loads((folder / READS_FILE).read_text())
    card = (folder / "README.md").read_text()
    assert [name for name in reads["languages"] if name not in card] == []
    assert len(reads["languages"]) == len(LANGUAGES)
    assert reads["characters"] == len(CHARS)
    assert f"{reads['characters']} characters" in card
    rules = (folder / "training" / "README.md").read_text()
    assert [name for name in reads["blocks"] if f"`{name}`" not in rules] == []
    assert set(reads["blocks"]) <= set(BlockType)
