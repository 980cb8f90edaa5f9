"""Positions of a document prompt: every page, and the answer to that page, has its own number line.

A page's generated text continues the numbers of the page's image, wherever the two lie in the
sequence, so a position never grows with the length of the document.
"""

from dataclasses import dataclass
from typing import Final

import torch

from ocrcli.kernels.checks import INTEGER_DTYPES, check_tensor

TEXT: Final = 0
IMAGE: Final = 1
PAGE: Final = 2
PADDING: Final = 3


@dataclass(frozen=True, eq=False)
class PageCoordinates:
    """Where each of S tokens lies, by page; all tensors are int64 on the device of the roles.

    Attributes:
        token: [S] offset in the page's number line, the token coordinate of the rotary embedding.
        page: [S] page number from 1, or 0 for what belongs to no page; the page coordinate.
        image_page: [S] page index from 0 on image tokens, -1 elsewhere.
        query_page: [S] page index whose image blocks the token may route to. Outside
            0..num_pages-1 it means "no page".
        section_start: [S] first position that a local window may cover.
        num_pages: Pages in the prompt.
        prompt_tokens_per_page: [num_pages + 1] prompt tokens of each page number, without padding.
    """

    token: torch.Tensor
    page: torch.Tensor
    image_page: torch.Tensor
    query_page: torch.Tensor
    section_start: torch.Tensor
    num_pages: int
    prompt_tokens_per_page: torch.Tensor


def page_coordinates(roles: torch.Tensor, isolated: bool = False) -> PageCoordinates:
    """Return the coordinates of every token of one sequence.

    The prompt zone ends with the last image token; what follows (instruction, then one section per
    page) is the response zone, in which `<PAGE>` markers count from the first page again. A
    token's offset counts the real tokens since the last marker or since the zone began. In the
    response zone it starts at the number of prompt tokens of that page instead of at 0. Markers
    beyond the last page stay on the last page and restart its offset.

    Args:
        roles: [S] integer, one of TEXT (0), IMAGE (1), PAGE (2), PADDING (3). The whole prompt must
            be there: the number of pages is known only at its end.
        isolated: Whether local windows stop at section borders. `section_start` is then the last
            marker at or before the token, 0 before any marker, and the first real token of the
            response zone for an instruction. Otherwise it is 0 everywhere.

    Returns:
        The coordinates. Those of padding are defined but mean nothing.

    Raises:
        ValueError: `roles` has no image, no `<PAGE>` before its last image, or a wrong shape, dtype
            or value.

    Source:
        vLLM `dash_attention.py`, `page_coordinates`; padding and `section_start` are additions.

    Example:
        >>> page_coordinates(torch.tensor([TEXT, PAGE, IMAGE, IMAGE, TEXT, PAGE, TEXT])).token
        tensor([0, 0, 1, 2, 1, 3, 4])
    """
    check_tensor("roles", roles, ("S",), INTEGER_DTYPES)
    is_image, is_marker, is_real = roles == IMAGE, roles == PAGE, roles != PADDING
    markers = is_marker.long().cumsum(0)
    last_image, num_pages = _prompt_end(roles, is_image, markers)

    index = torch.arange(roles.numel(), device=roles.device)
    in_prompt = index <= last_image
    section = torch.where(in_prompt, markers, markers - num_pages)
    page = section.clamp(max=num_pages)
    prompt_tokens = torch.zeros(num_pages + 1, dtype=torch.long, device=roles.device)
    prompt_tokens.scatter_add_(0, page, (in_prompt & is_real).long())

    real_before = is_real.long().cumsum(0) - is_real.long()
    run_start = _last_index(is_marker | (index == last_image + 1), index)
    token = real_before - real_before[run_start]
    token = torch.where(in_prompt, token, token + prompt_tokens[page])
    if isolated:
        answer = ~in_prompt & is_real
        answer_start = answer & (answer.long().cumsum(0) == 1)
        section_start = _last_index(is_marker | answer_start, index)
    else:
        section_start = torch.zeros_like(index)
    return PageCoordinates(
        token=token,
        page=page,
        image_page=torch.where(is_image, markers - 1, -1),
        query_page=section - 1,
        section_start=section_start,
        num_pages=num_pages,
        prompt_tokens_per_page=prompt_tokens,
    )


def line_coordinates(roles: torch.Tensor, num_pages: int) -> PageCoordinates:
    """Return the coordinates of a sequence with one number line: a token's offset is its index.

    Args:
        roles: [S] integer; only the length counts.
        num_pages: Pages in the prompt.

    Source:
        Unlimited-OCR (arXiv 2606.23050), whose positions are one-dimensional.

    Example:
        >>> line_coordinates(torch.tensor([TEXT, IMAGE, IMAGE]), 1).token
        tensor([0, 1, 2])
    """
    check_tensor("roles", roles, ("S",), INTEGER_DTYPES)
    index = torch.arange(roles.numel(), device=roles.device)
    prompt_tokens = torch.zeros(num_pages + 1, dtype=torch.long, device=roles.device)
    prompt_tokens[0] = roles.numel()
    return PageCoordinates(
        token=index,
        page=torch.zeros_like(index),
        image_page=torch.full_like(index, -1),
        query_page=torch.full_like(index, -1),
        section_start=torch.zeros_like(index),
        num_pages=num_pages,
        prompt_tokens_per_page=prompt_tokens,
    )


def _prompt_end(
    roles: torch.Tensor, is_image: torch.Tensor, markers: torch.Tensor
) -> tuple[int, int]:
    """Return the index of the last image token and the number of pages up to it."""
    if not bool(is_image.any()):
        raise ValueError(
            "roles must hold at least one image token (1), got none; "
            "build the prompt as <PAGE> followed by the image tokens of every page"
        )
    if bool(((roles < TEXT) | (roles > PADDING)).any()):
        raise ValueError(
            f"roles must lie in {TEXT}..{PADDING}, got {int(roles.min())}..{int(roles.max())}; "
            "use the constants TEXT, IMAGE, PAGE and PADDING"
        )
    last_image = int(is_image.nonzero()[-1])
    num_pages = int(markers[last_image])
    if num_pages == 0:
        raise ValueError(
            "roles must hold a <PAGE> marker (2) before the last image token, got 0 markers; "
            "put one <PAGE> before the image tokens of every page"
        )
    return last_image, num_pages


def _last_index(mask: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return, per token, the last index at or before it where `mask` holds, else 0."""
    return torch.where(mask, index, 0).cummax(0).values
