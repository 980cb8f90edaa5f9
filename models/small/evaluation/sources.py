"""Names, versions and digests of what sets are made of, for the report."""

import hashlib
from pathlib import Path
from typing import Any

from ocrcli.models.small.evaluation import debian_docs, language_texts
from ocrcli.models.small.evaluation.page_set import read_json
from ocrcli.models.small.evaluation.prose_pages import font_files


def sources(
    text: Path | None, fonts: Path | None, packages: Path | None, files: Path | None
) -> dict[str, Any]:
    """Return what is known of each folder that is given.

    Args:
        text: Folder of held-out books, or None.
        fonts: Folder of held-out fonts, or None.
        packages: Folder of Debian packages, or None.
        files: Folder of documents with their texts, or None.

    Returns:
        "books" and "files": digest by name; "fonts": number, families and one digest of all;
        "packages": name, version and digest of each package that a set reads.
    """
    found: dict[str, Any] = {}
    if text is not None:
        found["books"] = {path.stem: _sha256(path) for path in sorted(text.glob("*.txt"))}
    if fonts is not None:
        found["fonts"] = _fonts(font_files(fonts))
    if packages is not None:
        found["packages"] = _packages(packages)
    if files is not None:
        texts = sorted(path for path in files.glob("*.txt"))
        found["files"] = {path.name: _sha256(path) for path in texts}
    return found


def _fonts(files: list[Path]) -> dict[str, Any]:
    digests = "".join(f"{_sha256(path)}  {path.name}\n" for path in files)
    families = sorted({path.stem.partition("-")[0] for path in files})
    return {
        "files": len(files),
        "families": families,
        "sha256": hashlib.sha256(digests.encode()).hexdigest(),
    }


def _packages(folder: Path) -> list[dict[str, str]]:
    recorded = read_json(debian_docs.RECORD)["packages"]
    names = [*(package["name"] for package in recorded), *language_texts.PACKAGES.values()]
    return [
        {"name": name, "version": debian_docs.identity(deb)[1], "sha256": _sha256(deb)}
        for name in names
        for deb in sorted(folder.glob(f"{name}_*.deb"))[:1]
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
