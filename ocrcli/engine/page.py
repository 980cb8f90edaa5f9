"""What goes into the engine and what comes out: one page."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ocrcli.confidence import TokenTrace
from ocrcli.document import Notice
from ocrcli.line_starts import LineStart


class FinishReason(StrEnum):
    """Why the engine stopped writing a page."""

    EOS = "eos"
    LENGTH = "length"
    LOOP = "loop"
    TIMEOUT = "timeout"
    ERROR = "error"


class PageInput(Protocol):
    """A page to transcribe.

    A page may also have a `deadline` in seconds of `time.monotonic`, after which it is given up,
    and `may_turn`, false where there is too little on it to tell which way up it lies.
    """

    @property
    def page_number(self) -> int:
        """Number of the page in its document, from 1; the engine only hands it back."""

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """Values 0 (black) to 255, uint8: grey [height, width], or RGB [height, width, 3]."""


@dataclass(frozen=True)
class StageSeconds:
    """Wall time spent on one page.

    Attributes:
        encode: Image to image tokens.
        prefill: Image tokens to filled cache; divided evenly among the pages of one prompt.
        decode: This page's share of every decode step it took part in, so that the pages of a
            document add up to the time that passed.
    """

    encode: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0


@dataclass(frozen=True)
class PageResult:
    """The transcript of one page.

    Attributes:
        page_number: As given in the input.
        token_ids: Generated ids, without the opening `<PAGE>`, without the ids that end a page
            (EOS or the next `<PAGE>`), and with a loop cut after its first repetition.
        markup: The decoded ids.
        finish: "eos" when the model ended the page, "length" at the token budget, "loop" when it
            repeated itself, "timeout" when its deadline passed, "error" when the page could not be
            transcribed.
        error: What went wrong, for "error" and "timeout" only.
        prompt_tokens: Tokens of the page's image and marker, without padding.
        output_tokens: Tokens generated for the page, those cut or left out included.
        seconds: Wall time by stage.
        rotation: Degrees, 0, 90, 180 or 270, by which the page was turned clockwise to be read; the
            markup's boxes lie on the turned page.
        extent: How far right and down the last coordinate lies, as shares of the turned picture.
        trace: The probability of each of `token_ids` but the places of lines, and where in the
            markup its text ends.
        line_starts: Where lines begin, by their offset in the markup, for models that say so.
        notices: What a reader should know of the circumstances, such as want of memory.
    """

    page_number: int
    token_ids: tuple[int, ...]
    markup: str
    finish: FinishReason
    error: str | None
    prompt_tokens: int
    output_tokens: int
    seconds: StageSeconds
    rotation: int
    trace: TokenTrace
    extent: tuple[float, float] = (1.0, 1.0)
    line_starts: tuple[LineStart, ...] = ()
    notices: tuple[Notice, ...] = ()
