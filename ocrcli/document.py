"""The nouns that stages hand to each other: page images, blocks, pages and documents."""

from dataclasses import astuple, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from ocrcli.confidence import Confidence

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from ocrcli.bands import Bands
    from ocrcli.halves import Halves
    from ocrcli.ink import InkMap
    from ocrcli.line_boxes import Line
    from ocrcli.text_layer import Layer

MIN_INK_TO_TURN = 1500
"""Pixels of ink, about a short line, that it takes to tell which way up a page lies."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, measured from the top left corner of the page as displayed."""


class PageStatus(StrEnum):
    """How far the transcript of a page can be trusted.

    Attributes:
        OK: The model read the page to its end.
        BLANK: The page carries no ink; no model was asked.
        EMPTY: The page carries ink, but the model found nothing on it.
        TRUNCATED: The page was cut at the token budget.
        LOOP: The model began to repeat itself; the repetition was cut.
        SUSPECT: There is text, but the evidence speaks against it.
        ERROR: The page could not be transcribed.
        TIMEOUT: The page was given up when its time was over.
        SKIPPED: The page was not attempted, because the run or the file was stopped before.
    """

    OK = "ok"
    BLANK = "blank"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    LOOP = "loop"
    SUSPECT = "suspect"
    ERROR = "error"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"

    @property
    def is_degraded(self) -> bool:
        """Whether there is a result that needs a second look."""
        return self in _DEGRADED

    @property
    def is_failed(self) -> bool:
        """Whether an attempt ended without a result."""
        return self in (PageStatus.ERROR, PageStatus.TIMEOUT)

    @property
    def is_missing(self) -> bool:
        """Whether there is no result, attempted or not."""
        return self.is_failed or self is PageStatus.SKIPPED


_DEGRADED = frozenset({PageStatus.EMPTY, PageStatus.TRUNCATED, PageStatus.LOOP, PageStatus.SUSPECT})


class BlockType(StrEnum):
    """What a block of a page is."""

    TITLE = "title"
    TEXT = "text"
    LIST = "list"
    TABLE = "table"
    FORMULA = "formula"
    FIGURE = "figure"
    CAPTION = "caption"
    HEADER = "header"
    FOOTER = "footer"
    PAGE_NUMBER = "page_number"
    FOOTNOTE = "footnote"
    ASIDE = "aside"
    CODE = "code"


@dataclass(frozen=True)
class Notice:
    """Something about a page or a document that its reader should know.

    Attributes:
        code: Short stable name, such as "downscaled".
        detail: A sentence for people.
    """

    code: str
    detail: str


@dataclass(frozen=True)
class PageFacts:
    """What is known of a page before anyone reads it.

    Attributes:
        page_number: Place in the file, from 1.
        label: Number printed in the file's own scheme, such as "iii", or None.
        width_pt: Width as displayed, in points of 1/72 inch.
        height_pt: Height as displayed, in points.
        image_width: Width in pixels at which the page is read, cropped margins included.
        image_height: Height in pixels likewise.
        dpi: Pixels of the page image per inch of page.
        rotation: Degrees clockwise by which the file asks the page to be turned.
        ink_pixels: Pixels that differ clearly from the paper.
        ink: Where they lie, or None when the page was not drawn.
        warnings: What happened while the page was loaded.
        seconds: Time spent on loading and rendering.
    """

    page_number: int
    label: str | None = None
    width_pt: float = 0.0
    height_pt: float = 0.0
    image_width: int = 0
    image_height: int = 0
    dpi: float = 0.0
    rotation: int = 0
    ink_pixels: int = 0
    ink: "InkMap | None" = None
    warnings: tuple[Notice, ...] = ()
    seconds: float = 0.0

    @property
    def ink_ratio(self) -> float:
        """Share that is ink, 0 to 1, of the page image or the smaller one where it was counted."""
        seen = self.ink
        area = seen.height * seen.width if seen else self.image_height * self.image_width
        return self.ink_pixels / max(area, 1)


