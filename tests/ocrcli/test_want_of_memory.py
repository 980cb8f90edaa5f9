"""A GPU that is full: fewer pages at once, then smaller pictures, then the CPU, each said once."""

import time

import pymupdf
import pytest
import torch

from ocrcli.document import ModelFacts
from ocrcli.engine import GenerationLimits
from ocrcli.errors import DeviceError
from ocrcli.options import Device, Options
from ocrcli.page_reading import Reading, read_pages
from ocrcli.pages import open_pages
from ocrcli.recogniser import ModelRecogniser
from ocrcli.want_of_memory import GpuFullError

FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


@pytest.fixture
def machine(fakes, monkeypatch):
    """A GPU with room for so many pages at once and so many pixels on a page, and what it did."""

    class Machine:
        def __init__(self):
            self.room, self.pixels, self.has_cuda = 1000, 10**9, True
            self.loaded, self.read, self.cpu_seconds = [], [], 0.0

        def recogniser(self, device):
            recogniser = ModelRecogniser(Options(device=device))

            def load_on(wanted):
                place = "cpu" if wanted is Device.CPU else "cuda"
                self.loaded.append(place)
                if place == "cuda" and not self.has_cuda:
                    raise GpuFullError("the model does not fit into memory")
                time.sleep(self.cpu_seconds if place == "cpu" else 0)
                recogniser._model, recogniser._tokenizer = object(), object()
                recogniser.facts = ModelFacts("m", "0" * 64, "float32", place)
                return Engine(None, None, GenerationLimits())

            monkeypatch.setattr(recogniser, "_load_on", load_on)
            return recogniser

    machine = Machine()

    class Engine:
        """Keeps as many pages as it may, and is full when the machine says so."""

        def __init__(self, model, tokenizer, limits):
            self.limits, self.place = limits, machine.loaded[-1]

        def transcribe(self, pages):
            held = []
            for page in pages:
                held.append(page)
                if self.place == "cuda" and (
                    len(held) > machine.room or page.pixels.size > machine.pixels
                ):
                    raise FULL
                if len(held) == self.limits.pages_in_flight:
                    yield self.answer(held.pop(0))
            while held:
                yield self.answer(held.pop(0))

        def answer(self, page):
            machine.read.append((page.page_number, self.place, page.pixels.size))
            if page.deadline is not None and time.monotonic() > page.deadline:
                return fakes.result(page.page_number, finish="timeout", error="late")
            return fakes.result(page.page_number, fakes.block(f"Page {page.page_number}"))

    monkeypatch.setattr("ocrcli.engine.Engine", Engine)
    return machine


@pytest.fixture
def path(tmp_path):
    with pymupdf.open() as pdf:
        for number in range(1, 8):
            page = pdf.new_page()
            page.insert_text((60, 100), f"Page {number}", fontsize=20)
            page.insert_text((400, 760), "Foot of the page", fontsize=20)
        pdf.save(tmp_path / "a.pdf")
    return tmp_path / "a.pdf"


def transcribed(path, recogniser):
    with open_pages(path) as pages:
        return list(read_pages(pages, recogniser))


def codes(pages):
    return [[notice.code for notice in page.warnings] for page in pages]


TEXTS = [f"Page {number}" for number in range(1, 8)]


def test_enough_memory_changes_nothing(machine, path):
    pages = transcribed(path, machine.recogniser(Device.AUTO))
    assert [page.text for page in pages] == TEXTS
    assert codes(pages) == [[]] * 7
    assert machine.loaded == ["cuda"]


@pytest.mark.parametrize("device", [Device.AUTO, Device.CUDA])
def test_fewer_pages_are_read_at_once(machine, path, device):
    machine.room = 2
    pages = transcribed(path, machine.recogniser(device))
    assert [page.text for page in pages] == TEXTS
    assert codes(pages) == [["memory_batch"], *[[]] * 6]
    assert {place for _, place, _ in machine.read} == {"cuda"}
    assert len({size for _, _, size in machine.read}) == 1


@pytest.mark.parametrize("device", [Device.AUTO, Device.CUDA])
def test_then_pictures_are_smaller(machine, path, device):
    with open_pages(path) as pages:
        whole = next(iter(pages)).pixels.size
    machine.pixels = int(0.8 * whole)
    pages = transcribed(path, machine.recogniser(device))
    assert [page.text for page in pages] == TEXTS
    assert codes(pages) == [["memory_batch", "memory_image"], *[["memory_image"]] * 6]
    assert max(size for _, _, size in machine.read) < 0.6 * whole


