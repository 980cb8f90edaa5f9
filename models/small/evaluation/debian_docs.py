"""Pages of real documentation, set by TeX, FOP, groff and others: nothing of ours drew them.

The PDF files are part of Debian packages; `debian_docs.json` names packages, versions, digests and
the pages that are read. The reference is the text layer, put into reading order line by line.

    python -m ocrcli.models.small.evaluation.debian_docs --packages DEBS --out debian_docs.json

chooses the pages anew. A page is taken when

- it has 400 to 4,500 characters, all of them taught (after `clean_line`), none hidden,
- no more than 1 % of them are in fonts of mathematics or symbols,
- all lines are upright and on the paper, and fewer than one line in eight has a gap wider than two
  ems that is not filled by leaders, or leaders twice (columns and tables have no reading order
  line by line),
- pictures cover less than 5 % of it, and it has fewer than 80 drawn paths, none of them as short as
  an underscore: TeX draws those of some fonts, and the text layer lacks them.

Documents whose name says that they are in another language than the ten taught ones are left out.
Of the pages left in a document, those are read whose digest of "package/path/page" is smallest.
"""

import argparse
import gzip
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocrcli.models.small.evaluation.metrics import LEADER
from ocrcli.models.small.evaluation.page_set import SourcePage, read_json, write_json
from ocrcli.models.small.training.corpus import LANGUAGES, clean_line

if TYPE_CHECKING:
    import pymupdf

RECORD = Path(__file__).with_name("debian_docs.json")

FEWEST, MOST = 400, 4500
_MATHS = re.compile(
    r"^(CM(MI|SY|EX|BSY|MIB)|MS[AB]M|EU(FM|SM)|Symbol|.*Math|Wasy|ZapfDingbats)", re.I
)
_MOST_MATHS = 0.01
_MOST_GAPS = 1 / 8
_WIDE_GAP = 2.0
_MOST_PICTURE, _MOST_PATHS = 0.05, 80
_UNDERSCORE = (1.0, 7.0, 1.0)
"""Shortest, longest and highest drawn underscore in points."""
_LEADERS = re.compile(r"(?:\s*\.){4,}\s*")
_LANGUAGE = re.compile(r"\.([a-z]{2})(?:[-_]\w+)?\.pdf")


@dataclass(frozen=True)
class Line:
    """Text on one baseline.

    Attributes:
        text: Its pieces from left to right.
        gaps: Whether a wide gap without leaders lies in it, or two entries of an index.
    """

    text: str
    gaps: bool


def pages_of_record(packages: Path, scratch: Path, count: int) -> list[SourcePage]:
    """Return the recorded pages, spread evenly over all documents if fewer are wanted.

    Args:
        packages: Folder with the `.deb` files that the record names.
        scratch: Folder to unpack them to.
        count: Number of pages wanted.

    Raises:
        ValueError: A package is missing or another version.
    """
    import pymupdf

    wanted = _spread(read_json(RECORD)["packages"], count)
    pages: list[SourcePage] = []
    for package, file, numbers in wanted:
        folder = unpack(find_package(packages, package), scratch / package["name"])
        document = plain_pdf(folder / file["path"], scratch / "pdf" / package["name"])
        language = _language(file["path"])
        with pymupdf.open(document) as opened:
            for number in numbers:
                text = "\n".join(line.text for line in lines_of(opened[number - 1]))
                note = f"{package['name']} {Path(file['path']).name} ({file['made_by']})"
                pages.append(SourcePage(document, number, text, (), language, note))
    return pages


def _spread(packages: list[dict[str, Any]], count: int) -> list[tuple[Any, Any, list[int]]]:
    """Return package, file and pages: the first page of every file, then the second, …."""
    files = [(package, file) for package in packages for file in package["files"]]
    taken: list[list[int]] = [[] for _ in files]
    rank = 0
    while sum(map(len, taken)) < count and any(len(file["pages"]) > rank for _, file in files):
        for place, (_, file) in enumerate(files):
            if rank < len(file["pages"]) and sum(map(len, taken)) < count:
                taken[place].append(file["pages"][rank])
        rank += 1
    return [
        (package, file, pages) for (package, file), pages in zip(files, taken, strict=True) if pages
    ]