@dataclass(frozen=True, eq=False)
class PageImage:
    """A page as a picture.

    Attributes:
        pixels: Values 0 (black) to 255, uint8: grey [height, width], or RGB [height, width, 3].
        facts: What else is known of the page.
        deadline: When to give the page up, in seconds of `time.monotonic`, or None.
        layer: Text that the page carries, where it was looked for.
        crop: What the pixels show, as shares 0 to 1 of the page; None: all of it.
        bands: Draws a very long page in bands, which are read in its place; None for other pages.
        redraw: Draws the page again, so many tenths smaller, where that can be done.
        halves: Draws it in two halves, with larger letters, likewise.
    """

    pixels: "NDArray[np.uint8]"
    facts: PageFacts
    deadline: float | None = None
    layer: "Layer | None" = None
    crop: Box | None = None
    bands: "Bands | None" = None
    redraw: "Callable[[int], PageImage | PageFailure] | None" = None
    halves: "Halves | None" = None

    @property
    def page_number(self) -> int:
        """Place in the file, from 1."""
        return self.facts.page_number

    @property
    def may_turn(self) -> bool:
        """Whether there is enough ink to tell which way up the page lies."""
        return self.facts.ink_pixels >= MIN_INK_TO_TURN


@dataclass(frozen=True)
class PageFailure:
    """A page that could not be turned into a picture.

    Attributes:
        facts: What is known of the page; its size may be missing.
        message: What went wrong, in one sentence.
        status: ERROR, TIMEOUT or SKIPPED.
    """

    facts: PageFacts
    message: str
    status: PageStatus = PageStatus.ERROR

    @property
    def page_number(self) -> int:
        """Place in the file, from 1."""
        return self.facts.page_number


@dataclass(frozen=True)
class Block:
    """One piece of a page in reading order.

    Attributes:
        type: What it is.
        text: Its text, lines as printed; cells of a table are separated by tabs.
        box: Place on the upright page in thousandths, 0 to 999, or None. Integers but in bands.
        bbox: The same place in points of the page as displayed, or None.
        html: The markup of a table.
        confidence: Token probabilities of its text, else of its header; None without a model.
        picture: File that it was cut out to, as the transcript names it.
        baselines: How far down its lines but the first begin, as the model said, or None.
        lines: Where its lines that hold text stand, or None where ink did not tell.
    """

    type: BlockType
    text: str
    box: Box | None = None
    bbox: Box | None = None
    html: str | None = None
    confidence: Confidence | None = None
    picture: str | None = None
    baselines: tuple[float, ...] | None = None
    lines: "tuple[Line, ...] | None" = None


@dataclass(frozen=True)
class TokenCounts:
    """Tokens read and written."""

    prompt: int = 0
    output: int = 0

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        """Return both together."""
        return TokenCounts(self.prompt + other.prompt, self.output + other.output)


@dataclass(frozen=True)
class PageSeconds:
    """Wall time by stage; `render` includes loading the page from its file."""

    render: float = 0.0
    encode: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0

    @property
    def total(self) -> float:
        """All stages together."""
        return self.render + self.encode + self.prefill + self.decode

    def __add__(self, other: "PageSeconds") -> "PageSeconds":
        """Return both together, stage by stage."""
        both = zip(astuple(self), astuple(other), strict=True)
        return PageSeconds(*(one + more for one, more in both))


