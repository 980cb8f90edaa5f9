"""Very large pages and pictures end in bounded time and memory, as text or as a code."""

import os
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import pymupdf
import pytest

LIMIT_SECONDS = 30
LIMIT_BYTES = 1_000_000_000


@pytest.fixture
def bounded(run_script):
    """Run the command and check time and memory."""

    def run(*arguments):
        started = time.monotonic()
        done = run_script("transcribe", *arguments, "-f", "jsonl")
        assert time.monotonic() - started < LIMIT_SECONDS
        # Of all children so far: an upper bound for this one.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        assert peak < LIMIT_BYTES
        assert "Traceback" not in done.stderr
        return done

    return run


def test_page_of_200_000_points_is_scaled_with_a_warning(bounded, tmp_path):
    pdf = pymupdf.open()
    pdf.new_page(width=200_000, height=200_000).draw_rect((0, 0, 90_000, 90_000), fill=0)
    pdf.save(tmp_path / "huge.pdf")
    done = bounded(tmp_path / "huge.pdf")
    assert done.code == 0
    assert '"code": "downscaled"' in done.stdout
    # Nothing could be made out at half a dot per inch, so nothing may be invented.
    assert '"status": "suspect"' in done.stdout
    assert '"text": ""' in done.stdout
    assert "the page is read at 0.461 dpi" in done.stderr


def test_huge_picture_in_a_small_pdf(bounded, test_data):
    done = bounded(test_data / "hugemono.pdf")
    assert done.code in (0, 10)
    assert done.code == 10 or "downscaled" in done.stdout


def test_decompression_bomb_is_a_page_error_that_names_the_flag(bounded, tmp_path):
    head = b"GIF89a" + struct.pack("<HHBBB", 60_000, 60_000, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"," + struct.pack("<HHHHB", 0, 0, 60_000, 60_000, 0) + b"\x02\x02\x44\x01\x00;"
    (tmp_path / "bomb.gif").write_bytes(head + frame)
    done = bounded(tmp_path / "bomb.gif")
    assert done.code == 10
    assert "--max-pixels" in done.stderr


def test_limit_of_pixels_can_be_set(run_script, tmp_path, fakes):
    fakes.text_picture().save(tmp_path / "a.png")
    done = run_script("transcribe", tmp_path / "a.png", "--max-pixels", "1000")
    assert done.code == 10
    assert "more than 1,000 pixels" in done.stderr


def peak_bytes(path):
    """Return the largest amount of memory that transcribing a file takes."""
    program = Path(__file__).parent.parent / "scripted_process.py"
    process = subprocess.Popen(
        [sys.executable, "-P", str(program), "transcribe", "-q", str(path)],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


def test_memory_does_not_grow_with_the_number_of_pages(fakes, tmp_path):
    short = fakes.write_pdf(tmp_path / "short.pdf", ["x"] * 5)
    long = fakes.write_pdf(tmp_path / "long.pdf", ["x"] * 500)
    assert peak_bytes(long) <= 1.2 * peak_bytes(short)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_blank_pages(fakes, tmp_path):
    short = fakes.write_pdf(tmp_path / "short.pdf", [None] * 5)
    long = fakes.write_pdf(tmp_path / "long.pdf", ["x"] + [None] * 2000 + ["x"])
    assert peak_bytes(long) <= 1.2 * peak_bytes(short)


def test_very_long_page(bounded, tmp_path):
    pdf = pymupdf.open()
    pdf.new_page(width=200, height=60_000).draw_rect((0, 0, 200, 9000), fill=0)
    pdf.save(tmp_path / "long.pdf")
    done = bounded(tmp_path / "long.pdf")
    assert done.code == 0
    assert "too large to be read as one" in done.stderr


def test_long_picture_is_scaled_with_a_warning(bounded, fakes, tmp_path):
    fakes.text_picture(size=(1000, 15_444)).save(tmp_path / "long.png")
    done = bounded(tmp_path / "long.png")
    assert done.code == 0
    assert '"code": "downscaled"' in done.stdout


class TestWithAModel:
    """The same with the real engine and a tiny model."""

    @pytest.fixture
    def peak(self, tiny_model):
        """Run the command and return its exit code, seconds, and peak memory in bytes."""

        def run(path):
            started = time.monotonic()
            options = (
                "--model",
                tiny_model,
                "--device",
                "cpu",
                "--max-tokens",
                "9",
                "--attempts",
                "1",
            )
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "ocrcli", "transcribe", "-q", path, *options],
                stdout=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, time.monotonic() - started, usage.ru_maxrss * 1024

        return run

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_number_of_pages(self, peak, fakes, tmp_path):
        short = fakes.write_pdf(tmp_path / "short.pdf", ["Text"] * 5)
        long = fakes.write_pdf(tmp_path / "long.pdf", ["Text"] * 100)
        (code, _, few), (also, _, many) = peak(short), peak(long)
        assert (code, also) == (0, 0)
        assert many <= 1.2 * few

    @pytest.mark.slow
    def test_huge_picture(self, peak, test_data):
        code, seconds, memory = peak(test_data / "hugemono.pdf")
        assert code == 0
        assert seconds < LIMIT_SECONDS
        assert memory < LIMIT_BYTES
