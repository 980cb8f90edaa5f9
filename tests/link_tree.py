"""Makes `build/typing/ocrcli/`, a tree of links that looks like the installed package.

The folders `kernels/` and `models/` lie beside `ocrcli/` but are imported from inside it. An import
hook does that at run time; type checkers and editors need the files to lie where the names say.
"""

import shutil
import sys
import tomllib
from pathlib import Path

# Part of the repository but not of the wheel; its types are checked all the same.
NOT_SHIPPED = ("ocrcli.models.small.evaluation", "ocrcli.models.small.training")


def package_folders(repository: Path) -> dict[str, Path]:
    """Return the folder of each declared package and of those that are not shipped."""
    with (repository / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["setuptools"]
    mapped = settings["package-dir"]
    folders = {}
    for package in (*settings["packages"], *NOT_SHIPPED):
        # The longest mapped prefix decides, as it does for setuptools.
        parents = [name for name in mapped if f"{package}.".startswith(f"{name}.")]
        base = max(parents, key=len, default="")
        rest = package.removeprefix(base).strip(".").replace(".", "/")
        folders[package] = repository / mapped.get(base, "") / rest
    return folders


def make_link_tree(repository: Path, target: Path) -> Path:
    """Fill `target` with links to the files of every declared package, and return it."""
    shutil.rmtree(target, ignore_errors=True)
    for package, folder in package_folders(repository).items():
        destination = target / package.replace(".", "/")
        destination.mkdir(parents=True, exist_ok=True)
        for file in sorted(folder.iterdir()):
            if file.is_file():
                (destination / file.name).symlink_to(file.resolve())
    return target


def main() -> int:
    """Make the tree in the repository that this file belongs to."""
    repository = Path(__file__).resolve().parent.parent
    print(make_link_tree(repository, repository / "build" / "typing"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
