"""Rules of style that no linter checks; each test lists the files that break its rule."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("ocrcli", "kernels", "models", "tests", "examples")
FILE_LINES = 400
KERNEL_LINES = 500
TEST_LINES = 700
FUNCTION_LINES = 80
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
SHADOWING_NAMES = {"triton", "flashinfer", "json", "logging", "torch", "types"}
MACHINE_PATHS = tuple("/".join(("", name, "")) for name in ("root", "work", "home", "mnt"))
BANNER = re.compile(r"\s*#\s*([-=*#~])\1{3,}")
LEFTOVER = re.compile(r"#.*\b(?:TO[D]O|FIX[M]E|XX[X])\b")


def python_files(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders or FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "__pycache__" not in path.parts
    ]


def written_files() -> list[Path]:
    settings = [ROOT / "README.md", ROOT / "pyproject.toml", *(ROOT / ".ci").iterdir()]
    other = [
        path
        for folder in FOLDERS
        for suffix in ("*.sh", "*.md", "*.json")
        for path in (ROOT / folder).rglob(suffix)
        if path.name != "tokenizer.json"
    ]
    return [*settings, *other, *python_files()]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def named(path: Path, detail: object = "") -> str:
    return f"{path.relative_to(ROOT)} {detail}".strip()


def line_limit(path: Path) -> int:
    folder = path.relative_to(ROOT).parts[0]
    return {"tests": TEST_LINES, "kernels": KERNEL_LINES}.get(folder, FILE_LINES)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and number of lines of each function, its docstring not counted."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, node.end_lineno - body[0].lineno + 1 if body else 0


def test_files_are_short():
    assert [
        named(path, len(lines_of(path)))
        for path in python_files()
        if len(lines_of(path)) > line_limit(path)
    ] == []


def test_functions_fit_on_a_page():
    assert [
        named(path, f"{name}: {count} lines")
        for path in python_files("ocrcli", "models", "examples")
        for name, count in functions(path)
        if count > FUNCTION_LINES
    ] == []


def test_modules_say_why_they_exist():
    assert [
        named(path)
        for path in python_files("ocrcli", "kernels", "models", "examples")
        if not ast.get_docstring(tree_of(path))
    ] == []


def test_file_names_are_telling_and_shadow_nothing():
    assert [
        named(path) for path in python_files() if path.stem in VAGUE_NAMES | SHADOWING_NAMES
    ] == []


def test_no_banners_and_no_leftovers():
    assert [
        named(path, number)
        for path in python_files()
        for number, line in enumerate(lines_of(path), start=1)
        if BANNER.match(line) or LEFTOVER.search(line)
    ] == []


def test_exported_names_are_documented():
    undocumented = []
    for path in python_files("ocrcli", "kernels", "models"):
        tree = tree_of(path)
        local = {node.name: node for node in tree.body if hasattr(node, "name")}
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                undocumented += [
                    named(path, name)
                    for name in ast.literal_eval(node.value)
                    if name in local and not ast.get_docstring(local[name])
                ]
    assert undocumented == []


def test_test_folders_are_no_packages():
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_machine_is_named():
    assert [
        named(path, secret)
        for path in written_files()
        for secret in MACHINE_PATHS
        if secret in path.read_text(encoding="utf-8")
    ] == []
