"""Reads the first page of a PDF and prints its text.

python examples/01_one_page.py [FILE]
"""

import sys
from pathlib import Path

from ocrcli import transcribe

LETTER = Path(__file__).resolve().with_name("letter.pdf")


def main(arguments: list[str]) -> int:
    """Print the text of one page."""
    path = arguments[0] if arguments else LETTER
    (page,) = transcribe(path, pages="1")
    print(page.text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