def find_package(packages: Path, package: dict[str, Any]) -> Path:
    """Return the `.deb` file of a recorded package.

    Raises:
        ValueError: It is missing or has another digest.
    """
    for path in sorted(packages.glob(f"{package['name']}_*.deb")):
        if sha256_of(path) == package["sha256"]:
            return path
    raise ValueError(
        f"packages must hold {package['name']} {package['version']} with SHA-256 "
        f"{package['sha256'][:12]}…; get it by `apt-get download {package['name']}` or from "
        "snapshot.debian.org"
    )


def sha256_of(path: Path) -> str:
    """Return the digest of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unpack(package: Path, folder: Path) -> Path:
    """Unpack a `.deb` file unless that was done before; return the folder."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    return folder


def plain_pdf(path: Path, folder: Path) -> Path:
    """Return a PDF that may be compressed with gzip as a plain file."""
    if path.suffix != ".gz":
        return path
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.stem
    target.write_bytes(gzip.decompress(path.read_bytes()))
    return target


def _language(path: str) -> str:
    match = _LANGUAGE.search(path)
    return match[1] if match else "en"


def lines_of(page: "pymupdf.Page") -> list[Line]:
    """Return the lines of a page from top to bottom, pieces on one baseline joined by blanks.

    Args:
        page: A page whose text layer is sound.
    """
    pieces = []
    for block in page.get_text("dict")["blocks"]:
        for line in block.get("lines", ()):
            text = "".join(span["text"] for span in line["spans"])
            if text.strip():
                size = max(span["size"] for span in line["spans"])
                pieces.append((*line["bbox"], size, text.strip()))
    pieces.sort(key=lambda piece: (piece[1] + piece[3]) / 2)
    rows: list[list[tuple[float, float, float, float, float, str]]] = []
    for piece in pieces:
        middle = (piece[1] + piece[3]) / 2
        if rows and any(above[1] < middle < above[3] for above in rows[-1]):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_joined(sorted(row)) for row in rows]


def _joined(row: list[tuple[float, float, float, float, float, str]]) -> Line:
    gaps = [
        right[0] - left[2] > _WIDE_GAP * max(left[4], right[4])
        and not left[5].endswith(".")
        and not right[5].startswith(".")
        for left, right in zip(row, row[1:], strict=False)
    ]
    text = clean_line(" ".join(piece[5] for piece in row)) or " ".join(piece[5] for piece in row)
    text = _LEADERS.sub(LEADER, text).strip()
    return Line(text, any(gaps) or text.count(LEADER) > 1)


def is_usable(page: "pymupdf.Page") -> bool:
    """Return whether a page fits the rule in the module's docstring."""
    lines = lines_of(page)
    characters = sum(len(line.text) for line in lines)
    if not FEWEST <= characters <= MOST or any(not clean_line(line.text) for line in lines):
        return False
    if sum(line.gaps for line in lines) >= _MOST_GAPS * len(lines):
        return False
    blocks = page.get_text("dict")["blocks"]
    written = [line for block in blocks for line in block.get("lines", ())]
    for line in written:
        left, _, right, _ = line["bbox"]
        if abs(line["dir"][1]) > 0.01 or line["dir"][0] < 0 or left < 0 or right > page.rect.width:
            return False
    spans = [span for line in written for span in line["spans"]]
    maths = sum(len(span["text"]) for span in spans if _MATHS.match(_font_name(span["font"])))
    hidden = any(span["alpha"] == 0 for span in spans if "alpha" in span)
    area = page.rect.width * page.rect.height
    pictured = sum(
        abs(info["bbox"][2] - info["bbox"][0]) * abs(info["bbox"][3] - info["bbox"][1])
        for info in page.get_image_info()
    )
    return (
        maths <= _MOST_MATHS * characters
        and not hidden
        and pictured < _MOST_PICTURE * area
        and len(drawn := page.get_drawings()) < _MOST_PATHS
        and not any(_is_underscore(path["rect"]) for path in drawn)
    )


