"""What a file is, by its first bytes; names only help to word the message."""

from pathlib import Path

from ocrcli.errors import DamagedError, InputError
from ocrcli.paths import Kind, kind_of

_HEAD_BYTES = 1024
_PICTURE_MAGIC = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"II*\x00",
    b"MM\x00*",
    b"II+\x00",
    b"MM\x00+",
    b"BM",
    b"\x00\x00\x00\x0cjP  \r\n\x87\n",
    b"\xff\x4f\xff\x51",
)
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
_AVIF_BRANDS = (b"avif", b"avis")


def file_type(path: Path, name: str) -> str:
    """Return "pdf" or "picture".

    Args:
        path: The file.
        name: The file as the user named it.

    Raises:
        InputError: The content is of no supported type.
        DamagedError: The file is empty, or named like a PDF without being one.
        OSError: The file cannot be read.
    """
    kind = kind_of(path)
    if kind is Kind.FOLDER:
        raise InputError("is a folder", source=name, next_action="name the files in it")
    if kind is Kind.DEVICE:
        raise InputError("is a device, not a file", source=name)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise DamagedError("the file is empty", source=name)
    if b"%PDF" in head:
        return "pdf"
    if head.startswith(_PICTURE_MAGIC) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "picture"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIF_BRANDS + _AVIF_BRANDS:
        _learn_heif(name, is_avif=head[8:12] in _AVIF_BRANDS)
        return "picture"
    if path.suffix.lower() == ".pdf":
        raise DamagedError("named like a PDF, but its content is something else", source=name)
    raise InputError(
        "the content is of no supported type",
        source=name,
        next_action="supported are PDF, PNG, JPEG, TIFF, WebP, BMP, GIF and JPEG 2000",
    )


def _learn_heif(name: str, *, is_avif: bool) -> None:
    """Teach Pillow to read HEIC, and AVIF if it was built without that."""
    from PIL import features

    if is_avif and features.check("avif"):
        return
    try:
        import pi_heif
    except ImportError as error:
        raise InputError(
            "HEIC and AVIF need another package",
            source=name,
            next_action="install it with: pip install pi-heif",
        ) from error
    pi_heif.register_heif_opener()
