"""A document with its right transcript, made ready for calibration."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ocrcli.calibration import KnownPages, calibrate, table_of
from ocrcli.document import PageFailure
from ocrcli.errors import InputError, ModelError
from ocrcli.hub import local_model
from ocrcli.pages import open_pages
from ocrcli.prompt import instruction
from ocrcli.raster import PageSize
from ocrcli.views import page_views
from ocrcli.want_of_memory import loading_reported

if TYPE_CHECKING:
    from torch import Tensor

    from ocrcli.models import LoadedModel

LONE_PAGE_TILES = 16
"""Most tiles a lone page is cut into, as in transcription."""


def calibration_report(document: str, reference: Path, model: Path, device: str) -> Iterator[str]:
    """Yield the table of all settings that calibration can measure, then those that won.

    Args:
        document: A PDF or picture.
        reference: Its transcript as the model would write it: `<PAGE>` before each page's blocks.
        model: Folder, file or name of a model of the second generation.
        device: "cpu" or "cuda".

    Raises:
        InputError: The transcript cannot be read, or does not belong to the document.
        ModelError: The model is missing, damaged or of the first generation.
    """
    from ocrcli.model_tokenizer import tokenizer_of
    from ocrcli.models import CheckpointError, load_model

    try:
        with loading_reported():
            loaded = load_model(local_model(model), device)
    except (CheckpointError, OSError, ValueError) as error:
        raise ModelError(str(error)) from error
    if loaded.config.attention != "dash" or loaded.config.sparse.page_isolated:
        raise ModelError("only Unlimited-OCR of the second generation has open router settings")
    tokenizer = tokenizer_of(loaded)
    try:
        answer = tokenizer.encode_markup(reference.read_text(encoding="utf-8").strip())
        if set(answer) <= {tokenizer.page_id}:
            raise ValueError("it holds no text, so every setting would be as likely as the next")
        images = _images(document, loaded)
        ids = tokenizer.encode(instruction(len(images)))
        pages = KnownPages(loaded.model, images, ids, answer)
    except (OSError, UnicodeDecodeError, ValueError, IndexError) as error:
        raise InputError(
            f"no transcript of the document: {error}", source=str(reference)
        ) from error
    start = loaded.config.sparse
    best, verdicts = calibrate(pages, start)
    yield from table_of(verdicts)
    yield f"perplexity: {pages.perplexity(start):.6g} before, {pages.perplexity(best):.6g} after"


def _images(document: str, loaded: "LoadedModel") -> "list[Tensor]":
    import torch

    images: list[Tensor] = []
    weight = next(iter(loaded.model.parameters()))
    with open_pages(document, size=PageSize.full_color()) as pages, torch.inference_mode():
        alone = len(pages.page_numbers) == 1
        for page in pages:
            if isinstance(page, PageFailure):
                raise InputError(page.message, source=document)
            tiles = LONE_PAGE_TILES if alone else None
            views = page_views(page.pixels, loaded.config.vision, tiles)
            image = loaded.model.encode_image(views.overview.to(weight))
            if len(views.tiles):
                parts = loaded.model.encode_tiles(views.tiles.to(weight), views.columns)
                image = torch.cat((parts, image))
            images.append(image)
    return images
