"""The shipped model writes the same bytes however the work is divided."""

import pymupdf
import pytest

pytestmark = pytest.mark.weights

WORDS = (
    *("paper", "light", "window", "garden", "letter"),
    *("music", "winter", "number", "silver", "market"),
)


@pytest.fixture
def results(run_process, tmp_path):
    """Transcribe a folder in several ways and return the outputs of each."""

    def run(folder, ways):
        outputs = []
        for number, options in enumerate(ways):
            target = tmp_path / str(number)
            arguments = ("-q", "--device", "cpu", "--max-tokens", "40", *options)
            done = run_process("transcribe", folder, "-o", target, *arguments, timeout=1800)
            assert done.code == 0, done.stderr
            outputs.append({path.name: path.read_bytes() for path in target.glob("*.txt")})
        return outputs

    return run


@pytest.fixture
def alone(run_process):
    """Transcribe one page of a document and return its text."""

    def run(path, page_number):
        options = ("--pages", str(page_number), "--threads", "1", "--max-tokens", "40")
        done = run_process("transcribe", path, "-q", "--device", "cpu", *options)
        assert done.code == 0, done.stderr
        return done.stdout.encode().strip()

    return run


def write_slips(path, lines):
    """Write a PDF of small pages, a line each, that are quickly read."""
    pdf = pymupdf.open()
    for line in lines:
        pdf.new_page(width=240, height=80).insert_text((20, 45), line, fontsize=16)
    pdf.save(path)


def pages_of(content):
    return [page.strip() for page in content.split(b"\f")]


@pytest.mark.slow
def test_jobs_threads_and_neighbours_change_nothing(results, alone, fakes, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = ["The first of four pages", "Invoice 4711", None, "Yours sincerely"]
    fakes.write_pdf(folder / "a.pdf", lines)
    fakes.write_pdf(folder / "b.pdf", ["Another document"])
    ways = [("--threads", "1"), ("--threads", "2"), ("--threads", "1", "--jobs", "4")]
    one, *others = results(folder, ways)
    assert set(one) == {"a.txt", "b.txt"}
    assert all(other == one for other in others)
    assert alone(folder / "a.pdf", 2) == pages_of(one["a.txt"])[1]


@pytest.mark.long
def test_fifty_pages_are_the_same_however_they_are_divided(results, alone, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for document in range(10):
        lines = [f"{WORDS[document]} {WORDS[page]} {document * 5 + page}" for page in range(5)]
        write_slips(folder / f"{document}.pdf", lines)
    ways = [
        ("--threads", "1"),
        ("--threads", "2"),
        ("--threads", "1", "--jobs", "4"),
        ("--threads", "1", "--pages-in-flight", "1"),
    ]
    one, *others = results(folder, ways)
    assert sum(len(pages_of(content)) for content in one.values()) == 50
    for way, other in zip(ways[1:], others, strict=True):
        different = [name for name in one if one[name] != other[name]]
        assert not different, f"{' '.join(way)}: {different}"
    for document in range(10):
        for page in range(1, 6):
            text = pages_of(one[f"{document}.txt"])[page - 1]
            assert text
            assert alone(folder / f"{document}.pdf", page) == text
