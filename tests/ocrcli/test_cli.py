"""The command as its users see it: exit code, stdout, stderr, files."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ocrcli import __version__
from ocrcli.errors import DeviceError, ModelError


@pytest.fixture
def pdf(fakes, tmp_path) -> Path:
    return fakes.write_pdf(tmp_path / "a.pdf", ["1", None, "3"])


@pytest.fixture
def recogniser(fakes):
    return fakes.ScriptedRecogniser()


class TestTranscript:
    def test_goes_to_stdout_page_by_page(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf])
        assert (done.code, done.stdout) == (0, "Page 1\n\f\fPage 3\n")
        assert done.stderr.startswith(f"ocrcli: info: {pdf}: 3 pages (2 ok, 1 blank)")

    def test_is_the_same_in_a_file(self, run_scripted, recogniser, pdf, tmp_path):
        done = run_scripted(recogniser, ["transcribe", pdf, "-o", tmp_path / "a.txt"])
        assert (done.code, done.stdout) == (0, "")
        assert (tmp_path / "a.txt").read_bytes() == b"Page 1\n\x0c\x0cPage 3\n"

    def test_of_several_inputs_goes_to_stdout_in_order(self, run_scripted, recogniser, pdf, fakes):
        other = fakes.write_pdf(pdf.with_name("b.pdf"), ["1"])
        done = run_scripted(recogniser, ["transcribe", other, pdf])
        assert done.stdout == "Page 1\n\fPage 1\n\f\fPage 3\n"
        assert "2 files: 2 ok" in done.stderr

    def test_pages_can_be_chosen(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "--pages", "3"])
        assert done.stdout == "Page 3\n"
        assert recogniser.pulled == [3]

    def test_can_be_markdown(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "--format", "md", "--pages", "1"])
        assert done.stdout == "<!-- page: 1 -->\n\nPage 1\n"

    def test_can_be_json_lines(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "-f", "jsonl"])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert [line["type"] for line in lines] == ["page", "page", "page", "document"]
        assert [line.get("status") for line in lines] == ["ok", "blank", "ok", "ok"]
        assert lines[3]["model"]["id"] == "scripted"

    def test_grows_while_pages_are_read(self, fakes, run_scripted, pdf):
        script = {3: ModelError("gone")}
        done = run_scripted(fakes.ScriptedRecogniser(script), ["transcribe", pdf])
        assert done.code == 7
        assert done.stdout.startswith("Page 1\n")


class TestOutputs:
    def test_folder_gets_a_file_per_input(self, run_scripted, recogniser, pdf, fakes, tmp_path):
        fakes.write_pdf(tmp_path / "b.pdf", ["1"])
        done = run_scripted(
            recogniser,
            ["transcribe", pdf, tmp_path / "b.pdf", "-o", tmp_path / "out", "--format", "md"],
        )
        assert done.code == 0
        names = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert names == ["a.md", "b.md", "ocrcli-manifest.jsonl"]

    def test_existing_output_is_kept_without_force(self, run_scripted, recogniser, pdf, tmp_path):
        target = tmp_path / "a.txt"
        target.write_text("mine")
        done = run_scripted(recogniser, ["transcribe", pdf, "-o", target])
        assert (done.code, target.read_text()) == (5, "mine")
        assert done.stderr == (
            f"ocrcli: error: {target}: exists already; use --force to replace it\n"
        )
        assert recogniser.pulled == []
        done = run_scripted(recogniser, ["transcribe", pdf, "-o", target, "--force"])
        assert done.code == 0
        assert target.read_text().startswith("Page 1")

    def test_collision_is_found_before_any_work(self, run_scripted, recogniser, pdf, tmp_path):
        done = run_scripted(recogniser, ["transcribe", pdf, pdf, "-o", tmp_path / "out"])
        assert done.code == 2
        assert not (tmp_path / "out").exists()
        assert recogniser.pulled == []

    def test_nothing_is_left_after_a_failure(self, fakes, run_scripted, pdf, tmp_path):
        before = set(tmp_path.iterdir())
        failing = fakes.ScriptedRecogniser({3: RuntimeError("boom")})
        done = run_scripted(failing, ["transcribe", pdf, "-o", tmp_path / "a.txt"])
        assert done.code == 70
        assert set(tmp_path.iterdir()) == before

    def test_no_file_without_a_single_good_page(self, fakes, run_scripted, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1"])
        failing = fakes.ScriptedRecogniser({1: fakes.result(1, finish="error", error="nan")})
        done = run_scripted(failing, ["transcribe", path, "-o", tmp_path / "a.txt"])
        assert done.code == 10
        assert not (tmp_path / "a.txt").exists()


class TestExitCodes:
    def test_failed_page_is_10_and_the_others_are_written(self, fakes, run_scripted, pdf, tmp_path):
        failing = fakes.ScriptedRecogniser({1: fakes.result(1, finish="error", error="nan")})
        done = run_scripted(failing, ["transcribe", pdf, "-o", tmp_path / "a.txt"])
        assert done.code == 10
        assert (tmp_path / "a.txt").read_text() == "\f\fPage 3\n"
        assert f"ocrcli: error: {pdf}: page 1: nan\n" in done.stderr
        assert "1 of 3 pages could not be transcribed (page 1)" in done.stderr

    @pytest.mark.parametrize("finish", ["length", "loop"])
    def test_doubtful_page_is_0_with_a_warning(self, fakes, run_scripted, pdf, finish):
        script = {1: fakes.result(1, fakes.block("Half"), finish)}
        done = run_scripted(fakes.ScriptedRecogniser(script), ["transcribe", pdf])
        assert done.code == 0
        assert f"ocrcli: warning: {pdf}: page 1: " in done.stderr

    def test_several_inputs_with_a_bad_one_is_1_and_the_others_are_done(
        self, run_scripted, recogniser, pdf, tmp_path
    ):
        (tmp_path / "bad.pdf").write_text("no pdf")
        done = run_scripted(recogniser, ["transcribe", tmp_path / "bad.pdf", pdf])
        assert done.code == 1
        assert done.stdout == "Page 1\n\f\fPage 3\n"
        assert f"ocrcli: error: {tmp_path / 'bad.pdf'}: named like a PDF" in done.stderr

    def test_failed_input_is_an_object_in_json_lines(self, run_scripted, recogniser, pdf):
        missing = pdf.with_name("none.pdf")
        done = run_scripted(recogniser, ["transcribe", missing, pdf, "-f", "jsonl"])
        assert json.loads(done.stdout.splitlines()[0])["code"] == 3

    @pytest.mark.parametrize(("error", "code"), [(ModelError("bad"), 7), (DeviceError("no"), 8)])
    def test_model_and_device_stop_the_batch(self, fakes, run_scripted, pdf, error, code):
        recogniser = fakes.ScriptedRecogniser({1: error})
        done = run_scripted(recogniser, ["transcribe", pdf, pdf])
        assert done.code == code
        assert done.stderr.count("ocrcli: error:") == 1

    def test_page_that_does_not_exist_is_2(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "--pages", "99"])
        assert (done.code, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [
            ["transcribe"],
            ["transcribe", "--bogus", "a.pdf"],
            ["transcribe", "a.pdf", "--format", "docx"],
            ["transcribe", "a.pdf", "--pages", "3-1"],
            ["transcribe", "a.pdf", "--threads", "x"],
            ["transcribe", "a.pdf", "--max-tokens", "0"],
            ["transcribe", "a.pdf", "--password-stdin", "--password-file", "p"],
            ["frobnicate"],
        ],
    )
    def test_misuse_is_2_in_one_line(self, run_scripted, recogniser, arguments):
        done = run_scripted(recogniser, arguments)
        assert (done.code, done.stdout) == (2, "")
        assert done.stderr.startswith("ocrcli: error: ")
        assert done.stderr.count("\n") == 1

    def test_unexpected_error_is_70_and_shows_its_trace_on_demand(self, fakes, run_scripted, pdf):
        recogniser = fakes.ScriptedRecogniser({1: RuntimeError("boom")})
        done = run_scripted(recogniser, ["transcribe", pdf])
        assert done.code == 70
        assert done.stderr == ("ocrcli: error: unexpected RuntimeError: boom; -vv shows where\n")
        assert "Traceback" in run_scripted(recogniser, ["transcribe", pdf, "-vv"]).stderr

    def test_interrupt_is_130_and_quiet(self, fakes, run_scripted, pdf, tmp_path):
        recogniser = fakes.ScriptedRecogniser({3: KeyboardInterrupt()})
        before = set(tmp_path.iterdir())
        done = run_scripted(recogniser, ["transcribe", pdf, "-o", tmp_path / "a.txt"])
        assert (done.code, done.stderr) == (130, "")
        assert set(tmp_path.iterdir()) == before

    def test_reader_that_left_is_141_and_quiet(self, fakes, run_scripted, pdf):
        done = run_scripted(fakes.ScriptedRecogniser({1: BrokenPipeError()}), ["transcribe", pdf])
        assert (done.code, done.stderr) == (141, "")


class TestPasswords:
    @pytest.fixture
    def locked(self, fakes, tmp_path) -> Path:
        import pymupdf

        return fakes.write_pdf(
            tmp_path / "locked.pdf",
            ["1"],
            encryption=pymupdf.PDF_ENCRYPT_AES_256,
            user_pw="sesame",
            owner_pw="boss",
        )

    def test_missing_password_is_6_and_names_the_flags(self, run_scripted, recogniser, locked):
        done = run_scripted(recogniser, ["transcribe", locked])
        assert done.code == 6
        assert "--password-file" in done.stderr

    def test_password_comes_from_a_file(self, run_scripted, recogniser, locked, tmp_path):
        (tmp_path / "p").write_text("sesame\r\nnotes\n")
        done = run_scripted(recogniser, ["transcribe", locked, "--password-file", tmp_path / "p"])
        assert (done.code, done.stdout) == (0, "Page 1\n")

    def test_password_comes_from_the_environment(
        self, run_scripted, recogniser, locked, monkeypatch
    ):
        monkeypatch.setenv("OCRCLI_PDF_PASSWORD", "sesame")
        assert run_scripted(recogniser, ["transcribe", locked]).code == 0

    def test_password_comes_from_stdin(self, run_process, locked):
        done = run_process("transcribe", locked, "--password-stdin", stdin="guess\n")
        assert done.code == 6
        assert "wrong" in done.stderr
        assert "guess" not in done.stderr

    def test_password_file_must_exist(self, run_scripted, recogniser, locked, tmp_path):
        done = run_scripted(recogniser, ["transcribe", locked, "--password-file", tmp_path / "x"])
        assert done.code == 3


class TestBenchmark:
    def test_report_ends_stderr_and_leaves_stdout_alone(self, run_scripted, recogniser, pdf):
        plain = run_scripted(recogniser, ["transcribe", pdf])
        done = run_scripted(recogniser, ["transcribe", pdf, "--benchmark"])
        assert (done.code, done.stdout) == (0, plain.stdout)
        report = json.loads(done.stderr.splitlines()[-1])
        assert report["statuses"] == {"ok": 2, "blank": 1}
        assert report["seconds"]["decode"] == 2.0
        assert report["seconds"]["total"] > 0
        assert "decode tokens per second" in done.stderr

    def test_report_goes_to_a_file(self, run_scripted, recogniser, pdf, tmp_path):
        target = tmp_path / "b.json"
        done = run_scripted(recogniser, ["transcribe", pdf, "--benchmark-output", target])
        assert json.loads(target.read_text())["pages"] == 3
        assert "{" not in done.stderr
        assert "pages per minute" in done.stderr

    def test_report_never_replaces_an_input_or_a_transcript(
        self, run_scripted, recogniser, pdf, tmp_path
    ):
        before = pdf.read_bytes()
        done = run_scripted(recogniser, ["transcribe", pdf, "--benchmark-output", pdf])
        assert (done.code, pdf.read_bytes()) == (2, before)
        out = tmp_path / "out.txt"
        done = run_scripted(recogniser, ["transcribe", pdf, "-o", out, "--benchmark-output", out])
        assert (done.code, out.exists()) == (2, False)

    def test_report_without_a_place_is_refused_before_reading(
        self, run_scripted, recogniser, pdf, tmp_path
    ):
        target = tmp_path / "missing" / "b.json"
        done = run_scripted(recogniser, ["transcribe", pdf, "--benchmark-output", target])
        assert (done.code, done.stdout) == (5, "")

    def test_exit_code_is_that_of_a_normal_run(self, fakes, run_scripted, pdf):
        failing = fakes.ScriptedRecogniser({1: fakes.result(1, finish="error", error="nan")})
        assert run_scripted(failing, ["transcribe", pdf, "--benchmark"]).code == 10


class TestStderr:
    def test_quiet_run_prints_nothing(self, run_scripted, recogniser, pdf):
        assert run_scripted(recogniser, ["transcribe", pdf, "-q"]).stderr == ""

    def test_progress_can_be_json(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "--progress", "json"])
        events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
        assert events == ["file_start", *["page_done"] * 3, "file_done", "summary"]

    def test_failures_are_events_and_no_lines_when_it_is_json(self, fakes, run_scripted, pdf):
        failing = fakes.ScriptedRecogniser({1: fakes.result(1, finish="error", error="nan")})
        missing = pdf.with_name("missing.pdf")
        done = run_scripted(failing, ["transcribe", missing, pdf, "--progress", "json"])
        assert done.code == 1
        events = [json.loads(line) for line in done.stderr.splitlines()]
        failed = [event for event in events if event["event"] == "file_failed"]
        assert [event["source"] for event in failed] == [str(missing), str(pdf)]
        assert [event["code"] for event in failed] == [3, 10]
        pages = [event for event in events if event["event"] == "page_done"]
        assert [event.get("error") for event in pages] == ["nan", None, None]

    def test_no_control_characters_outside_a_terminal(self, run_scripted, recogniser, pdf):
        done = run_scripted(recogniser, ["transcribe", pdf, "--progress", "bar"])
        assert not set(done.stderr) & {"\r", "\x1b"}


class TestProcess:
    """What only a process of its own can show."""

    def test_version(self, run_process):
        done = run_process("--version")
        assert (done.code, done.stdout, done.stderr) == (0, f"ocrcli {__version__}\n", "")

    def test_help_names_commands_and_exit_codes(self, run_process):
        done = run_process("--help")
        assert (done.code, done.stderr) == (0, "")
        assert "transcribe" in done.stdout
        assert "Exit codes" in done.stdout
        assert run_process().stdout == done.stdout

    def test_help_of_transcribe_says_where_text_goes(self, run_process):
        text = " ".join(run_process("transcribe", "--help").stdout.split())
        assert "every transcript goes to standard output, in the order of the inputs" in text

    def test_blank_document_needs_no_model(self, run_process, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", [None, None])
        done = run_process("transcribe", path, "-q", OCRCLI_MODEL=str(tmp_path))
        assert (done.code, done.stdout, done.stderr) == (0, "\f\n", "")

    @pytest.mark.parametrize(
        ("content", "code"), [(b"", 4), (b"text", 4), (b"%PDF-1.4\nbroken", 4), (None, 3)]
    )
    def test_unusable_inputs(self, run_process, tmp_path, content, code):
        if content is not None:
            (tmp_path / "a.pdf").write_bytes(content)
        done = run_process("transcribe", "a.pdf", cwd=tmp_path)
        assert (done.code, done.stdout) == (code, "")
        assert done.stderr.startswith("ocrcli: error: a.pdf: ")
        assert done.stderr.count("\n") == 1

    def test_missing_model_is_7(self, run_process, pdf, tmp_path):
        done = run_process("transcribe", pdf, "--model", tmp_path / "none")
        assert done.code == 7
        assert done.stderr.startswith(f"ocrcli: error: {tmp_path / 'none'}: no such model")

    def test_missing_model_is_7_for_models_info(self, run_process, tmp_path):
        done = run_process("models", "info", "--model", tmp_path)
        assert (done.code, done.stdout) == (7, "")
        assert done.stderr.count("\n") == 1

    def test_reader_that_closes_the_pipe_hears_nothing(self, pdf):
        command = [sys.executable, "-P", "-m", "ocrcli", "transcribe", "-q", "--pages", "2"]
        process = subprocess.Popen(
            [*command, str(pdf)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.close()
        with process:
            stderr = process.stderr.read()
        assert (process.returncode, stderr) == (141, b"")

    @pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
    def test_signals_leave_only_whole_files(self, fakes, tmp_path, stop):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["1", "2"])
        script = (
            "import os, signal, sys\n"
            "import ocrcli.recogniser\n"
            "from ocrcli.cli import main\n"
            "class Stopping:\n"
            "    facts, load_seconds, unknown_keys, page_size = None, 0.0, (), None\n"
            "    def __init__(self, options): pass\n"
            "    def load(self): pass\n"
            "    def transcribe(self, pages):\n"
            "        next(iter(pages))\n"
            f"        os.kill(os.getpid(), signal.{stop.name})\n"
            "        yield\n"
            "ocrcli.recogniser.ModelRecogniser = Stopping\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        done = subprocess.run(
            [sys.executable, "-P", "-c", script, "transcribe", str(path), "-o", "out/"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 128 + stop
        skipped = "page 1: skipped, with all that follow: the run was stopped"
        assert done.stderr.decode() == f"ocrcli: error: {path}: {skipped}\n"
        assert [file.name for file in (tmp_path / "out").iterdir()] == ["ocrcli-manifest.jsonl"]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_full_disk_behind_stdout_is_5(self, pdf):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "ocrcli", "transcribe", "--pages", "2", str(pdf)],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )
        assert done.returncode == 5
        assert b"standard output: cannot be written" in done.stderr


@pytest.mark.weights
class TestShippedModel:
    def test_models_info_shows_hash_and_settings(self, run_process):
        done = run_process("models", "info")
        assert done.code == 0
        assert "sha256: " in done.stdout
        assert "config.sparse.block_size: 32" in done.stdout

    def test_pages_in_flight_do_not_change_the_text(self, run_process, fakes, tmp_path):
        path = fakes.write_pdf(tmp_path / "a.pdf", ["First page", "Second page"])
        command = ["transcribe", path, "-q", "--device", "cpu", "--max-tokens", "60"]
        first = run_process(*command, "--pages-in-flight", "1")
        second = run_process(*command, "--pages-in-flight", "2")
        assert first.code == second.code == 0
        assert first.stdout == second.stdout
