"""The settings of one run, read once and then passed down unchanged.

Where they come from, be it flags, the environment or files, is settled in `settings`.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from ocrcli.errors import UsageError
from ocrcli.textstyle import Formulas, Hyphens, Layout, Margins, PageMarks, Tables, TextStyle

MAX_PIXELS = 120_000_000
"""Pictures with more pixels are refused before they are decoded, unless told otherwise."""


class OutputFormat(StrEnum):
    """What a transcript is written as."""

    TXT = "txt"
    MD = "md"
    JSONL = "jsonl"
    HOCR = "hocr"
    ALTO = "alto"
    PDF = "pdf"


class Device(StrEnum):
    """Where the model runs."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Dtype(StrEnum):
    """Number format of the model's arithmetic; auto is float32 on a CPU, bfloat16 on a GPU.

    INT8 keeps the decoder's matrices as 8-bit integers and computes in float32.
    """

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"


class ReadingMode(StrEnum):
    """How a large model reads: page by page in tiles, or many pages in one pass.

    AUTO reads a lone page in tiles and several pages in one pass.
    """

    AUTO = "auto"
    PAGE = "page"
    ONEPASS = "onepass"


class ProgressStyle(StrEnum):
    """How progress is shown on stderr."""

    AUTO = "auto"
    BAR = "bar"
    PLAIN = "plain"
    JSON = "json"
    NONE = "none"


_LONGEST_INSTRUCTION = 4000
_Choice = TypeVar("_Choice", bound=StrEnum)


def choice(kind: type[_Choice], name: str, value: str) -> _Choice:
    """Return the member of an enumeration that has this value.

    Args:
        kind: The enumeration.
        name: What the setting is called.
        value: What it was set to.

    Raises:
        UsageError: There is no such member.
    """
    try:
        return kind(value)
    except ValueError:
        raise UsageError(
            f'{name} must be one of {", ".join(kind)}, got "{value}"', next_action=""
        ) from None


