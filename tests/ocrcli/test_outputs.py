"""The map from inputs to outputs, and files that are whole or absent."""

import os
import stat
from pathlib import Path

import pytest

from ocrcli.errors import ExitCode, OutputError, UsageError
from ocrcli.outputs import WholeFile, plan_outputs


def plan(inputs, output, *, force=False, suffix=".txt"):
    return plan_outputs(inputs, None if output is None else str(output), suffix, force=force)


@pytest.mark.parametrize("output", [None, "-"])
def test_without_output_everything_goes_to_stdout(output):
    assert plan(["a.pdf", "b.pdf"], output) == [None, None]


def test_one_input_goes_to_the_named_file(tmp_path):
    assert plan(["a.pdf"], tmp_path / "x.dat") == [tmp_path / "x.dat"]


def test_existing_folder_gets_a_file_named_like_the_input(tmp_path):
    assert plan(["in/a.b.pdf"], tmp_path, suffix=".md") == [tmp_path / "a.b.md"]


def test_trailing_slash_makes_a_folder(tmp_path):
    assert plan(["a.pdf"], f"{tmp_path}/new/") == [tmp_path / "new" / "a.txt"]
    assert (tmp_path / "new").is_dir()


def test_several_inputs_share_a_folder(tmp_path):
    expected = [tmp_path / "out" / "a.txt", tmp_path / "out" / "b.txt"]
    assert plan(["x/a.pdf", "y/b.png"], tmp_path / "out") == expected


def test_clashing_names_keep_their_suffix(tmp_path):
    found = plan(["a.pdf", "a.png", "b.pdf"], tmp_path)
    assert [path.name for path in found] == ["a.pdf.txt", "a.png.txt", "b.txt"]


@pytest.mark.parametrize(
    "inputs", [["x/a.pdf", "y/a.pdf"], ["a.pdf", "A.pdf"], ["é.pdf", "e\u0301.pdf"], ["a", "a"]]
)
def test_inputs_that_would_share_a_file_are_refused(tmp_path, inputs):
    with pytest.raises(UsageError, match="would both be written to"):
        plan(inputs, tmp_path)


def test_name_with_added_suffix_may_not_clash_either(tmp_path):
    with pytest.raises(UsageError):
        plan(["a.pdf", "a.png", "x/a.pdf.png"], tmp_path)


def test_existing_file_needs_force(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(OutputError, match="--force") as caught:
        plan(["a.pdf"], target)
    assert caught.value.exit_code == ExitCode.OUTPUT
    assert plan(["a.pdf"], target, force=True) == [target]


def test_input_is_never_overwritten(tmp_path):
    source = tmp_path / "a.txt"
    source.write_text("x")
    with pytest.raises(UsageError, match="is an input"):
        plan([str(source)], tmp_path, force=True)


def test_file_cannot_be_a_folder(tmp_path):
    target = tmp_path / "file"
    target.write_text("x")
    with pytest.raises(OutputError, match="not a folder"):
        plan(["a.pdf", "b.pdf"], target)
    with pytest.raises(OutputError):
        plan(["a.pdf"], target / "deeper.txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_refused_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="read-only"):
        plan(["a.pdf"], tmp_path)


def test_device_is_written_to_directly():
    assert plan(["a.pdf"], os.devnull) == [Path(os.devnull)]
    with WholeFile(Path(os.devnull)) as file:
        file.write("x")
        file.finish()
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_finished_file_is_utf8_with_plain_newlines(tmp_path):
    with WholeFile(tmp_path / "a.txt") as file:
        file.write("é\n\udcff")
        file.finish()
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\n\\udcff"
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


def test_unfinished_file_disappears(tmp_path):
    with pytest.raises(KeyError), WholeFile(tmp_path / "a.txt") as file:
        file.write("half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_old_file_stays_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with WholeFile(target) as file:
        file.write("new")
        assert target.read_text() == "old"
        file.finish()
    assert target.read_text() == "new"


def test_full_disk_is_an_output_error():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OutputError, match="cannot be written"), WholeFile(full) as file:
        file.write("x" * 100_000)
        file.finish()


def test_folder_that_vanished_is_an_output_error(tmp_path):
    with pytest.raises(OutputError):
        WholeFile(tmp_path / "gone" / "a.txt")


def test_long_names_get_a_temporary_name_that_fits(tmp_path):
    target = tmp_path / ("n" * 250 + ".txt")
    with WholeFile(target) as file:
        file.finish()
    assert target.exists()
