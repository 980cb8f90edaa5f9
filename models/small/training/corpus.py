"""Prepares the text that training pages, the tokenizer and the evaluation draw from.

    python -m ocrcli.models.small.training.corpus --books books/ --out data/text \
        --prose unpacked/ --code unpacked/

`books/` holds public-domain books as `.txt`, one paragraph per line. The output has `train/` and
`heldout/` (cleaned books, split by name) and `words/<language>.tsv` (word, relative frequency) from
the `wordfreq` package, whose frequency data is licensed CC BY-SA 4.0. `--prose` and `--code` name
folders that hold the packages of `texts.json`, and add `prose/<language>.txt`, one paragraph per
line, and `code/<kind>.txt`; see `gathered`. Everything below `heldout/` is for evaluation only.
"""

import argparse
import random
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from ocrcli.models.small.training.charset import CHARS, QUOTES, untaught

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "pl")
HELD_OUT_BOOKS = ("bertrand-russell_the-problems-of-philosophy", "bram-stoker_dracula")
"""Books used by the evaluation only: neither the model nor the tokenizer ever sees them."""

_FOLDS = str.maketrans(
    {
        "\u00a0": " ",
        "\u00ad": None,
        "\u2009": " ",
        "\u200a": None,
        "\u200b": None,
        "\u2010": "-",
        "\u2011": "-",
        "\u2044": "/",
        "\u2060": None,
        "\u202f": " ",
        "\u21a9": None,
        "\ufe0e": None,
        "\ufeff": None,
        "⸺": "——",
        "⸻": "———",
        "μ": "µ",
        "⅓": "1/3",
        "⅔": "2/3",
    }
)


def clean_line(line: str) -> str:
    r"""Return a paragraph in the characters that the model is taught.

    Special spaces become plain ones, invisible characters disappear, look-alikes of a taught
    character become that character, and accents outside `CHARS` fall off their letter.

    Args:
        line: One paragraph, without a newline.

    Returns:
        The cleaned paragraph; empty when it holds characters that cannot be folded.

    Example:
        >>> clean_line("M.\u00a0Duval\u2060—he\u0301")
        'M. Duval—hé'
    """
    text = unicodedata.normalize("NFC", line).translate(_FOLDS)
    if untaught(text):
        text = "".join(_without_accents(char) for char in text)
    text = re.sub(r"\s+", " ", text).strip()
    return "" if untaught(text) else text


def _without_accents(char: str) -> str:
    if char in CHARS or char == " ":
        return char
    base = unicodedata.normalize("NFD", char)
    return "".join(part for part in base if not unicodedata.combining(part))


class WordList:
    """The words of one language with their relative frequencies."""

    def __init__(self, path: Path) -> None:
        """Read a `<language>.tsv` file.

        Raises:
            ValueError: The file name is not a known language.
        """
        self.language = path.stem
        if self.language not in LANGUAGES:
            raise ValueError(f"path must be named <language>.tsv for one of {LANGUAGES}: {path}")
        self._words: list[str] = []
        self._running: list[float] = []
        total = 0.0
        for line in path.read_text(encoding="utf-8").splitlines():
            word, _, frequency = line.partition("\t")
            # Flattened a little, because the head of the list alone would fill the text.
            total += float(frequency) ** 0.85
            self._words.append(word)
            self._running.append(total)

    def sentence(self, rng: random.Random) -> str:
        """Return words in random order with the capitals, stops and quotes of the language."""
        words = rng.choices(self._words, cum_weights=self._running, k=rng.randrange(4, 20))
        for index, word in enumerate(words):
            noun = self.language == "de" and len(word) > 3 and rng.random() < 0.35
            if index == 0 or noun or rng.random() < 0.06:
                words[index] = word[:1].upper() + word[1:]
            elif rng.random() < 0.02:
                words[index] = word.upper()
        for index in range(len(words) - 1):
            if rng.random() < 0.1:
                words[index] += rng.choice([",", ",", ",", ";", ":", " –", "—"])
        text = " ".join(words) + rng.choice("......??!…")
        if rng.random() < 0.15:
            opening, closing = QUOTES[self.language]
            space = " " if self.language == "fr" else ""
            text = f"{opening}{space}{text}{space}{closing}"
        return text


