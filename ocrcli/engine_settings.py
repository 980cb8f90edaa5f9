"""What the user's options mean for the engine: its limits, and how many pages it reads at once."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocrcli.options import Options, ReadingMode

if TYPE_CHECKING:
    from ocrcli.engine import GenerationLimits
    from ocrcli.models.unlimited_ocr.config import ModelConfig

ONEPASS_PAGES = 256
"""Pages that a model of the second generation reads in one pass unless told otherwise."""

KEPT_PAGES = 8
"""The same for the first generation."""


def pages_per_window(config: "ModelConfig", options: Options) -> int:
    """Return how many pages the engine reads in one pass.

    Args:
        config: Of the model.
        options: What the user asked for.
    """
    if config.sparse.page_isolated or options.mode is ReadingMode.PAGE:
        return 1
    # Pages of the first generation may have to be read again, so their pictures are kept meanwhile.
    return options.pages_per_window or (ONEPASS_PAGES if config.has_markers else KEPT_PAGES)


def limits_with(limits: "GenerationLimits", options: Options) -> "GenerationLimits":
    """Return limits with what the user asked for.

    Args:
        limits: What the model is published with.
        options: What the user asked for.
    """
    limits = replace(limits, rotate=options.rotate)
    if options.pages_in_flight is not None:
        limits = replace(limits, pages_in_flight=options.pages_in_flight)
    if options.max_tokens is not None:
        limits = replace(limits, max_tokens_per_page=options.max_tokens)
    if options.mode is ReadingMode.ONEPASS:
        limits = replace(limits, max_tiles=0)
    elif options.max_crops is not None:
        limits = replace(limits, max_tiles=options.max_crops)
    if options.no_repeat_ngram is not None:
        from ocrcli.engine import NoRepeatNgram

        ban = options.ngram_ban()
        ngram = None if ban is None else NoRepeatNgram(*ban)
        limits = replace(limits, no_repeat_ngram=ngram, lone_page_ngram=None)
    if options.instruction is not None:
        limits = replace(limits, instruction=options.instruction)
    return limits
