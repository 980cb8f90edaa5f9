"""Which part may import which, and what must stay cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "numpy", "pymupdf", "fitz", "PIL", "rich", "safetensors", "tokenizers")

UNSHIPPED = ("small/training/", "small/evaluation/")


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def sources(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts]


def offenders(folder: Path, is_forbidden) -> list[str]:
    return [
        f"{path.relative_to(folder)}: {name}"
        for path in sources(folder)
        for name in sorted(imported(path))
        if is_forbidden(name)
    ]


def within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def test_kernels_import_nothing_of_ours(repository):
    found = offenders(
        repository / "kernels",
        lambda name: (
            within(name, "ocrcli") and name != "ocrcli" and not within(name, "ocrcli.kernels")
        ),
    )
    assert found == []


def test_models_import_only_kernels(repository):
    allowed = ("ocrcli.kernels", "ocrcli.models")
    shipped = [
        entry
        for entry in offenders(
            repository / "models",
            lambda name: (
                within(name, "ocrcli")
                and name != "ocrcli"
                and not any(within(name, package) for package in allowed)
            ),
        )
        if not entry.startswith(UNSHIPPED)
    ]
    assert shipped == []


def test_nothing_is_imported_by_its_bare_name(repository):
    for folder in ("ocrcli", "kernels", "models", "tests", "examples"):
        found = offenders(
            repository / folder, lambda name: within(name, "kernels") or within(name, "models")
        )
        assert found == []


def test_only_the_reader_and_the_writer_of_pdfs_know_pymupdf(repository):
    for folder in ("ocrcli", "kernels", "models"):
        users = {
            entry.partition(":")[0]
            for entry in offenders(
                repository / folder, lambda name: within(name, "pymupdf") or within(name, "fitz")
            )
        }
        users = {user for user in users if not user.startswith(UNSHIPPED)}
        assert users <= (
            {"pages.py", "pdf_file.py", "searchable_pdf.py"} if folder == "ocrcli" else set()
        )


def test_only_the_command_line_exits_or_prints(repository):
    for path in sources(repository / "ocrcli"):
        if path.name in ("cli.py", "__main__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "exit", "quit", "sys.exit", "os._exit"), path


def loaded_by(code: str) -> list[str]:
    """Return the heavy modules that are loaded after running some code."""
    check = f"import sys\n{code}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", check], capture_output=True, text=True, check=True
    )
    return ast.literal_eval(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "code",
    [
        "import ocrcli; ocrcli.Options, ocrcli.Page, ocrcli.Document, ocrcli.__version__",
        "from ocrcli.cli import main; main(['--help'])",
        "from ocrcli.cli import main; main(['transcribe', '--help'])",
        "from ocrcli.cli import main; main(['--version'])",
        "from ocrcli.cli import main; main(['transcribe', '--bogus'])",
    ],
)
def test_cheap_commands_load_nothing_heavy(code):
    assert loaded_by(code) == []


def test_files_are_refused_without_loading_torch(tmp_path):
    code = f"from ocrcli.cli import main; main(['transcribe', {str(tmp_path / 'none.pdf')!r}])"
    assert "torch" not in loaded_by(code)


def test_help_imports_little_enough_to_answer_at_once():
    code = "from ocrcli.cli import main; main(['--help']); import sys; print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.splitlines()[-1]) < 400
