"""The engine's settings: how many pages at once, how long a page may get, what is banned."""

from dataclasses import dataclass, field

from ocrcli.engine.block_header import BlockHeader
from ocrcli.engine.guards import LoopGuard
from ocrcli.engine.line_places import LinePlaces
from ocrcli.engine.sampling import NoRepeatNgram, TokenRun
from ocrcli.models.unlimited_ocr.config import ModelConfig

_GPU_PAGES = 64


@dataclass(frozen=True)
class GenerationLimits:
    """Bounds on the work of one engine.

    Attributes:
        max_tokens_per_page: Tokens after which a page is cut, 1 to 32768.
        pages_in_flight: Pages encoded and held in the cache at the same time.
        decode_width: Rows of every decode call. The number never changes, used or not, so that a
            page meets the same arithmetic alone and beside others.
        pages_per_prompt: Most pages that share one prompt. Page-isolated models always use one.
        max_tiles: Most tiles that a lone page of a large model is cut into; 0 for none.
        no_repeat_ngram: Ban on repeated n-grams, or None.
        lone_page_ngram: What replaces it for a prompt of one page; None for the same.
        token_run: Ban on endless blanks or dashes, or None.
        block_header: What may stand in the header of a block, for models that have ids for it.
        line_places: How a model is asked where lines begin, and what says so; None: it is not.
        instruction: Sentence after the images of a prompt; None for the published ones.
        loop_guard: Detector of repetition, or None.
        max_cache_blocks: Largest key-value cache in blocks, or None for what memory allows.
        rotate: Whether pages that lie on their side are turned, by models that can tell.

    Raises:
        ValueError: A value is out of range.
    """

    max_tokens_per_page: int = 4096
    pages_in_flight: int = 4
    decode_width: int = 4
    pages_per_prompt: int = 1
    max_tiles: int = 0
    no_repeat_ngram: NoRepeatNgram | None = None
    lone_page_ngram: NoRepeatNgram | None = None
    token_run: TokenRun | None = None
    block_header: BlockHeader | None = None
    line_places: LinePlaces | None = None
    instruction: str | None = None
    loop_guard: LoopGuard | None = field(default_factory=LoopGuard)
    max_cache_blocks: int | None = None
    rotate: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check("max_tokens_per_page", self.max_tokens_per_page, 1, 32768)
        _check("pages_in_flight", self.pages_in_flight, 1, 1024)
        _check("decode_width", self.decode_width, 1, 256)
        _check("pages_per_prompt", self.pages_per_prompt, 1, 256)
        _check("max_tiles", self.max_tiles, 0, 256)

    def ngram_for(self, num_pages: int) -> NoRepeatNgram | None:
        """Return the ban on repeated n-grams for a prompt of `num_pages` pages."""
        if num_pages == 1 and self.lone_page_ngram is not None:
            return self.lone_page_ngram
        return self.no_repeat_ngram

    @classmethod
    def for_model(
        cls, config: ModelConfig, pages_per_prompt: int = 1, device: str = "cpu"
    ) -> "GenerationLimits":
        """Return the limits that a model is published with.

        Page-isolated models have no ban on n-grams; the others ban 35-grams over the last 128 ids
        of a one-page prompt and over the last 1024 ids of a longer one.

        Args:
            config: The model.
            pages_per_prompt: Pages that share one prompt; 1 for page-isolated models.
            device: "cpu" or "cuda".
        """
        if config.sparse.page_isolated:
            # A GPU takes as long for one row as for many, and a page's cache takes 12 MB.
            wide = _GPU_PAGES if device == "cuda" else 4
            return cls(pages_in_flight=wide, decode_width=wide)
        window = 128 if pages_per_prompt == 1 else 1024
        return cls(
            pages_in_flight=max(4, pages_per_prompt),
            pages_per_prompt=pages_per_prompt,
            max_tiles=16 if config.has_markers else 32,
            no_repeat_ngram=NoRepeatNgram(35, window),
            lone_page_ngram=NoRepeatNgram(35, 128),
        )


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in {low}..{high}, got {value}")