def write_books(source: Path, output: Path) -> dict[str, int]:
    """Clean every book of `source` into `output/train` or `output/heldout`.

    Returns:
        Characters written, by book name.

    Raises:
        ValueError: A book of `HELD_OUT_BOOKS` is missing from `source`.
    """
    books = {path.stem: path for path in sorted(source.glob("*.txt"))}
    for name in HELD_OUT_BOOKS:
        if name not in books:
            raise ValueError(f"source must hold {name}.txt, found {sorted(books)}")
    counts = {}
    for name, path in books.items():
        lines = map(clean_line, path.read_text(encoding="utf-8").splitlines())
        text = "\n".join(line for line in lines if line) + "\n"
        folder = output / ("heldout" if name in HELD_OUT_BOOKS else "train")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).write_text(text, encoding="utf-8")
        counts[name] = len(text)
    return counts


def write_words(output: Path, count: int) -> dict[str, int]:
    """Write the `count` commonest words of every language to `output/words`.

    Returns:
        Words written, by language.
    """
    folder = output / "words"
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for language in LANGUAGES:
        rows = list(_words(language, count))
        text = "".join(f"{word}\t{frequency:.3e}\n" for word, frequency in rows)
        (folder / f"{language}.tsv").write_text(text, encoding="utf-8")
        counts[language] = len(rows)
    return counts


def _words(language: str, count: int) -> Iterator[tuple[str, float]]:
    from wordfreq import top_n_list, word_frequency

    for word in top_n_list(language, count):
        frequency = word_frequency(word, language)
        # The list writes every digit as 0, so words with digits are not real ones.
        if any(char.isdigit() for char in word) or untaught(word) or not frequency:
            continue
        if "'" in word:
            # Print mostly has the curly apostrophe, typewriting the straight one.
            yield word.replace("'", "’"), frequency * 0.7
            yield word, frequency * 0.3
        else:
            yield word, frequency


def common_words(count: int = 400) -> dict[str, set[str]]:
    """Return the commonest words of every language."""
    from wordfreq import top_n_list

    return {language: set(top_n_list(language, count)) for language in LANGUAGES}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    # It cleans its lines with this module.
    from ocrcli.models.small.training.gathered import write_code, write_prose

    parser = argparse.ArgumentParser(description="Prepare books and word lists.")
    parser.add_argument("--books", type=Path, help="folder of .txt books")
    parser.add_argument("--out", type=Path, required=True, help="folder to fill")
    for name, what in (("--prose", "paragraphs"), ("--code", "program text")):
        told = f"folder of unpacked packages, for {what}; may be given again"
        parser.add_argument(name, type=Path, action="append", default=[], metavar="ROOT", help=told)
    parser.add_argument("--most", type=int, default=2_000_000, help="characters a file")
    parser.add_argument("--words", type=int, default=40_000, help="words per language")
    arguments = parser.parse_args(argv)
    if arguments.books:
        counts = write_books(arguments.books, arguments.out)
        sys.stdout.write(f"{len(counts)} books, {sum(counts.values())} characters\n")
        sys.stdout.write(f"words: {write_words(arguments.out, arguments.words)}\n")
    if arguments.prose:
        prose = write_prose(arguments.prose, arguments.out, common_words(), arguments.most)
        sys.stdout.write(f"prose: {prose}\n")
    if arguments.code:
        code = write_code(arguments.code, arguments.out, arguments.most // 2)
        sys.stdout.write(f"code: {code}\n")


if __name__ == "__main__":
    main()
