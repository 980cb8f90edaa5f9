"""Figures cut out of pages (`--figures`): a PNG per figure block, linked from the transcript.

The files of a document wait in a hidden folder and get their names just before its transcript does,
so a transcript never names a picture that is missing or cut short.
"""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from PIL import Image, PngImagePlugin

from ocrcli.blocks import MAX_COORDINATE
from ocrcli.document import Block, BlockType, Box, Notice, Page
from ocrcli.errors import OutputError, UsageError
from ocrcli.outputs import check_folder, check_name, hidden_name, names_in, unwritable
from ocrcli.pages import Pages
from ocrcli.paths import Kind, is_folder, kind_of, real_path
from ocrcli.pictures import PictureError
from ocrcli.rotation import as_displayed
from ocrcli.textstyle import TextStyle
from ocrcli.writers import page_markdown

_ENDING = re.compile(r"-p[0-9]{3,}-[0-9]+\.png")
_OWNER = "ocrcli-transcript"
_TURNS = {
    90: Image.Transpose.ROTATE_270,
    180: Image.Transpose.ROTATE_180,
    270: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class FigurePlace:
    """Where the figures of one document go.

    Attributes:
        stem: Path of every figure up to `-p003-1.png`, third page, first figure.
        base: Folder that links in the transcript start from.
        owner: Mark in the files that tells whose they are, or None for standard output.
    """

    stem: Path
    base: Path
    owner: str | None

    def path(self, page_number: int, index: int) -> Path:
        """Return the file of figure `index`, from 1, of a page."""
        return self.stem.with_name(f"{self.stem.name}-p{page_number:03}-{index}.png")

    def link(self, path: Path) -> str:
        """Return how the transcript names a file."""
        return Path(os.path.relpath(path, self.base)).as_posix()

    def names(self, path: Path) -> bool:
        """Return whether a path could be one of this document's figures."""
        start = self.stem.name
        return (
            path.name.startswith(start)
            and _ENDING.fullmatch(path.name[len(start) :]) is not None
            and real_path(path.parent) == real_path(self.stem.parent)
        )

    def existing(self) -> list[Path]:
        """Return what lies under the names of this document's figures."""
        with contextlib.suppress(OSError):
            return sorted(path for path in self.stem.parent.iterdir() if self.names(path))
        return []

    def owns(self, path: Path) -> bool:
        """Return whether a file was written for this very transcript."""
        if self.owner is None or kind_of(path) is not Kind.FILE or path.is_symlink():
            return False
        try:
            with Image.open(path, formats=["PNG"]) as image:
                return image.info.get(_OWNER) == self.owner
        except (OSError, ValueError, SyntaxError):
            return False

    def sha256(self) -> str:
        """Return the hash of the names and contents of this document's figures."""
        whole = hashlib.sha256()
        for path in filter(self.owns, self.existing()):
            whole.update(os.fsencode(path.name) + b"\0" + path.read_bytes())
        return whole.hexdigest()


def plan_figures(
    folder: Path,
    arguments: Sequence[str],
    inputs: Sequence[str],
    places: Sequence[str],
    targets: Sequence[Path | None],
    *,
    splits: bool,
    replaces: bool,
    resumes: bool,
    makes_folder: bool = True,
) -> list[FigurePlace]:
    """Return where the figures of each input go; nothing is overwritten by accident.

    Args:
        folder: Folder of all figures.
        arguments: What the user gave; folders among it are searched for inputs.
        inputs: The files.
        places: Path of each output inside a folder, before its suffix is replaced.
        targets: The transcripts, None for standard output.
        splits: Whether transcripts are folders with a file per page.
        replaces: Whether whatever is there may be replaced.
        resumes: Whether figures of an earlier run may be.
        makes_folder: Whether the folder is made and checked.

    Raises:
        UsageError: Two inputs would share names, or an input or a transcript would be overwritten.
        OutputError: A figure exists already, or the folder cannot be made or written to.
    """
    if kind_of(folder) not in (Kind.ABSENT, Kind.FOLDER):
        raise OutputError("is not a folder", source=str(folder), next_action="choose another")
    for name in filter(is_folder, arguments):
        if Path(real_path(folder)).is_relative_to(real_path(name)):
            raise UsageError(
                f'the folder for figures lies in "{name}", which is searched for inputs',
                next_action="choose another folder for --figures",
            )
    stems = names_in(folder, inputs, places, "")
    planned = [
        _place(stem, target, splits=splits) for stem, target in zip(stems, targets, strict=True)
    ]
    for place in planned:
        for path in (*map(Path, inputs), *filter(None, targets)):
            if place.names(path):
                raise UsageError(
                    "is an input or a transcript and must not become a figure",
                    source=str(path),
                    next_action="choose another folder for --figures",
                )
        check_name(place.path(10**6, 10**3))
        for path in place.existing():
            if is_folder(path) or not (replaces or (resumes and place.owns(path))):
                raise OutputError(
                    "exists already", source=str(path), next_action="use --force to replace it"
                )
    if makes_folder:
        check_folder(folder / "figure")
    return planned


def _place(stem: Path, target: Path | None, *, splits: bool) -> FigurePlace:
    if target is None:
        return FigurePlace(stem, Path(), None)
    # The name itself may hold bytes that no text chunk can.
    name = os.fsencode(os.path.relpath(target, stem.parent))
    base = target if splits else target.parent
    return FigurePlace(stem, base, hashlib.sha256(name).hexdigest())


class Figures:
    """Cuts out the figures of one document while its pages are finished."""

    def __init__(self, place: FigurePlace, pages: Pages, style: TextStyle) -> None:
        """Remember where figures come from and go to.

        Args:
            place: Where they go.
            pages: The document.
            style: What the text of a page depends on.
        """
        self._place, self._pages, self._style = place, pages, style
        self._hidden = hidden_name(place.stem)
        self._written: list[Path] = []

    def cut(self, page: Page) -> Page:
        """Return a page whose figures are on the disk, named by its blocks and its Markdown.

        A figure that cannot be cut out leaves a warning instead.

        Args:
            page: A finished page.

        Raises:
            OutputError: A file cannot be written.
        """
        chosen = {
            index: _share(block, page.rotation)
            for index, block in enumerate(page.blocks)
            if block.type is BlockType.FIGURE and block.box is not None
        }
        if not chosen:
            return page
        try:
            images = self._pages.cutouts(page.page_number, list(chosen.values()))
        except PictureError as error:
            notice = Notice("figure_lost", f"figures could not be cut out: {error}")
            return replace(page, warnings=(*page.warnings, notice))
        blocks = list(page.blocks)
        for number, (index, image) in enumerate(zip(chosen, images, strict=True), start=1):
            path = self._place.path(page.page_number, number)
            self._write(path, image, page.rotation)
            blocks[index] = replace(blocks[index], picture=self._place.link(path))
        if self._place.owner is None:
            # Standard output has no end at which all could appear together.
            self._publish()
        markdown = page_markdown(blocks, self._style)
        return replace(page, blocks=tuple(blocks), markdown=markdown)

    def _write(self, path: Path, image: Image.Image, rotation: int) -> None:
        facts = PngImagePlugin.PngInfo()
        if self._place.owner is not None:
            facts.add_text(_OWNER, self._place.owner)
        upright = image.transpose(_TURNS[rotation]) if rotation else image
        try:
            self._hidden.mkdir(parents=True, exist_ok=True)
            with (self._hidden / path.name).open("wb") as file:
                upright.save(file, "PNG", pnginfo=facts, dpi=image.info.get("dpi"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path, error) from error
        self._written.append(path)

    def _publish(self) -> None:
        for path in self._written:
            try:
                (self._hidden / path.name).replace(path)
            except OSError as error:
                raise unwritable(path, error) from error
        self._written.clear()

    def finish(self) -> str:
        """Give all files their names, remove those of an earlier run, and return a hash of all.

        Raises:
            OutputError: A file cannot be written.
        """
        kept = set(self._written)
        self._publish()
        for path in self._place.existing():
            if path not in kept and self._place.owns(path):
                path.unlink(missing_ok=True)
        return self._place.sha256()

    def __enter__(self) -> Self:
        """Return the figures."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what is unfinished."""
        shutil.rmtree(self._hidden, ignore_errors=True)


@contextlib.contextmanager
def opened_figures(
    place: FigurePlace | None, pages: Pages, style: TextStyle
) -> "Iterator[Figures | None]":
    """Open the figures of a document, or None where none are wanted.

    Args:
        place: Where they go, or None.
        pages: The document.
        style: What the text of a page depends on.
    """
    if place is None:
        yield None
        return
    with Figures(place, pages, style) as figures:
        yield figures


def _share(block: Block, rotation: int) -> Box:
    """Return a block's place as shares, 0 to 1, of the page as displayed."""
    assert block.box is not None, "figures without a place cannot be cut out"
    box = as_displayed(block.box, MAX_COORDINATE, MAX_COORDINATE, rotation)
    left, top, right, bottom = (edge / MAX_COORDINATE for edge in box)
    return left, top, right, bottom