def test_then_the_cpu_reads_pages_in_their_full_size(machine, path):
    machine.pixels = 10
    recogniser = machine.recogniser(Device.AUTO)
    pages = transcribed(path, recogniser)
    assert [page.text for page in pages] == TEXTS
    assert codes(pages) == [["memory_batch", "memory_cpu"], *[[]] * 6]
    assert (machine.loaded, recogniser.facts.device) == (["cuda", "cpu"], "cpu")
    assert {place for _, place, _ in machine.read} == {"cpu"}


def test_with_cuda_asked_for_the_end_is_exit_8(machine, path):
    machine.pixels = 10
    with pytest.raises(DeviceError, match="the GPU has no memory left") as caught:
        transcribed(path, machine.recogniser(Device.CUDA))
    assert caught.value.exit_code == 8
    assert machine.loaded == ["cuda"]


def test_pages_already_delivered_are_not_read_again(machine, path):
    results = machine.recogniser(Device.AUTO)
    with open_pages(path) as pages:
        records = read_pages(pages, results)
        assert next(records).text == "Page 1"
        machine.pixels = 10
        assert [page.text for page in records] == TEXTS[1:]
    assert [number for number, _, _ in machine.read] == [1, 2, 3, 4, 5, 6, 7]


def test_next_document_does_not_begin_anew(machine, path):
    machine.pixels = 10
    recogniser = machine.recogniser(Device.AUTO)
    transcribed(path, recogniser)
    assert codes(transcribed(path, recogniser)) == [[]] * 7
    assert machine.loaded == ["cuda", "cpu"]


def test_model_that_does_not_fit_is_run_on_the_cpu(machine, path):
    machine.has_cuda = False
    pages = transcribed(path, machine.recogniser(Device.AUTO))
    assert [page.text for page in pages] == TEXTS
    assert codes(pages) == [["memory_cpu"], *[[]] * 6]


def test_model_that_does_not_fit_where_cuda_was_asked_for_is_exit_8(machine, path):
    machine.has_cuda = False
    with pytest.raises(DeviceError, match="does not fit"):
        transcribed(path, machine.recogniser(Device.CUDA))


def test_each_is_said_once_on_stderr(machine, path, run_scripted):
    machine.pixels = 10
    done = run_scripted(machine.recogniser(Device.AUTO), ["transcribe", path])
    assert done.code == 0
    assert done.stderr.count("read one at a time") == 1
    assert done.stderr.count("read on the CPU") == 1


@pytest.mark.parametrize("tenths", [0, 3])
def test_boxes_lie_on_the_whole_page_however_small_it_was_drawn(machine, tmp_path, tenths):
    with pymupdf.open() as pdf:
        for left in (80, 120, 160):
            page = pdf.new_page()
            page.insert_text((left, 200), "Head", fontsize=20)
            page.insert_text((left + 250, 650), "Foot", fontsize=20)
        pdf.save(tmp_path / "a.pdf")
    with open_pages(tmp_path / "a.pdf") as pages:
        drawn = list(pages)
        crops = [page.redraw(tenths).crop for page in drawn]
    assert len(set(crops)) == 3
    machine.room = 2
    if tenths:
        machine.pixels = int(0.8 * min(page.pixels.size for page in drawn))
    pages = transcribed(tmp_path / "a.pdf", machine.recogniser(Device.CUDA))
    assert [page.blocks[0].box for page in pages] == [
        tuple(round(999 * share) for share in crop) for crop in crops
    ]


def test_bands_of_a_long_page_shrink_too(machine, tmp_path):
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=200, height=2000)
        for index in range(80):
            page.insert_text((20, 30 + 24 * index), f"Line {index}", fontsize=12)
        pdf.save(tmp_path / "long.pdf")
    machine.pixels = 400_000
    (page,) = transcribed(tmp_path / "long.pdf", machine.recogniser(Device.CUDA))
    assert len(machine.read) == 4
    assert all(size < 400_000 for _, _, size in machine.read)
    assert "memory_image" in codes([page])[0]


@pytest.mark.parametrize("limit", ["page_timeout_s", "file_timeout_s"])
def test_loading_the_model_once_more_counts_against_no_page_and_no_file(machine, path, limit):
    machine.room, machine.cpu_seconds = 0, 2.5
    with open_pages(path) as pages:
        found = list(read_pages(pages, machine.recogniser(Device.AUTO), Reading(**{limit: 2.0})))
    assert [page.text for page in found] == TEXTS
    assert machine.loaded == ["cuda", "cpu"]
