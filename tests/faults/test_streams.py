"""Standard streams that are closed, full or pipes; files that are pipes; runs that are hung up."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOCKED = {"encryption": 5, "user_pw": "sesame", "owner_pw": "boss"}
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@pytest.fixture
def pdf(fakes, tmp_path):
    return fakes.write_pdf(tmp_path / "a.pdf", ["1", "2", "3"])


@pytest.fixture
def in_shell(repository, tmp_path):
    """Run a line of shell in which `ocrcli` is the command with a scripted recogniser."""

    def run(line):
        program = repository / "tests" / "scripted_process.py"
        done = subprocess.run(
            ["bash", "-c", f'ocrcli() {{ "{sys.executable}" -P "{program}" "$@"; }}; {line}'],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "XDG_CONFIG_HOME": str(tmp_path / "none")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    return run


class TestOutput:
    COMMANDS = (
        *("models info", "models list", "config show", "schema", "doctor", "--version", "--help"),
        *("transcribe --help", "transcribe a.pdf -q"),
    )

    @needs_full
    @pytest.mark.parametrize("command", COMMANDS)
    def test_full_stdout_is_5(self, in_shell, pdf, command):
        done = in_shell(f"ocrcli {command} > /dev/full")
        assert done.returncode == 5
        assert done.stderr == (
            "ocrcli: error: standard output: cannot be written: No space left on device\n"
        )

    @pytest.mark.parametrize("command", COMMANDS)
    def test_closed_stdout_is_5(self, in_shell, pdf, command):
        done = in_shell(f"ocrcli {command} >&-")
        assert done.returncode == 5
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("command", ["schema", "transcribe --help"])
    def test_reader_of_information_that_leaves_hears_nothing(self, in_shell, command):
        done = in_shell(f"set -o pipefail; (sleep 1; ocrcli {command}) | true")
        assert (done.returncode, done.stderr) == (141, "")

    @needs_full
    @pytest.mark.parametrize("target", ["2>/dev/full", "2>&-"])
    def test_stderr_that_takes_nothing_changes_nothing(self, in_shell, pdf, target):
        loud = in_shell("ocrcli transcribe a.pdf missing.pdf")
        mute = in_shell(f"ocrcli transcribe a.pdf missing.pdf {target}")
        assert (mute.returncode, mute.stdout, mute.stderr) == (1, loud.stdout, "")


class TestInput:
    def test_pipes_are_read_once_and_keep_their_names(self, in_shell, pdf):
        plain = in_shell("ocrcli transcribe a.pdf -f jsonl -q").stdout
        os.mkfifo(pdf.parent / "fifo")
        for line, name in (
            ("cat a.pdf > fifo & ocrcli transcribe fifo -f jsonl -q", "fifo"),
            ("ocrcli transcribe /dev/stdin -f jsonl -q < a.pdf", "/dev/stdin"),
            ("cat a.pdf | ocrcli transcribe /dev/stdin -f jsonl -q", "/dev/stdin"),
            ("ocrcli transcribe <(cat a.pdf) -f jsonl -q", "/dev/fd/"),
        ):
            done = in_shell(line)
            assert done.returncode == 0, done.stderr
            records = [json.loads(line) for line in done.stdout.splitlines()]
            assert records[0]["source"].startswith(name)
            expected = [json.loads(line).get("text") for line in plain.splitlines()]
            assert [record.get("text") for record in records] == expected

    @pytest.mark.parametrize("options", [(), ("--dry-run",)])
    def test_pipes_in_a_folder_are_left_out(self, run_script, fakes, tmp_path, options):
        folder = tmp_path / "in"
        folder.mkdir()
        fakes.write_pdf(folder / "a.pdf", ["1"])
        os.mkfifo(folder / "b.pdf")
        (folder / "c.png").symlink_to("/dev/zero")
        done = run_script("transcribe", "in", *options, cwd=tmp_path)
        assert done.code == 0
        for name in ("b.pdf", "c.png"):
            assert f"ocrcli: info: in/{name}: left out, it is no regular file\n" in done.stderr
        assert "in/a.pdf" in done.stdout + done.stderr
        assert run_script("transcribe", "in", *options, "-q", cwd=tmp_path).stderr == ""

    def test_device_is_no_file(self, in_shell):
        done = in_shell("ocrcli transcribe /dev/zero")
        assert (done.returncode, done.stdout) == (3, "")
        assert "/dev/zero: is a device" in done.stderr

    def test_closed_stdin_holds_no_document(self, in_shell):
        done = in_shell("ocrcli transcribe - <&-")
        assert done.returncode == 4
        assert done.stderr == "ocrcli: error: -: the file is empty\n"


class TestPassword:
    @pytest.fixture(autouse=True)
    def locked(self, fakes, tmp_path):
        fakes.write_pdf(tmp_path / "locked.pdf", ["x"], **LOCKED)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("ocrcli transcribe locked.pdf --password-stdin <&-", "no password on the first line"),
            ("ocrcli transcribe locked.pdf --password-stdin </dev/null", "no password on the"),
            (r"printf '\377\n' | ocrcli transcribe locked.pdf --password-stdin", "not valid UTF-8"),
            (r"OCRCLI_PDF_PASSWORD=$'\377' ocrcli transcribe locked.pdf", "not valid UTF-8"),
            (
                r"printf '\377' > pw; ocrcli transcribe locked.pdf --password-file pw",
                "not valid UTF-8",
            ),
        ],
    )
    def test_password_that_is_missing_or_no_text_is_6(self, in_shell, line, words):
        done = in_shell(line)
        assert (done.returncode, done.stdout) == (6, "")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_closed_terminal_is_129_and_leaves_whole_files_only(run_script, pdf, tmp_path, leftovers):
    done = run_script(
        *("transcribe", pdf, "-o", tmp_path / "a.txt"), script={"signal": [1, signal.SIGHUP]}
    )
    assert done.code == 129
    assert leftovers(tmp_path) == ["a.pdf"]


def test_ignored_signals_stay_ignored(run_script, pdf):
    """What `nohup` does."""
    done = run_script(
        *("transcribe", pdf, "-q"),
        script={"signal": [1, signal.SIGHUP]},
        before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert done.code == 0
