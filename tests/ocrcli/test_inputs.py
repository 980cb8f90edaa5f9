"""What arguments stand for: the files of a folder, and folders that cannot be searched."""

import io
import json
import os
from pathlib import Path

import pytest

from ocrcli.errors import ExitCode, UsageError
from ocrcli.inputs import find_inputs


@pytest.fixture
def locked(monkeypatch):
    """Make folders of this name unreadable, for root as well."""
    scandir = os.scandir

    def refuse(path="."):
        if not isinstance(path, int) and Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    return "locked"


@pytest.fixture
def folder(tmp_path, fakes):
    folder = tmp_path / "in"
    (folder / "locked").mkdir(parents=True)
    fakes.write_pdf(folder / "a.pdf", ["1"])
    fakes.write_pdf(folder / "locked" / "b.pdf", ["1"])
    return folder


def found(folder, tmp_path):
    return find_inputs([str(folder)], None, io.BytesIO(), tmp_path)


class TestFolderThatCannotBeRead:
    def test_is_an_error_of_its_own(self, folder, tmp_path, locked):
        inputs = found(folder, tmp_path)
        assert [file.name for file in inputs.files] == [str(folder / "a.pdf")]
        (error,) = inputs.unreadable
        assert error.exit_code is ExitCode.INPUT
        assert str(error) == f"{folder / locked}: the folder cannot be read: Permission denied"

    def test_fails_a_run_that_reads_the_rest(self, run_scripted, fakes, folder, locked, tmp_path):
        out = tmp_path / "out"
        done = run_scripted(fakes.ScriptedRecogniser(), ["transcribe", folder, "-o", out])
        assert done.code == 1
        assert f"error: {folder / locked}: the folder cannot be read" in done.stderr
        assert "2 files: 1 ok, 0 degraded, 1 failed" in done.stderr
        assert [path.name for path in out.glob("*.txt")] == ["a.txt"]
        manifest = (out / "ocrcli-manifest.jsonl").read_text().splitlines()
        failed = [line for line in map(json.loads, manifest) if line["event"] == "failed"]
        assert [line["source"] for line in failed] == [str(folder / locked)]

    def test_has_a_record_on_stdout(self, run_scripted, fakes, folder, locked):
        done = run_scripted(fakes.ScriptedRecogniser(), ["transcribe", folder, "-f", "jsonl"])
        assert done.code == 1
        sources = {json.loads(line)["source"] for line in done.stdout.splitlines()}
        assert sources == {str(folder / locked), str(folder / "a.pdf")}

    @pytest.mark.parametrize("options", [(), ("--dry-run",), ("-f", "jsonl"), ("-o", "out/")])
    def test_is_3_alone(self, run_scripted, fakes, folder, locked, tmp_path, monkeypatch, options):
        monkeypatch.chdir(tmp_path)
        done = run_scripted(fakes.ScriptedRecogniser(), ["transcribe", folder / locked, *options])
        assert done.code == 3
        assert "the folder cannot be read: Permission denied" in done.stdout + done.stderr

    def test_fails_with_several_jobs(self, run_scripted, fakes, folder, locked, tmp_path):
        fakes.write_pdf(folder / "c.pdf", ["1"])
        arguments = ["-o", tmp_path / "out", "--jobs", "2", "--fail-fast"]
        done = run_scripted(fakes.ScriptedRecogniser(), ["transcribe", folder, *arguments])
        assert done.code == 1
        assert "3 files: 0 ok, 0 degraded, 1 failed, 2 skipped" in done.stderr


class TestFilesLeftOut:
    @pytest.fixture
    def mixed(self, fakes, tmp_path):
        folder = tmp_path / "mixed"
        folder.mkdir()
        pdf = fakes.write_pdf(folder / "a.PDF", ["1"]).read_bytes()
        for name in ("a.ocr.pdf", "notes.txt", "scan", ".hidden.pdf"):
            (folder / name).write_bytes(pdf)
        return folder

    def test_are_counted_by_the_reason(self, mixed, tmp_path):
        inputs = found(mixed, tmp_path)
        assert [file.name for file in inputs.files] == [str(mixed / "a.PDF")]
        assert inputs.left_out == {"hidden": 1, "named .ocr.pdf": 1, "with other suffixes": 2}

    def test_are_told_of_where_more_detail_is_asked_for(self, mixed, run_scripted, fakes):
        line = "ocrcli: info: 4 files in folders left out: 1 hidden, 1 named .ocr.pdf, 2 with other"
        for option, is_told in (("-v", True), ("--progress=plain", False)):
            done = run_scripted(fakes.ScriptedRecogniser(), ["transcribe", mixed, option])
            assert done.code == 0
            assert (line in done.stderr) is is_told

    def test_are_read_when_they_are_named(self, mixed, tmp_path):
        names = [str(mixed / "scan"), str(mixed / "a.ocr.pdf")]
        inputs = find_inputs(names, None, io.BytesIO(), tmp_path)
        assert [file.name for file in inputs.files] == names

    def test_alone_make_a_usage_error_that_says_what_to_do(self, mixed, tmp_path):
        (mixed / "a.PDF").unlink()
        with pytest.raises(UsageError, match="no file to transcribe; .* name the files themselves"):
            found(mixed, tmp_path)


def test_byte_order_mark_is_no_part_of_a_listed_name(tmp_path):
    listed = io.BytesIO(b"\xef\xbb\xbfa.pdf\r\nb.pdf\r\n")
    inputs = find_inputs([], "-", listed, tmp_path)
    assert [file.name for file in inputs.files] == ["a.pdf", "b.pdf"]