@dataclass(frozen=True)
class Page:
    """The transcript of one page and the evidence for it.

    Attributes:
        page_number: Place in the file, from 1.
        status: How far the transcript can be trusted.
        text: Plain text: blocks separated by a blank line, lines as printed.
        markdown: The same as Markdown.
        markup: What the model wrote, blocks with their boxes.
        blocks: The pieces of the page in reading order.
        facts: What was known before reading.
        warnings: What its reader should know, facts' warnings included.
        tokens: Tokens read and written.
        seconds: Wall time by stage.
        confidence: Probabilities of the tokens of its text, or of all where it has none; None if no
            model wrote any.
        error: What went wrong, for pages without a result only.
        attempts: Times the model read the page.
        rotation: Degrees clockwise by which the page was turned to be read; its blocks' `box` lies
            on the turned page, their `bbox` on the page as displayed.
        mode: "page" for pages read from their picture, "text-layer" for text taken from the file.
    """

    page_number: int
    status: PageStatus
    text: str = ""
    markdown: str = ""
    markup: str = ""
    blocks: tuple[Block, ...] = ()
    facts: PageFacts = PageFacts(0)
    warnings: tuple[Notice, ...] = ()
    tokens: TokenCounts = TokenCounts()
    seconds: PageSeconds = PageSeconds()
    confidence: Confidence | None = None
    error: str | None = None
    attempts: int = 1
    mode: str = "page"
    rotation: int = 0


@dataclass(frozen=True)
class Source:
    """An input as its transcript's records name it.

    Attributes:
        name: Path as the user gave it.
        sha256: Hash of the file's bytes, hexadecimal.
        pages_total: Pages of the file, selected or not.
        pages_selected: Pages to be transcribed.
        warnings: What is known of the file as a whole, such as "repaired".
    """

    name: str
    sha256: str
    pages_total: int
    pages_selected: int
    warnings: tuple[Notice, ...] = ()

    @property
    def is_repaired(self) -> bool:
        """Whether the file was damaged and could be read all the same."""
        return any(warning.code == "repaired" for warning in self.warnings)


@dataclass(frozen=True)
class ModelFacts:
    """Which weights wrote a transcript, and how they were run."""

    id: str
    sha256: str
    dtype: str
    device: str


@dataclass
class Document:
    """The account of one input: every page counted, by status.

    Attributes:
        source: The input.
        model: The model that was used, or None if no page needed one.
        output: Path of the transcript, or None for standard output.
        statuses: Number of pages per status.
        failed_pages: Numbers of the pages with status "error" or "timeout".
        skipped_pages: Numbers of the pages with status "skipped".
        tokens: Tokens of all pages.
        stages: Seconds of all pages by stage.
        seconds: Wall time from opening the input to the last page.
        settings: Fingerprint of the settings, where one was made.
        figures_sha256: Hash of the figures that were cut out, where that was asked for.
        is_unwritten: Whether work on the input ended early or its output could not be written.
    """

    source: Source
    model: ModelFacts | None = None
    output: str | None = None
    statuses: dict[PageStatus, int] = field(default_factory=dict)
    failed_pages: list[int] = field(default_factory=list)
    skipped_pages: list[int] = field(default_factory=list)
    tokens: TokenCounts = TokenCounts()
    stages: PageSeconds = PageSeconds()
    seconds: float = 0.0
    settings: str | None = None
    figures_sha256: str | None = None
    is_unwritten: bool = False

    def add(self, page: Page) -> None:
        """Count a page."""
        self.statuses[page.status] = self.statuses.get(page.status, 0) + 1
        if page.status.is_failed:
            self.failed_pages.append(page.page_number)
        elif page.status is PageStatus.SKIPPED:
            self.skipped_pages.append(page.page_number)
        self.tokens += page.tokens
        self.stages += page.seconds

    def count(self, status: PageStatus) -> int:
        """Return the number of pages with this status."""
        return self.statuses.get(status, 0)

    @property
    def num_pages(self) -> int:
        """Pages counted so far."""
        return sum(self.statuses.values())

    @property
    def num_missing(self) -> int:
        """Pages without a result."""
        return len(self.failed_pages) + len(self.skipped_pages)

    @property
    def num_degraded(self) -> int:
        """Pages whose transcript needs a second look."""
        return sum(count for status, count in self.statuses.items() if status.is_degraded)

    @property
    def status(self) -> str:
        """Return "failed" if a page or the whole has no result, else "degraded" or "ok"."""
        sound = "degraded" if self.num_degraded else "ok"
        return "failed" if self.num_missing or self.is_unwritten else sound
