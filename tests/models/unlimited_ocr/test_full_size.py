"""The script that measures a model of full size works; here with a small one."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("full_size.py")


def test_script_reads_a_document_in_one_pass_and_logs_every_stage(tmp_path):
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-P", SCRIPT, "--tiny", "--pages", "3", "--tokens-per-page", "4"]
    done = subprocess.run([*command, "--log", log], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert log.read_text() == done.stdout
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["stage"] for line in lines] == ["machine", "write", "load", "read"]
    read = lines[-1]
    # An overview of 256 pixels: four rows of four tokens and a newline, a separator, a marker.
    assert (read["pages"], read["prompt_tokens"], read["output_tokens"]) == (3, 3 * 22, 3 * 4)
    assert read["finished"] == ["length"]
    # The cache also holds the instruction, one window of answers, and spare blocks.
    assert read["kv_bytes_expected"] == 66 * 2 * 2 * 32 * 4
    assert read["kv_bytes_expected"] < read["kv_cache_bytes"] < 12 * read["kv_bytes_expected"]
