"""What libraries below Python print while they decode: caught, so that it becomes a page's warning.

The TIFF library tells of damage on stderr only, and then hands over what it has.
"""

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

# "Module: what is wrong." Anything else was printed by someone else in the meantime.
_COMPLAINT = re.compile(rb"[\w.]{3,}: [^\x1b]+\.")
# Said of the list of frames, which is walked before, and not of the frame that is decoded.
_OF_THE_LIST = re.compile(rb"TIFF\w*Directory: ")


@contextlib.contextmanager
def caught_complaints() -> Iterator[list[str]]:
    """Yield a list that holds the library's complaints, one a line, when the context has ended.

    What others print meanwhile goes to stderr afterwards.
    """
    found: list[str] = []
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:
        # There is no stderr that anything could be printed on.
        yield found
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield found
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            for line in file:
                if _OF_THE_LIST.match(line):
                    continue
                if _COMPLAINT.fullmatch(line.strip()):
                    found.append(line.strip().decode("utf-8", "backslashreplace").rstrip("."))
                else:
                    with contextlib.suppress(OSError):
                        os.write(2, line)
