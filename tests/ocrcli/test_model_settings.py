"""What the command says of a model's settings: which model it is, and what nobody understood."""

import json

import pytest


@pytest.fixture
def model(fakes, tmp_path):
    return fakes.write_tiny_model(tmp_path / "model", sparse_attention_mode="new", page_token_id=4)


@pytest.fixture
def pdf(fakes, tmp_path):
    return fakes.write_pdf(tmp_path / "a.pdf", ["x"])


def test_unknown_settings_are_warned_of_and_ignored(run_process, model, pdf):
    arguments = ("transcribe", pdf, "--model", model, "--max-tokens", "5", "--attempts", "1")
    done = run_process(*arguments)
    assert done.code == 0
    line = 'ocrcli: warning: config.json: unknown setting "sparse_attention_mode" was ignored'
    assert done.stderr.count(line) == 1


@pytest.mark.parametrize("command", ["info", "verify"])
def test_commands_about_models_name_unknown_settings(run_process, model, command):
    done = run_process("models", command, "--model", model)
    assert done.code == 0
    assert "warning: unknown setting sparse_attention_mode\n" in done.stdout


def test_special_tokens_without_a_row_are_7(run_process, fakes, pdf, tmp_path):
    model = fakes.write_tiny_model(tmp_path / "bad")
    settings = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(settings | {"page_token_id": 999_999}))
    done = run_process("transcribe", pdf, "--model", model)
    assert (done.code, done.stdout) == (7, "")
    assert done.stderr.count("\n") == 1
    assert "page_token_id must be below vocab_size (6144), got 999999" in done.stderr


def test_version_names_the_model_when_asked(run_process, tiny_model):
    plain = run_process("--version")
    assert plain.stdout.count("\n") == 1
    done = run_process("--version", "-v", OCRCLI_MODEL=str(tiny_model))
    assert done.code == 0
    assert done.stdout.startswith(plain.stdout)
    assert f"model: {tiny_model}, sha256 " in done.stdout
    missing = run_process("--version", "-v", OCRCLI_MODEL="nowhere")
    assert missing.code == 7
    assert missing.stderr.count("\n") == 1


def test_verbosity_before_a_command_is_2_with_advice(run_process, pdf):
    done = run_process("-v", "transcribe", pdf)
    assert (done.code, done.stdout) == (2, "")
    assert "write it after the command" in done.stderr
