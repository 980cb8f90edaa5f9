"""What a run would do: pages, outputs and an estimate of the time, without loading a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ocrcli.document import PageImage
from ocrcli.errors import ExitCode, OcrError, printable
from ocrcli.inputs import Input
from ocrcli.options import Options
from ocrcli.pages import open_pages
from ocrcli.progress import duration
from ocrcli.records import is_blank

_INK_PER_TOKEN = 120
_TOKENS_PER_SECOND = 60.0
_SECONDS_PER_PAGE = 1.5

_TIMES_READ = {1: 1.0, 2: 1.5, 3: 1.9}
"""How often a page is read, on average, by the most attempts it is given.

On 1,000 pages of the evaluation 1.9 times as many tokens were written as in the first readings: 1.5
times as many on prose and scans, 2.4 on scanned manuals.
"""


@dataclass(frozen=True)
class Line:
    """A line of the forecast.

    Attributes:
        text: What to print.
        exit_code: What the input would fail with, as far as that can be told.
    """

    text: str
    exit_code: ExitCode = ExitCode.OK


def forecast(
    plan: Sequence[tuple[Input, Path | None]],
    options: Options,
    unreadable: Sequence[OcrError] = (),
) -> Iterator[Line]:
    """Yield a line per input and one for all.

    Tokens are estimated from the ink of every page, seconds from tokens on two usual CPU cores, and
    from how often pages are read.

    Args:
        plan: The inputs and their outputs, None for standard output.
        options: The settings.
        unreadable: Errors of inputs of which nothing could even be listed.
    """
    for error in unreadable:
        yield Line(printable(f"{error.source}: {error.message}"), error.exit_code)
    pages = tokens = 0
    seconds = 0.0
    for source, target in plan:
        output = "standard output" if target is None else str(target)
        try:
            with open_pages(
                source.path, options.pages, options.password, files=options.files, name=source.name
            ) as opened:
                pictures = [page.facts for page in opened if isinstance(page, PageImage)]
                count = opened.source.pages_selected
        except OcrError as error:
            text = f"{source.name}: {error.message}"
            yield Line(printable(text), error.exit_code)
            continue
        inked = [facts for facts in pictures if not is_blank(facts)]
        own_tokens = sum(facts.ink_pixels // _INK_PER_TOKEN + 1 for facts in inked)
        once = len(inked) * _SECONDS_PER_PAGE + own_tokens / _TOKENS_PER_SECOND
        own_seconds = once * _TIMES_READ[options.attempts]
        pages, tokens, seconds = pages + count, tokens + own_tokens, seconds + own_seconds
        text = f"{source.name} -> {output}: {_cost(count, own_tokens, own_seconds)}"
        yield Line(printable(text))
    yield Line(f"{len(unreadable) + len(plan)} files: {_cost(pages, tokens, seconds)}")


def _cost(pages: int, tokens: int, seconds: float) -> str:
    noun = "page" if pages == 1 else "pages"
    return f"{pages} {noun}, about {tokens} tokens, about {duration(seconds)}"
