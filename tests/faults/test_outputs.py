"""Outputs that cannot be written, readers that leave, runs that are stopped or killed."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ocrcli.errors import OutputError

PAGES = 40
ALL_PAGES = [str(number) for number in range(1, PAGES + 1)]


@pytest.fixture
def pdf(fakes, tmp_path):
    return fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])


@pytest.fixture
def long_pdf(fakes, tmp_path):
    return fakes.write_pdf(tmp_path / "long.pdf", [f"Line {number}" for number in ALL_PAGES])


def test_path_below_a_file_is_5(run_script, pdf, tmp_path, one_line):
    (tmp_path / "file").touch()
    done = run_script("transcribe", pdf, "-o", tmp_path / "file" / "a.txt")
    assert (done.code, done.stdout) == (5, "")
    one_line(done, "file/a.txt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_device_is_5(run_script, pdf):
    done = run_script("transcribe", pdf, "-o", "/dev/full")
    assert done.code == 5
    assert "/dev/full: cannot be written: No space left" in done.stderr


def test_file_size_limit_is_5_and_leaves_nothing(run_script, tmp_path, fakes, leftovers):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))

    path = fakes.write_pdf(tmp_path / "a.pdf", ["x"] * 3)
    done = run_script("transcribe", path, "-o", tmp_path / "a.txt", before=limit)
    assert done.code == 5
    assert "cannot be written: File too large" in done.stderr
    assert leftovers(tmp_path) == ["a.pdf"]


def test_doubtful_file_that_cannot_be_written_counts_once(
    run_scripted, tmp_path, fakes, monkeypatch
):
    def full(sink):
        raise OutputError("cannot be written")

    names = [fakes.write_pdf(tmp_path / name, ["x"] * 2) for name in ("a.pdf", "b.pdf")]
    looping = fakes.ScriptedRecogniser({1: fakes.result(1, fakes.block("x"), "loop")})
    monkeypatch.setattr("ocrcli.sinks.TextFile.seal", full)
    done = run_scripted(looping, ["transcribe", *names, "-o", f"{tmp_path}/out/"])
    assert done.code == 1
    assert "2 files: 0 ok, 0 degraded, 2 failed" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_5(run_script, pdf, tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    assert run_script("transcribe", pdf, "-o", f"{tmp_path}/out/").code == 5


def test_existing_output_is_5_and_stays(run_script, pdf, tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    assert run_script("transcribe", pdf, "-o", tmp_path / "a.txt").code == 5
    assert (tmp_path / "a.txt").read_text() == "mine"


def test_second_process_is_5(run_script, pdf, tmp_path):
    from ocrcli.manifest import Manifest

    with Manifest(tmp_path / "out"):
        done = run_script("transcribe", pdf, "-o", f"{tmp_path}/out/")
    assert done.code == 5
    assert "another ocrcli is writing to this folder" in done.stderr


def test_reader_that_leaves_hears_nothing(long_pdf, repository):
    command = f'"{sys.executable}" -P tests/scripted_process.py transcribe -q "$1" | head -c 4'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, "-", str(long_pdf)],
        cwd=repository,
        env={**os.environ, "SCRIPT": '{"wait": 0.02}'},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert len(done.stdout) == 4
    assert done.stderr == b""
    assert done.returncode == 141


def test_file_is_stdout_byte_for_byte(run_script, pdf, tmp_path):
    for format_ in ("txt", "md", "hocr", "alto"):
        target = tmp_path / f"out.{format_}"
        piped = run_script("transcribe", pdf, "-f", format_)
        assert run_script("transcribe", pdf, "-f", format_, "-o", target).code == 0
        assert target.read_bytes() == piped.stdout.encode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_run_keeps_whole_files_and_can_be_resumed(
    run_script, long_pdf, pdf, tmp_path, leftovers, number, code
):
    arguments = ("transcribe", pdf, long_pdf, "-o", tmp_path / "out", "--resume")
    done = run_script(*arguments, script={"signal": [10, number]})
    assert done.code == code
    assert leftovers(tmp_path / "out") == [".long.txt.journal", "a.txt"]
    log = tmp_path / "log"
    again = run_script(*arguments, script={"log": str(log)})
    assert again.code == 0
    assert log.read_text().split() == ALL_PAGES[7:]
    assert "(1 before)" in again.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_run_that_is_stopped_accounts_for_every_page_on_stdout(run_script, pdf, number, code):
    done = run_script("transcribe", pdf, "-f", "jsonl", script={"signal": [1, number]})
    assert done.code == code
    *pages, document = map(json.loads, done.stdout.splitlines())
    assert [page["status"] for page in pages] == ["ok", "skipped", "skipped"]
    assert (document["type"], document["status"], document["skipped"]) == ("document", "failed", 2)


@pytest.mark.parametrize("seed", range(5))
def test_killed_run_loses_at_most_one_page(run_script, long_pdf, tmp_path, leftovers, seed):
    point = random.Random(seed).randrange(1, PAGES)
    whole = run_script("transcribe", long_pdf, "-o", tmp_path / "whole.txt")
    assert whole.code == 0
    log, out = tmp_path / "log", tmp_path / "out"
    arguments = ("transcribe", long_pdf, "-o", f"{out}/", "--resume")
    killed = run_script(*arguments, script={"kill": point, "log": str(log)})
    assert killed.code == -signal.SIGKILL
    assert "long.txt" not in leftovers(out)
    assert run_script(*arguments, script={"log": str(log)}).code == 0
    assert (out / "long.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    read = log.read_text().split()
    assert set(read) == set(ALL_PAGES)
    assert len(read) <= PAGES + 1
    assert leftovers(out) == ["long.txt"]


def test_run_that_is_killed_when_the_output_has_its_name_can_be_resumed(
    run_script, pdf, tmp_path, leftovers
):
    arguments = ("transcribe", pdf, "-o", f"{tmp_path}/out/", "--resume")
    killed = run_script(*arguments, script={"kill_after_rename": True})
    assert killed.code == -signal.SIGKILL
    assert "a.txt" in leftovers(tmp_path / "out")
    log = tmp_path / "log"
    assert run_script(*arguments, script={"log": str(log)}).code == 0
    assert not log.exists()
    assert leftovers(tmp_path / "out") == ["a.txt"]


class TestTargets:
    def test_empty_name_is_2(self, run_script, pdf, one_line):
        done = run_script("transcribe", pdf, "-o", "")
        assert (done.code, done.stdout) == (2, "")
        one_line(done, "-o needs a name")

    def test_missing_folders_are_made(self, run_script, pdf, tmp_path, leftovers):
        assert run_script("transcribe", pdf, "-o", tmp_path / "x" / "y" / "a.txt").code == 0
        assert leftovers(tmp_path / "x") == ["y/a.txt"]

    @pytest.mark.parametrize("goal", ["nowhere", "link", "mine.txt"])
    def test_link_is_an_output_that_exists_and_is_never_followed(
        self, run_script, pdf, tmp_path, goal
    ):
        (tmp_path / "mine.txt").write_text("mine")
        (tmp_path / "link").symlink_to(goal)
        done = run_script("transcribe", pdf, "-o", tmp_path / "link")
        assert (done.code, done.stdout) == (5, "")
        assert "exists already; use --force" in done.stderr
        assert run_script("transcribe", pdf, "-o", tmp_path / "link", "--force").code == 0
        assert not (tmp_path / "link").is_symlink()
        assert (tmp_path / "mine.txt").read_text() == "mine"
        assert not (tmp_path / "nowhere").exists()

    def test_link_in_place_of_a_folder_of_pages_is_replaced(self, run_script, pdf, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "page-0001.txt").write_text("mine")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a").symlink_to(tmp_path / "mine")
        done = run_script("transcribe", pdf, "-o", tmp_path / "out", "--split-pages", "--force")
        assert done.code == 0, done.stderr
        assert len(list((tmp_path / "out" / "a").iterdir())) == 3
        assert (tmp_path / "mine" / "page-0001.txt").read_text() == "mine"

    def test_split_pages_as_pdf_are_refused_before_any_work(
        self, run_script, pdf, tmp_path, one_line
    ):
        done = run_script("transcribe", pdf, "-o", tmp_path / "out", "--split-pages", "-f", "pdf")
        assert (done.code, done.stdout) == (2, "")
        one_line(done, "--split-pages writes text formats")
        assert not (tmp_path / "out").exists()

    def test_links_in_a_circle_are_no_folder(self, run_script, pdf, tmp_path, one_line):
        (tmp_path / "loop").symlink_to("loop")
        for output in ("loop/", "loop/a.txt"):
            done = run_script("transcribe", "a.pdf", "-o", output, cwd=tmp_path)
            assert (done.code, done.stdout) == (5, "")
            one_line(done, "loop/")

    @pytest.mark.parametrize("output", ["{}", "{}/", "{}/a.txt", "x/{}"])
    def test_name_that_is_too_long_is_5(self, run_script, pdf, tmp_path, one_line, output):
        done = run_script("transcribe", "a.pdf", "-o", output.format("n" * 300), cwd=tmp_path)
        assert (done.code, done.stdout) == (5, "")
        one_line(done, "File name too long")

    def test_longest_name_fits_whatever_its_letters(self, run_script, fakes, tmp_path, leftovers):
        name = "é" * 125
        fakes.write_pdf(tmp_path / f"{name}.pdf", ["x"])
        done = run_script("transcribe", f"{name}.pdf", "-o", "out/", "--resume", cwd=tmp_path)
        assert done.code == 0, done.stderr
        assert leftovers(tmp_path / "out") == [f"{name}.txt"]


class TestReport:
    @pytest.fixture
    def report(self, run_script, pdf, tmp_path):
        def make(**options):
            arguments = ("transcribe", pdf, "-q", "--benchmark-output", tmp_path / "report.json")
            return run_script(*arguments, **options)

        return make

    def test_report_is_whole_or_as_it_was(self, report, tmp_path, leftovers):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        (tmp_path / "report.json").write_text("earlier")
        failed = report(before=limit)
        assert failed.code == 5
        assert "report.json: cannot be written: File too large" in failed.stderr
        assert (tmp_path / "report.json").read_text() == "earlier"
        assert leftovers(tmp_path) == ["a.pdf", "report.json"]
        assert report().code == 0
        assert json.loads((tmp_path / "report.json").read_text())["pages"] == 3
        assert leftovers(tmp_path) == ["a.pdf", "report.json"]

    def test_name_that_is_too_long_is_5(self, run_script, pdf, one_line):
        done = run_script("transcribe", pdf, "--benchmark-output", "n" * 300)
        assert (done.code, done.stdout) == (5, "")
        one_line(done, "File name too long")
