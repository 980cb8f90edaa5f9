"""Reads page images whose text is known, and tells how far the reading is from it.

A page image `name.png` goes with `name.txt`, `name.md` or `name.gold.txt`. What a reference holds
decides what it is compared with: the model's own markup, Markdown, or plain text.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ocrcli.document import Page
from ocrcli.errors import InputError, OcrError
from ocrcli.hub import local_model
from ocrcli.options import Options
from ocrcli.page_reading import Reading, read_pages
from ocrcli.pages import open_pages
from ocrcli.recogniser import ModelRecogniser, Recogniser

NORMALISATION = "NFC, white space collapsed"
"""What is done to both texts before they are compared."""

_REFERENCES = (".txt", ".md", ".gold.txt")
_IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".pdf", ".jp2")
_MARKUP = ("<|det|>", "<PAGE>")
_INSTALL = 'pip install ".[verify]"'


@dataclass(frozen=True)
class KnownPage:
    """A page image and the file that holds its text."""

    image: Path
    reference: Path


@dataclass(frozen=True)
class Comparison:
    """How far the reading of one image is from its reference.

    Attributes:
        name: Of the image.
        kind: What was compared: "markup", "markdown" or "text".
        status: Statuses of the image's pages, one each.
        characters: Length of the reference.
        edits: Insertions, deletions and replacements that lead from one text to the other.
    """

    name: str
    kind: str
    status: str
    characters: int
    edits: int

    @property
    def cer(self) -> float:
        """Character error rate; above 1 when more was invented than is there."""
        return self.edits / max(self.characters, 1)


def known_pages(folder: Path, references: Path | None = None) -> list[KnownPage]:
    """Return the page images of a folder that have a reference, by name.

    Args:
        folder: Holds page images.
        references: Holds the texts; None for the same folder.

    Raises:
        InputError: The folder cannot be read, or no image in it has a reference.
    """
    texts = references or folder
    try:
        images = sorted(path for path in folder.iterdir() if path.suffix.lower() in _IMAGES)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", source=str(folder)
        ) from error
    found = []
    for image in images:
        candidates = (texts / f"{image.stem}{suffix}" for suffix in _REFERENCES)
        reference = next((path for path in candidates if path.is_file()), None)
        if reference is not None:
            found.append(KnownPage(image, reference))
    if not found:
        raise InputError(
            f"no page image has a reference in {texts}",
            source=str(folder),
            next_action="put the text of name.png into name.txt or name.md",
        )
    return found


def verify(pages: Sequence[KnownPage], options: Options) -> Iterator[Comparison]:
    """Read every image by itself and yield how far the reading is from its reference.

    Args:
        pages: The images and their references.
        options: The model, the device and the limits.

    Raises:
        OcrError: An image, a reference, the model or the device cannot be used, or the package for
            edit distances is missing.
    """
    _edits("", "")
    options = replace(options, model=local_model(options.model))
    recogniser = ModelRecogniser(options)
    for page in pages:
        yield compared(page, options, recogniser)


def compared(known: KnownPage, options: Options, recogniser: Recogniser) -> Comparison:
    """Return how far the reading of one image is from its reference.

    Args:
        known: The image and its reference.
        options: How images are opened.
        recogniser: Reads them.

    Raises:
        OcrError: The image or the reference cannot be used.
    """
    try:
        reference = known.reference.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", source=str(known.reference)) from error
    size = recogniser.page_size
    with open_pages(known.image, options.pages, size=size, files=options.files) as opened:
        read = list(read_pages(opened, recogniser, Reading.of(options)))
    kind = _kind(reference, known.reference)
    wanted, got = (_normalised(text) for text in (reference, _text(read, kind)))
    status = ", ".join(page.status for page in read)
    return Comparison(known.image.name, kind, status, len(wanted), _edits(wanted, got))


def report(comparisons: Iterator[Comparison]) -> Iterator[str]:
    """Yield a line per image as it is read, and one for all.

    Args:
        comparisons: From `verify`.
    """
    done: list[Comparison] = []
    for each in comparisons:
        done.append(each)
        yield (
            f"{each.name}: CER {each.cer:.4f}, {each.edits} edits in {each.characters} characters "
            f"of {each.kind}, {each.status}"
        )
    edits, characters = (sum(getattr(each, name) for each in done) for name in _COUNTS)
    exact = sum(each.edits == 0 for each in done)
    yield (
        f"total: CER {edits / max(characters, 1):.4f}, {edits} edits in {characters} characters, "
        f"{exact} of {len(done)} exact ({NORMALISATION})"
    )


_COUNTS = ("edits", "characters")


def _kind(reference: str, path: Path) -> str:
    if any(mark in reference for mark in _MARKUP):
        return "markup"
    return "markdown" if path.suffix == ".md" else "text"


def _text(pages: Sequence[Page], kind: str) -> str:
    return "\n".join(getattr(page, kind) for page in pages)


def _normalised(text: str) -> str:
    # A lone page may or may not begin with the marker; it says nothing about the reading.
    text = unicodedata.normalize("NFC", text).strip().removeprefix("<PAGE>")
    return re.sub(r"\s+", " ", text).strip()


def _edits(wanted: str, got: str) -> int:
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError as error:
        raise OcrError(
            "comparing texts needs the package rapidfuzz", next_action=_INSTALL
        ) from error
    return int(Levenshtein.distance(wanted, got))
