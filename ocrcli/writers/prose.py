"""Printed lines to the running text of Markdown: line ends joined, literal characters escaped."""

import re
import unicodedata
from collections.abc import Iterable

_HYPHENS = "-\u2010\u00ad"
_BROKEN_WORD = re.compile(r"(?:^|[\s(\[\"'“‘«])[^\W\d_]{2,}[-\u2010\u00ad]$")
_CONTINUATION = re.compile(r"[^\W\d_]{2,}")
_ALWAYS = re.compile(r"[\\`*$|]")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=[(\[:])")
_ENTITY = re.compile(r"&(?=#?[0-9A-Za-z]{1,31};)")
_STRIKE = re.compile(r"~(?=~)")
_LINE_START = re.compile(r"^(?P<lead>\s*)(?P<mark>#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+$|-{3,}$)")
_NUMBER_START = re.compile(r"^(?P<lead>\s*[0-9]{1,9})(?P<mark>[.)])(?=\s|$)")


def mend_words(text: str) -> str:
    r"""Return lines in which words that a line end broke in two are whole again.

    The second half moves up to the first, under the same conditions as in `join_lines`.

    Args:
        text: Lines as printed.

    Example:
        >>> mend_words("a long para-\ngraph, in short")
        'a long paragraph,\nin short'
    """
    printed = text.split("\n")
    lines = [*printed]
    for index in range(len(lines) - 1):
        left, right = lines[index], lines[index + 1]
        if left and right and _is_broken(left, right):
            head, _, tail = right.partition(" ")
            lines[index], lines[index + 1] = left[:-1] + head, tail
    kept = [line for line, old in zip(lines, printed, strict=True) if line or not old]
    return "\n".join(kept)


def join_lines(lines: Iterable[str], *, mends: bool = True) -> str:
    """Return printed lines as one line.

    A word that a hyphen broke in two is mended if both halves are letters only and the second
    begins in lower case. Any other hyphen at the end of a line stays, without a blank after it.
    Lines in scripts without blanks between words are joined without one.

    Args:
        lines: The lines as printed.
        mends: Whether broken words are mended.

    Example:
        >>> join_lines(["a long para-", "graph about north-", "South"])
        'a long paragraph about north-South'
    """
    joined = ""
    for line in (line.strip() for line in lines):
        if not line:
            continue
        joined = _append(joined, line, mends) if joined else line
    return joined


def _is_broken(left: str, right: str) -> bool:
    return bool(_BROKEN_WORD.search(left) and _CONTINUATION.match(right) and right[0].islower())


def _append(left: str, right: str, mends: bool) -> str:
    if left[-1] in _HYPHENS and len(left) > 1 and left[-2].isalnum() and right[0].isalnum():
        is_broken = mends and (_is_broken(left, right) or left[-1] == "\u00ad")
        return (left[:-1] if is_broken else left) + right
    is_dense = _is_dense(left[-1]) and _is_dense(right[0])
    return f"{left}{right}" if is_dense else f"{left} {right}"


def _is_dense(character: str) -> bool:
    """Tell characters of Chinese and Japanese, which put no blanks between words."""
    return unicodedata.east_asian_width(character) in "WF" and not "\uac00" <= character <= "\ud7a3"


def escape(text: str) -> str:
    r"""Return literal text such that Markdown shows it unchanged inside a line.

    Args:
        text: Text without newlines.

    Example:
        >>> print(escape("5 * 3 < 4_000 $ <b>"))
        5 \* 3 < 4_000 \$ \<b>
    """
    text = _ALWAYS.sub(r"\\\g<0>", text)
    for pattern in (_UNDERSCORE, _TAG_START, _LINK, _ENTITY, _STRIKE):
        text = pattern.sub(r"\\\g<0>", text)
    return text


def escape_line(text: str) -> str:
    r"""Return literal text such that Markdown shows it unchanged as a line of its own.

    Args:
        text: Text without newlines.

    Example:
        >>> print(escape_line("1. # is a mark"))
        1\. # is a mark
    """
    text = _LINE_START.sub(r"\g<lead>\\\g<mark>", escape(text))
    return _NUMBER_START.sub(r"\g<lead>\\\g<mark>", text)
