"""Text to token ids and back, with the markers of a page by name.

The embedded model has one id per block label and per coordinate; the large model spells both out.
`decode` turns either into the same public markup, so nothing after it knows which model wrote:

    <PAGE><|det|>title [12, 34, 56, 78]<|/det|>Heading of the page

Behind a line feed or `<tr>` the embedded model may write one more coordinate, how far down the page
the line begins. It spells nothing.

`decode` accepts any list of ids: a model that loses its way must never break the program.
"""

import codecs
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer as _Backend

_PAD = ("<pad>", "<｜▁pad▁｜>")
_BOS = ("<bos>", "<｜begin▁of▁sentence｜>")
_EOS = ("<eos>", "<｜end▁of▁sentence｜>")
_IMAGE = ("<image>",)
_PAGE = ("<PAGE>",)
_DET = ("<|det|>",)
_END_DET = ("<|/det|>",)
_TAGS = tuple(
    f"<{slash}{name}>"
    for name in ("table", "thead", "tbody", "tr", "td", "th")
    for slash in ("", "/")
)
_CELLS = ("<td>", "<th>")
_SPANS = {"<|colspan|>": "colspan", "<|rowspan|>": "rowspan"}
_PRINTED = {*_PAGE, *_DET, *_END_DET, "<|ref|>", "<|/ref|>", *_TAGS}
_LABEL_PREFIX, _INTEGER_PREFIX, _SUFFIX = "<|label:", "<|int:", "|>"


