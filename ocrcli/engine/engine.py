"""The inference engine: pages in, transcripts out, in order and with bounded memory.

Pages are pulled only when there is room for them. While the pages in flight are decoded side by
side, a page that ends makes room for the next one at once.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import compress, islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ocrcli.confidence import TokenTrace
from ocrcli.engine.attention_plan import prefill_plan, sequence_layout
from ocrcli.engine.decode_loop import DecodeLoop
from ocrcli.engine.image_encoder import ImageEncoder
from ocrcli.engine.kv_cache import KvCache
from ocrcli.engine.limits import GenerationLimits
from ocrcli.engine.page import FinishReason, PageInput, PageResult, StageSeconds
from ocrcli.engine.separator import TextSeparator
from ocrcli.engine.sequence import Section, Sequence
from ocrcli.kernels.page_rope import IMAGE, PADDING, line_coordinates, page_coordinates
from ocrcli.line_starts import LineStart
from ocrcli.models.interface import OcrModel
from ocrcli.prompt import (
    Prompt,
    coordinate_extent,
    document_prompt,
    instruction,
    page_prompt,
)
from ocrcli.rotation import upright_size
from ocrcli.views import page_views

if TYPE_CHECKING:
    from ocrcli.tokenizer import Tokenizer

_UNDELIVERED_FACTOR = 8
"""Pages pulled but not yet handed out, at most, as a multiple of the pages in flight.

