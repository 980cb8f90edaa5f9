"""A page is read with the network switched off."""

import os
import subprocess
import sys

import pytest

BLOCK = """
import socket

def refuse(*arguments, **options):
    raise AssertionError("the network was used")

socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.create_connection = refuse
socket.getaddrinfo = refuse
"""


def run_blocked(tmp_path, *arguments):
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def test_the_block_works(tmp_path):
    done = run_blocked(tmp_path, "-c", "import socket; socket.create_connection(('a.test', 80))")
    assert "the network was used" in done.stderr


def test_files_are_opened_without_network(tmp_path, fakes):
    path = fakes.write_pdf(tmp_path / "a.pdf", [None])
    done = run_blocked(tmp_path, "-m", "ocrcli", "transcribe", "-q", str(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


@pytest.mark.weights
def test_a_page_is_read_without_network(tmp_path, fakes):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["The network is off."])
    done = run_blocked(
        tmp_path, "-m", "ocrcli", "transcribe", "--device", "cpu", "--max-tokens", "200", str(path)
    )
    assert "the network was used" not in done.stderr
    assert done.returncode == 0
    assert done.stdout.strip()
