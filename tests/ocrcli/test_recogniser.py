"""The model is loaded late, once, and its failures have codes."""

import pytest

from ocrcli.errors import DeviceError, ModelError
from ocrcli.options import Device, Options
from ocrcli.recogniser import ModelRecogniser


@pytest.fixture
def page(fakes, tmp_path):
    from ocrcli.pages import open_pages

    with open_pages(fakes.write_pdf(tmp_path / "a.pdf", ["Text"])) as pages:
        return next(iter(pages))


def test_no_pages_need_no_model(tmp_path):
    recogniser = ModelRecogniser(Options(model=tmp_path))
    assert list(recogniser.transcribe([])) == []
    assert recogniser.facts is None


def test_folder_without_a_model_is_a_model_error(tmp_path, page):
    with pytest.raises(ModelError, match="no such file"):
        next(ModelRecogniser(Options(model=tmp_path)).transcribe([page]))


def test_unreadable_settings_are_a_model_error(tmp_path, page):
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{")
    with pytest.raises(ModelError, match="config.json"):
        next(ModelRecogniser(Options(model=tmp_path)).transcribe([page]))


def test_missing_gpu_is_a_device_error(page, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="cuda is not available"):
        next(ModelRecogniser(Options(device=Device.CUDA)).transcribe([page]))


@pytest.mark.weights
def test_shipped_model_reads_a_page_and_says_who_it_is(page):
    recogniser = ModelRecogniser(Options(device=Device.CPU, max_tokens=40))
    (result,) = recogniser.transcribe([page])
    assert result.page_number == 1
    assert recogniser.facts.id == "small"
    assert len(recogniser.facts.sha256) == 64
    assert recogniser.load_seconds > 0
