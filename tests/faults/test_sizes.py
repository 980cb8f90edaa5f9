"""Very large pages and pictures end in bounded time and memory, as text or as a code."""

import json
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pymupdf
import pytest

LIMIT_SECONDS = 30
LIMIT_BYTES = 1_000_000_000
SCRIPTED = (str(Path(__file__).parent.parent / "scripted_process.py"),)
REAL = ("-m", "ocrcli")


# A process is said to have held what its parent held when it was forked, so the parent is small.
LAUNCHER = """
import os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
with open(sys.argv[1], "w") as report:
    report.write(f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss * 1024}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Measured:
    """What a run came to, and what it took; seconds are those of the processor."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    peak_bytes: int


def measured(program, *arguments):
    """Run the command and measure its process, and no other."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        command = (sys.executable, "-P", *program, "transcribe", *map(str, arguments))
        done = subprocess.run(
            [sys.executable, "-S", "-c", LAUNCHER, report, *command],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, peak = report.read_text().split()
    return Measured(done.returncode, done.stdout, done.stderr, float(seconds), int(peak))


def bounded(*arguments, program=SCRIPTED):
    """Run the command and check time and memory."""
    done = measured(program, *arguments, "-f", "jsonl")
    assert done.seconds < LIMIT_SECONDS
    assert done.peak_bytes < LIMIT_BYTES
    assert "Traceback" not in done.stderr
    return done


def test_memory_of_one_process_is_what_is_measured(fakes, tmp_path):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["x"])
    assert 10_000_000 < measured(SCRIPTED, path).peak_bytes < 300_000_000


def test_page_of_200_000_points_is_scaled_with_a_warning(tmp_path):
    pdf = pymupdf.open()
    pdf.new_page(width=200_000, height=200_000).draw_rect((0, 0, 200_000, 90_000), fill=0)
    pdf.save(tmp_path / "huge.pdf")
    done = bounded(tmp_path / "huge.pdf")
    assert done.code == 0
    assert '"code": "downscaled"' in done.stdout
    # Nothing could be made out at half a dot per inch, so nothing may be invented.
    assert '"status": "suspect"' in done.stdout
    assert '"text": ""' in done.stdout
    assert "the page is read at 0.461 dpi" in done.stderr


def test_huge_picture_in_a_small_pdf(test_data):
    done = bounded(test_data / "hugemono.pdf")
    assert done.code in (0, 10)
    assert done.code == 10 or "downscaled" in done.stdout


def test_decompression_bomb_is_a_page_error_that_names_the_flag(tmp_path):
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


def peak_bytes(path, *arguments, program=SCRIPTED):
    """Return the largest amount of memory that transcribing a file takes."""
    done = measured(program, "-q", path, *arguments)
    assert done.code == 0, done.stderr
    return done.peak_bytes


def test_memory_does_not_grow_with_the_number_of_pages(fakes, tmp_path):
    short = fakes.write_pdf(tmp_path / "short.pdf", ["x"] * 5)
    long = fakes.write_pdf(tmp_path / "long.pdf", ["x"] * 500)
    # MuPDF keeps about 50 kB of every page; one page as it is drawn takes 2 MB.
    assert peak_bytes(long) - peak_bytes(short) <= 495 * 100_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_blank_pages(fakes, tmp_path):
    short = fakes.write_pdf(tmp_path / "short.pdf", [None] * 5)
    long = fakes.write_pdf(tmp_path / "long.pdf", ["x"] + [None] * 2000 + ["x"])
    assert peak_bytes(long) <= 1.2 * peak_bytes(short)


def page_record(done):
    return json.loads(done.stdout.splitlines()[0])


def test_very_long_page_is_read_in_tiles(tmp_path):
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=200, height=60_000)
        for index in range(2000):
            page.insert_text((20, 40 + 29 * index), f"Line {index}", fontsize=11)
        pdf.save(tmp_path / "long.pdf")
    done = bounded(tmp_path / "long.pdf")
    assert done.code == 0
    record = page_record(done)
    assert record["text"].count("1 o") > 90
    assert "tiled" in [warning["code"] for warning in record["warnings"]]
    assert "tiles at 150 dpi" in done.stderr
    places = [block["bbox"] for block in record["blocks"]]
    assert (places[0][1] < 100, places[-1][3] > 57_500) == (True, True)


def test_page_that_is_too_long_even_for_tiles(tmp_path):
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=200, height=200_000)
        page.draw_rect((0, 0, 200, 90_000), fill=0)
        pdf.save(tmp_path / "long.pdf")
    done = bounded(tmp_path / "long.pdf")
    assert done.code == 0
    assert "too large to be read as one" in done.stderr


def test_long_picture_is_read_in_tiles(fakes, tmp_path):
    fakes.text_picture(size=(1000, 15_444)).save(tmp_path / "long.png")
    done = bounded(tmp_path / "long.png")
    assert done.code == 0
    record = page_record(done)
    assert "tiled" in [warning["code"] for warning in record["warnings"]]
    assert (record["image"]["width"], record["image"]["height"]) == (1000, 15_444)


class TestWithAModel:
    """The same with the real engine and a tiny model."""

    @pytest.fixture
    def options(self, tiny_model):
        return ("--model", tiny_model, "--device", "cpu", "--max-tokens", "9")

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_number_of_pages(self, options, fakes, tmp_path):
        short = fakes.write_pdf(tmp_path / "short.pdf", ["Text"] * 5)
        long = fakes.write_pdf(tmp_path / "long.pdf", ["Text"] * 60)
        few = peak_bytes(short, *options, program=REAL)
        assert peak_bytes(long, *options, program=REAL) <= 1.2 * few

    @pytest.mark.slow
    def test_huge_picture(self, options, test_data):
        assert bounded(test_data / "hugemono.pdf", *options, program=REAL).code == 0
