"""Reads page images whose text is known, and tells how far the reading is from it.

A page image `name.png` goes with `name.txt`, `name.md` or `name.gold.txt`. What a reference holds
decides what it is compared with: the model's own markup, Markdown, or plain text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ocrcli.document import Page
from ocrcli.errors import (
    DamagedError,
    EncryptedError,
    ExitCode,
    InputError,
    OcrError,
    PagesFailedError,
    UsageError,
)
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
_INSTALL = "pip install rapidfuzz"


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
        failure: Why there is no reading to compare, or None. Such an image counts for nothing.
    """

    name: str
    kind: str
    status: str
    characters: int
    edits: int
    failure: OcrError | None = None

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

    What cannot be used, an image or a reference, is yielded with the reason and passed over.

    Args:
        pages: The images and their references.
        options: The model, the device and the limits.

    Raises:
        OcrError: The model or the device cannot be used, or the package for edit distances is
            missing.
    """
    _edits("", "")
    options = replace(options, model=local_model(options.model))
    recogniser = ModelRecogniser(options)
    for page in pages:
        try:
            yield compared(page, options, recogniser)
        except (InputError, DamagedError, EncryptedError) as error:
            error.source = error.source or str(page.image)
            yield Comparison(page.image.name, "", "error", 0, 0, error)


def compared(known: KnownPage, options: Options, recogniser: Recogniser) -> Comparison:
    """Return how far the reading of one image is from its reference.

    If any of its pages could not be read, there is nothing to compare but a `failure`.

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
    if failed := [page for page in read if page.status.is_failed]:
        failure = PagesFailedError(
            tuple(page.page_number for page in failed), len(read), source=str(known.image)
        )
        failure.message += f": {failed[0].error}"
        return Comparison(known.image.name, kind, status, 0, 0, failure)
    return Comparison(known.image.name, kind, status, len(wanted), _edits(wanted, got))


def report(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield a line per image as it is read, and one for all that could be read.

    Args:
        comparisons: From `verify`.
    """
    done: list[Comparison] = []
    num_failed = 0
    for each in comparisons:
        if each.failure is not None:
            num_failed += 1
            yield f"{each.name}: not compared, {each.status}"
            continue
        done.append(each)
        yield (
            f"{each.name}: CER {each.cer:.4f}, {each.edits} edits in {each.characters} characters "
            f"of {each.kind}, {each.status}"
        )
    left_out = f"; {num_failed} failed and not counted" if num_failed else ""
    if not done:
        yield f"total: nothing to compare{left_out}"
        return
    edits = sum(each.edits for each in done)
    characters = sum(each.characters for each in done)
    exact = sum(each.edits == 0 for each in done)
    yield (
        f"total: CER {edits / max(characters, 1):.4f}, {edits} edits in {characters} characters, "
        f"{exact} of {len(done)} exact ({NORMALISATION}){left_out}"
    )


def exit_code(comparisons: Sequence[Comparison]) -> ExitCode:
    """Return what a verification ends with: the failure of a lone image, or that some failed.

    Args:
        comparisons: All of `verify`.
    """
    failures = [each.failure for each in comparisons if each.failure is not None]
    if not failures:
        return ExitCode.OK
    return failures[0].exit_code if len(comparisons) == 1 else ExitCode.INPUTS_FAILED


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
        raise UsageError(
            "comparing texts needs the package rapidfuzz", next_action=_INSTALL
        ) from error
    return int(Levenshtein.distance(wanted, got))
