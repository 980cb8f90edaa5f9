"""Short texts that are no reading of a page: what a model sees in lines, boxes, holes and folds."""

from ocrcli.blocks import ParsedPage
from ocrcli.document import Notice, PageFacts
from ocrcli.writers import page_text

MIN_KEPT_CONFIDENCE = 0.65
"""Mean probability of the words of a short text below which it is an invention and not kept."""

MIN_BELIEVED_CONFIDENCE = 0.9
"""The same where the page has far more ink than such a text leaves, or it is a letter or two.

Punch holes and folds are read as single letters.
"""

MIN_REPEATED_CONFIDENCE = 0.95
"""The same where a few letters repeat themselves, as where rows of boxes are read."""

MAX_INK_PER_CHARACTER = 1000
"""Pixels of ink per character above which a text is no reading of that ink.

A letter of 12 pt leaves about 100; lines, boxes and shadows leave any number.
"""

MAX_INVENTED_CHARACTERS = 400
"""Longest text that is dropped as an invention; there is something to a longer one."""

MIN_REPEATED_CHARACTERS = 8
"""Length from which a text of few different characters repeats itself."""

FEW_KINDS = 2
"""Different characters of a text that says little; a longer one may have one more for every
`MIN_REPEATED_CHARACTERS`."""

MOST_FEW_KINDS = 6
"""Different characters of such a text at most: prose has more letters, and so have numbers."""

_LINES_AND_DOTS = frozenset("Il1i|!-–—_=.·…:")


def doubts_of_invention(facts: PageFacts, parsed: ParsedPage) -> list[Notice]:
    """Say why a text is not kept, if it is not: it is short, and the model did not believe in it.

    A little belief is enough where the ink is about as much as such a text leaves, and it is made
    of many letters. Dashes, line feeds and marks of cells follow from each other, so that a drawn
    line read as dashes is believed in; only letters and digits count, where there are any. A row of
    lines may be read as one letter many times.

    Args:
        facts: What is known of the page.
        parsed: What was read on it.
    """
    text = page_text(parsed.blocks)
    count = signs(text)
    drawn = set("".join(text.split()))
    if (
        MIN_REPEATED_CHARACTERS <= count <= MAX_INVENTED_CHARACTERS
        and len(drawn) <= FEW_KINDS
        and drawn <= _LINES_AND_DOTS
    ):
        detail = f"{count} characters that are only drawn lines or dots were dropped"
        return [Notice("text_dropped", detail)]
    said = [sign for sign in text if sign.isalnum()] or "".join(text.split())
    confidence = parsed.word_trace.confidence or parsed.text_trace.confidence
    if confidence is None or not 0 < len(said) <= MAX_INVENTED_CHARACTERS:
        return []
    fits = facts.ink_pixels <= MAX_INK_PER_CHARACTER * count
    if confidence.mean >= _wanted_confidence(len(said), len(set(said)), fits=fits):
        return []
    detail = f"{count} characters with a mean confidence of {confidence.mean:.2f} were dropped"
    return [Notice("text_dropped", detail)]


def _wanted_confidence(count: int, kinds: int, *, fits: bool) -> float:
    is_poor = kinds <= min(FEW_KINDS + count // MIN_REPEATED_CHARACTERS, MOST_FEW_KINDS)
    if is_poor and count >= MIN_REPEATED_CHARACTERS:
        return MIN_REPEATED_CONFIDENCE
    return MIN_KEPT_CONFIDENCE if fits and not is_poor else MIN_BELIEVED_CONFIDENCE


def signs(text: str) -> int:
    """Return how many characters of a text are not blank."""
    return sum(not sign.isspace() for sign in text)
