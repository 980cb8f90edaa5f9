"""Distance between what is printed and what was read, with the uncertainty of a set of pages.

CER is the Levenshtein distance divided by the length of the reference, in code points; WER the same
on words. *Micro* sums edits and lengths over all pages, *macro* averages the pages. Bag-of-words F1
ignores order, which tells faults of reading order from faults of reading.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

NORMALISATION = (
    "NFC; quotation marks unified to ' and \"; dashes and minus unified to -; ellipses three dots; "
    "soft hyphens and zero-width characters removed; more than three dots in a row, with or "
    "without blanks, are four; white space collapsed; case kept"
)

_UNIFIED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛‹›`´", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
    }
)

LEADER = " .... "
"""What a row of dots between a heading and its page is written as."""

_LEADERS = re.compile(r"\s*\.(?:\s*\.){3,}\s*")


def normalise(text: str) -> str:
    r"""Return `text` as `NORMALISATION` says.

    Example:
        >>> normalise("“So –\n so”")
        '"So - so"'
    """
    text = unicodedata.normalize("NFC", text).translate(_UNIFIED)
    text = _LEADERS.sub(LEADER, text)
    return re.sub(r"\s+", " ", text).strip()


INVENTED_RUN = 3
"""Words in a row that nothing printed stands for, from which they count as invented."""


@dataclass(frozen=True)
class PageScore:
    """Counts of one page.

    Attributes:
        characters: Length of the normalised reference.
        edits: Character edits between the normalised texts.
        words: Words of the normalised reference.
        word_edits: Word edits between the normalised texts.
        read_words: Words of the normalised reading.
        common_words: Words that both have, whatever the order.
        raw_characters: Length of the reference as printed.
        raw_edits: Character edits between the texts as they are.
        invented_words: Words read that are not printed, in runs of `INVENTED_RUN` or more.
    """

    characters: int
    edits: int
    words: int
    word_edits: int
    read_words: int
    common_words: int
    raw_characters: int
    raw_edits: int
    invented_words: int

    @property
    def cer(self) -> float:
        """Character error rate; above 1 when more was invented than is printed."""
        return self.edits / max(self.characters, 1)


def score(reference: str, reading: str) -> PageScore:
    """Return the counts of one page.

    Args:
        reference: What is printed, lines as printed.
        reading: What was read.
    """
    raw_reference, raw_reading = reference.strip(), reading.strip()
    printed, read = normalise(reference), normalise(reading)
    printed_words, read_words = printed.split(), read.split()
    common = Counter(printed_words) & Counter(read_words)
    return PageScore(
        characters=len(printed),
        edits=Levenshtein.distance(printed, read),
        words=len(printed_words),
        word_edits=Levenshtein.distance(printed_words, read_words),
        read_words=len(read_words),
        common_words=common.total(),
        raw_characters=len(raw_reference),
        raw_edits=Levenshtein.distance(raw_reference, raw_reading),
        invented_words=_invented(printed_words, read_words),
    )


def _invented(printed: Sequence[str], read: Sequence[str]) -> int:
    """Return the words of `read` that stand in runs with nothing printed behind them.

    A run counts when it is longer by `INVENTED_RUN` words than what is printed in its place, and
    only for words that the page has nowhere else: text in the wrong order is no invention.
    """
    spare = Counter(read) - Counter(printed)
    invented = 0
    for step in Levenshtein.opcodes(printed, read):
        surplus = (step.dest_end - step.dest_start) - (step.src_end - step.src_start)
        if step.tag == "insert" and surplus >= INVENTED_RUN:
            words = Counter(read[step.dest_start : step.dest_end]) & spare
            spare -= words
            invented += words.total()
    return invented


def micro_cer(pages: Sequence[PageScore]) -> float:
    """Return all edits over all characters."""
    return _ratio(sum(page.edits for page in pages), sum(page.characters for page in pages))


def macro_cer(pages: Sequence[PageScore]) -> float:
    """Return the mean of the pages' error rates."""
    return _ratio(sum(page.cer for page in pages), len(pages))


def raw_cer(pages: Sequence[PageScore]) -> float:
    """Return all edits over all characters, nothing normalised."""
    return _ratio(sum(page.raw_edits for page in pages), sum(page.raw_characters for page in pages))


def wer(pages: Sequence[PageScore]) -> float:
    """Return all word edits over all words."""
    return _ratio(sum(page.word_edits for page in pages), sum(page.words for page in pages))


def bag_of_words_f1(pages: Sequence[PageScore]) -> float:
    """Return the harmonic mean of precision and recall of words, page by page but order-free."""
    both = sum(page.words + page.read_words for page in pages)
    return _ratio(2 * sum(page.common_words for page in pages), both)


def invention(pages: Sequence[PageScore]) -> float:
    """Return the share of all words read that are invented; see `PageScore`."""
    return _ratio(
        sum(page.invented_words for page in pages), sum(page.read_words for page in pages)
    )


def interval(
    measure: Callable[[Sequence[PageScore]], float],
    pages: Sequence[PageScore],
    seed: int,
    resamples: int = 1000,
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a measure over pages.

    Args:
        measure: One of the functions above.
        pages: Scores of the pages.
        seed: Seed of the resampling.
        resamples: Number of resampled sets.

    Raises:
        ValueError: `pages` is empty.
    """
    if not pages:
        raise ValueError("pages must hold at least one score, got none")
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(pages), size=(resamples, len(pages)))
    values = [measure([pages[index] for index in draw]) for draw in draws]
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0