class Tokenizer:
    """A byte-level BPE with the markers of page markup."""

    def __init__(self, backend: _Backend) -> None:
        """Sort the ids of `backend` into text and markers; see `from_file`."""
        # What a page says about markers is text; only `encode_det` and `encode_tag` write markers.
        backend.encode_special_tokens = True
        self._backend = backend
        self._ids = backend.get_vocab(with_added_tokens=True)
        added = {id_: token.special for id_, token in backend.get_added_tokens_decoder().items()}
        size = 1 + max(self._ids.values(), default=-1)
        self._pieces = [b""] * size
        self._labels: dict[str, int] = {}
        self._integers: dict[int, int] = {}
        letters = _byte_letters()
        for token, id_ in self._ids.items():
            if token.startswith(_LABEL_PREFIX) and token.endswith(_SUFFIX):
                self._labels[token[len(_LABEL_PREFIX) : -len(_SUFFIX)]] = id_
            elif token.startswith(_INTEGER_PREFIX) and token.endswith(_SUFFIX):
                value = int(token[len(_INTEGER_PREFIX) : -len(_SUFFIX)])
                self._integers[value] = id_
            elif token in _PRINTED:
                self._pieces[id_] = token.encode()
            elif id_ in added:
                self._pieces[id_] = b"" if added[id_] else token.encode()
            elif not _is_silent(token):
                self._pieces[id_] = bytes(letters[letter] for letter in token if letter in letters)
        self._label_of = {id_: label for label, id_ in self._labels.items()}
        self._integer_of = {id_: value for value, id_ in self._integers.items()}
        self._cell_of = {self._ids[tag]: tag for tag in _CELLS if tag in self._ids}
        self._span_of = {self._ids[span]: _SPANS[span] for span in _SPANS if span in self._ids}

    @classmethod
    def from_file(cls, path: str | Path) -> "Tokenizer":
        """Return the tokenizer of a `tokenizer.json` file.

        Args:
            path: File in the format of the `tokenizers` library, byte-level BPE.

        Raises:
            ValueError: The file is missing or is not such a file.

        Example:
            >>> tokenizer = Tokenizer.from_file("models/small/tokenizer.json")
            >>> tokenizer.decode(tokenizer.encode("naïve"))
            'naïve'
        """
        try:
            return cls(_Backend.from_file(str(path)))
        # The library raises bare Exception for every kind of bad file.
        except Exception as error:
            raise ValueError(f"path must be a tokenizer.json file: {path}: {error}") from error

    @property
    def vocab_size(self) -> int:
        """Return the number of ids, markers included."""
        return len(self._pieces)

    @cached_property
    def pad_id(self) -> int:
        """Return the id of padding."""
        return self._marker("pad_id", _PAD)

    @cached_property
    def bos_id(self) -> int:
        """Return the id that begins a prompt."""
        return self._marker("bos_id", _BOS)

    @cached_property
    def eos_id(self) -> int:
        """Return the id that ends what is written."""
        return self._marker("eos_id", _EOS)

    @cached_property
    def image_id(self) -> int:
        """Return the id that stands for one image token."""
        return self._marker("image_id", _IMAGE)

    @cached_property
    def page_id(self) -> int:
        """Return the id of `<PAGE>`."""
        return self._marker("page_id", _PAGE)

    @cached_property
    def det_id(self) -> int:
        """Return the id that begins a block header."""
        return self._marker("det_id", _DET)

    @cached_property
    def end_det_id(self) -> int:
        """Return the id that ends a block header."""
        return self._marker("end_det_id", _END_DET)

    @cached_property
    def newline_id(self) -> int:
        """Return the id of a line break in text."""
        ids = self.encode("\n")
        if len(ids) != 1:
            raise ValueError(f"newline_id needs one id for a line break, this tokenizer has {ids}")
        return ids[0]

    @property
    def label_ids(self) -> dict[str, int]:
        """Return the id of every block label; empty when the model spells labels out."""
        return dict(self._labels)

    @property
    def tag_ids(self) -> dict[str, int]:
        """Return the id of every table tag (`<td>`, `</td>`, …) that has one."""
        return {tag: self._ids[tag] for tag in _TAGS if tag in self._ids}

    @property
    def num_integers(self) -> int:
        """Return how many numbers from 0 on have an id of their own."""
        return len(self._integers)

    def integer_id(self, value: int) -> int:
        """Return the id of a coordinate.

        Args:
            value: A number from 0 to 999.

        Raises:
            ValueError: The number has no id of its own.
        """
        try:
            return self._integers[value]
        except KeyError:
            raise ValueError(
                f"value must be one of the {len(self._integers)} integers with an id, got {value}"
            ) from None

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, in which markers are plain characters.

        Args:
            text: Any string; nothing is unknown to a byte-level tokenizer.
        """
        return self._backend.encode(text, add_special_tokens=False).ids

    def encode_markup(self, markup: str) -> list[int]:
        """Return the ids of what a large model writes, in which markers are single ids.

        Args:
            markup: As `decode` gives it. Markers that have no id are spelled like other text.
        """
        known = sorted(_PRINTED & self._ids.keys(), key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, known))})", markup) if known else [markup]
        ids: list[int] = []
        for piece in pieces:
            ids += [self._ids[piece]] if piece in known else self.encode(piece)
        return ids

    def encode_det(self, label: str, box: tuple[int, int, int, int]) -> list[int]:
        """Return the ids of one block header.

        Args:
            label: One of `label_ids`.
            box: Left, top, right and bottom in thousandths of the page, 0 to 999.

        Raises:
            ValueError: The label or a coordinate has no id.

        Example:
            >>> tokenizer = Tokenizer.from_file("models/small/tokenizer.json")
            >>> tokenizer.decode(tokenizer.encode_det("title", (12, 34, 56, 78)))
            '<|det|>title [12, 34, 56, 78]<|/det|>'
        """
        if label not in self._labels:
            raise ValueError(f"label must be one of {sorted(self._labels)}, got {label!r}")
        coordinates = [self.integer_id(value) for value in box]
        return [self.det_id, self._labels[label], *coordinates, self.end_det_id]

    def encode_tag(self, tag: str, columns: int = 1, rows: int = 1) -> list[int]:
        """Return the ids of one table tag.

        Args:
            tag: One of `tag_ids`.
            columns: Columns a cell spans; only for `<td>` and `<th>`.
            rows: Rows a cell spans; only for `<td>` and `<th>`.

        Raises:
            ValueError: The tag has no id, or a tag that is no cell has a span.
        """
        if tag not in self.tag_ids:
            raise ValueError(f"tag must be one of {sorted(self.tag_ids)}, got {tag!r}")
        if tag not in _CELLS and (columns, rows) != (1, 1):
            raise ValueError(f"columns and rows must be 1 for {tag}, got {columns} and {rows}")
        ids = [self._ids[tag]]
        for marker, span in (("<|colspan|>", columns), ("<|rowspan|>", rows)):
            if span != 1:
                ids += [self._marker(marker, (marker,)), self.integer_id(span)]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the markup that `ids` spell.

        Bytes that are no UTF-8 become U+FFFD. Ids outside the vocabulary, padding and image tokens
        become nothing. A block header with missing parts is written as far as it goes.

        Args:
            ids: Any token ids.
        """
        return self.decode_with_ends(ids)[0]

    def decode_with_ends(self, ids: Sequence[int]) -> tuple[str, list[int]]:
        """Return the markup that `ids` spell, and where in it the text of each id ends.

        Ids that are spelled together, such as those of a block header, end together; an id that
        spells nothing, or a part of a character, ends where the one before it did.

        Args:
            ids: Any token ids.

        Example:
            >>> tokenizer = Tokenizer.from_file("models/small/tokenizer.json")
            >>> tokenizer.decode_with_ends([*tokenizer.encode_det("text", (1, 2, 3, 4)), 48])
            ('<|det|>text [1, 2, 3, 4]<|/det|>', [24, 24, 24, 24, 24, 24, 32, 32])
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        parts: list[str] = []
        ends: list[int] = []
        position = length = 0
        while position < len(ids):
            piece, position = self._spelled(ids, position)
            parts.append(decoder.decode(piece))
            length += len(parts[-1])
            ends += [length] * (position - len(ends))
        # What is left is a character that was never finished.
        parts.append(decoder.decode(b"", final=True))
        if ends:
            ends[-1] += len(parts[-1])
        return "".join(parts), ends

    def _spelled(self, ids: Sequence[int], position: int) -> tuple[bytes, int]:
        """Return what the id at `position` spells, with those it belongs to, and the next one."""
        id_ = ids[position]
        position += 1
        if not 0 <= id_ < len(self._pieces):
            return b"", position
        if self._cell_of.get(id_):
            text, position = self._cell(ids, position, self._cell_of[id_])
            return text.encode(), position
        piece = self._pieces[id_]
        if piece == b"<|det|>":
            text, position = self._header(ids, position)
            return piece + text.encode(), position
        return piece, position

    def _header(self, ids: Sequence[int], position: int) -> tuple[str, int]:
        parts: list[str] = []
        if position < len(ids) and ids[position] in self._label_of:
            parts.append(self._label_of[ids[position]])
            position += 1
        box: list[str] = []
        while position < len(ids) and ids[position] in self._integer_of:
            box.append(str(self._integer_of[ids[position]]))
            position += 1
        if box:
            parts.append(f"[{', '.join(box)}]")
        return " ".join(parts), position

    def _cell(self, ids: Sequence[int], position: int, tag: str) -> tuple[str, int]:
        spans = ""
        while position + 1 < len(ids):
            name, value = self._span_of.get(ids[position]), self._integer_of.get(ids[position + 1])
            if name is None or value is None:
                break
            spans += f' {name}="{value}"'
            position += 2
        return f"{tag[:-1]}{spans}>", position

    def _marker(self, name: str, spellings: Sequence[str]) -> int:
        for spelling in spellings:
            if spelling in self._ids:
                return self._ids[spelling]
        raise ValueError(
            f"{name} needs a token spelled {' or '.join(spellings)}, this tokenizer has none; "
            "use the tokenizer.json that belongs to the model"
        )


def _is_silent(token: str) -> bool:
    known = {*_PAD, *_BOS, *_EOS, *_IMAGE, *_SPANS}
    return token in known or (token.startswith("<|spare:") and token.endswith(_SUFFIX))


def _byte_letters() -> dict[str, int]:
    """Return the byte of each letter that a byte-level vocabulary is spelled with.

    Printable Latin-1 bytes stand for themselves; the other bytes are numbered from U+0100 on.
    Source: GPT-2's byte-level BPE.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in printable]
    letters.update({chr(0x100 + index): byte for index, byte in enumerate(others)})
    return letters
