"""Where settings come from, and which source wins."""

from pathlib import Path

import pytest

from ocrcli.errors import UsageError
from ocrcli.options import Device, OutputFormat
from ocrcli.settings import names, resolve


@pytest.fixture
def places(tmp_path):
    """Variables and a project folder, with a way to fill the files."""
    project = tmp_path / "project"
    user = tmp_path / "home" / "ocrcli"
    for folder in (project, user):
        folder.mkdir(parents=True)

    def fill(project_text="", user_text=""):
        (project / "ocrcli.toml").write_text(project_text)
        (user / "config.toml").write_text(user_text)
        return {"XDG_CONFIG_HOME": str(tmp_path / "home")}, project

    return fill


def test_flag_wins_over_variable_over_project_over_user_over_default(places):
    variables, folder = places("format = 'md'", "format = 'jsonl'\ndevice = 'cpu'")
    found = resolve({}, variables, folder)
    assert (found["format"].value, found["device"].value) == (OutputFormat.MD, Device.CPU)
    assert found["format"].origin == str(folder / "ocrcli.toml")
    assert found["strict"].origin == "default"
    variables["OCRCLI_FORMAT"] = "txt"
    assert resolve({}, variables, folder)["format"].origin == "OCRCLI_FORMAT"
    flagged = resolve({"format": OutputFormat.HOCR}, variables, folder)["format"]
    assert (flagged.value, flagged.origin) == (OutputFormat.HOCR, "flag")


def test_values_get_their_types(places):
    text = "page-timeout = 2.5\njobs = 2\nstrict = true\nmodel = 'weights'\nraw = false"
    found = resolve({}, *places(text))
    values = {name: found[name].value for name in ("page_timeout", "jobs", "strict", "raw")}
    assert values == {"page_timeout": 2.5, "jobs": 2, "strict": True, "raw": False}
    assert found["model"].value.parent.name == "project"


def test_words_stay_words(places):
    found = resolve({}, *places("no-repeat-ngram = '35:1024'\ninstruction = 'read this.'"))
    assert found["no_repeat_ngram"].value == "35:1024"
    assert found["instruction"].value == "read this."


def test_flags_that_arrive_as_words_get_their_types_too(places):
    flags = {"model": "some folder/model", "device": "cpu", "instruction": " read "}
    found = resolve(flags, *places())
    assert found["model"].value == Path("some folder/model")
    assert found["device"].value is Device.CPU
    assert found["instruction"].value == " read "


def test_model_may_be_a_name_and_then_belongs_to_no_folder(places):
    assert resolve({}, *places("model = 'org/name@v1'"))["model"].value == Path("org/name@v1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("formt = 'md'", 'did you mean "format"'),
        ("format = 'docx'", "must be one of txt, md"),
        ("jobs = 'many'", "must be a number"),
        ("strict = 'perhaps'", "must be true or false"),
        ("password = 'x'", "no setting"),
        ("format = ", "cannot be used"),
    ],
)
def test_what_has_no_meaning_is_refused_and_names_the_file(places, text, words):
    with pytest.raises(UsageError, match=words) as caught:
        resolve({}, *places(text))
    assert "ocrcli.toml" in str(caught.value)


def test_folder_in_place_of_the_file_is_named_as_one(places):
    variables, folder = places()
    (folder / "ocrcli.toml").unlink()
    (folder / "ocrcli.toml").mkdir()
    with pytest.raises(UsageError, match="ocrcli.toml: is a folder, .*; rename the folder"):
        resolve({}, variables, folder)


def test_bad_variable_is_named_and_an_empty_one_counts_as_unset(places):
    variables, folder = places()
    with pytest.raises(UsageError, match="OCRCLI_DEVICE"):
        resolve({}, {**variables, "OCRCLI_DEVICE": "tpu"}, folder)
    assert resolve({}, {**variables, "OCRCLI_DEVICE": ""}, folder)["device"].origin == "default"


def test_passwords_and_outputs_cannot_be_configured():
    assert not {"password", "output", "force", "pages"} & set(names())


class TestCommands:
    def test_config_show_tells_origins(self, run_process, tmp_path):
        (tmp_path / "ocrcli.toml").write_text("page-marks = 'rule'")
        done = run_process("config", "show", cwd=tmp_path, OCRCLI_JOBS="3")
        assert done.code == 0
        assert "page-marks = rule  (ocrcli.toml)" in done.stdout
        assert "jobs = 3  (OCRCLI_JOBS)" in done.stdout
        assert "strict = false  (default)" in done.stdout

    def test_settings_of_the_project_are_used(self, run_script, fakes, tmp_path):
        (tmp_path / "ocrcli.toml").write_text("format = 'md'")
        fakes.write_pdf(tmp_path / "a.pdf", ["x"])
        assert "<!-- page: 1 -->" in run_script("transcribe", "a.pdf", cwd=tmp_path).stdout
        assert "<!--" not in run_script("transcribe", "a.pdf", "-f", "txt", cwd=tmp_path).stdout

    def test_mistake_in_a_file_is_2(self, run_process, tmp_path):
        (tmp_path / "ocrcli.toml").write_text("frmat = 'md'")
        done = run_process("transcribe", "a.pdf", cwd=tmp_path)
        assert (done.code, done.stdout) == (2, "")
        assert Path("ocrcli.toml").name in done.stderr

    @pytest.mark.weights
    def test_doctor_and_models_tell_about_the_model(self, run_process, tmp_path):
        report = run_process("doctor")
        assert report.code == 0
        assert "torch: " in report.stdout
        assert "verified: all tensors" in report.stdout
        assert run_process("models", "list").stdout.startswith("* small: ")
        assert run_process("models", "verify", "--model", tmp_path).code == 7
