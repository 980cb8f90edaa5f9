"""Fixtures for every test, and the reasons why some are skipped."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
WEIGHTS = REPOSITORY / "models" / "small" / "model.safetensors"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs the shipped weights or a GPU where there are none, and what takes minutes."""
    not_asked_for = pytest.mark.skip(reason='takes minutes; run it with -m "long"')
    without_weights = pytest.mark.skip(reason="models/small/model.safetensors is absent")
    without_gpu = pytest.mark.skip(reason="no CUDA device")
    has_gpu = any(item.get_closest_marker("gpu") for item in items) and _has_gpu()
    for item in items:
        if item.get_closest_marker("weights") and not WEIGHTS.is_file():
            item.add_marker(without_weights)
        if item.get_closest_marker("long") and "long" not in config.getoption("-m"):
            item.add_marker(not_asked_for)
        if item.get_closest_marker("gpu") and not has_gpu:
            item.add_marker(without_gpu)


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout that the tests belong to."""
    return REPOSITORY


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Inputs that nobody on this project wrote; they are not part of the repository."""
    folder = os.environ.get("OCRCLI_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("OCRCLI_TEST_DATA names no folder with test inputs")
    return Path(folder)


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """The module beside this one; test folders are no packages, so it cannot be imported."""
    spec = importlib.util.spec_from_file_location("fakes", Path(__file__).with_name("fakes.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fakes"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny_model(fakes: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with random weights, for tests that need the engine but no text."""
    folder: Path = fakes.write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
    return folder


@dataclass(frozen=True)
class CommandResult:
    """What a user gets back from the command."""

    code: int
    stdout: str
    stderr: str


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OCRCLI_")}
    return {**kept, "OMP_NUM_THREADS": "1", **extra}


@pytest.fixture
def run_process() -> Callable[..., CommandResult]:
    """Run the command in a process of its own."""

    def run(
        *arguments: str | Path,
        stdin: str = "",
        cwd: Path | None = None,
        timeout: float = 300,
        **variables: str,
    ) -> CommandResult:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ocrcli", *map(str, arguments)],
            input=stdin.encode(),
            capture_output=True,
            cwd=cwd,
            env=_environment(variables),
            timeout=timeout,
            check=False,
        )
        return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def _heed_signals() -> None:
    """Undo what a shell did when it started the tests in the background."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def run_script(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CommandResult]:
    """Run the command in a process of its own, with a recogniser that follows a script."""
    program = Path(__file__).with_name("scripted_process.py")
    settings = str(tmp_path_factory.mktemp("settings"))

    def run(
        *arguments: str | Path | bytes,
        script: Mapping[str, object] | None = None,
        stdin: bytes = b"",
        cwd: Path | None = None,
        before: Callable[[], None] | None = None,
        **variables: str,
    ) -> CommandResult:
        done = subprocess.run(
            [sys.executable, "-P", program, *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=_environment(
                {"SCRIPT": json.dumps(script or {}), "XDG_CONFIG_HOME": settings, **variables}
            ),
            preexec_fn=before or _heed_signals,
            timeout=120,
            check=False,
        )
        return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def run_scripted(
    fakes: ModuleType,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., CommandResult]:
    """Run the command in this process, with a recogniser that follows a script."""
    # Whatever is first imported while the class is replaced would keep the stand-in.
    import ocrcli.pipeline  # noqa: F401
    from ocrcli.cli import main

    for name in [name for name in os.environ if name.startswith("OCRCLI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))

    def run(recogniser: object, arguments: Sequence[str | Path]) -> CommandResult:
        monkeypatch.setattr("ocrcli.recogniser.ModelRecogniser", lambda options: recogniser)
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run
