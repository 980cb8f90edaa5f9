"""Teaches the byte-level BPE of the small model and lays out its 6144 ids.

    python -m ocrcli.models.small.training.build_tokenizer --text data/text --out tokenizer.json

The ids, the digits and the newline are part of the model's format: the markers come first, a digit
or a newline never merges with anything, and a single byte is always a token, so no text is unknown.
The file carries no "added tokens": a marker's spelling inside a page's own text is plain text.
"""

import argparse
import json
import random
import string
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from ocrcli.models.small.training.charset import CHARS
from ocrcli.models.small.training.corpus import HELD_OUT_BOOKS, LANGUAGES, WordList

VOCABULARY_SIZE = 6144
INTEGERS = 1000
SPARES = 64

CONTROLS = ("<pad>", "<bos>", "<eos>", "<image>", "<PAGE>", "<|det|>", "<|/det|>")
LABELS = (
    "title",
    "text",
    "list",
    "table",
    "formula",
    "figure",
    "caption",
    "header",
    "footer",
    "page_number",
    "footnote",
    "aside",
    "code",
)
TABLE_TAGS = ("table", "thead", "tbody", "tr", "td", "th")

# A contraction, a word with the space before it, one digit, one newline, a run of marks, or a run
# of spaces. The space before a digit stays apart because every digit stands alone.
_PIECES = (
    r"[’'](?:s|t|m|d|re|ve|ll)(?![\p{L}\p{M}])"
    r"| ?[\p{L}\p{M}]+"
    r"|\p{N}"
    r"|\n"
    r"| ?[^\s\p{L}\p{M}\p{N}]+"
    r"|[^\S\n]+"
)


def markers() -> list[str]:
    """Return the spelling of every id that is not text, in the order of the ids."""
    tags = [f"<{slash}{tag}>" for tag in TABLE_TAGS for slash in ("", "/")]
    return [
        *CONTROLS,
        *(f"<|label:{label}|>" for label in LABELS),
        *tags,
        "<|colspan|>",
        "<|rowspan|>",
        *(f"<|int:{value}|>" for value in range(INTEGERS)),
        *(f"<|spare:{index}|>" for index in range(SPARES)),
    ]


def training_lines(text: Path, seed: int, characters: int) -> Iterator[str]:
    """Yield the lines that the merges are counted on.

    About half is English prose, a twentieth each of the nine other languages is sentences drawn
    from word frequencies, the rest is figures, addresses and code. Every line is broken like print,
    because the first word of a printed line has no space before it.

    Args:
        text: Folder with `train/` and `words/`.
        seed: Seed of all choices.
        characters: Approximate total length.

    Raises:
        ValueError: A held-out book is among the training books, or there are no books.
    """
    rng = random.Random(seed)
    books = sorted((text / "train").glob("*.txt"))
    if not books:
        raise ValueError(f"text must hold train/*.txt, found none in {text}")
    for path in books:
        if path.stem in HELD_OUT_BOOKS:
            raise ValueError(f"text must keep held-out books out of train/, found {path.name}")
        yield from _printed(rng, _paragraphs(rng, path, int(0.52 * characters / len(books))))
    for language in LANGUAGES:
        words = WordList(text / "words" / f"{language}.tsv")
        share = 0.03 if language == "en" else 0.045
        yield from _printed(rng, _sentences(rng, words, int(share * characters)))
    written = 0
    while written < 0.045 * characters:
        line = " ".join(_figure(rng) for _ in range(8))
        written += len(line)
        yield line
    # Every taught character gets a token of its own, however rare its language.
    for char in CHARS[95:]:
        yield from [char] * 1500


def _paragraphs(rng: random.Random, path: Path, characters: int) -> Iterator[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    written = 0
    while written < characters:
        line = rng.choice(lines)
        draw = rng.random()
        if draw < 0.02:
            line = line[:200].upper()
        elif draw < 0.05:
            line = line[:200].title()
        written += len(line)
        yield line


def _sentences(rng: random.Random, words: WordList, characters: int) -> Iterator[str]:
    written = 0
    while written < characters:
        line = " ".join(words.sentence(rng) for _ in range(4))
        written += len(line)
        yield line


def _printed(rng: random.Random, paragraphs: Iterator[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        measure, line = rng.randrange(35, 95), ""
        for word in paragraph.split(" "):
            if line and len(line) + len(word) >= measure:
                yield line
                line = word
            else:
                line = f"{line} {word}" if line else word
        yield line


def _figure(rng: random.Random) -> str:
    def letters(low: int, high: int) -> str:
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randrange(low, high)))

    number = rng.randrange(10 ** rng.randrange(1, 7))
    money = rng.choice("$€£")
    host = f"{letters(3, 9)}.{rng.choice(['com', 'org', 'net', 'de', 'fr', 'eu', 'co.uk'])}"
    return rng.choice(
        [
            f"{number:,}",
            f"{number / 100:.2f}",
            f"{money}{number:,}.{rng.randrange(100):02d}",
            f"{number},{rng.randrange(100):02d} {money}",
            f"{rng.randrange(1, 100)}%",
            f"({rng.randrange(1, 100)})",
            f"[{rng.randrange(1, 200)}]",
            f"{rng.randrange(1, 29)}/{rng.randrange(1, 13)}/{rng.randrange(1800, 2030)}",
            f"{rng.randrange(24):02d}:{rng.randrange(60):02d}",
            f"{letters(2, 9)}@{host}",
            f"https://www.{host}/{letters(2, 9)}/{letters(2, 9)}.html",
            f"{letters(2, 8)}_{letters(2, 8)}({letters(1, 5)}, {letters(1, 5)}={number})",
            f'if ({letters(1, 4)} != "{letters(2, 6)}") {{ return {letters(1, 4)}[{number}]; }}',
            "".join(rng.choices(string.ascii_uppercase, k=rng.randrange(2, 7))),
            f"{rng.choice('•·–—§*†')} {letters(2, 9).capitalize()}",
            "".join(rng.choices(string.ascii_letters + string.punctuation, k=rng.randrange(3, 9))),
        ]
    )


def build(text: Path, seed: int = 7, characters: int = 12_000_000) -> Tokenizer:
    """Return the tokenizer taught on `text`.

    Args:
        text: Folder with `train/` and `words/`, as written by `corpus`.
        seed: Seed of the sampled lines; the same seed gives the same tokenizer.
        characters: Approximate amount of text to count.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=markers(),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_lines(text, seed, characters), trainer)
    layout = json.loads(tokenizer.to_str())
    # Kept as plain entries of the vocabulary, markers can only be written by id, never by text.
    layout["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(layout))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = argparse.ArgumentParser(description="Build tokenizer.json of the small model.")
    parser.add_argument("--text", type=Path, required=True, help="folder written by corpus")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--characters", type=int, default=12_000_000)
    arguments = parser.parse_args(argv)
    tokenizer = build(arguments.text, arguments.seed, arguments.characters)
    arguments.out.write_text(tokenizer.to_str() + "\n", encoding="utf-8")
    sys.stdout.write(f"{tokenizer.get_vocab_size()} ids, {len(markers())} of them markers\n")


if __name__ == "__main__":
    main()
