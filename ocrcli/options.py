"""The settings of one run, read once and then passed down unchanged.

Flags win over the environment, the environment over defaults; both are settled here and nowhere
else.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from ocrcli.errors import UsageError


class OutputFormat(StrEnum):
    """What a transcript is written as."""

    TXT = "txt"
    MD = "md"
    JSONL = "jsonl"


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


@dataclass(frozen=True)
class Options:
    """Everything a run can be told; the defaults are the program's defaults.

    Attributes:
        output: Where to write: a file, a folder (existing, or ending in a slash), or None for
            standard output.
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
        threads: CPU threads; None leaves the choice to PyTorch.
        force: Whether existing outputs are replaced.
        verbosity: -1 quiet, 0 normal, 1 more detail, 2 with tracebacks.
        password: Password of encrypted PDFs; never shown.
    """

    output: str | None = None
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
    threads: int | None = None
    force: bool = False
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
        _check_range("--threads", self.threads, 1, 1024)


@dataclass(frozen=True)
class Environment:
    """What the environment sets: the variables that begin with `OCRCLI_`.

    Attributes:
        model: `OCRCLI_MODEL`.
        device: `OCRCLI_DEVICE`.
        password: `OCRCLI_PDF_PASSWORD`.
    """

    model: Path | None = None
    device: Device | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, variables: Mapping[str, str] = os.environ) -> "Environment":
        """Return the settings found in `variables`; empty values count as unset.

        Raises:
            UsageError: A value has no meaning.
        """
        model = variables.get("OCRCLI_MODEL")
        device = variables.get("OCRCLI_DEVICE")
        return cls(
            model=Path(model) if model else None,
            device=choice(Device, "OCRCLI_DEVICE", device) if device else None,
            password=variables.get("OCRCLI_PDF_PASSWORD") or None,
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


def _check_range(name: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise UsageError(f"{name} must lie in {low}..{high}, got {value}", next_action="")
