"""Doubtful pages, second readings, time limits and the first failure."""

import json

import pytest


@pytest.fixture
def pdf(fakes, tmp_path):
    return fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])


def records(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def statuses(done):
    return [record["status"] for record in records(done)]


@pytest.mark.parametrize(("kind", "status"), [("loop", "loop"), ("long", "truncated")])
def test_doubtful_page_is_0_with_a_warning_and_9_when_strict(run_script, pdf, kind, status):
    script = {kind: [2]}
    done = run_script("transcribe", pdf, "-f", "jsonl", script=script)
    assert done.code == 0
    assert "ocrcli: warning: " in done.stderr
    assert statuses(done) == ["ok", status, "ok", "degraded"]
    strict = run_script("transcribe", pdf, "-f", "jsonl", "--strict", script=script)
    assert strict.code == 9
    assert statuses(strict) == statuses(done)
    assert "1 of 3 pages are doubtful" in strict.stderr


def test_looping_page_is_read_alone_once_more(run_script, pdf):
    script = {"loop": [2], "retry": [2]}
    done = run_script("transcribe", pdf, "-f", "jsonl", "--strict", script=script)
    assert done.code == 0
    assert statuses(done) == ["ok", "ok", "ok", "ok"]
    second = records(done)[1]
    assert second["attempts"] == 2
    assert second["warnings"][-1]["code"] == "read_twice"


def test_second_reading_can_be_left_out(run_script, pdf):
    script = {"loop": [2], "retry": [2]}
    done = run_script("transcribe", pdf, "-f", "jsonl", "--attempts", "1", script=script)
    assert statuses(done)[1] == "loop"


def test_first_failed_page_ends_a_run_that_should_fail_fast(run_script, pdf):
    arguments = ("transcribe", pdf, pdf, "-f", "jsonl", "--fail-fast")
    done = run_script(*arguments, script={"error": [1]})
    assert done.code == 1
    assert statuses(done) == ["error", "skipped", "skipped", "failed"]
    assert "0 ok, 0 degraded, 1 failed, 1 skipped" in done.stderr


def test_file_whose_time_is_over_keeps_what_is_read(run_script, pdf, tmp_path):
    arguments = ("transcribe", pdf, "-f", "jsonl", "--file-timeout", "0.3")
    done = run_script(*arguments, script={"wait": 0.5})
    assert done.code == 10
    assert statuses(done) == ["ok", "skipped", "skipped", "failed"]
    assert "the time for the file was over" in done.stderr


def test_run_whose_time_is_over_is_124(run_script, pdf, tmp_path):
    arguments = ("transcribe", pdf, "-f", "jsonl", "--timeout", "2.5")
    done = run_script(*arguments, script={"wait": 30})
    assert done.code == 124
    assert statuses(done)[-2:] == ["skipped", "failed"]
    assert "stopped after 2.5 s; give --timeout more seconds" in done.stderr


def test_dry_run_lists_outputs_and_writes_nothing(run_script, pdf, tmp_path):
    (tmp_path / "bad.pdf").write_bytes(b"")
    done = run_script("transcribe", pdf, tmp_path / "bad.pdf", "-o", tmp_path / "out", "--dry-run")
    assert done.code == 1
    assert f"{pdf} -> {tmp_path / 'out' / 'a.txt'}: 3 pages, about" in done.stdout
    assert "bad.pdf: the file is empty" in done.stdout
    assert not (tmp_path / "out").exists()


class TestResume:
    def test_finished_file_is_not_read_again(self, run_script, pdf, tmp_path):
        log = {"log": str(tmp_path / "log")}
        for _ in range(2):
            done = run_script("transcribe", tmp_path, "-o", tmp_path / "out", script=log)
            assert done.code == 0
        assert (tmp_path / "log").read_text().split() == ["1", "2", "3"]
        assert "finished before (ok, a.txt)" in done.stderr

    def test_other_settings_or_content_are_read_again(self, run_script, pdf, tmp_path, fakes):
        log = {"log": str(tmp_path / "log")}
        arguments = ("transcribe", tmp_path, "-o", tmp_path / "out")
        run_script(*arguments)
        assert run_script(*arguments, "--dehyphenate", "safe", script=log).code == 0
        fakes.write_pdf(pdf, ["other"])
        assert run_script(*arguments, "--dehyphenate", "safe", script=log).code == 0
        assert (tmp_path / "log").read_text().split() == ["1", "2", "3", "1"]

    def test_output_that_was_changed_is_not_overwritten(self, run_script, pdf, tmp_path):
        arguments = ("transcribe", tmp_path, "-o", tmp_path / "out")
        run_script(*arguments)
        (tmp_path / "out" / "a.txt").write_text("corrected by hand")
        assert run_script(*arguments).code == 5
        assert run_script(*arguments, "--force").code == 0
        assert "corrected" not in (tmp_path / "out" / "a.txt").read_text()

    def test_only_pages_that_failed_are_tried_again(self, run_script, pdf, tmp_path):
        log = {"log": str(tmp_path / "log")}
        arguments = ("transcribe", pdf, "-o", f"{tmp_path}/out/", "--resume")
        assert run_script(*arguments, script={"error": [2]}).code == 10
        kept = run_script(*arguments, "--retry", "degraded", script=log)
        assert kept.code == 10
        assert "failed in an earlier run" in kept.stderr
        assert run_script(*arguments, script=log).code == 0
        assert (tmp_path / "log").read_text().split() == ["2"]

    def test_doubtful_results_are_kept_until_asked_for(self, run_script, pdf, tmp_path):
        log = {"log": str(tmp_path / "log")}
        arguments = ("transcribe", tmp_path, "-o", tmp_path / "out")
        run_script(*arguments, script={"loop": [2]})
        assert run_script(*arguments, "--retry", "failed", script=log).code == 0
        assert not (tmp_path / "log").exists()
        done = run_script(*arguments, "--retry", "degraded", script=log)
        assert "3 pages (3 ok)" in done.stderr
        assert len((tmp_path / "log").read_text().split()) == 3

    def test_torn_line_in_the_manifest_is_ignored(self, run_script, pdf, tmp_path):
        arguments = ("transcribe", tmp_path, "-o", tmp_path / "out")
        run_script(*arguments)
        with (tmp_path / "out" / "ocrcli-manifest.jsonl").open("a") as manifest:
            manifest.write('{"event": "do')
        for _ in range(2):
            done = run_script(*arguments)
            assert done.code == 0
            assert "finished before" in done.stderr
