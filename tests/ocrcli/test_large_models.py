"""Large models of either generation, tiny and random, through the command a user types."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from ocrcli.cli import main
from ocrcli.models.unlimited_ocr.random_checkpoint import write_random_checkpoint

SETTINGS = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 300,
    "image_token_id": 7,
    "vision_config": {
        "neck_channels": 8,
        "tile_size": 128,
        "width": {
            "sam_vit_b": {
                "width": 16,
                "layers": 2,
                "heads": 2,
                "window_size": 4,
                "global_attn_indexes": [1],
                "position_size": 16,
                "downsample_channels": [16, 16],
            },
            "clip-l-14-224": {"width": 16, "layers": 1, "heads": 2, "position_size": 4},
        },
    },
}
GENERATIONS = {
    1: SETTINGS | {"sliding_window": 64},
    2: SETTINGS | {"page_token_id": 8, "sparse_router_dim": 8},
}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=[1, 2])
def generation(request):
    return request.param


@pytest.fixture(scope="module")
def model(generation, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_random_checkpoint(folder, GENERATIONS[generation], dtype=torch.float32, step=0.2)
    return folder


@pytest.fixture(scope="module")
def pdf(fakes, tmp_path_factory):
    return fakes.write_pdf(tmp_path_factory.mktemp("in") / "a.pdf", ["One", "Two", "Three"])


def run(capfd, *arguments):
    code = main(["transcribe", *map(str, arguments), "-f", "jsonl", "--max-tokens", "12"])
    captured = capfd.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()]
    return code, [r for r in records if r["type"] == "page"], captured.err


# An overview of 256 pixels: four rows of four tokens and a newline, and a separator. A page of
# 1250 x 834 pixels adds 6 x 4 or, where 16 are the limit, 3 x 2 tiles of 128 with newlines.
OVERVIEW, TILES = 21, {1: 104, 2: 28}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_every_page_of_one_pass_gets_its_record(capfd, model, pdf, generation, dtype):
    code, pages, errors = run(capfd, pdf, "--model", model, "--dtype", dtype)
    assert code == 0, errors
    assert [page["page"] for page in pages] == [1, 2, 3]
    # The first generation cannot be held to its pages: cut on the first, it reads them one by one.
    expected = OVERVIEW + 1 if generation == 2 else OVERVIEW + TILES[1]
    assert [page["tokens"]["prompt"] for page in pages] == [expected] * 3
    assert [page["image"]["dpi"] for page in pages] == [300.0] * 3


@pytest.mark.parametrize("choice", [("--pages", "2"), ("--pages", "2,3", "--mode", "page")])
def test_lone_pages_are_read_in_tiles(capfd, model, pdf, generation, choice):
    code, pages, errors = run(capfd, pdf, "--model", model, *choice)
    assert code == 0, errors
    marker = generation - 1
    assert {page["tokens"]["prompt"] for page in pages} == {OVERVIEW + TILES[generation] + marker}


def test_tiles_can_be_limited_or_left_out(capfd, model, pdf, generation):
    chosen = (pdf, "--model", model, "--pages", "1")
    marker = generation - 1
    for extra, expected in (
        (("--max-crops", "2"), OVERVIEW + (2 * 2 + 1) * 2),
        (("--mode", "onepass"), OVERVIEW),
    ):
        _, (page,), _ = run(capfd, *chosen, *extra)
        assert page["tokens"]["prompt"] == expected + marker


def test_windows_of_pages_are_read_in_turn(capfd, model, pdf, generation):
    code, pages, errors = run(capfd, pdf, "--model", model, "--pages-per-window", "2")
    assert code == 0, errors
    assert [page["page"] for page in pages] == [1, 2, 3]


def test_instruction_reaches_the_model(capfd, model, pdf):
    def confidence(*extra):
        _, (page,), _ = run(capfd, pdf, "--model", model, "--pages", "1", *extra)
        return page["confidence"]

    usual = confidence()
    assert confidence("--instruction", "document parsing.") == usual
    assert confidence("--instruction", "Something else entirely?") != usual


def test_missing_tensor_ends_with_the_model_s_exit_code(capfd, model, pdf, tmp_path):
    copy = tmp_path / "broken"
    shutil.copytree(model, copy)
    shard = copy / "model-00001.safetensors"
    weights = load_file(shard)
    del weights["model.norm.weight"]
    save_file(weights, shard)
    code, pages, errors = run(capfd, pdf, "--model", copy)
    assert (code, pages) == (7, [])
    assert "missing tensor model.norm.weight" in errors


def with_8_bit_floats(folder):
    shard = folder / "model-00001.safetensors"
    norm = {"model.norm.weight": torch.ones(32).to(torch.float8_e4m3fn)}
    save_file(load_file(shard) | norm, shard)


def with_deep_settings(folder):
    (folder / "config.json").write_text("[" * 100_000)


def with_no_number(folder):
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"rms_norm_eps": float("nan")}))


def with_a_pointer(folder):
    (folder / "tokenizer.json").write_text("version https://git-lfs.github.com/spec/v1\n")


EOS, PAD = "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"


def with_renamed(names):
    def damage(folder):
        path = folder / "tokenizer.json"
        tokens = json.loads(path.read_text(encoding="utf-8"))
        for entry in tokens["added_tokens"]:
            entry["content"] = names.get(entry["content"], entry["content"])
        vocabulary = tokens["model"]["vocab"]
        tokens["model"]["vocab"] = {names.get(name, name): id_ for name, id_ in vocabulary.items()}
        path.write_text(json.dumps(tokens), encoding="utf-8")

    return damage


def with_more_tokens(folder):
    path = folder / "tokenizer.json"
    tokens = json.loads(path.read_text(encoding="utf-8"))
    tokens["model"]["vocab"]["something"] = 5000
    path.write_text(json.dumps(tokens), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (with_8_bit_floats, "tensor model.norm.weight has unusable type F8_E4M3"),
        (with_deep_settings, "config.json: not valid JSON: nested too deeply"),
        (with_no_number, "config.json: config key rms_norm_eps must be a finite number above 0"),
        (with_a_pointer, "tokenizer.json: is a git-lfs pointer"),
        (with_renamed({EOS: PAD, PAD: EOS}), "id of eos is"),
        (with_renamed({"<image>": "<nothing>"}), "image_id needs a token"),
        (with_more_tokens, "tokenizer.json has 5001 ids and the model 300"),
    ],
)
def test_model_that_cannot_be_used_is_7_and_one_line(capfd, model, pdf, tmp_path, damage, named):
    copy = tmp_path / "broken"
    shutil.copytree(model, copy)
    damage(copy)
    code, pages, errors = run(capfd, pdf, "--model", copy)
    assert (code, pages, errors.count("\n")) == (7, [], 1)
    assert named in errors
    assert main(["models", "verify", "--model", str(copy)]) == 7


def test_calibration_prints_every_measured_setting(capfd, model, pdf, generation, tmp_path):
    reference = tmp_path / "reference.txt"
    reference.write_text("<PAGE>One<PAGE>Two<PAGE>Three", encoding="utf-8")
    code = main(
        ["calibrate-router", str(pdf), "--reference", str(reference), "--model", str(model)]
    )
    captured = capfd.readouterr()
    if generation == 1:
        assert code == 7
        assert "second generation" in captured.err
        return
    assert code == 0, captured.err
    assert captured.out.count("(perplexity: ") == 18
    assert captured.out.splitlines()[-1].startswith("perplexity: ")


def test_a_transcript_without_text_can_calibrate_nothing(capfd, model, pdf, generation, tmp_path):
    reference = tmp_path / "reference.txt"
    reference.write_text("<PAGE><PAGE><PAGE>", encoding="utf-8")
    code = main(
        ["calibrate-router", str(pdf), "--reference", str(reference), "--model", str(model)]
    )
    assert code == (7 if generation == 1 else 3)
    assert generation == 1 or "it holds no text" in capfd.readouterr().err


def test_open_settings_are_listed_with_default_and_source(capfd, model, generation):
    assert main(["models", "info", "--model", str(model)]) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("open.")]
    assert len(lines) == (30 if generation == 2 else 0)


def test_page_id_that_the_settings_lack_comes_from_the_tokenizer(capfd, model, pdf, tmp_path):
    copy = tmp_path / "unnamed"
    shutil.copytree(model, copy)
    settings = json.loads((copy / "config.json").read_text())
    settings.pop("page_token_id", None)
    (copy / "config.json").write_text(json.dumps(settings))
    code, pages, errors = run(capfd, pdf, "--model", copy, "--pages", "1,2")
    assert code == 0, errors
    assert [page["status"] == "error" for page in pages] == [False, False]


def test_an_intact_model_is_verified(capfd, model):
    assert main(["models", "verify", "--model", str(model)]) == 0
    assert "verified: " in capfd.readouterr().out


def test_a_model_that_does_not_fit_into_memory_says_so(capfd, model, pdf, monkeypatch):
    def full(*arguments):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    monkeypatch.setattr("ocrcli.models.load_model", full)
    code, pages, errors = run(capfd, pdf, "--model", model)
    assert (code, pages) == (8, [])
    assert "the model does not fit into memory" in errors
    assert main(["models", "verify", "--model", str(model)]) == 8