@dataclass(frozen=True)
class PageSelection:
    """Pages to read, as inclusive 1-based ranges.

    Attributes:
        ranges: First and last page of each range; no range selects every page.
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "PageSelection":
        """Return the selection that `text` describes.

        Args:
            text: Numbers and ranges separated by commas, such as "1-3,7".

        Raises:
            UsageError: `text` is not such a list, or a range runs backwards.

        Example:
            >>> PageSelection.parse("1-3,7").ranges
            ((1, 3), (7, 7))
        """
        ranges = []
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            low, high = _page_number(first, text), _page_number(last if dash else first, text)
            if high < low:
                raise UsageError(
                    f'--pages "{text}": range {low}-{high} runs backwards',
                    next_action=f"write {high}-{low}",
                )
            ranges.append((low, high))
        return cls(tuple(ranges))

    def resolve(self, pages_total: int) -> tuple[int, ...]:
        """Return the selected page numbers in ascending order, each once.

        Args:
            pages_total: Pages of the document.

        Raises:
            UsageError: A selected page does not exist.
        """
        if not self.ranges:
            return tuple(range(1, pages_total + 1))
        highest = max(high for _, high in self.ranges)
        if highest > pages_total:
            noun = "page" if pages_total == 1 else "pages"
            raise UsageError(
                f"--pages asks for page {highest}, but the document has {pages_total} {noun}",
                next_action="choose pages that exist",
            )
        chosen = {page for low, high in self.ranges for page in range(low, high + 1)}
        return tuple(sorted(chosen))


class Retry(StrEnum):
    """Which unfinished results of an earlier run are tried again when it is resumed."""

    FAILED = "failed"
    DEGRADED = "degraded"
    ALL = "all"


class TextLayer(StrEnum):
    """Whether the text that a PDF carries is taken instead of reading the page.

    Attributes:
        IGNORE: Never.
        AUTO: Where it is clean and covers the page.
        PREFER: Wherever there is any.
    """

    IGNORE = "ignore"
    AUTO = "auto"
    PREFER = "prefer"


@dataclass(frozen=True)
class FileOptions:
    """What of a file becomes a page.

    Attributes:
        all_frames: Whether every frame of an animated picture is a page.
        max_pixels: Pictures with more pixels are refused.
        with_text: Whether the text that a PDF carries is looked at.
    """

    all_frames: bool = False
    max_pixels: int = MAX_PIXELS
    with_text: bool = False


@dataclass(frozen=True)
class Options:
    """Everything a run can be told; the defaults are the program's defaults.

    Attributes:
        output: Where to write: a file, a folder (existing, or ending in a slash), or None for
            standard output.
        figures: Folder that figures are cut out to, or None for no figures.
        pages: Pages to read of every input.
        format: What the transcript is written as.
        model: Folder or safetensors file of a model; None for the one that is shipped.
        device: Where the model runs.
        dtype: Number format of the model's arithmetic.
        progress: How progress is shown.
        benchmark: Whether times and rates are reported.
        benchmark_output: File for the report's JSON object; None for the last line of stderr.
        pages_in_flight: Pages worked on at once; None for what the model is published with.
        max_tokens: Tokens after which a page is cut; None for what the model is published with.
        mode: How a large model reads several pages.
        pages_per_window: Most pages that a large model reads in one pass; None for what it is
            published with.
        max_crops: Most tiles a large model cuts a lone page into; None likewise.
        no_repeat_ngram: "SIZE:WINDOW", or "off": no run of SIZE tokens is written a second time
            within WINDOW tokens; None for what the model is published with.
        instruction: Sentence that a large model is given after the pages; None likewise.
        rotate: Whether pages that lie on their side are turned before they are read.
        threads: CPU threads; None leaves the choice to PyTorch.
        jobs: Inputs worked on at once, each by a process of its own.
        force: Whether existing outputs are replaced, and finished work is done again.
        strict: Whether doubtful pages and repaired files are failures.
        fail_fast: Whether the first failure ends the run.
        attempts: Times a page that loops, is cut or is doubtful is read at most, 1 to 3.
        page_timeout: Seconds after which a page is given up; None for never.
        file_timeout: Seconds after which the rest of a file is given up; None for never.
        timeout: Seconds after which the run is stopped; None for never.
        dry_run: Whether the work is only listed.
        resume: Whether finished work is skipped; None for folders only.
        retry: What is tried again when resuming.
        all_frames: Whether every frame of an animated picture is a page.
        max_pixels: Pictures with more pixels are refused.
        split_pages: Whether every page gets a file of its own.
        page_marks: What stands between pages.
        layout: Order and place of the blocks.
        dehyphenate: Whether words broken by a line end are mended.
        tables: How tables are written.
        math: How formulas are written.
        headers: What happens to page headers, footers and page numbers.
        raw: Whether ligatures stay as the model wrote them.
        text_layer: Whether text that a PDF carries is used.
        verbosity: -1 quiet, 0 normal, 1 more detail, 2 with tracebacks.
        password: Password of encrypted PDFs; never shown.
    """

    output: str | None = None
    figures: Path | None = None
    pages: PageSelection = PageSelection()
    format: OutputFormat = OutputFormat.TXT
    model: Path | None = None
    device: Device = Device.AUTO
    dtype: Dtype = Dtype.AUTO
    progress: ProgressStyle = ProgressStyle.AUTO
    benchmark: bool = False
    benchmark_output: Path | None = None
    pages_in_flight: int | None = None
    max_tokens: int | None = None
    mode: ReadingMode = ReadingMode.AUTO
    pages_per_window: int | None = None
    max_crops: int | None = None
    no_repeat_ngram: str | None = None
    instruction: str | None = None
    rotate: bool = True
    threads: int | None = None
    jobs: int = 1
    force: bool = False
    strict: bool = False
    fail_fast: bool = False
    attempts: int = 3
    page_timeout: float | None = None
    file_timeout: float | None = None
    timeout: float | None = None
    dry_run: bool = False
    resume: bool | None = None
    retry: Retry = Retry.FAILED
    all_frames: bool = False
    max_pixels: int = MAX_PIXELS
    split_pages: bool = False
    page_marks: PageMarks = PageMarks.AUTO
    layout: Layout = Layout.READING
    dehyphenate: Hyphens = Hyphens.AUTO
    tables: Tables = Tables.AUTO
    math: Formulas = Formulas.LATEX
    headers: Margins = Margins.KEEP
    raw: bool = False
    text_layer: TextLayer = TextLayer.IGNORE
    verbosity: int = 0
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: A number is out of range.
        """
        _check_range("--pages-in-flight", self.pages_in_flight, 1, 1024)
        _check_range("--max-tokens", self.max_tokens, 1, 32768)
        _check_range("--pages-per-window", self.pages_per_window, 1, 256)
        _check_range("--max-crops", self.max_crops, 0, 64)
        self.ngram_ban()
        _check_instruction(self.instruction)
        _check_range("--threads", self.threads, 1, 1024)
        _check_range("--jobs", self.jobs, 1, 256)
        _check_range("--attempts", self.attempts, 1, 3)
        _check_range("--max-pixels", self.max_pixels, 1, 178_000_000)
        for name in ("page_timeout", "file_timeout", "timeout"):
            _check_range(f"--{name.replace('_', '-')}", getattr(self, name), 0.001, 10**8)

    def ngram_ban(self) -> tuple[int, int] | None:
        """Return size and window of the ban on repetition, None if there is none to be set.

        Raises:
            UsageError: The setting has another form.
        """
        if self.no_repeat_ngram is None or self.no_repeat_ngram == "off":
            return None
        match = re.fullmatch(r"([0-9]{1,4}):([0-9]{1,6})", self.no_repeat_ngram)
        size, window = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 2 <= size <= window:
            raise UsageError(
                f'--no-repeat-ngram must be off or SIZE:WINDOW, got "{self.no_repeat_ngram}"',
                next_action="a window is at least as long as a run, such as 35:1024",
            )
        return size, window

    @property
    def files(self) -> FileOptions:
        """What of a file becomes a page."""
        with_text = self.text_layer is not TextLayer.IGNORE
        return FileOptions(self.all_frames, self.max_pixels, with_text)

    @property
    def style(self) -> TextStyle:
        """The choices that the text of a page depends on."""
        return TextStyle(
            self.layout, self.dehyphenate, self.tables, self.math, self.headers, self.raw
        )


def _page_number(text: str, whole: str) -> int:
    text = text.strip()
    # The length is checked first: Python refuses to convert thousands of digits.
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) < 1:
        raise UsageError(
            f'--pages "{whole}": "{text}" is not a page number',
            next_action="pages count from 1 and look like 1-3,7",
        )
    return int(text)


def _check_instruction(text: str | None) -> None:
    if text is None:
        return
    if len(text) > _LONGEST_INSTRUCTION:
        raise UsageError(
            f"--instruction may have {_LONGEST_INSTRUCTION} characters, got {len(text)}",
            next_action="",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"--instruction must be UTF-8: {error.reason}", next_action="") from None


def _check_range(name: str, value: float | None, low: float, high: int) -> None:
    # Written so that NaN is refused too.
    if value is not None and not low <= value <= high:
        raise UsageError(f"{name} must lie in {low}..{high}, got {value}", next_action="")
