"""A few steps of every kind of stage, from composed pages to saved weights."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import ocrcli.models.small
from ocrcli.models.small.training import profile, train
from ocrcli.models.small.training.atlas import Atlas
from ocrcli.models.small.training.export import export
from ocrcli.models.small.training.speedups import SPEEDUPS, VARIABLE, is_on
from ocrcli.models.small.training.stages import STAGES, parts

SMALL = Path(ocrcli.models.small.__file__).parent


@pytest.fixture
def folders(tmp_path, monkeypatch, block_atlas, text_folder):
    """Data, scratch and output of a run with a model of a few thousand weights."""
    raw = json.loads((SMALL / "config.json").read_text(encoding="utf-8"))
    raw |= {"hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 48}
    raw |= {"num_attention_heads": 2, "num_key_value_heads": 2, "first_k_dense_replace": 1}
    raw["projector_config"] = {}
    raw["sparse_attention_config"]["sparse_router_dim"] = 16
    stages = raw["vision_config"]["width"]
    stages["sam_vit_b"] |= {"width": 16, "layers": 1, "heads": 2, "downsample_channels": [32]}
    stages["clip-l-14-224"] |= {"width": 32, "layers": 1, "heads": 2}
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(raw), encoding="utf-8")
    shutil.copy(SMALL / "tokenizer.json", model)
    monkeypatch.setattr(train, "_FOLDER", model)
    for variable in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        # Set by the command for the processes it starts; not for other tests.
        monkeypatch.setenv(variable, str(tmp_path / "compiled"))
    data = tmp_path / "data"
    shutil.copytree(text_folder, data)
    (data / "fonts" / "train").mkdir(parents=True)
    (data / "fonts" / "train_coverage.json").write_text("{}", encoding="utf-8")
    block_atlas.save(tmp_path / "scratch" / "atlas")
    return tmp_path


def test_a_few_steps_of_every_kind_of_stage_run(folders):
    command = ["--data", str(folders / "data"), "--scratch", str(folders / "scratch")]
    command += ["--out", str(folders / "out"), "--no-compile", "--batch", "2", "--steps", "2"]
    train.main([*command, "--plan", "lines:60,blocks:60,tiny:60,mixed:60"])
    log = [json.loads(line) for line in (folders / "out" / "train.log").read_text().splitlines()]
    assert [line["ended"] for line in log if "ended" in line] == [2, 4, 6, 8]
    weights = load_file(folders / "out" / "weights-0.safetensors")
    assert "model.model.orientation.turns.weight" in weights
    assert weights["model.model.orientation.turns.weight"].abs().sum() > 0
    # A later run goes on from parts without the head, or from the shipped form of the model.
    bare = {name: value for name, value in weights.items() if "orientation" not in name}
    save_file(bare, folders / "bare.safetensors")
    model = {name.removeprefix("model."): value for name, value in weights.items()}
    export({k: v for k, v in model.items() if k[:6] == "model."}, folders / "ship.safetensors", {})
    for name in ("bare", "ship"):
        start = ["--init-from", str(folders / f"{name}.safetensors")]
        train.main([*command, "--plan", "tiny:60", *start])


def test_weights_are_written_while_a_stage_runs(folders, monkeypatch):
    written = []
    monkeypatch.setattr(train, "_save", lambda run: written.append(run.step))
    command = ["--data", str(folders / "data"), "--scratch", str(folders / "scratch")]
    command += ["--out", str(folders / "out"), "--no-compile", "--batch", "2", "--steps", "3"]
    train.main([*command, "--plan", "tiny:60", "--save-every", "1e-9"])
    assert written == [1, 2, 3, 3]


def test_profile_names_every_part_and_compares_the_speedups(folders, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    command = ["--data", str(folders / "data"), "--scratch", str(folders / "scratch")]
    command += ["--out", str(folders / "out"), "--no-compile", "--batch", "2", "--steps", "2"]
    profile.main([*command, "--plan", "tiny", "--compare"])
    report = capsys.readouterr().out
    parts = ("paint", "encoder", "decoder and loss", "character head", "all backward", "optimisers")
    for part in parts:
        (line,) = (line for line in report.splitlines() if line.startswith(f"  {part} "))
        assert float(line.split("done")[1].split()[0]) > 0
    assert "idle" in report and "launches a step" in report
    for name in SPEEDUPS:
        assert f"a step without {name}\n" in report
    assert is_on("flat")


def test_atlas_of_other_sizes_is_refused(folders):
    shape = folders / "scratch" / "atlas" / "shape.npy"
    np.save(shape, np.load(shape)[:, :-1])
    with pytest.raises(ValueError, match="delete it"):
        Atlas.load(shape.parent)


def test_stages_fit_the_model():
    raw = json.loads((SMALL / "config.json").read_text(encoding="utf-8"))
    limit = raw["vision_config"]["width"]["sam_vit_b"]["position_size"] * 16
    for stage in (part for any_stage in STAGES.values() for part in parts(any_stage)[0]):
        for (width, height), _ in stage.shapes:
            assert width % 64 == 0 and height % 64 == 0
            assert max(width, height) <= limit
