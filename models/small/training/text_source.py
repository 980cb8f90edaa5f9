"""Words for training pages: prose, sentences in ten languages, and strings that cannot be guessed.

The last kind is there so that the decoder learns to read instead of completing words it knows; so
are words in random order, words with a letter changed, and passages that repeat.
"""

import random
import string
from pathlib import Path

from ocrcli.models.small.training.charset import QUOTES
from ocrcli.models.small.training.facts import code_lines, code_word, fact, web
from ocrcli.models.small.training.refrain import Refrain, echo
from ocrcli.models.small.training.typeset import marked_words, unmarked

_MARKS = "!\"#$%&'()*+,-./:;<=>?@[]_{}|~§†‡•–—…“”‘’«»°±×½¼€£©®™"
_ACCENTED = "äöüßéèêàâçôûùîïëÿñáíìóòúãõåæøœąćęłńśźżÄÖÜÉÈÊÀÂÇÔÛÎÑÁÍÓÚÃÕÅÆØŒĄĆĘŁŃŚŹŻ¿¡ºª"


class TextSource:
    """Draws lists of words from a folder of texts and word frequencies."""

    def __init__(self, folder: Path, held_out: bool = False) -> None:
        """Read `text/train`, `text/words`, and `text/prose` and `text/code` where they are.

        Args:
            folder: Holds `text/`.
            held_out: Whether to read `text/heldout`, with its `prose` and `code`, instead.

        Raises:
            ValueError: The folder holds no text.
        """
        base = folder / "text" / "heldout" if held_out else folder / "text"
        texts = sorted((base if held_out else base / "train").glob("*.txt"))
        self._books = []
        for path in texts:
            lines = path.read_text(encoding="utf-8").split("\n")
            self._books.append([line for line in lines if len(line) > 2])
        if not self._books:
            raise ValueError(f"folder must hold text/train/*.txt, found none in {folder}")
        self._languages: dict[str, tuple[list[str], list[float]]] = {}
        for path in sorted((folder / "text" / "words").glob("*.tsv")):
            words, weights = [], []
            for line in path.read_text(encoding="utf-8").splitlines():
                word, _, frequency = line.partition("\t")
                words.append(word)
                # Rare words carry the rare letters, so the frequencies are flattened.
                weights.append(float(frequency) ** 0.6)
            total, running = 0.0, []
            for weight in weights:
                total += weight
                running.append(total)
            self._languages[path.stem] = (words, running)

        self._prose_lines = {
            path.stem: path.read_text(encoding="utf-8").splitlines()
            for path in sorted((base / "prose").glob("*.txt"))
        }
        self._code = [
            path.read_text(encoding="utf-8").split("\n")
            for path in sorted((base / "code").glob("*.txt"))
            if path.stat().st_size > 1
        ]

    def voice(self, rng: random.Random, technical: bool = False) -> str:
        """Return what a page is written in.

        Args:
            rng: Source of all choices.
            technical: Whether documentation is wanted.

        Returns:
            "prose" (books), "technical" (documentation in English), a language, "mixed" or
            "strings".
        """
        kind = rng.random()
        if "en" in self._prose_lines and kind < (0.6 if technical else 0.08):
            return "technical"
        if kind < 0.34 or not self._languages:
            return "prose"
        if kind < 0.82:
            return rng.choice(list(self._languages))
        return "mixed" if kind < 0.94 else "strings"

    def paragraph(
        self, rng: random.Random, voice: str = "mixed", marked: bool = False
    ) -> list[str]:
        """Return the words of one paragraph.

        Args:
            rng: Source of all choices.
            voice: See `voice`.
            marked: Whether words may hold the style marks of `typeset`.
        """
        words = self._paragraph(rng, voice)
        kind = rng.random()
        if kind < 0.05:
            words = echo(rng, words)
        elif kind < 0.2:
            words = [_misspelt(rng, word) if rng.random() < 0.06 else word for word in words]
        return words if marked else [unmarked(word) for word in words]

    def code(self, rng: random.Random, count: int) -> list[str]:
        """Return `count` lines of a program, indentation included; empty ones are gaps."""
        if not self._code or rng.random() < 0.15:
            return code_lines(rng, count)
        text = rng.choice(self._code)
        start = rng.randrange(len(text))
        if rng.random() < 0.7:
            # From the beginning of a piece, as documents show code.
            while start and text[start - 1]:
                start -= 1
        return text[start : start + count]

    def code_run(self, rng: random.Random) -> str:
        """Return a name, call or short piece of code for running text."""
        if rng.random() < 0.3:
            return code_word(rng)
        words = " ".join(self.code(rng, 2)).split()
        if not words:
            return code_word(rng)
        start = rng.randrange(len(words))
        return " ".join(words[start : start + rng.choice([1, 1, 1, 2, 3])])

    def refrain(self, rng: random.Random, voice: str) -> Refrain:
        """Return what a page repeats: 10 to 40 words and a few lines of code."""
        wanted = rng.randrange(10, 41)
        words: list[str] = []
        while len(words) < wanted:
            words += self.paragraph(rng, voice)
        start = rng.randrange(len(words) - wanted + 1)
        lines = [line for line in self.code(rng, rng.randrange(3, 9)) if line]
        return Refrain(rng, words[start : start + wanted], lines or code_lines(rng, 5))

    def _paragraph(self, rng: random.Random, voice: str) -> list[str]:
        kind = rng.random()
        if voice == "strings" or kind > 0.94:
            return self._strings(rng)
        if voice == "technical":
            return self._documentation(rng, "en")
        if voice in self._languages:
            return self._sentences_or_prose(rng, voice)
        if voice == "prose" or not self._languages:
            return self._prose(rng)
        if kind < 0.35:
            return self._prose(rng)
        if kind < 0.8:
            return self._sentences_or_prose(rng, rng.choice(list(self._languages)))
        return self._strings(rng)

    def title(self, rng: random.Random, voice: str = "mixed", numbered: bool = True) -> list[str]:
        """Return the few words of a heading, `numbered`: with a number before it now and then."""
        words = self.paragraph(rng, voice)
        start = rng.randrange(max(1, len(words) - 8))
        words = words[start : start + rng.randrange(1, 9)]
        style = rng.random()
        if style < 0.2:
            return [word.upper() for word in words]
        if style < 0.6:
            return [word[:1].upper() + word[1:] for word in words]
        if style < 0.8 and numbered:
            return [f"{rng.randrange(1, 20)}." + rng.choice(["", "1", "2.3"]), *words]
        return words

    def _prose(self, rng: random.Random) -> list[str]:
        book = rng.choice(self._books)
        words = book[rng.randrange(len(book))].split()
        if rng.random() < 0.4 and len(words) > 12:
            words = words[rng.randrange(12) :]
        if rng.random() < 0.15:
            words.insert(rng.randrange(len(words) + 1), fact(rng, "prose"))
            words = " ".join(words).split(" ")
        return words or ["The"]

    def _sentences_or_prose(self, rng: random.Random, language: str) -> list[str]:
        if language in self._prose_lines and rng.random() < 0.5:
            return self._documentation(rng, language)
        return self._sentences(rng, language)

    def _documentation(self, rng: random.Random, language: str) -> list[str]:
        words = marked_words(rng.choice(self._prose_lines[language]))
        # Short paragraphs are common there, so some are joined.
        while len(words) < 60 and rng.random() < 0.5:
            words += marked_words(rng.choice(self._prose_lines[language]))
        if rng.random() < 0.3 and len(words) > 12:
            words = words[rng.randrange(12) :]
        return words

    def _sentences(self, rng: random.Random, language: str) -> list[str]:
        words, running = self._languages[language]
        opening, closing = QUOTES[language]
        result: list[str] = []
        for _ in range(rng.randrange(1, 7)):
            count = rng.randrange(3, 18)
            sentence = rng.choices(words, cum_weights=running, k=count)
            capital = language == "de"
            sentence = [
                _vary(rng, word, capital, 0.04 if index else 1.0)
                for index, word in enumerate(sentence)
            ]
            if rng.random() < 0.35:
                sentence[rng.randrange(count)] = fact(rng, language)
            if rng.random() < 0.06:
                place = rng.randrange(count)
                sentence[place] = rng.choice(["({})", "({})", "[{}]"]).format(sentence[place])
            if rng.random() < 0.12:
                sentence[0] = opening + sentence[0]
                sentence[-1] += closing
            for index in range(len(sentence) - 1):
                if rng.random() < 0.08:
                    sentence[index] += rng.choice([",", ",", ";", ":", " –"])
            sentence[-1] += rng.choice([".", ".", ".", "?", "!", "…"])
            result += " ".join(sentence).split(" ")
        return result

    def _strings(self, rng: random.Random) -> list[str]:
        return [_unguessable(rng) for _ in range(rng.randrange(3, 60))]


