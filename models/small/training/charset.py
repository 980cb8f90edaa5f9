"""The characters the small model is taught, in a fixed order.

The glyph atlas, the auxiliary head of the training run and the text filters all index into this
one list, so its order is part of the training format: append, never insert.

Not taught, because print shows no difference from a listed character: soft and non-breaking
hyphens, the special spaces, decomposed accents. `corpus.clean_line` folds those.
"""

_ASCII = "".join(map(chr, range(0x20, 0x7F)))

# German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish and Polish, then the letters
# of other Latin alphabets that common text fonts carry and that names in running text need.
_LOWER = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿœąćęłńóśźżčďđěňřšťůžőűğışășțāēīōūėľĺŕģķļņų"

_QUOTES = "“”„‘’‚«»‹›"
_DASHES = "–—−…"
_MARKS = "•·†‡§¶©®™°№ªº¿¡‰"
_MONEY = "€£¥¢"
_NUMBERS = "±×÷½¼¾²³¹µ≤≥≠≈→"


def _ordered() -> str:
    letters = "".join(lower + _upper(lower) for lower in _LOWER)
    everything = _ASCII + letters + _QUOTES + _DASHES + _MARKS + _MONEY + _NUMBERS
    return "".join(dict.fromkeys(everything))


def _upper(letter: str) -> str:
    # The capital of dotless i is a plain I; the letter wanted beside it is the dotted capital.
    return "İ" if letter == "ı" else letter.upper()


LIGATURES: dict[str, str] = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"}
"""Glyphs a page may be drawn with, and the letters each one is read as."""

CHARS: str = _ordered() + "ßẞ"
"""Every taught character once; ASCII first, so that `CHARS[:95]` is U+0020..U+007E."""

INDEX: dict[str, int] = {char: index for index, char in enumerate(CHARS)}
"""Position of each character in `CHARS`."""

QUOTES = {
    "en": ("“", "”"),
    "de": ("„", "“"),
    "fr": ("«", "»"),
    "es": ("«", "»"),
    "it": ("«", "»"),
    "pt": ("“", "”"),
    "nl": ("‘", "’"),
    "sv": ("”", "”"),
    "da": ("»", "«"),
    "pl": ("„", "”"),
}
"""Opening and closing quotation mark of each language."""


def untaught(text: str) -> set[str]:
    r"""Return the characters of `text` that are neither taught nor a newline.

    Args:
        text: Any string.

    Returns:
        The set of characters outside `CHARS`; empty when the model can be asked to read `text`.

    Example:
        >>> untaught("naïve\n")
        set()
    """
    return {char for char in text if char not in INDEX and char != "\n"}
