"""Odd names, and inputs that would share an output."""

import json
import os
import sys

import pytest

ODD = ["empty#hash.pdf", "two words.pdf", "line\nbreak.pdf", "e\u0301.pdf", "[a]*?.pdf", "a.b.pdf"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_kept(run_script, tmp_path, fakes, leftovers, name):
    fakes.write_pdf(tmp_path / name, ["x"])
    done = run_script("transcribe", name, "-o", "out/", cwd=tmp_path)
    assert done.code == 0
    assert leftovers(tmp_path / "out") == [name.removesuffix(".pdf") + ".txt"]
    assert done.stderr.count("\n") == 1


def test_name_that_begins_with_a_hyphen(run_script, tmp_path, fakes, leftovers):
    fakes.write_pdf(tmp_path / "-x.pdf", ["x"])
    done = run_script("transcribe", "-o", "out/", "--", "-x.pdf", cwd=tmp_path)
    assert done.code == 0
    assert leftovers(tmp_path / "out") == ["-x.txt"]


def test_hyphenated_name_as_an_option_is_2_with_advice(run_script, tmp_path, fakes, one_line):
    fakes.write_pdf(tmp_path / "-dash.pdf", ["x"])
    done = run_script("transcribe", "-dash.pdf", cwd=tmp_path)
    assert (done.code, done.stdout) == (2, "")
    one_line(done, 'a file of that name is written "./-dash.pdf"')
    assert run_script("transcribe", "./-dash.pdf", cwd=tmp_path).code == 0


@pytest.mark.parametrize("name", ["loop", "n" * 300 + ".pdf"])
def test_name_that_stands_for_nothing_is_3(run_script, tmp_path, fakes, name):
    (tmp_path / "loop").symlink_to("loop")
    fakes.write_pdf(tmp_path / "a.pdf", ["x"])
    done = run_script("transcribe", name, cwd=tmp_path)
    assert (done.code, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    both = run_script("transcribe", name, "a.pdf", cwd=tmp_path)
    assert both.code == 1
    assert both.stdout.startswith("1 ")


@pytest.mark.parametrize("name", ["loop", "n" * 300])
def test_model_and_lists_that_stand_for_nothing(run_script, run_process, tmp_path, fakes, name):
    (tmp_path / "loop").symlink_to("loop")
    fakes.write_pdf(tmp_path / "a.pdf", ["x"])
    for option, code in (("--files-from", 3), ("--password-file", 3)):
        assert run_script("transcribe", "a.pdf", option, name, cwd=tmp_path).code == code
    done = run_process("transcribe", "a.pdf", "--model", name, cwd=tmp_path)
    assert (done.code, done.stdout) == (7, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know no such names")
def test_name_that_is_no_utf8(run_script, tmp_path, fakes):
    fakes.write_pdf(tmp_path / "a.pdf", ["x"]).rename(os.fsdecode(bytes(tmp_path) + b"/\xff.pdf"))
    done = run_script("transcribe", b"\xff.pdf", "-f", "jsonl", "-o", "out/", cwd=tmp_path)
    assert done.code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "\udcff.jsonl" in names
    events = run_script("transcribe", b"\xff.pdf", "--progress", "json", cwd=tmp_path)
    sources = {json.loads(line).get("source") for line in events.stderr.splitlines()}
    assert sources == {"\\udcff.pdf", None}


def test_same_names_with_different_suffixes_keep_them(run_script, tmp_path, fakes, leftovers):
    fakes.write_pdf(tmp_path / "a.pdf", ["x"])
    fakes.text_picture().save(tmp_path / "a.png")
    assert run_script("transcribe", "a.pdf", "a.png", "-o", "out", cwd=tmp_path).code == 0
    assert leftovers(tmp_path / "out") == ["a.pdf.txt", "a.png.txt"]


@pytest.mark.parametrize("other", ["A.pdf", "x/a.pdf"])
def test_clash_is_refused_before_any_work(run_script, tmp_path, fakes, one_line, other):
    (tmp_path / "x").mkdir()
    for name in ("a.pdf", other):
        fakes.write_pdf(tmp_path / name, ["x"])
    done = run_script("transcribe", "a.pdf", other, "-o", "out", cwd=tmp_path)
    assert (done.code, done.stdout) == (2, "")
    one_line(done, "a.pdf", other)
    assert not (tmp_path / "out").exists()


def test_folders_are_mirrored(run_script, tmp_path, fakes, leftovers):
    (tmp_path / "in" / "x").mkdir(parents=True)
    for name in ("a.pdf", "x/a.pdf", "x/.hidden.pdf"):
        fakes.write_pdf(tmp_path / "in" / name, ["x"])
    done = run_script("transcribe", "in", "-o", "out", cwd=tmp_path)
    assert done.code == 0
    assert leftovers(tmp_path / "out") == ["a.txt", "x/a.txt"]


def test_inputs_come_from_stdin_and_from_lists(run_script, tmp_path, fakes):
    content = fakes.write_pdf(tmp_path / "a.pdf", ["x"]).read_bytes()
    (tmp_path / "list").write_text("a.pdf\n\na.pdf\r\n")
    piped = run_script("transcribe", "-", stdin=content)
    listed = run_script("transcribe", "--files-from", "list", cwd=tmp_path)
    also = run_script("transcribe", "--files-from", "-", stdin=b"a.pdf\0", cwd=tmp_path)
    assert piped.code == listed.code == also.code == 0
    assert piped.stdout == also.stdout
    assert listed.stdout == f"{piped.stdout}\f{piped.stdout}"


def test_stdin_is_read_once(run_script):
    assert run_script("transcribe", "-", "-").code == 2


def test_transcript_does_not_depend_on_the_locale(run_script, tmp_path, fakes):
    path = fakes.write_pdf(tmp_path / "é.pdf", ["x"])
    done = run_script("transcribe", path, "-f", "jsonl", LC_ALL="C", PYTHONUTF8="1")
    assert done.code == 0
    assert "é.pdf" in done.stdout
