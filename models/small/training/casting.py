"""Which fonts play the styles of a page, and where running text changes its style."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocrcli.models.small.training.text_source import TextSource
from ocrcli.models.small.training.typeset import BOLD, PLAIN, SLANTED, TYPEWRITER

if TYPE_CHECKING:
    from ocrcli.models.small.training.composer import Composer

_BOLD = ("-bold.ttf", "-bold.otf", "-semibold.ttf", "-semibold.otf")


def cast(composer: "Composer", rng: random.Random, font: int) -> dict[str, tuple[int, int]]:
    """Return the fonts that play the styles of a page whose text is set in `font`; see `Cast`."""
    names, family = composer.atlas.names, composer.family_of(font)
    bold = [one for one in family if names[one].lower().endswith(_BOLD)]
    slanted = [one for one in family if "italic" in names[one].lower()]
    found = {BOLD: (rng.choice(bold or family), 0), SLANTED: (rng.choice(slanted or family), 0)}
    if composer.fixed_width:
        found[TYPEWRITER] = (composer.fixed_beside(rng, font), rng.choice([0, 0, -1]))
    return found


def plays(mark: str, words: Sequence[str]) -> list[str]:
    """Return `words` with a style mark, for `Sheet.paragraph`."""
    return [mark + word for word in words]


def with_runs(rng: random.Random, text: TextSource, words: list[str]) -> list[str]:
    """Return words with names in typewriter and other styles put between them.

    Words that have marks already are returned as they are.
    """
    if not words or any(word[:1] in (TYPEWRITER, SLANTED, BOLD) for word in words):
        return words
    words = list(words)
    for _ in range(rng.choice([0, 0, 1, 2, 3, 5])):
        place, kind = rng.randrange(len(words) + 1), rng.random()
        if kind < 0.25:
            # A word of the sentence, which then is there once in each style.
            place = min(place, len(words) - 1)
            words[place] = rng.choice([TYPEWRITER, SLANTED, BOLD]) + words[place]
            continue
        run = plays(TYPEWRITER, text.code_run(rng).split(" "))
        if kind < 0.5:
            opening, closing = rng.choice([("‘", "’"), ("‘", "’"), ("“", "”"), ("'", "'")])
            run[0], run[-1] = opening + run[0], run[-1] + PLAIN + closing
        if rng.random() < 0.2:
            run[-1] += (PLAIN if PLAIN not in run[-1] else "") + rng.choice(",.;:)")
        words[place:place] = run
    return words
