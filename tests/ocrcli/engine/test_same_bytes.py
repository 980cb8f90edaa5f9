"""The shipped model writes the same bytes however the work is divided."""

import pytest


@pytest.fixture(scope="module")
def folder(fakes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    lines = ["The first of four pages", "Invoice 4711", None, "Yours sincerely"]
    fakes.write_pdf(folder / "a.pdf", lines)
    fakes.write_pdf(folder / "b.pdf", ["Another document"])
    return folder


@pytest.mark.slow
@pytest.mark.weights
def test_jobs_threads_and_neighbours_change_nothing(run_process, folder, tmp_path):
    common = ("-q", "--device", "cpu", "--max-tokens", "40")
    texts = []
    for name, options in (
        ("one", ("--threads", "1")),
        ("threads", ("--threads", "2")),
        ("jobs", ("--threads", "1", "--jobs", "4")),
    ):
        done = run_process("transcribe", folder, "-o", tmp_path / name, *common, *options)
        assert done.code == 0, done.stderr
        texts.append({path.name: path.read_bytes() for path in (tmp_path / name).glob("*.txt")})
    assert texts[0] == texts[1] == texts[2]
    alone = run_process("transcribe", folder / "a.pdf", "--pages", "2", *common, "--threads", "1")
    assert alone.stdout.encode().strip() == texts[0]["a.txt"].split(b"\f")[1].strip()
