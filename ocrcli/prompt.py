"""From page images to what a model is given: pixels as a tensor, token ids and a role per token.

Roles are set here, where the prompt is built, so that nothing downstream has to guess from ids what
a token is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.models.unlimited_ocr.config import SpecialTokens, VisionConfig
from ocrcli.raster import PIXEL_MULTIPLE
from ocrcli.views import overview


@dataclass(frozen=True, eq=False)
class Prompt:
    """Everything a model reads before it writes.

    Attributes:
        ids: Token ids, int64 [S].
        roles: TEXT, IMAGE, PAGE or PADDING per token, int64 [S].
        num_pages: Pages whose images the prompt holds.
    """

    ids: Tensor
    roles: Tensor
    num_pages: int


def instruction(num_pages: int) -> str:
    """Return the sentence that follows the images of a prompt with `num_pages` pages."""
    return "document parsing." if num_pages == 1 else "Multi page parsing."


def page_prompt(image_tokens: int, tokens: SpecialTokens, block_size: int) -> Prompt:
    """Return the prompt of one page of a page-isolated model: `<PAGE>`, image, padding.

    Such a model reads neither BOS nor an instruction on behalf of a page, so both are left out.
    Padding fills the last block: what is generated starts a block of its own.

    Args:
        image_tokens: Tokens of the page's image.
        tokens: Special ids of the model.
        block_size: Tokens per block.

    Raises:
        ValueError: There is no image token, or the model has no `<PAGE>` id.
    """
    builder = _Builder(tokens)
    builder.add_page(image_tokens)
    builder.pad_to(block_size)
    return builder.prompt()


def document_prompt(
    image_tokens: Sequence[int],
    tokens: SpecialTokens,
    instruction_ids: Sequence[int],
    has_markers: bool = True,
) -> Prompt:
    """Return the prompt of several pages: BOS, (`<PAGE>`, image) per page, instruction.

    Args:
        image_tokens: Tokens of each page's image.
        tokens: Special ids of the model.
        instruction_ids: The encoded instruction.
        has_markers: Whether `<PAGE>` precedes every image; the first generation has images only.

    Raises:
        ValueError: There is no page, a page has no image token, or the model has no `<PAGE>` id.

    Example:
        >>> tokens = SpecialTokens(bos=0, eos=1, pad=2, image=7, page=8)
        >>> document_prompt([2, 1], tokens, [5]).ids.tolist()
        [0, 8, 7, 7, 8, 7, 5]
    """
    builder = _Builder(tokens, has_markers)
    builder.add([tokens.bos], TEXT)
    for count in image_tokens:
        builder.add_page(count)
    builder.add(instruction_ids, TEXT)
    return builder.prompt()


def page_tensor(pixels: NDArray[np.uint8], vision: VisionConfig) -> Tensor:
    """Return a page as a model's image input, float32 [C, H, W] in [-1, 1].

    A model with free aspect ratio gets the page as it is, padded with white at the right and at the
    bottom. A model with a square position grid gets it scaled to fit and centred on grey.

    Args:
        pixels: Grey values 0 (black) to 255, uint8 [height, width].
        vision: Tells the input's layout and number of channels.

    Raises:
        ValueError: `pixels` is not a non-empty uint8 [height, width] array.
    """
    if not isinstance(pixels, np.ndarray):
        raise ValueError(f"pixels must be a numpy array, got {type(pixels).__name__}")
    if pixels.ndim != 2 or pixels.dtype != np.uint8 or not pixels.size:
        raise ValueError(
            f"pixels must be a non-empty uint8 array [height, width], got {pixels.dtype} "
            f"{list(pixels.shape)}; convert the page to 8-bit grey first"
        )
    if vision.position_layout == "factored":
        height, width = pixels.shape
        margins = ((0, -height % PIXEL_MULTIPLE), (0, -width % PIXEL_MULTIPLE))
        page = np.pad(pixels, margins, constant_values=255)
    else:
        return overview(Image.fromarray(pixels), vision)
    normalised = torch.from_numpy(page.astype(np.float32)) / 127.5 - 1.0
    return normalised.expand(vision.image_channels, -1, -1)


def coordinate_extent(height: int, width: int, vision: VisionConfig) -> tuple[float, float]:
    """Return how far right and down the last coordinate lies, as shares of a picture.

    Args:
        height: Height of the picture in pixels, without padding.
        width: Its width.
        vision: Tells how it is padded, and what coordinates are shares of.
    """
    if not vision.padded_coordinates or vision.position_layout != "factored":
        return 1.0, 1.0
    return (width + -width % PIXEL_MULTIPLE) / width, (height + -height % PIXEL_MULTIPLE) / height


class _Builder:
    """Ids and roles that grow together."""

    def __init__(self, tokens: SpecialTokens, has_markers: bool = True) -> None:
        if has_markers and tokens.page is None:
            raise ValueError(
                "tokens.page must be the id of <PAGE>, got None; set page_token_id in config.json"
            )
        self._tokens = tokens
        self._markers = [tokens.page] if has_markers and tokens.page is not None else []
        self._ids: list[int] = []
        self._roles: list[int] = []
        self._pages = 0

    def add(self, ids: Sequence[int], role: int) -> None:
        self._ids += ids
        self._roles += [role] * len(ids)

    def add_page(self, image_tokens: int) -> None:
        if image_tokens < 1:
            raise ValueError(f"image_tokens must be positive, got {image_tokens}")
        self.add(self._markers, PAGE)
        self.add([self._tokens.image] * image_tokens, IMAGE)
        self._pages += 1

    def pad_to(self, multiple: int) -> None:
        self.add([self._tokens.pad] * (-len(self._ids) % multiple), PADDING)

    def prompt(self) -> Prompt:
        if not self._pages:
            raise ValueError("image_tokens must name at least one page, got none")
        return Prompt(torch.tensor(self._ids), torch.tensor(self._roles), self._pages)
