"""Text of a few words in which sentences and lines come back, the same or with a word changed.

Where words repeat, only the place on the page tells what comes next. A reader that finds its place
by the words it has just read skips lines there, or goes round in circles.
"""

import random
import re
from collections.abc import Sequence

_MOST_SENTENCES = 8
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]+")


class Refrain:
    """What one page repeats."""

    def __init__(self, rng: random.Random, words: Sequence[str], lines: Sequence[str]) -> None:
        """Keep a vocabulary.

        Args:
            rng: Source of all choices.
            words: A few words, at least one; sentences are made of them.
            lines: A few lines of a program.
        """
        self._words = list(words)
        self._lines = list(lines)
        self._sentences: list[list[str]] = []
        # Some pages repeat all but everything, others now and then.
        self._again = rng.uniform(0.3, 0.85)
        self._changed = rng.choice([0.1, 0.3, 0.6])

    def sentence(self, rng: random.Random) -> list[str]:
        """Return a sentence that was there before, whole, in part or with a word changed."""
        if self._sentences and rng.random() < self._again:
            sentence = list(rng.choice(self._sentences))
            if rng.random() < self._changed:
                sentence[rng.randrange(len(sentence))] = rng.choice(self._words)
                self._keep(rng, sentence)
            return sentence
        sentence = rng.choices(self._words, k=rng.randrange(2, 14))
        if self._sentences and rng.random() < 0.5:
            before = rng.choice(self._sentences)
            sentence = [*before[: rng.randrange(1, len(before) + 1)], *sentence]
        sentence[0] = sentence[0][:1].upper() + sentence[0][1:]
        sentence[-1] = sentence[-1].rstrip(".,;:") + "."
        self._keep(rng, sentence)
        return sentence

    def paragraph(self, rng: random.Random) -> list[str]:
        """Return the words of one to seven sentences."""
        return [word for _ in range(rng.randrange(1, 8)) for word in self.sentence(rng)]

    def title(self, rng: random.Random) -> list[str]:
        """Return the few words of a heading, which may be the beginning of a sentence."""
        return self.sentence(rng)[: rng.randrange(1, 7)]

    def code(self, rng: random.Random, count: int) -> list[str]:
        """Return `count` lines of a program, most of them more than once."""
        pool = list(self._lines)
        result: list[str] = []
        names = [name for line in pool for name in _NAME.findall(line)]
        while pool and len(result) < count:
            start = rng.randrange(len(pool))
            run = pool[start : start + rng.randrange(1, 5)]
            if names and rng.random() < 0.4:
                place = rng.randrange(len(run))
                run[place] = _NAME.sub(lambda _: rng.choice(names), run[place], count=1)
            result += run
        return result[:count]

    def _keep(self, rng: random.Random, sentence: list[str]) -> None:
        if len(self._sentences) < _MOST_SENTENCES:
            self._sentences.append(sentence)
        elif rng.random() < 0.2:
            self._sentences[rng.randrange(_MOST_SENTENCES)] = sentence


def echo(rng: random.Random, words: list[str]) -> list[str]:
    """Return `words` with a run of them set again up to three times, a word changed or not."""
    if len(words) < 6:
        return words
    start = rng.randrange(len(words) - 4)
    run = words[start : start + rng.randrange(4, 30)]
    result = words[: start + len(run)]
    for _ in range(rng.randrange(1, 4)):
        again = list(run)
        if rng.random() < 0.5:
            again[rng.randrange(len(again))] = rng.choice(words)
        result += again
    return result + words[start + len(run) :]
