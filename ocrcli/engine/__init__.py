"""Inference engine: paged cache, attention plans, decode loop."""

from ocrcli.engine.block_header import BlockHeader
from ocrcli.engine.engine import Engine
from ocrcli.engine.guards import LoopGuard
from ocrcli.engine.kv_cache import CacheFullError
from ocrcli.engine.limits import GenerationLimits
from ocrcli.engine.line_places import LinePlaces
from ocrcli.engine.page import FinishReason, PageInput, PageResult, StageSeconds
from ocrcli.engine.sampling import NoRepeatNgram, TokenRun

__all__ = [
    "BlockHeader",
    "CacheFullError",
    "Engine",
    "FinishReason",
    "GenerationLimits",
    "LinePlaces",
    "LoopGuard",
    "NoRepeatNgram",
    "PageInput",
    "PageResult",
    "StageSeconds",
    "TokenRun",
]
