"""Stand-ins that let the whole program run without weights, and files to run it on."""

import io
import json
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pymupdf
from PIL import Image, ImageDraw

from ocrcli.confidence import TokenTrace
from ocrcli.document import ModelFacts, PageImage
from ocrcli.engine import FinishReason, PageResult, StageSeconds


def block(text: str, label: str = "text", box: str = "0, 0, 999, 999") -> str:
    """Return one block as a model would write it."""
    return f"<|det|>{label} [{box}]<|/det|>{text}"


def result(
    page_number: int,
    markup: str = "",
    finish: str = "eos",
    error: str | None = None,
    confidence: float = 0.99,
    rotation: int = 0,
) -> PageResult:
    """Return what the engine would hand over for a page."""
    return PageResult(
        page_number=page_number,
        token_ids=tuple(range(len(markup))),
        markup=markup,
        finish=FinishReason(finish),
        error=error,
        prompt_tokens=1200,
        output_tokens=len(markup),
        seconds=StageSeconds(0.25, 0.5, 1.0),
        rotation=rotation,
        trace=TokenTrace(tuple(range(1, len(markup) + 1)), (confidence,) * len(markup)),
    )


class ScriptedRecogniser:
    """Answers with prepared results, or with one block that names the page.

    Attributes:
        pulled: Numbers of the pages that were asked for, in order.
        ahead: Pages that are pulled before the first answer.
        retries: Answers to second readings of pages that looped or were cut.
        retried: Numbers of the pages that were so read again.
        later: Answers to pages that come a second time, where they are not those of the first.
    """

    def __init__(
        self,
        script: Mapping[int, PageResult | BaseException] | None = None,
        ahead: int = 1,
        retries: Mapping[int, PageResult] | None = None,
        later: Mapping[int, PageResult | BaseException] | None = None,
    ) -> None:
        self._script = dict(script or {})
        self._answered: set[int] = set()
        self.later = dict(later or {})
        self.ahead = ahead
        self.pulled: list[int] = []
        self.facts: ModelFacts | None = None
        self.load_seconds = 0.5
        self.unknown_keys: tuple[str, ...] = ()
        self.page_size = None
        self.retries, self.retried = dict(retries or {}), []

    def load(self) -> None:
        pass

    def transcribe(self, pages: Iterable[PageImage]) -> Iterator[PageResult]:
        waiting: list[int] = []
        for page in pages:
            self.facts = ModelFacts("scripted", "0" * 64, "float32", "cpu")
            self.pulled.append(page.page_number)
            waiting.append(page.page_number)
            if len(waiting) >= self.ahead:
                yield self._answer(waiting.pop(0))
        for number in waiting:
            yield self._answer(number)

    def again(self, page: PageImage, first: PageResult) -> PageResult | None:
        self.retried.append(page.page_number)
        return self.retries.get(page.page_number)

    def _answer(self, number: int) -> PageResult:
        answer = self._script.get(number, result(number, block(f"Page {number}")))
        if number in self._answered:
            answer = self.later.get(number, answer)
        self._answered.add(number)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def write_pdf(path: Path, pages: Iterable[str | None], **options: object) -> Path:
    """Write a PDF with one line of text per page; None makes a blank page."""
    pdf = pymupdf.open()
    for text in pages:
        page = pdf.new_page(width=300, height=200)
        if text is not None:
            page.insert_text((30, 60), text, fontsize=20)
    pdf.save(path, **options)
    pdf.close()
    return path


def raw_pdf(*objects: bytes) -> bytes:
    """Return a PDF made of the given objects, numbered from 1; the first is the catalogue."""
    data, offsets = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return (
        data
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
        + b"trailer\n<< /Root 1 0 R /Size %d >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(data))
    )


def pdf_stream(entries: bytes, content: bytes) -> bytes:
    """Return a stream object."""
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(content), content)


def pdf_with_picture(entries: bytes, content: bytes) -> bytes:
    """Return a PDF of three pages, the second of which shows the given picture only."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R %s>>"
    square = pdf_stream(b"", b"20 20 50 50 re f")
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>",
        page % (6, b""),
        page % (7, b"/Resources << /XObject << /Im 8 0 R >> >> "),
        page % (6, b""),
        square,
        pdf_stream(b"", b"q 300 0 0 200 0 0 cm /Im Do Q"),
        pdf_stream(b"/Type /XObject /Subtype /Image " + entries, content),
    )


def jbig2(picture: Image.Image) -> bytes:
    """Return a picture of one bit as the JBIG2 stream of a PDF.

    JBIG2 may hold the bits of Group 4 fax (its "MMR" coding), and Pillow writes those.
    """
    width, height = picture.size
    inverted = picture.point(lambda value: 255 - value)
    fax = encoded(inverted, "TIFF", compression="group4", tiffinfo={278: height})
    with Image.open(io.BytesIO(fax)) as tiff:
        (start,), (length,) = tiff.tag_v2[273], tiff.tag_v2[279]

    def segment(number: int, kind: int, data: bytes) -> bytes:
        return struct.pack(">IBBBI", number, kind, 0, 1, len(data)) + data

    page = struct.pack(">IIIIBH", width, height, 0, 0, 0, 0)
    region = struct.pack(">IIIIBB", width, height, 0, 0, 0, 1)
    # 48 is the kind of page information, 38 that of a region that is drawn at once.
    return segment(0, 48, page) + segment(1, 38, region + fax[start : start + length])


def text_picture(mode: str = "L", size: tuple[int, int] = (960, 720)) -> Image.Image:
    """Return dark bars on white, heavier at the top left, so that turning shows."""
    picture = Image.new("L", size, 255)
    draw = ImageDraw.Draw(picture)
    for row in range(5):
        draw.rectangle((40, 40 + 40 * row, size[0] - 60 - 90 * row, 60 + 40 * row), fill=0)
    return picture.convert(mode)


def encoded(picture: Image.Image, format_: str, **options: object) -> bytes:
    """Return a picture as the bytes of a file."""
    stream = io.BytesIO()
    picture.save(stream, format_, **options)
    return stream.getvalue()


def write_tiny_model(folder: Path, **settings: object) -> Path:
    """Write a model folder like the shipped one, small and with random weights.

    It reads no letter, but does all the work that a real one does.

    Args:
        folder: Is made.
        settings: Changes of its `config.json`.
    """
    import torch
    from safetensors.torch import save_file

    from ocrcli.models import find_model
    from ocrcli.models.unlimited_ocr.config import ModelConfig
    from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

    shipped = find_model().config.parent
    config = json.loads((shipped / "config.json").read_text())
    config |= {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 96}
    config |= {"num_attention_heads": 2, "num_key_value_heads": 2, "first_k_dense_replace": 2}
    config["projector_config"] |= {"input_dim": 48, "n_embed": 64}
    width = config["vision_config"]["width"]
    width["sam_vit_b"] |= {"width": 32, "layers": 2, "heads": 2, "global_attn_indexes": [1]}
    width["sam_vit_b"]["downsample_channels"] = [48]
    width["clip-l-14-224"] |= {"width": 48, "layers": 1, "heads": 2}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config | settings))
    shutil.copy(shipped / "tokenizer.json", folder)
    generator = torch.Generator().manual_seed(0)
    model = UnlimitedOcr(ModelConfig.from_dict(config)).requires_grad_(False)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.normal_(0.0, 1.0 / weight[0].numel() ** 0.5, generator=generator)
    save_file(model.state_dict(), folder / "model.safetensors")
    return folder
