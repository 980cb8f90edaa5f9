"""Rebuilds the folders of training, held-out and sample fonts from the record in `fonts.json`.

The fonts themselves are not part of the project. The record names every file, the Debian package
that ships it, its licence and its SHA-256, so anyone can gather the same set:

    python -m ocrcli.models.small.training.fonts --out data/fonts [--root /] [--root unpacked/]

A family and its metric clones or revivals of one typeface form a *group*; a whole group has one
role, so that nothing in the held-out set was seen in training under another name.
"""

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from ocrcli.models.small.training.charset import CHARS, LIGATURES

RECORD = Path(__file__).with_name("fonts.json")

Role = Literal["train", "heldout", "sample"]


@dataclass(frozen=True)
class FontRecord:
    """One font file of the set.

    Attributes:
        file: Name in the rebuilt folder, `Family-Style.ttf` or `.otf`.
        family: Family name the font gives itself.
        style: `Regular`, `Italic`, `Bold`, `BoldItalic`, `Light` or `SemiBold`.
        kind: `serif`, `sans`, `slab` or `mono`.
        group: Typeface the family and its near-identical relatives belong to.
        role: `train`, `heldout` (evaluation only) or `sample` (documents shown in the README).
        package: Debian package that ships the file.
        path: Place of the file below the file system root once the package is installed.
        licence: Short licence name, SPDX where one exists.
        sha256: Digest of the original file.
    """

    file: str
    family: str
    style: str
    kind: str
    group: str
    role: Role
    package: str
    path: str
    licence: str
    sha256: str


def read_records(path: Path = RECORD) -> tuple[FontRecord, ...]:
    """Return the records of a font list.

    Args:
        path: A file laid out like `fonts.json`.

    Raises:
        ValueError: An entry has missing or unknown keys.
    """
    wanted = {field.name for field in fields(FontRecord)}
    records = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["fonts"]:
        if set(entry) != wanted:
            raise ValueError(
                f"path holds a font entry with keys {sorted(entry)}, expected {sorted(wanted)}"
            )
        records.append(FontRecord(**entry))
    return tuple(records)


def build(records: Iterable[FontRecord], roots: Sequence[Path], output: Path) -> None:
    """Write `train/`, `heldout/`, `sample/` and `train_coverage.json` below `output`.

    Training fonts are cut down to the taught characters, without hinting and layout tables;
    the others are copied whole because the evaluation shapes text with them.

    Args:
        records: The fonts wanted.
        roots: Folders that hold installed or unpacked packages, searched in order.
        output: Folder to fill; files of earlier runs are replaced.

    Raises:
        ValueError: A font is in none of `roots`, or differs from the recorded file.
    """
    coverage: dict[str, list[str]] = {}
    for record in records:
        source = _find(record, roots)
        target = output / record.role / record.file
        target.parent.mkdir(parents=True, exist_ok=True)
        if record.role == "train":
            coverage[record.file] = subset(source, target)
        else:
            shutil.copyfile(source, target)
    text = json.dumps(coverage, ensure_ascii=False, indent=0)
    (output / "train_coverage.json").write_text(text + "\n", encoding="utf-8")


def subset(source: Path, target: Path) -> list[str]:
    """Write `source` cut down to the taught characters and return those that it lacks.

    Args:
        source: A TrueType or OpenType font.
        target: File to write.

    Returns:
        The members of `CHARS` and `LIGATURES` without a glyph, in that order.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    wanted = (*CHARS, *LIGATURES)
    options = Options(
        hinting=False,
        layout_features=[],
        notdef_outline=True,
        legacy_kern=False,
        name_IDs=[0, 1, 2, 13, 14],
        drop_tables=[
            *Options._drop_tables_default,
            "GSUB",
            "GPOS",
            "GDEF",
            "MATH",
            "kern",
            "FFTM",
            "feat",
            "morx",
        ],
    )
    subsetter = Subsetter(options=options)
    subsetter.populate(unicodes=[ord(char) for char in wanted])
    with TTFont(source) as font:
        present = font.getBestCmap()
        subsetter.subset(font)
        font.save(target)
    return [char for char in wanted if ord(char) not in present]


def _find(record: FontRecord, roots: Sequence[Path]) -> Path:
    for root in roots:
        path = root / record.path
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest != record.sha256:
                raise ValueError(
                    f"roots hold {record.path} with SHA-256 {digest}, expected {record.sha256}; "
                    f"use the version of {record.package} named in fonts.json"
                )
            return path
    places = ", ".join(map(str, roots))
    raise ValueError(
        f"roots must hold {record.path}, not found below {places}; "
        f"install {record.package} or unpack it and add its folder to --root"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = argparse.ArgumentParser(description="Rebuild the font folders from fonts.json.")
    parser.add_argument("--out", type=Path, required=True, help="folder to fill")
    parser.add_argument(
        "--root", type=Path, action="append", help="installed or unpacked packages (default: /)"
    )
    arguments = parser.parse_args(argv)
    records = read_records()
    build(records, arguments.root or [Path("/")], arguments.out)
    counts = {role: sum(record.role == role for record in records) for role in _roles(records)}
    sys.stdout.write(f"wrote {counts} to {arguments.out}\n")


def _roles(records: Iterable[FontRecord]) -> list[str]:
    return sorted({record.role for record in records})


if __name__ == "__main__":
    main()
