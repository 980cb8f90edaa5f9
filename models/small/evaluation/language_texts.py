"""Running text in the ten languages, from the manual pages that Debian ships.

    apt-get download manpages manpages-da manpages-de manpages-es manpages-fr manpages-it \
        manpages-nl manpages-pl manpages-pt-br manpages-sv

Training saw words of these languages in random order only; these are sentences.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from ocrcli.models.small.training.corpus import LANGUAGES, clean_line

PACKAGES = {
    language: {"en": "manpages", "pt": "manpages-pt-br"}.get(language, f"manpages-{language}")
    for language in LANGUAGES
}
"""Debian package that holds the text of each language."""

SHORTEST = 80
"""Characters that a paragraph must have at least: shorter ones are mostly names and options."""

_SECTIONS = ("man1", "man2", "man4", "man5", "man7", "man8")
_ESCAPES = (
    (re.compile(r'\\".*'), ""),
    (re.compile(r"\\f(\[[A-Z]*\]|\(..|.)"), ""),
    (re.compile(r"\\s[+-]?\d"), ""),
    (re.compile(r"\\[&/,|^:%]"), ""),
    (re.compile(r"\\\((aq|cq|oq)"), "'"),
    (re.compile(r"\\\(em"), "—"),
    (re.compile(r"\\\(en"), "–"),
    (re.compile(r"\\-"), "-"),
    (re.compile(r"\\~|\\ "), " "),
    (re.compile(r"\\e"), "\\\\"),
)
_FONT_MACRO = re.compile(r"\.(B|I|BR|IR|RB|RI|BI|IB)\s+(.*)")


def paragraphs(package: Path, language: str) -> list[str]:
    """Return the paragraphs of running text in an unpacked package, each once, in a fixed order.

    Args:
        package: Folder the package was unpacked to.
        language: Two-letter code.

    Raises:
        ValueError: The folder holds no manual pages of the language.
    """
    top = package / "usr/share/man"
    folders = [top] if language == "en" else sorted(top.glob(f"{language}*"))
    files = [
        file
        for folder in folders
        for section in _SECTIONS
        for file in sorted((folder / section).glob("*.gz"))
        if not file.is_symlink()
    ]
    found: dict[str, None] = {}
    for file in files:
        source = gzip.decompress(file.read_bytes()).decode("utf-8", errors="replace")
        found.update(dict.fromkeys(part for part in _of_page(source) if _is_in(part, language)))
    if not found:
        raise ValueError(f"package must hold manual pages in {language}, found none in {package}")
    return list(found)


def _is_in(text: str, language: str) -> bool:
    """Return whether the words are commoner in the language than in English."""
    if language == "en":
        return True
    from wordfreq import zipf_frequency

    words = text.split()[:40]
    own, english = (sum(zipf_frequency(word, name) for word in words) for name in (language, "en"))
    return own > english


def _of_page(source: str) -> Iterator[str]:
    lines: list[str] = []
    literal = False
    for line in [*source.splitlines(), "."]:
        if line.startswith((".nf", ".EX")):
            literal = True
        elif line.startswith((".fi", ".EE")):
            literal = False
        macro = _FONT_MACRO.match(line)
        if macro and not literal:
            # Alternating fonts join their words; a single font keeps the blanks between them.
            words = macro[2].replace('"', "")
            lines.append(words if len(macro[1]) == 1 else "".join(words.split(" ")))
        elif line.startswith((".", "'", " ", "\t")) or not line.strip() or literal:
            paragraph = _plain(" ".join(lines))
            if paragraph:
                yield paragraph
            lines = []
        else:
            lines.append(line)


def _plain(roff: str) -> str:
    """Return a paragraph without markup, or nothing when it is not running text."""
    text = roff
    for pattern, replacement in _ESCAPES:
        text = pattern.sub(replacement, text)
    text = clean_line(text)
    letters = sum(char.isalpha() or char == " " for char in text)
    is_prose = len(text) >= SHORTEST and text[-1] in ".:" and letters > 0.85 * len(text)
    return text if is_prose and "\\" not in text and text[0].isupper() else ""