def _is_underscore(box: "pymupdf.Rect") -> bool:
    shortest, longest, highest = _UNDERSCORE
    return shortest < box.width < longest and box.height < highest


def _font_name(name: str) -> str:
    return name.rpartition("+")[2]


def choose(packages: Path, scratch: Path, per_file: int, most_files: int) -> dict[str, Any]:
    """Return a new record of the PDF files in a folder of packages.

    Args:
        packages: Folder of `.deb` files.
        scratch: Folder to unpack them to.
        per_file: Most pages of one document.
        most_files: Most documents of one package.
    """
    found: list[dict[str, Any]] = []
    for deb in sorted(packages.glob("*.deb")):
        name, version = identity(deb)
        folder = unpack(deb, scratch / name)
        files = list(_files(folder, name, scratch, per_file))
        # The longest choice of pages first; of equals, the first by name.
        files = sorted(files, key=lambda file: -len(file["pages"]))[:most_files]
        if files:
            found.append(
                {
                    "name": name,
                    "version": version,
                    "sha256": sha256_of(deb),
                    "files": sorted(files, key=lambda file: str(file["path"])),
                }
            )
    return {"packages": found}


def identity(deb: Path) -> tuple[str, str]:
    """Return name and version of a `.deb` file."""
    command = ["dpkg-deb", "-f", str(deb), "Package", "Version"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fields = dict(line.split(": ", 1) for line in answer.splitlines())
    return fields["Package"], fields["Version"]


def _files(folder: Path, name: str, scratch: Path, per_file: int) -> Iterator[dict[str, Any]]:
    import pymupdf

    paths = [path for path in sorted(folder.rglob("*")) if path.name.endswith((".pdf", ".pdf.gz"))]
    for path in paths:
        if path.is_symlink() or not path.is_file() or _language(path.name) not in LANGUAGES:
            continue
        inner = path.relative_to(folder).as_posix()
        with pymupdf.open(plain_pdf(path, scratch / "pdf" / name)) as document:
            usable = [page.number + 1 for page in document if is_usable(page)]
            made_by = _maker(document.metadata or {})
        usable.sort(key=lambda number: hashlib.sha256(f"{name}/{inner}/{number}".encode()).digest())
        if len(usable) >= 3:
            yield {"path": inner, "made_by": made_by, "pages": usable[:per_file]}


def _maker(metadata: dict[str, str]) -> str:
    told = f"{metadata.get('creator') or ''} {metadata.get('producer') or ''}"
    for known in ("groff", "FOP", "htmldoc", "xdvipdfmx", "pdfTeX"):
        if known.lower() in told.lower():
            return known
    return "other"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = argparse.ArgumentParser(description="Choose pages of PDF files in Debian packages.")
    parser.add_argument("--packages", type=Path, required=True, help="folder of .deb files")
    parser.add_argument("--scratch", type=Path, required=True, help="folder to unpack them to")
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--per-file", type=int, default=8, help="most pages of one document")
    parser.add_argument("--files", type=int, default=3, help="most documents of one package")
    arguments = parser.parse_args(argv)
    record = choose(arguments.packages, arguments.scratch, arguments.per_file, arguments.files)
    write_json(arguments.out, record)
    counts = [len(file["pages"]) for entry in record["packages"] for file in entry["files"]]
    sys.stdout.write(f"{sum(counts)} pages of {len(counts)} documents\n")


if __name__ == "__main__":
    main()
