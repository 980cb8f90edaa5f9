"""How far words lie from where they are printed: PDFs with text, read as pictures and compared.

    python -m ocrcli.models.small.evaluation.word_places examples/letter.pdf examples/report.pdf

prints, for every file, how many of its words were read, the distance of the middles of printed and
read words in points (half of the words are nearer, nine in ten are), and the share of words whose
boxes overlap by more than half.
"""

import argparse
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pymupdf

from ocrcli.document import Page
from ocrcli.models.small.evaluation.layout_metrics import Box, iou
from ocrcli.options import Options
from ocrcli.page_reading import read_pages
from ocrcli.pages import open_pages
from ocrcli.recogniser import ModelRecogniser
from ocrcli.second_reading import SecondReading
from ocrcli.writers.lines import placed_lines

Word = tuple[str, Box]
"""A word, and its place in points of the page."""


def main() -> None:
    """Print one line per file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="PDFs with text")
    parser.add_argument("--threads", type=int, default=None, help="threads of the CPU")
    arguments = parser.parse_args()
    recogniser = ModelRecogniser(Options(threads=arguments.threads))
    for file in arguments.files:
        sys.stdout.write(f"{file.name}: {_report(file, recogniser)}\n")


def _report(file: Path, recogniser: ModelRecogniser) -> str:
    printed, pairs = 0, []
    with open_pages(file) as pages, pymupdf.open(file) as pdf:
        second = SecondReading(pages, recogniser, None)
        for page in read_pages(pages, recogniser, None, second):
            words = [(entry[4], entry[:4]) for entry in pdf[page.page_number - 1].get_text("words")]
            printed += len(words)
            pairs += common(words, list(read_words(page)))
    if not pairs:
        return f"none of {printed} words was read"
    distances = [_distance(first, second) for first, second in pairs]
    usual, far = np.quantile(distances, (0.5, 0.9))
    share = sum(iou(first, second) > 0.5 for first, second in pairs) / len(pairs)
    return (
        f"{len(pairs)} of {printed} words, {usual:.1f} pt off (half), {far:.1f} pt (nine in ten), "
        f"{share:.1%} overlap by more than half"
    )


def read_words(page: Page) -> Iterator[Word]:
    """Yield the words of a page that was read, with their places in points.

    Args:
        page: A record.
    """
    scale = page.facts.width_pt / max(1, page.facts.image_width)
    for block in page.blocks:
        for line in placed_lines(block, page):
            for word, (left, top, right, bottom) in line.words:
                yield word, (left * scale, top * scale, right * scale, bottom * scale)


def common(printed: list[Word], read: list[Word]) -> list[tuple[Box, Box]]:
    """Return the places of the words that were read as they are printed, in one order.

    Example:
        >>> common([("a", (0, 0, 1, 1)), ("b", (2, 0, 3, 1))], [("b", (2, 0, 4, 1))])
        [((2, 0, 3, 1), (2, 0, 4, 1))]
    """
    matcher = SequenceMatcher(None, [w for w, _ in printed], [w for w, _ in read], autojunk=False)
    return [
        (printed[first + step][1], read[second + step][1])
        for first, second, length in matcher.get_matching_blocks()
        for step in range(length)
    ]


def _distance(first: Box, second: Box) -> float:
    across = (first[0] + first[2] - second[0] - second[2]) / 2
    down = (first[1] + first[3] - second[1] - second[3]) / 2
    return float(np.hypot(across, down))


if __name__ == "__main__":
    main()
