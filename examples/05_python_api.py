"""Follows a document page by page, with the evidence for each, and handles what can go wrong.

python examples/05_python_api.py [FILE]
"""

import sys
from pathlib import Path

from ocrcli import PageStatus, transcribe
from ocrcli.errors import OcrError

REPORT = Path(__file__).resolve().with_name("report.pdf")


def main(arguments: list[str]) -> int:
    """Print every block with its place; return the exit code that the command would have."""
    path = arguments[0] if arguments else REPORT
    try:
        for page in transcribe(path, pages_in_flight=2):
            if page.status is PageStatus.ERROR:
                print(f"page {page.page_number} failed: {page.error}")
                continue
            confidence = f"{page.confidence.mean:.3f}" if page.confidence else "none"
            print(f"page {page.page_number}: {page.status}, mean confidence {confidence}")
            for block in page.blocks:
                first_line = block.text.partition("\n")[0]
                print(f"  {block.type:<8} {block.bbox} {first_line}")
    except OcrError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
