"""Models by name: what is fetched, what is said, and what happens without a network."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ocrcli.errors import ModelError
from ocrcli.hub import fetched, local_model

FILES = {
    "config.json": 1_000,
    "model-00001.safetensors": 5_000_000_000,
    "model.safetensors.index.json": 2_000,
    "modeling_unlimitedocr.py": 90_000,
    "pytorch_model.bin": 7_000_000_000,
    "tokenizer.json": 9_000_000,
}


class FakeHub:
    def __init__(self, offline=False, error=None, cached=None):
        self._cached = cached
        self.constants = SimpleNamespace(HF_HUB_OFFLINE=offline)
        self.asked = []
        self._error = error

    def HfApi(self):  # noqa: N802
        def model_info(repo, revision, files_metadata):
            self.asked.append(("info", repo, revision))
            files = [SimpleNamespace(rfilename=name, size=size) for name, size in FILES.items()]
            return SimpleNamespace(siblings=files)

        return SimpleNamespace(model_info=model_info)

    def snapshot_download(self, repo, revision, allow_patterns, local_files_only=False):
        if local_files_only:
            if self._cached is None:
                raise FileNotFoundError("nothing cached")
            return self._cached
        self.asked.append(("files", repo, revision))
        self.patterns = allow_patterns
        if self._error is not None:
            raise self._error
        return "folder"


def test_files_and_size_are_said_before_they_are_fetched():
    hub, said = FakeHub(), []
    assert fetched("org/name", "v1", hub, said.append) == Path("folder")
    assert hub.asked == [("info", "org/name", "v1"), ("files", "org/name", "v1")]
    assert said == ["fetching org/name@v1: 4 files, 5.01 GB, unless cached"]


def test_no_code_and_no_pickles_are_fetched():
    hub = FakeHub()
    fetched("org/name", None, hub, lambda line: None)
    assert not [name for name in hub.patterns if name.endswith((".py", ".bin", "*"))]


def test_offline_asks_nobody_for_sizes():
    hub, said = FakeHub(offline=True), []
    fetched("org/name", None, hub, said.append)
    assert hub.asked == [("files", "org/name", None)]
    assert said == []


def test_failure_names_the_model_and_the_reason():
    with pytest.raises(ModelError, match=r"org/name: the model cannot be fetched: no network"):
        fetched("org/name", None, FakeHub(error=OSError("no network\nmore")), lambda line: None)


class TransportError(Exception):
    """What the library passes on from whatever it sends requests with."""


def test_any_error_of_the_transport_is_a_failure_to_fetch():
    hub = FakeHub(error=TransportError("name or service not known"))
    with pytest.raises(ModelError, match="cannot be fetched: name or service not known"):
        fetched("org/name", None, hub, lambda line: None)


def test_what_was_fetched_before_is_read_without_a_network():
    hub, said = FakeHub(error=TransportError("no route"), cached="kept"), []
    assert fetched("org/name", "v1", hub, said.append) == Path("kept")
    expected = "org/name@v1 is taken from the cache, since nothing can be fetched: no route"
    assert said[-1] == expected


def test_what_is_there_is_taken_as_it_is(tmp_path):
    assert local_model(None) is None
    assert local_model(tmp_path) == tmp_path


@pytest.mark.parametrize("name", ["nothing", "a/b/c", "/a/b", "../a", "a/b@", "a/b c"])
def test_other_words_are_no_names(name):
    with pytest.raises(ModelError, match="no such model"):
        local_model(Path(name))


def test_cached_model_is_found_offline(tmp_path):
    pytest.importorskip("huggingface_hub")
    cache = tmp_path / "hub" / "models--org--tiny"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("f" * 40)
    snapshot = cache / "snapshots" / ("f" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{")
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    for name, message in (("org/tiny", "tokenizer.json"), ("org/none", "cannot be fetched")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ocrcli", "models", "info", "--model", name],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 7
        assert message in done.stderr
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ocrcli", "--version", "-v"],
        env=environment | {"OCRCLI_MODEL": "org/tiny"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7
    assert "tokenizer.json" in done.stderr