Bounds the transcripts that wait behind one slow page.
"""

# What a page can do to the engine. Anything else is a mistake of ours and must not pass for a bad
# page.
_PAGE_FAULTS = (ValueError, RuntimeError, OSError, MemoryError)


class Engine:
    """Transcribes pages with one model.

    Decoding is greedy. With a page-isolated model a page's transcript depends on its pixels alone:
    not on its number, its neighbours, or how many pages are in flight.
    """

    def __init__(
        self, model: OcrModel, tokenizer: "Tokenizer", limits: GenerationLimits | None = None
    ) -> None:
        """Create an engine.

        Args:
            model: The loaded model.
            tokenizer: The model's tokenizer.
            limits: Bounds on the work; None for those the model is published with.

        Raises:
            ValueError: The limits ask a page-isolated model for several pages per prompt.
        """
        self._model, self._tokenizer = model, tokenizer
        self._limits = limits or GenerationLimits.for_model(model.config)
        if model.config.sparse.page_isolated and self._limits.pages_per_prompt != 1:
            raise ValueError(
                "pages_per_prompt must be 1 for a page-isolated model, got "
                f"{self._limits.pages_per_prompt}"
            )
        weight = next(iter(model.parameters()))
        self._device, self._dtype = weight.device, weight.dtype
        self._encoder = ImageEncoder(model, self._limits.rotate)
        self._cache = KvCache(model, self._limits.max_cache_blocks, self._limits.decode_width)
        self._ring_blocks = model.config.sparse.local_blocks
        self._separator = None if model.config.has_markers else TextSeparator(tokenizer.decode)

    @property
    def limits(self) -> GenerationLimits:
        """Bounds on the work."""
        return self._limits

    @property
    def cache_blocks(self) -> int:
        """Blocks of the key-value cache that pages hold now."""
        return self._cache.num_used

    def transcribe(self, pages: Iterable[PageInput]) -> Iterator[PageResult]:
        """Yield one result per page, in the order of the pages.

        At most `pages_in_flight` pages are encoded or in the cache at any time; a page that
        finished before an earlier one waits as text. A page that fails yields a result with finish
        "error", one that is too slow "timeout"; the others are not disturbed. Errors of the
        iterator itself are passed on.

        Args:
            pages: Pulled one by one, when there is room.

        Example:
            >>> for result in engine.transcribe(pages):  # doctest: +SKIP
            ...     print(result.page_number, result.markup)
        """
        loop = DecodeLoop(self._model, self._cache, self._limits)
        waiting: dict[int, PageResult] = {}
        held: dict[int, PageInput] = {}
        again: deque[int] = deque()
        source = enumerate(pages)
        exhausted, pulled, delivered = False, 0, 0
        try:
            while True:
                ended: list[Section] = []
                while again and self._has_row(loop):
                    order = again.popleft()
                    ended += self._admit(loop, iter([(order, held.pop(order))]), {})[1]
                while not exhausted and self._has_room(loop, pulled - delivered):
                    group = islice(source, self._limits.pages_per_prompt)
                    count, failed = self._admit(loop, group, held)
                    exhausted = count < self._limits.pages_per_prompt
                    pulled += count
                    ended += failed
                ended += self._step(loop)
                for section in ended:
                    if section.is_miscounted:
                        again.append(section.order)
                        continue
                    held.pop(section.order, None)
                    waiting[section.order] = self._result(section)
                while delivered in waiting:
                    delivered += 1
                    yield waiting.pop(delivered - 1)
                if exhausted and not loop.num_active and not again:
                    return
        finally:
            self._release(loop)

    @property
    def _prompts_in_flight(self) -> int:
        """Prompts that are decoded side by side."""
        return max(1, self._limits.pages_in_flight // self._limits.pages_per_prompt)

    def _has_row(self, loop: DecodeLoop) -> bool:
        return loop.num_active < self._prompts_in_flight

    def _has_room(self, loop: DecodeLoop, undelivered: int) -> bool:
        limits = self._limits
        bound = _UNDELIVERED_FACTOR * max(limits.pages_in_flight, limits.pages_per_prompt)
        return self._has_row(loop) and undelivered + limits.pages_per_prompt <= bound

    # The mode is entered around each piece of work, never around a `yield` nor around the caller's
    # iterator: it would leak into their code.
    @torch.inference_mode()
    def _step(self, loop: DecodeLoop) -> list[Section]:
        return loop.step() if loop.num_active else []

    @torch.inference_mode()
    def _release(self, loop: DecodeLoop) -> None:
        loop.release()

    def _admit(
        self,
        loop: DecodeLoop,
        pages: Iterator[tuple[int, PageInput]],
        held: dict[int, PageInput],
    ) -> tuple[int, list[Section]]:
        """Encode and prefill the pages of one prompt.

        Args:
            loop: Takes the prompt.
            pages: The pages with their order. Pulled one by one, because a page may take much
                memory until it is encoded.
            held: Filled with pages that may have to be read again.

        Returns:
            How many pages were pulled, and the sections that ended.
        """
        failed: list[Section] = []
        images: list[Tensor] = []
        sections: list[Section] = []
        # Only a page that is alone in its prompt is cut into tiles, so the second is awaited.
        ahead = deque(islice(pages, 2))
        alone, count = len(ahead) == 1, 0
        while ahead:
            order, page = ahead.popleft()
            ahead.extend(islice(pages, 1))
            count += 1
            section = Section(order, page.page_number, getattr(page, "deadline", None))
            if self._separator is not None and not alone:
                held[order] = page
            try:
                images.append(self._encode(page, section, alone))
                sections.append(section)
            except torch.OutOfMemoryError:
                # The device is full for every page, so the caller must hear of it.
                raise
            except _PAGE_FAULTS as error:
                # Whatever is wrong with one page, the others are still wanted.
                section.fail(_describe(error))
                failed.append(section)
        if not sections:
            return count, failed
        try:
            return count, failed + self._start(loop, images, sections)
        except torch.OutOfMemoryError:
            raise
        except _PAGE_FAULTS as error:
            for section in sections:
                section.fail(_describe(error))
            return count, failed + sections

    @torch.inference_mode()
    def _encode(self, page: PageInput, section: Section, alone: bool) -> Tensor:
        started = time.perf_counter()
        vision, config = self._model.config.vision, self._model.config
        if config.sparse.page_isolated or vision.position_layout == "factored":
            may_turn = getattr(page, "may_turn", True)
            image, section.rotation = self._encoder(page.pixels, may_turn)
            height, width = page.pixels.shape[:2]
            width, height = upright_size(width, height, section.rotation)
            section.extent = coordinate_extent(height, width, vision)
        else:
            tiled = alone and self._limits.max_tiles > 0
            views = page_views(page.pixels, vision, self._limits.max_tiles if tiled else None)
            image = self._model.encode_image(views.overview.to(self._device, self._dtype))
            if views.tiles.shape[0]:
                tiles = views.tiles.to(self._device, self._dtype)
                image = torch.cat((self._model.encode_tiles(tiles, views.columns), image))
        section.encode_seconds = time.perf_counter() - started
        section.prompt_tokens = image.shape[0] + int(config.has_markers)
        return image

    @torch.inference_mode()
    def _start(
        self, loop: DecodeLoop, images: list[Tensor], sections: list[Section]
    ) -> list[Section]:
        started = time.perf_counter()
        sequence, logits = self._prefill(images, sections)
        share = (time.perf_counter() - started) / len(sections)
        for section in sections:
            section.prefill_seconds = share
        return loop.add(sequence, logits)

    def _prefill(self, images: list[Tensor], sections: list[Section]) -> tuple[Sequence, Tensor]:
        config = self._model.config
        prompt = self._prompt([image.shape[0] for image in images])
        roles = prompt.roles.to(self._device)
        num_blocks = -(-roles.shape[0] // config.sparse.block_size)
        held = num_blocks + self._ring_blocks
        self._cache.reserve(held * self._prompts_in_flight)
        blocks = self._cache.allocate(held)
        try:
            table = torch.tensor(blocks[:num_blocks], device=self._device)
            coordinates = (
                page_coordinates(roles, config.sparse.page_isolated)
                if config.has_markers
                else line_coordinates(roles, prompt.num_pages)
            )
            plan = prefill_plan(roles, table, roles.shape[0], config.sparse, coordinates)
            self._cache.mark_real(plan.slots, roles != PADDING)
            embeddings = self._model.embed_tokens(prompt.ids.to(self._device))
            embeddings[roles == IMAGE] = torch.cat(images).to(embeddings.dtype)
            logits = self._model.prefill(embeddings, plan, self._cache.layers, self._cache.real)
            layout = sequence_layout(
                coordinates, blocks[:num_blocks], blocks[num_blocks:], config.sparse
            )
        except BaseException:
            self._cache.release(blocks)
            raise
        sequence = Sequence(
            prompt,
            coordinates,
            layout,
            blocks,
            sections,
            config,
            self._limits,
            self._separator,
        )
        return sequence, logits

    def _prompt(self, image_tokens: list[int]) -> Prompt:
        config = self._model.config
        if config.sparse.page_isolated:
            return page_prompt(image_tokens[0], config.tokens, config.sparse.block_size)
        sentence = self._limits.instruction
        sentence = instruction(len(image_tokens)) if sentence is None else sentence
        text = self._tokenizer.encode(sentence)
        return document_prompt(image_tokens, config.tokens, text, config.has_markers)

    def _result(self, section: Section) -> PageResult:
        assert section.finish is not None, "only ended sections become results"
        # Ids of a page that failed while being written are no transcript.
        failed = section.finish in (FinishReason.ERROR, FinishReason.TIMEOUT)
        kept = [] if failed else section.token_ids
        text, ends = self._tokenizer.decode_with_ends(kept)
        head, tail = ("", "") if failed else (section.head, section.tail)
        ends = [len(head) + end for end in ends]
        probabilities, places = section.probabilities[: len(kept)], self._limits.line_places
        line_starts: tuple[LineStart, ...] = ()
        if places is not None:
            line_starts = places.line_starts(kept, ends)
            # How sure a place is says nothing of the text.
            spells = places.spells(kept)
            ends = list(compress(ends, spells))
            probabilities = list(compress(probabilities, spells))
        return PageResult(
            page_number=section.page_number,
            token_ids=tuple(kept),
            markup=head + text + tail,
            finish=section.finish,
            error=section.error,
            prompt_tokens=section.prompt_tokens,
            output_tokens=section.output_tokens,
            seconds=StageSeconds(
                section.encode_seconds, section.prefill_seconds, section.decode_seconds
            ),
            rotation=section.rotation,
            extent=section.extent,
            trace=TokenTrace(tuple(ends), tuple(probabilities)),
            line_starts=line_starts,
        )


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
