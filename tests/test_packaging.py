"""The package that gets installed: complete, free of training code, and with modest names."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import ocrcli

CHECKPOINT_LIMIT_BYTES = 50_000_000
WHEEL_LIMIT_BYTES = 60_000_000
NOT_SHIPPED = {"ocrcli.models.small.evaluation", "ocrcli.models.small.training"}


@pytest.fixture(scope="module")
def project(repository):
    with (repository / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


@pytest.fixture(scope="module")
def link_tree(repository):
    path = repository / "tests" / "link_tree.py"
    spec = importlib.util.spec_from_file_location("link_tree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(repository, tmp_path_factory):
    """The names in a wheel of this checkout, built with what is installed."""
    copy = tmp_path_factory.mktemp("source")
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "kernels", "models", "ocrcli"):
        (copy / name).symlink_to(repository / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "-w", str(folder), str(copy)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path


def packages_on_disk(repository):
    found = set()
    for top, base in (("ocrcli", ""), ("kernels", "ocrcli."), ("models", "ocrcli.")):
        for file in (repository / top).rglob("*.py"):
            if "__pycache__" not in file.parts:
                folder = file.parent.relative_to(repository)
                found.add(base + ".".join(folder.parts))
    return found


def test_declared_packages_are_those_on_disk(repository, project):
    declared = project["tool"]["setuptools"]["packages"]
    assert declared == [*dict.fromkeys(declared)]
    unshipped = {
        name for name in packages_on_disk(repository) if f"{name}.".startswith(tuple(NOT_SHIPPED))
    }
    assert set(declared) == packages_on_disk(repository) - unshipped


def test_link_tree_holds_every_module(repository, link_tree, project, tmp_path):
    tree = link_tree.make_link_tree(repository, tmp_path / "tree")
    for package, folder in link_tree.package_folders(repository).items():
        modules = {file.name for file in folder.glob("*.py")}
        linked = {file.name for file in (tree / package.replace(".", "/")).glob("*.py")}
        assert modules == linked
    assert (tree / "ocrcli" / "kernels" / "__init__.py").is_symlink()


def test_version_is_the_declared_one(project):
    assert ocrcli.__version__ == project["project"]["version"]


@pytest.mark.parametrize("name", ["kernels", "models"])
def test_bare_names_cannot_be_imported(repository, name):
    code = f"import {name}"
    installed = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, cwd=repository, check=False
    )
    assert b"No module named" in installed.stderr or f"ocrcli.{name}".encode() in installed.stderr
    checkout = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=repository, text=True, check=False
    )
    assert f"import this package as ocrcli.{name}" in checkout.stderr


@pytest.mark.slow
def test_wheel_holds_the_packages_and_nothing_else(wheel, project):
    names = zipfile.ZipFile(wheel).namelist()
    modules = {str(Path(name).parent).replace("/", ".") for name in names if name.endswith(".py")}
    assert modules == set(project["tool"]["setuptools"]["packages"])
    top = {name.split("/")[0] for name in names}
    assert top == {"ocrcli", f"ocrcli-{ocrcli.__version__}.dist-info"}
    assert "ocrcli/py.typed" in names
    assert "ocrcli/models/small/config.json" in names
    assert not [name for name in names if {"training", "evaluation"} & {*name.split("/")}]
    assert wheel.stat().st_size < WHEEL_LIMIT_BYTES


@pytest.mark.slow
@pytest.mark.weights
def test_wheel_holds_the_weights(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "ocrcli/models/small/model.safetensors" in names
    assert "ocrcli/models/small/tokenizer.json" in names


def installed_run(wheel, folder, *arguments):
    """Install a wheel into a folder and run it there, away from the checkout."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, "-q", str(wheel)], check=True, timeout=300)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    where = subprocess.run(
        [sys.executable, "-P", "-c", "import ocrcli, ocrcli.models as m; print(m.__file__)"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(folder)
    return subprocess.run(
        [sys.executable, "-P", "-m", "ocrcli", "transcribe", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.weights
def test_wheel_transcribes_away_from_the_checkout(wheel, fakes, tmp_path):
    path = fakes.write_pdf(tmp_path / "a.pdf", ["Installed"])
    done = installed_run(wheel, tmp_path / "site", str(path), "-q", "--max-tokens", "60")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


@pytest.mark.slow
def test_sdist_holds_everything_that_a_wheel_is_built_from(repository, wheel, tmp_path):
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    copy = tmp_path / "source"
    shutil.copytree(repository, copy, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info"))
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "dist")],
        cwd=copy,
        check=True,
        capture_output=True,
        timeout=300,
    )
    (sdist,) = (tmp_path / "dist").iterdir()
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*command, "-w", str(tmp_path), str(sdist)], check=True, timeout=300)
    (rebuilt,) = tmp_path.glob("*.whl")
    names = [set(zipfile.ZipFile(path).namelist()) for path in (wheel, rebuilt)]
    assert names[0] == names[1]


@pytest.mark.weights
def test_checkpoint_is_small_enough_to_ship(repository):
    checkpoint = repository / "models" / "small" / "model.safetensors"
    assert checkpoint.stat().st_size <= CHECKPOINT_LIMIT_BYTES


def test_requirements_name_no_gpu_packages(project):
    base = " ".join(project["project"]["dependencies"])
    assert not re.search(r"nvidia|cuda|triton|flashinfer", base)
