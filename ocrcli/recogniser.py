"""The model as the pipeline sees it: page images in, results out, loaded when first needed."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ocrcli.cropping import on_whole_page
from ocrcli.document import Box, ModelFacts, Notice, PageImage
from ocrcli.engine_settings import limits_with, pages_per_window
from ocrcli.errors import DeviceError, ModelError
from ocrcli.hub import is_name, local_model
from ocrcli.options import Device, Dtype, Options
from ocrcli.paths import Kind, kind_of
from ocrcli.undrawn_page import UndrawnPage, later, without_pixels
from ocrcli.want_of_memory import GpuFullError, loading_reported, memory_reported

if TYPE_CHECKING:
    from ocrcli.engine import Engine, PageResult
    from ocrcli.models.interface import OcrModel
    from ocrcli.raster import PageSize
    from ocrcli.tokenizer import Tokenizer

_LARGE_BYTES = 1 << 30

_RETRY_NGRAM = (40, 1024)

_TENTHS_SMALLER = 3
_SMALLER_BATCH = Notice(
    "memory_batch", "the GPU has no memory left; from here on pages are read one at a time"
)
_SMALLER_IMAGE = Notice(
    "memory_image", "the GPU has no memory left; the page was read from a smaller picture"
)
_ON_CPU = Notice("memory_cpu", "the GPU has no memory left; from here on pages are read on the CPU")


@dataclass(frozen=True, eq=False)
class _Given:
    """A page that the engine has: what it can be drawn from again, and what of it is shown."""

    page: "PageImage | UndrawnPage"
    crop: Box | None


class Recogniser(Protocol):
    """Anything that reads page images."""

    @property
    def facts(self) -> ModelFacts | None:
        """Which model reads, or None as long as none was needed."""

    @property
    def load_seconds(self) -> float:
        """Time spent on loading so far; no limit for a page or a file counts it."""

    @property
    def unknown_keys(self) -> tuple[str, ...]:
        """Settings of the model that nobody understood."""

    @property
    def page_size(self) -> "PageSize | None":
        """Size at which the model wants pages, or None for the usual one."""

    def load(self) -> None:
        """Get ready to read; do nothing where that was done."""

    def transcribe(self, pages: Iterable[PageImage]) -> "Iterator[PageResult]":
        """Yield one result per page, in the order of the pages."""

    def again(self, page: PageImage, first: "PageResult") -> "PageResult | None":
        """Read a page that looped or was cut once more, or return None if that cannot help."""


class ModelRecogniser:
    """Reads pages with a model that is loaded when the first page asks for it.

    A run over blank pages or over files that cannot be opened never loads it.

    Attributes:
        say: Takes lines about what takes long, a model that is fetched or read; None for nobody.
    """

    def __init__(self, options: Options) -> None:
        """Remember what to load.

        Args:
            options: The model, the device and the limits.

        Raises:
            ModelError: The path given for the model does not exist.
        """
        named = options.model
        if named is not None and kind_of(named) is Kind.ABSENT and not is_name(named):
            raise ModelError("no such model", source=str(options.model))
        self._options = options
        self._engine: Engine | None = None
        self._model: OcrModel | None = None
        self._tokenizer: Tokenizer | None = None
        self.unknown_keys: tuple[str, ...] = ()
        self.say: Callable[[str], None] | None = None
        self._tenths_read = 0
        # How much smaller pages are drawn for want of memory, and what is still to be said of it.
        self._tenths = 0
        self._once: tuple[Notice, ...] = ()
        self.facts: ModelFacts | None = None
        self.load_seconds = 0.0

    @cached_property
    def _path(self) -> Path | None:
        return local_model(self._options.model, self.say)

    def _reading(self, read: int, total: int) -> None:
        # Reading a few megabytes needs no display.
        if self.say is None or total < _LARGE_BYTES:
            return
        tenth = 10 * read // total
        if tenth > self._tenths_read:
            self._tenths_read = tenth
            self.say(f"reading the model: {10 * tenth} % of {total / 1e9:.2f} GB")

    @cached_property
    def page_size(self) -> "PageSize | None":
        """Size at which the model wants pages; reads its settings, not its weights.

        Settings that cannot be read are complained of when a page needs the model.

        Raises:
            ModelError: The model is named, not on this computer, and cannot be fetched.
        """
        if self._options.model is None:
            return None
        from ocrcli.models import CheckpointError, find_model
        from ocrcli.models.unlimited_ocr.config import ModelConfig
        from ocrcli.raster import PageSize

        try:
            config = ModelConfig.from_file(find_model(self._path).config)
        except (CheckpointError, OSError, ValueError):
            return None
        return PageSize.full_color() if config.vision.image_channels == 3 else None

    def load(self) -> None:
        """Load the model, unless that was done.

        Raises:
            ModelError: The model is missing or does not fit.
            DeviceError: The device is unavailable or out of memory.
        """
        if self._engine is None:
            self._engine = self._load()

    def transcribe(self, pages: Iterable[PageImage]) -> "Iterator[PageResult]":
        """Yield one result per page, in the order of the pages.

        Args:
            pages: Pulled one by one, when there is room.

        Raises:
            ModelError: The model is missing or does not fit.
            DeviceError: The device is unavailable or out of memory.
        """
        source = iter(pages)
        first = next(source, None)
        if first is None:
            return
        waiting: Iterator[PageImage | UndrawnPage] = chain([first], source)
        while True:
            self.load()
            assert self._engine is not None, "it was loaded"
            given: deque[_Given] = deque()
            full = None
            try:
                with memory_reported():
                    for cropped in self._engine.transcribe(self._handed_over(waiting, given)):
                        result = on_whole_page(cropped, given.popleft().crop)
                        notices = self._notices()
                        yield replace(result, notices=notices) if notices else result
                return
            except GpuFullError as error:
                # Outside this block: the error holds on to what fills the memory.
                full = error.with_traceback(None)
            before = self.load_seconds
            self._retreat(full)
            again = (page.page for page in given)
            waiting = chain(later(again, self.load_seconds - before), waiting)

    def _handed_over(
        self, pages: "Iterable[PageImage | UndrawnPage]", given: "deque[_Given]"
    ) -> Iterator[PageImage]:
        """Yield pages at the size there is memory for; note how each could be had once more."""
        for page in pages:
            kept = without_pixels(page)
            if isinstance(page, UndrawnPage):
                drawn = page.drawn(self._tenths)
            elif isinstance(kept, UndrawnPage) and self._tenths:
                drawn = kept.drawn(self._tenths)
            else:
                drawn = page
            given.append(_Given(kept, drawn.crop))
            yield drawn

    def _notices(self) -> tuple[Notice, ...]:
        """Return what the next result is to say about want of memory."""
        once, self._once = self._once, ()
        return (*once, _SMALLER_IMAGE) if self._tenths else once

    def _retreat(self, full: "GpuFullError") -> None:
        """Make do with less: fewer pages at once, smaller pictures, the CPU.

        Raises:
            GpuFullError: There is no way left.
        """
        import torch

        from ocrcli.engine import Engine

        assert self._engine is not None and self._model is not None, "something filled the GPU"
        limits, model, tokenizer = self._engine.limits, self._model, self._tokenizer
        if limits.pages_in_flight > 1 and tokenizer is not None:
            limits = replace(limits, pages_in_flight=1, pages_per_prompt=1)
            self._engine = None
            torch.cuda.empty_cache()
            self._engine = Engine(model, tokenizer, limits)
            self._once = (*self._once, _SMALLER_BATCH)
        elif not self._tenths:
            self._tenths = _TENTHS_SMALLER
        elif self._options.device is Device.AUTO:
            self._engine = self._model = model = None  # type: ignore[assignment]
            torch.cuda.empty_cache()
            self._tenths = 0
            self._engine = self._load(Device.CPU)
            self._once = (*self._once, _ON_CPU)
        else:
            raise full

    def again(self, page: PageImage, first: "PageResult") -> "PageResult | None":
        """Read a page that looped or was cut once more, with settings of its own.

        The page gets twice the tokens, and long repetitions are banned. A page that was cut where
        the user wanted it to be, or for which there is no memory left, is not read again.

        Args:
            page: The page, best drawn at another size than before.
            first: What came out before.
        """
        from ocrcli.engine import Engine, FinishReason, NoRepeatNgram

        if self._engine is None or self._model is None or self._tokenizer is None:
            return None
        if first.finish is FinishReason.LENGTH and self._options.max_tokens is not None:
            return None
        limits = self._engine.limits
        budget = limits.max_tokens_per_page
        if self._options.max_tokens is None:
            budget = min(2 * budget, 32768)
        patient = replace(
            limits,
            max_tokens_per_page=budget,
            pages_in_flight=1,
            pages_per_prompt=1,
            no_repeat_ngram=NoRepeatNgram(*_RETRY_NGRAM),
            lone_page_ngram=None,
        )
        try:
            with memory_reported():
                engine = Engine(self._model, self._tokenizer, patient)
                result = next(iter(engine.transcribe([page])), None)
                return None if result is None else on_whole_page(result, page.crop)
        except DeviceError:
            # The pages in flight fill the device; what came out before is kept, and marked.
            return None

    def _load(self, only: Device | None = None) -> "Engine":
        """Load the model on the device asked for, or on the CPU where a GPU does not hold it."""
        device = only or self._options.device
        started = time.perf_counter()
        try:
            try:
                return self._load_on(device)
            except GpuFullError:
                if device is not Device.AUTO:
                    raise
            self._once = (*self._once, _ON_CPU)
            return self._load_on(Device.CPU)
        finally:
            self.load_seconds += time.perf_counter() - started

    def _load_on(self, wanted: Device) -> "Engine":
        import torch

        from ocrcli.engine import BlockHeader, Engine, GenerationLimits, LinePlaces, TokenRun
        from ocrcli.model_tokenizer import tokenizer_of
        from ocrcli.models import CheckpointError, load_model, model_facts

        options = self._options
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        device, dtype = chosen_device(wanted), options.dtype
        if dtype is Dtype.AUTO:
            dtype = Dtype.BFLOAT16 if device == "cuda" else Dtype.FLOAT32
        kept = Dtype.FLOAT32 if dtype is Dtype.INT8 else dtype
        try:
            with loading_reported():
                loaded = load_model(
                    self._path, device, getattr(torch, kept), dtype is Dtype.INT8, self._reading
                )
            tokenizer = tokenizer_of(loaded)
            hashes = [file.sha256 for file in model_facts(loaded.files)]
        except (CheckpointError, OSError, ValueError) as error:
            raise ModelError(str(error)) from error
        window = pages_per_window(loaded.config, options)
        limits = GenerationLimits.for_model(loaded.config, window, device)
        limits = limits_with(limits, options)
        if loaded.config.sparse.page_isolated and len(blank := tokenizer.encode(" ")) == 1:
            # Other models have their ban on n-grams.
            places = LinePlaces.of(tokenizer) if loaded.config.line_places else None
            header, run = BlockHeader.of(tokenizer), TokenRun(blank[0])
            limits = replace(limits, token_run=run, block_header=header, line_places=places)
        engine = Engine(loaded.model, tokenizer, limits)
        self._model, self._tokenizer = loaded.model, tokenizer
        self.unknown_keys = loaded.config.unknown_keys
        self.facts = ModelFacts(loaded.files.name, "+".join(hashes), str(dtype), device)
        return engine


def chosen_device(device: Device) -> str:
    """Return "cpu" or "cuda".

    Raises:
        DeviceError: A GPU is asked for and there is none.
    """
    import torch

    available = torch.cuda.is_available()
    if device is Device.CUDA and not available:
        built = torch.version.cuda is not None
        reason = "no CUDA device was found" if built else "this PyTorch was built without CUDA"
        raise DeviceError(f"cuda is not available: {reason}")
    return "cuda" if available and device is not Device.CPU else "cpu"
