"""Colour modes, sizes, polarity and ink."""

import numpy as np
import pytest
from PIL import Image

from ocrcli.raster import (
    PageSize,
    Resolution,
    dark_on_light,
    reading_size,
    resample,
    to_grey,
    trusted_resolution,
)

SIZE = PageSize()


def as_array(image: Image.Image) -> np.ndarray:
    return np.asarray(to_grey(image))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "PA", "CMYK", "YCbCr", "HSV"])
def test_every_colour_mode_gives_the_same_grey(fakes, mode):
    picture = fakes.text_picture()
    converted = picture.convert("RGB").convert(mode)
    difference = as_array(converted).astype(int) - np.asarray(picture)
    assert np.abs(difference).max() <= 2


def test_lab_keeps_dark_and_light(fakes):
    grey = as_array(
        Image.merge("LAB", [fakes.text_picture(), *[Image.new("L", (960, 720), 128)] * 2])
    )
    assert grey.min() < 60
    assert grey.max() > 200


def test_transparent_paper_becomes_white(fakes):
    picture = fakes.text_picture("RGBA")
    picture.putalpha(Image.eval(fakes.text_picture(), lambda value: 255 - value))
    grey = as_array(picture)
    assert grey[0, 0] == 255
    assert grey.min() == 0


def test_white_text_on_nothing_becomes_dark_on_white(fakes):
    picture = Image.new("RGBA", (960, 720), (255, 255, 255, 0))
    picture.putalpha(Image.eval(fakes.text_picture(), lambda value: 255 - value))
    grey = as_array(picture)
    assert grey[0, 0] == 255
    assert grey.min() == 0


def test_palette_with_a_transparent_entry_is_laid_on_white():
    picture = Image.new("P", (4, 4), 0)
    picture.putpalette([0, 0, 0, 10, 10, 10])
    picture.putpixel((1, 1), 1)
    picture.info["transparency"] = 0
    grey = as_array(picture)
    assert grey[0, 0] == 255
    assert grey[1, 1] == 10


@pytest.mark.parametrize(
    ("dtype", "white"),
    [("uint16", 65535), ("uint16", 4095), ("int32", 255), ("int32", 65535), ("float32", 1.0)],
)
def test_deep_pictures_are_scaled_by_their_range(fakes, dtype, white):
    picture = np.asarray(fakes.text_picture())
    deep = (picture / 255.0 * white).astype(dtype)
    assert np.abs(as_array(Image.fromarray(deep)).astype(int) - picture).max() <= 1


def test_noise_of_a_deep_blank_page_is_not_stretched():
    noise = np.random.default_rng(0).integers(64000, 65535, (50, 50)).astype(np.uint16)
    assert as_array(Image.fromarray(noise)).min() > 240


def test_values_that_are_no_numbers_count_as_black():
    values = np.array([[np.nan, 1.0]], dtype=np.float32)
    assert as_array(Image.fromarray(values)).tolist() == [[0, 255]]


def test_default_resolutions_are_not_trusted():
    picture = Image.new("L", (10, 10))
    for value in (None, (72, 72), (96, 96), (0, 0), ("a", "b"), (1e6, 1e6), (200,)):
        picture.info = {} if value is None else {"dpi": value}
        assert trusted_resolution(picture) is None
    picture.info = {"dpi": (300, 200)}
    assert trusted_resolution(picture) == Resolution(300.0, 200.0)


@pytest.mark.parametrize(
    ("width", "height", "resolution", "expected"),
    [
        (2550, 3300, Resolution(300, 300), (989, 1280)),
        (640, 480, Resolution(200, 200), (800, 600)),
        (640, 480, None, (800, 600)),
        (960, 480, None, (960, 480)),
        (900, 450, Resolution(600, 600), (375, 188)),
        (600, 800, None, (960, 1280)),
        (300, 400, None, (750, 1000)),
        (4000, 1000, None, (1280, 320)),
        (20000, 5, None, (1280, 1)),
        (1728, 1100, Resolution(204, 98), (966, 1280)),
    ],
)
def test_pictures_are_read_at_a_page_like_size(width, height, resolution, expected):
    across, down, dpi = reading_size(width, height, resolution, SIZE)
    assert (across, down) == pytest.approx(expected, abs=2)
    assert max(across, down) <= SIZE.long_side
    assert dpi > 0


def test_resampling_keeps_the_size_it_was_asked_for(fakes):
    assert resample(fakes.text_picture(), 320, 240).shape == (240, 320)
    assert resample(fakes.text_picture(), 1280, 960).shape == (960, 1280)


def test_light_text_on_dark_is_turned_over(fakes):
    pixels = np.asarray(fakes.text_picture())
    turned, was_inverted = dark_on_light(255 - pixels)
    assert was_inverted
    assert np.array_equal(turned, pixels)


@pytest.mark.parametrize("level", [0, 60, 255])
def test_flat_pages_are_left_alone(level):
    pixels = np.full((40, 40), level, np.uint8)
    assert dark_on_light(pixels) == (pixels, False) or not dark_on_light(pixels)[1]
