"""Paragraphs and code displays taken out of HTML, Mallard, POD and Info files.

Runs that a document sets in another style keep a mark (see `typeset`), so that training pages can
set them as the document does: names in typewriter inside running text, terms in italics.
"""

import gzip
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from ocrcli.models.small.training.typeset import BOLD, PLAIN, SLANTED, TYPEWRITER, unmarked

_STYLES = {
    **dict.fromkeys(["code", "tt", "kbd", "samp", "cmd", "input", "file", "sys"], TYPEWRITER),
    **dict.fromkeys(["em", "i", "var"], SLANTED),
    **dict.fromkeys(["b", "strong"], BOLD),
}
_CLASSES = {"emph": BOLD, "literal": TYPEWRITER, "input": TYPEWRITER}
# What is between these is navigation, not text.
_SKIPPED = frozenset(
    ["script", "style", "head", "header", "aside", "nav", "info", "credit", "table"]
)
_BLOCK_TAGS = (
    "p li dd dt div td th h1 h2 h3 h4 h5 h6 title item section page body html ul ol dl tr "
    "note steps list terms blockquote"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_KEPT = frozenset(["p", "dd", "li"])
_POD_WIDE = re.compile(r"([A-Z])<<+ (.+?) >>+", re.DOTALL)
_POD_NARROW = re.compile(r"([A-Z])<([^<>]*)>")
_POD_STYLES = {"C": TYPEWRITER, "F": TYPEWRITER, "I": SLANTED, "B": BOLD}


@dataclass
class Extract:
    """What was found in one document.

    Attributes:
        paragraphs: Running text, one paragraph each, with style marks.
        displays: Lines of each code display, as they stand in the document.
    """

    paragraphs: list[str] = field(default_factory=list)
    displays: list[list[str]] = field(default_factory=list)


def extract(path: Path) -> Extract:
    """Return the paragraphs and code displays of a document.

    Args:
        path: `.html` or `.page` (Mallard), `.pod`, or `.info`; may be gzipped.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    text = content.decode("utf-8", errors="replace")
    name = path.name.removesuffix(".gz")
    if name.endswith(".pod"):
        return _from_pod(text)
    if name.endswith(".info"):
        return _from_info(text)
    reader = _MarkupReader()
    reader.feed(text)
    reader.close()
    return reader.found


class _MarkupReader(HTMLParser):
    """Reads HTML and Mallard alike; what neither knows is passed over."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Extract()
        self._text: list[str] = []
        self._display: list[str] = []
        self._styles: list[tuple[str, str]] = []
        self._skipped = self._displays = 0
        self._wanted = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag in ("pre", "screen"):
            self._flush()
            self._displays += 1
        elif tag == "code" and dict(attrs).get("mime") and not self._wanted:
            self._flush()
            self._displays += 1
            self._styles.append((tag, ""))
        elif tag in _BLOCKS:
            self._flush()
            self._wanted = tag in _KEPT
        elif tag in _STYLES or tag == "span":
            style = _STYLES.get(tag) or _CLASSES.get(dict(attrs).get("class") or "", "")
            # The outermost style is the one that is set.
            style = "" if any(outer for _, outer in self._styles) else style
            self._styles.append((tag, style))
            self._text.append(style)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif tag in ("pre", "screen"):
            self._end_display()
        elif tag in _BLOCKS:
            self._flush()
        elif self._styles and self._styles[-1][0] == tag:
            style = self._styles.pop()[1]
            if style:
                self._text.append(PLAIN)
            elif tag == "code" and self._displays and not self._styles:
                self._end_display()

    def handle_data(self, data: str) -> None:
        if self._displays:
            self._display.append(data)
        elif not self._skipped and self._wanted:
            self._text.append(data)

    def close(self) -> None:
        super().close()
        self._flush()

    def _end_display(self) -> None:
        self._displays = max(0, self._displays - 1)
        lines = "".join(self._display).strip("\n").split("\n")
        self._display = []
        if any(lines):
            self.found.displays.append(lines)

    def _flush(self) -> None:
        text = re.sub(r"\s+", " ", "".join(self._text)).strip()
        self._text, self._styles = [], []
        if text:
            self.found.paragraphs.append(text)


def _from_pod(text: str) -> Extract:
    found = Extract()
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("="):
            continue
        if part[:1] in " \t":
            found.displays.append(part.strip("\n").split("\n"))
            continue
        part = _POD_WIDE.sub(_pod_code, part)
        for _ in range(3):
            # Innermost first, so that codes may hold codes.
            part = _POD_NARROW.sub(_pod_code, part)
        part = part.replace("\x01", "<").replace("\x02", ">")
        found.paragraphs.append(re.sub(r"\s+", " ", part).strip())
    return found


def _pod_code(match: re.Match[str]) -> str:
    kind, inner = match.groups()
    # Brackets are held back, so that they are not taken for those of a code.
    inner = inner.replace("<", "\x01").replace(">", "\x02")
    if kind == "E":
        return {"lt": "\x01", "gt": "\x02"}.get(inner, "")
    if kind in _POD_STYLES:
        return _POD_STYLES[kind] + unmarked(inner) + PLAIN
    return inner.split("|")[0] if kind == "L" else ("" if kind in "XZ" else inner)


def _from_info(text: str) -> Extract:
    found = Extract()
    for part in re.split(r"\n\s*\n", text):
        lines = part.strip("\n").split("\n")
        indents = [len(line) - len(line.lstrip()) for line in lines]
        if "\x1f" in part or "::" in part or lines[0][:1] in ("*", "=") or "---" in part:
            continue
        if min(indents) >= 5 and len(lines) < 20 and not _is_running(lines):
            found.displays.append(lines)
        elif _is_running(lines):
            words = re.sub(r"\s+", " ", " ".join(lines)).strip()
            # Info writes what the printed manual sets in typewriter between quotes.
            words = re.sub(r"‘([^’]+)’", f"‘{TYPEWRITER}\\1{PLAIN}’", words)
            found.paragraphs.append(words)
    return found


def _is_running(lines: list[str]) -> bool:
    return len(lines) > 2 and sum(len(line.strip()) > 50 for line in lines) >= len(lines) - 1
