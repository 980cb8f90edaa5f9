"""The model is loaded late, once, and its failures have codes."""

import pytest
import torch

from ocrcli.engine import GenerationLimits, NoRepeatNgram
from ocrcli.engine_settings import limits_with
from ocrcli.errors import DeviceError, ModelError
from ocrcli.models.unlimited_ocr.config import ModelConfig
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
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="cuda is not available"):
        next(ModelRecogniser(Options(device=Device.CUDA)).transcribe([page]))


class TestOutOfMemory:
    """No GPU is needed for its error: the engine is made to raise it."""

    @pytest.fixture
    def full(self, fakes, monkeypatch):
        def make(error):
            class FullEngine:
                def __init__(self, *arguments):
                    self.limits = arguments[-1] if arguments else GenerationLimits()

                def transcribe(self, pages):
                    yield fakes.result(next(iter(pages)).page_number)
                    raise error

            monkeypatch.setattr("ocrcli.engine.Engine", FullEngine)
            recogniser = ModelRecogniser(Options(device=Device.CPU))
            monkeypatch.setattr(recogniser, "_load", FullEngine)
            recogniser._model = recogniser._tokenizer = object()
            return recogniser

        return make

    @pytest.mark.parametrize(
        "error",
        [
            torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
            MemoryError(),
        ],
    )
    def test_while_reading_is_a_device_error_with_advice(self, full, error, page):
        results = full(error).transcribe([page] * 9)
        next(results)
        # A GPU is first given less to do; here that does not help.
        with pytest.raises(DeviceError, match="no memory left") as caught:
            list(results)
        assert caught.value.exit_code == 8
        assert "--pages-in-flight 1" in str(caught.value)

    def test_other_errors_are_left_as_they_are(self, full, page):
        with pytest.raises(RuntimeError, match="shape"):
            list(full(RuntimeError("shape mismatch")).transcribe([page]))

    def test_second_reading_is_left_out(self, full, page, fakes, monkeypatch):
        recogniser = full(MemoryError())
        recogniser._engine = recogniser._load()
        monkeypatch.setattr(
            type(recogniser._engine), "transcribe", lambda *_: (_ for _ in ()).throw(MemoryError())
        )
        assert recogniser.again(page, fakes.result(1, finish="loop")) is None


@pytest.mark.weights
def test_shipped_model_reads_a_page_and_says_who_it_is(page):
    recogniser = ModelRecogniser(Options(device=Device.CPU, max_tokens=40))
    (result,) = recogniser.transcribe([page])
    assert result.page_number == 1
    assert recogniser.facts.id == "small"
    assert len(recogniser.facts.sha256) == 64
    assert recogniser.load_seconds > 0


@pytest.mark.parametrize(
    ("text", "ban"), [("off", None), ("20:400", NoRepeatNgram(20, 400)), (None, "published")]
)
def test_ban_on_repetition_replaces_the_published_ones(text, ban):
    published = GenerationLimits.for_model(ModelConfig.from_dict({}), pages_per_prompt=4)
    limits = limits_with(published, Options(no_repeat_ngram=text))
    for pages in (1, 4):
        wanted = published.ngram_for(pages) if ban == "published" else ban
        assert limits.ngram_for(pages) == wanted


@pytest.mark.weights
@pytest.mark.parametrize(("rotate", "rotation"), [(True, 90), (False, 0)])
def test_shipped_model_turns_a_page_unless_told_not_to(tmp_path, rotate, rotation):
    import pymupdf

    from ocrcli.pages import open_pages

    with pymupdf.open() as upright, pymupdf.open() as turned:
        page = upright.new_page(width=300, height=200)
        for line, text in enumerate(["The letter of the fourth of May", "was read by nobody."]):
            page.insert_text((20, 50 + 30 * line), text, fontsize=15)
        sheet = turned.new_page(width=200, height=300)
        sheet.show_pdf_page(sheet.rect, upright, 0, rotate=90)
        turned.save(tmp_path / "turned.pdf")
    with open_pages(tmp_path / "turned.pdf") as pages:
        (picture,) = pages
    recogniser = ModelRecogniser(Options(device=Device.CPU, max_tokens=40, rotate=rotate))
    (result,) = recogniser.transcribe([picture])
    assert result.rotation == rotation
    assert ("letter of the fourth" in result.markup) == rotate
