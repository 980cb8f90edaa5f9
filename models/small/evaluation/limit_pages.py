"""The sets of pages that `limits.py` measures, made from fonts, texts and photographs.

A set is a folder of documents. Drawn once with `draw`, its pages can be read on a machine that has
no library for PDFs; see `page_set`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ocrcli.models.small.evaluation import textless_pages, untaught_pages
from ocrcli.models.small.evaluation.page_set import (
    EvaluationPage,
    SourcePage,
    read_pages,
    write_pages,
)

DOUBTED = (*untaught_pages.LANGUAGES, "handwriting", "tiny")
"""Sets whose pages must be marked."""

TEXTLESS = ("blank", "ruled", "textures", "photos")
"""Sets whose pages hold no text."""

CLEAN = "clean"
"""The set whose pages must not be marked."""

SETS = (CLEAN, *DOUBTED, *TEXTLESS)


@dataclass(frozen=True)
class LimitSources:
    """What the sets are made of, and how many pages each has.

    Attributes:
        text: Folder of held-out books, or None.
        fonts: Folder of held-out fonts, or None.
        scripts: Folder with a folder of fonts per script, or None.
        handwriting: Folder of fonts that look hand-written, or None.
        photos: Folder of photographs, or None.
        pages: Pages of a set of doubtful pages.
        textless: Pages of each other set.
        seed: Seed of all choices.
    """

    text: Path | None
    fonts: Path | None
    scripts: Path | None
    handwriting: Path | None
    photos: Path | None
    pages: int = 50
    textless: int = 200
    seed: int = 1

    def documents(self, name: str, folder: Path) -> list[Path]:
        """Make the pages of a set, unless the folder is there, and return its documents.

        Args:
            name: One of `SETS`.
            folder: Folder to fill.

        Raises:
            ValueError: The set is unknown, or what it is made of is missing.
        """
        if name not in SETS:
            raise ValueError(f'sets must name some of {SETS}, got "{name}"')
        if not folder.is_dir():
            self._make(name, folder)
        return _content(folder)

    def _make(self, name: str, folder: Path) -> None:
        count, seed = self.pages, self.seed
        if name in untaught_pages.LANGUAGES:
            fonts = _content(None if self.scripts is None else self.scripts / name)
            untaught_pages.script_pages(name, fonts, count, seed, folder)
        elif name == "handwriting":
            hands, books = _content(self.handwriting), _paragraphs(self.text)
            untaught_pages.plain_pages(hands, books, count, seed, folder)
        elif name == "tiny":
            fonts, books = _fonts(self.fonts), _paragraphs(self.text)
            untaught_pages.tiny_pages(fonts, books, count, seed, folder)
        elif name == CLEAN:
            fonts, books = _fonts(self.fonts), _paragraphs(self.text)
            untaught_pages.plain_pages(fonts, books, self.textless, seed, folder)
        elif name == "photos":
            photos = _content(self.photos)
            textless_pages.photo_pages(photos, self.textless, seed, folder)
        else:
            make: Callable[[int, int, Path], None] = {
                "blank": textless_pages.blank_pages,
                "ruled": textless_pages.ruled_pages,
                "textures": textless_pages.texture_pages,
            }[name]
            make(self.textless, seed, folder)


def draw(name: str, documents: Sequence[Path], folder: Path) -> None:
    """Draw the pages of a set as the engine would see them.

    Args:
        name: Name of the set.
        documents: Its documents.
        folder: A prepared folder, which gets `pages/NAME`.
    """
    from ocrcli.models.small.evaluation.prepare import prepare_page

    drawn = [
        prepare_page(f"{number:04d}", source, folder, name)[0]
        for number, source in enumerate(_pages(documents), start=1)
    ]
    write_pages(folder, name, drawn)


def drawn_pages(name: str, folder: Path) -> list[EvaluationPage]:
    """Return the pages of a set that `draw` has drawn, or none.

    Args:
        name: Name of the set.
        folder: A prepared folder.
    """
    return read_pages(folder, name) if (folder / "pages" / name).is_dir() else []


def _pages(documents: Sequence[Path]) -> Iterator[SourcePage]:
    from ocrcli.pages import open_pages

    for document in documents:
        with open_pages(document) as opened:
            numbers = opened.page_numbers
        for number in numbers:
            yield SourcePage(document, number, "")


def _paragraphs(folder: Path | None) -> list[str]:
    # Folders of other text lie beside the books.
    books = [path for path in _content(folder) if path.suffix == ".txt"]
    return [line for path in books for line in path.read_text(encoding="utf-8").splitlines()]


def _fonts(folder: Path | None) -> list[Path]:
    return [path for path in _content(folder) if path.suffix in (".ttf", ".otf")]


def _content(folder: Path | None) -> list[Path]:
    if folder is None or not folder.is_dir():
        raise ValueError(f"every set needs its folder, got {folder}; see evaluation/README.md")
    return sorted(folder.iterdir())
