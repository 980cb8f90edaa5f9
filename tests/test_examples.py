"""The examples run, and the samples hold what their texts say."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pymupdf
import pytest
from rapidfuzz.distance import Levenshtein

from ocrcli import transcribe

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*"))
SAMPLES = sorted(EXAMPLES.glob("*.pdf"))
SCRIPTS = [*EXAMPLES.glob("*.sh"), EXAMPLES.parent / "tests" / "run.sh"]


def run(path, cwd):
    interpreter = [sys.executable, "-P"] if path.suffix == ".py" else ["sh"]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*interpreter, str(path)],
        cwd=cwd,
        env={**os.environ, "PATH": programs, "OCRCLI_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_examples_are_numbered_in_reading_order():
    assert [path.name[:2] for path in NUMBERED] == [f"{n:02}" for n in range(1, len(NUMBERED) + 1)]


@pytest.mark.weights
@pytest.mark.slow
@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.name)
def test_example_runs(path, tmp_path):
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout or list(tmp_path.iterdir())


@pytest.mark.weights
@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples_are_read_almost_without_a_mistake(path):
    read = " ".join(word for page in transcribe(path, device="cpu") for word in page.text.split())
    printed = " ".join(path.with_suffix(".txt").read_text(encoding="utf-8").split())
    assert Levenshtein.distance(read, printed) <= 0.05 * len(printed)


def test_samples_share_no_sentence_with_the_training_text():
    data = os.environ.get("OCRCLI_TEST_DATA", "")
    archive = Path(data).parent / "corpus" / "standard-ebooks.tar.xz"
    if not data or not archive.is_file():
        pytest.skip("the training text is not at hand")
    samples = set().union(
        *(word_runs(p.read_text(encoding="utf-8")) for p in EXAMPLES.glob("*.txt"))
    )
    assert samples
    with tarfile.open(archive) as books:
        for book in books.getmembers():
            if (file := books.extractfile(book)) is not None:
                assert not samples.intersection(word_runs(file.read().decode("utf-8"))), book.name


def word_runs(text, length=8):
    words = text.split()
    return {hash(tuple(words[i : i + length])) for i in range(len(words) - length + 1)}


@pytest.mark.weights
@pytest.mark.slow
def test_quickstart_reads_the_letter():
    if not Path(sys.prefix, "installed").exists():
        pytest.skip("this environment was not made by examples/install.sh")
    done = subprocess.run(
        ["sh", str(EXAMPLES / "quickstart.sh")],
        env={**os.environ, "OCRCLI_VENV": sys.prefix, "OCRCLI_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\f") == 1
    assert done.stdout.endswith("\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_shell_scripts_are_well_formed(path):
    assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_sample_text_is_what_is_printed(path):
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").split("\f")
    with pymupdf.open(path) as pdf:
        printed = [page.get_text() for page in pdf]
    assert [page.split() for page in printed] == [page.split() for page in expected]


def test_samples_have_the_promised_pages():
    pages = {path.stem: pymupdf.open(path).page_count for path in SAMPLES}
    assert pages == {"heading_and_list": 1, "letter": 2, "report": 3}
