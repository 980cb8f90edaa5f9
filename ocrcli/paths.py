"""What lies under a name, asked so that no name can break the question.

`Path.is_dir` and its relatives raise for names that are too long, and `Path.resolve` for links that
lead in a circle; users type both.
"""

import os
import stat
from enum import Enum, auto
from pathlib import Path


class Kind(Enum):
    """What lies under a name.

    Attributes:
        ABSENT: Nothing, or nothing that may be looked at.
        FILE: A file, or a link to one.
        FOLDER: A folder, or a link to one.
        PIPE: A named pipe, or one that the shell made.
        DEVICE: A device, or a socket.
        BROKEN_LINK: A link that leads nowhere, or in a circle.
    """

    ABSENT = auto()
    FILE = auto()
    FOLDER = auto()
    PIPE = auto()
    DEVICE = auto()
    BROKEN_LINK = auto()


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Return what lies under a name; links are followed.

    Args:
        path: Any name.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return Kind.BROKEN_LINK if _is_link(path) else Kind.ABSENT
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    return Kind.PIPE if stat.S_ISFIFO(mode) else Kind.DEVICE


def _is_link(path: str | os.PathLike[str]) -> bool:
    try:
        return stat.S_ISLNK(Path(path).lstat().st_mode)
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a name is that of a folder.

    Args:
        path: Any name.
    """
    return kind_of(path) is Kind.FOLDER


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the one absolute name of a file, as far as links can be followed.

    Args:
        path: Any name.
    """
    return os.path.realpath(path)