def _misspelt(rng: random.Random, word: str) -> str:
    """Return a word with a letter changed, doubled or left out, which has to be read to be seen."""
    if len(word) < 4 or not word.isalpha():
        return word
    place = rng.randrange(1, len(word) - 1)
    middle = rng.choice(["", word[place] * 2, rng.choice(string.ascii_lowercase)])
    return word[:place] + middle + word[place + 1 :]


def _vary(rng: random.Random, word: str, noun_capitals: bool, chance: float) -> str:
    if rng.random() < chance or (noun_capitals and rng.random() < 0.3):
        return word[:1].upper() + word[1:]
    if rng.random() < 0.015:
        return word.upper()
    return word


def _unguessable(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.28:
        digits = "".join(rng.choices(string.digits, k=rng.randrange(1, 8)))
        return digits + rng.choice(["", "", ",", ".", "%", ".50", "-", ")", "/7", ":30"])
    if kind < 0.36:
        whole, cents = rng.randrange(1, 10000), rng.randrange(100)
        sign = rng.choice(["$", "€", "£", ""])
        return rng.choice([f"{sign}{whole:,}.{cents:02d}", f"{whole},{cents:02d} {sign}".strip()])
    if kind < 0.52:
        return "".join(rng.choices(string.ascii_uppercase, k=rng.randrange(1, 9)))
    if kind < 0.80:
        tail = rng.choice(["", "", "", ",", ".", ";", ":", "!", "?", ")", "’s"])
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randrange(1, 11))) + tail
    if kind < 0.87:
        return "".join(rng.choices(_ACCENTED + string.ascii_lowercase, k=rng.randrange(2, 10)))
    if kind < 0.93:
        return web(rng) if rng.random() < 0.6 else fact(rng, "prose").replace(" ", "")
    return "".join(rng.choices(_MARKS, k=rng.randrange(1, 4)))
