"""Several inputs at once: the same bytes, the same codes, the same account."""

import pytest


@pytest.fixture
def folder(fakes, tmp_path):
    (tmp_path / "in").mkdir()
    for name in "abcd":
        fakes.write_pdf(tmp_path / "in" / f"{name}.pdf", [name, None, "x" * 9])
    (tmp_path / "in" / "bad.pdf").write_bytes(b"")
    return tmp_path / "in"


def contents(path):
    return {file.name: file.read_bytes() for file in path.glob("*.txt")}


def test_jobs_change_nothing_but_the_time(run_script, folder, tmp_path):
    one = run_script("transcribe", folder, "-o", tmp_path / "one")
    many = run_script("transcribe", folder, "-o", tmp_path / "many", "--jobs", "3")
    assert one.code == many.code == 1
    assert contents(tmp_path / "one") == contents(tmp_path / "many")
    assert sorted(contents(tmp_path / "many")) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    tail = "5 files: 4 ok, 0 degraded, 1 failed; 12 pages, 4 blank"
    assert tail in one.stderr
    assert tail in many.stderr
    assert "bad.pdf: the file is empty" in many.stderr
    again = run_script("transcribe", folder, "-o", tmp_path / "many", "--jobs", "3")
    assert "4 ok (4 before), 0 degraded, 1 failed" in again.stderr


def test_worker_that_is_killed_is_8(run_script, folder, tmp_path):
    (folder / "bad.pdf").unlink()
    done = run_script(
        "transcribe", folder, "-o", tmp_path / "out", "--jobs", "2", script={"kill": 1}
    )
    assert done.code == 8
    assert "a worker was killed" in done.stderr
    assert "Traceback" not in done.stderr
