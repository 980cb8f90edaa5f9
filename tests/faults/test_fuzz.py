"""Hundreds of damaged files: no traceback, no hang, as many records as pages."""

import random
import resource

import pytest
from PIL import Image

from ocrcli.errors import OcrError
from ocrcli.pages import open_pages

CASES_PER_KIND = 60
KINDS = ("pdf", "PNG", "JPEG", "TIFF", "GIF", "WEBP")
MEMORY_BYTES = 2_000_000_000


def damaged(content, seed):
    """Return the content cut short or with some bits turned, by the number of the case."""
    chance = random.Random(seed)
    changed = bytearray(content)
    if seed % 3 == 0:
        return bytes(changed[: chance.randrange(1, len(changed))])
    for _ in range(chance.choice((1, 4, 16, 64))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.fixture(scope="module")
def whole(fakes, tmp_path_factory):
    """A sound file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    picture = fakes.text_picture(size=(640, 480))
    files = {format_: fakes.encoded(picture, format_) for format_ in KINDS[1:]}
    path = fakes.write_pdf(folder / "a.pdf", ["one", "two"])
    return {**files, "pdf": path.read_bytes()}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_end_in_records_or_in_one_error(whole, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2_000_000)
    path = tmp_path / "case"
    for seed in range(CASES_PER_KIND):
        path.write_bytes(damaged(whole[kind], seed))
        try:
            with open_pages(path) as pages:
                numbers = [page.page_number for page in pages]
        except OcrError as error:
            assert str(error).count("\n") == 0, seed
            assert error.exit_code in (3, 4, 6), seed
        else:
            assert numbers == list(pages.page_numbers), seed
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < MEMORY_BYTES


def test_there_are_at_least_300_cases():
    assert CASES_PER_KIND * len(KINDS) >= 300
