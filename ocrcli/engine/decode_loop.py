"""The decode loop: every step feeds one token of every active sequence.

Sequences whose block tables have one width are decoded together in calls of a fixed number of rows,
so a page's arithmetic has the same shapes whoever its neighbours are.
"""

import time

import torch

from ocrcli.engine.attention_plan import DecodeBatch
from ocrcli.engine.kv_cache import KvCache
from ocrcli.engine.limits import GenerationLimits
from ocrcli.engine.sampling import GreedySampler
from ocrcli.engine.sequence import Section, Sequence
from ocrcli.models.interface import OcrModel


class DecodeLoop:
    """The active sequences and the batches they are decoded in."""

    def __init__(self, model: OcrModel, cache: KvCache, limits: GenerationLimits) -> None:
        """Create a loop without sequences.

        Args:
            model: Computes the scores.
            cache: Holds the sequences' keys and values; finished sequences give their blocks back.
            limits: Rows per decode call.
        """
        tokens = model.config.tokens
        forbidden = [tokens.bos, tokens.pad, tokens.image]
        if model.config.sparse.page_isolated and tokens.page is not None:
            forbidden.append(tokens.page)
        self._model, self._cache = model, cache
        self._rows = limits.decode_width
        self._device = next(iter(model.parameters())).device
        self._sampler = GreedySampler(forbidden, self._device)
        self._active: list[Sequence] = []
        self._batches: list[DecodeBatch] | None = None

    @property
    def num_active(self) -> int:
        """Sequences that are not finished."""
        return len(self._active)

    def add(self, sequence: Sequence, logits: torch.Tensor) -> list[Section]:
        """Start decoding a prefilled sequence and return the sections that this already ends.

        Args:
            sequence: State after the prompt.
            logits: Scores float32 [vocabulary] after the prompt; used, and overwritten, only when
                the first token is sampled.
        """
        self._active.append(sequence)
        self._batches = None
        if sequence.opens_with_marker:
            sequence.open()
            return []
        ids, probabilities = self._sampler(logits[None], {0: sequence.bans()})
        ended = sequence.accept(ids[0], probabilities[0])
        self._drop_finished()
        return ended

    def step(self) -> list[Section]:
        """Feed one token of every active sequence and return the sections that ended."""
        started = time.perf_counter()
        if self._batches is None:
            self._batches = self._plan()
        chosen = [self._decode(batch) for batch in self._batches]
        share = (time.perf_counter() - started) / max(len(self._active), 1)
        ended: list[Section] = []
        for batch, (ids, probabilities) in zip(self._batches, chosen, strict=True):
            for sequence, token, probability in zip(
                batch.members, ids, probabilities, strict=False
            ):
                sequence.section.decode_seconds += share
                ended += sequence.accept(token, probability)
        now = time.monotonic()
        for sequence in self._active:
            ended += sequence.expire(now)
        # A sequence that ends or turns to its next page changes a batch; all else just moves on.
        page = self._model.config.tokens.page
        turned = page is not None and any(s.pending == page for s in self._active)
        if ended or turned:
            self._drop_finished()
            self._batches = None
        else:
            for batch in self._batches:
                batch.advance()
        return ended

    def release(self) -> None:
        """Drop all sequences and give their blocks back."""
        for sequence in self._active:
            self._cache.release(sequence.blocks)
        self._active, self._batches = [], None

    def _decode(self, batch: DecodeBatch) -> tuple[list[int], list[float]]:
        pending = [member.pending for member in batch.members]
        pending += [self._model.config.tokens.pad] * (batch.rows - len(pending))
        ids = torch.tensor(pending, device=self._device)
        self._cache.mark_real(batch.plan.write_slots)
        logits = self._model.decode(ids, batch.plan, self._cache.layers, self._cache.real)
        bans = {row: member.bans() for row, member in enumerate(batch.members)}
        return self._sampler(logits, {row: ids for row, ids in bans.items() if ids})

    def _plan(self) -> list[DecodeBatch]:
        by_width: dict[int, list[Sequence]] = {}
        for sequence in self._active:
            by_width.setdefault(sequence.layout.width, []).append(sequence)
        config = self._model.config
        batches = []
        for _, group in sorted(by_width.items()):
            for start in range(0, len(group), self._rows):
                members = group[start : start + self._rows]
                # Idle rows cost a large model whole experts, and buy equal numbers only where pages
                # are isolated.
                rows = self._rows if config.sparse.page_isolated else len(members)
                batches.append(DecodeBatch(members, rows, config.sparse))
        return batches

    def _drop_finished(self) -> None:
        for sequence in self._active:
            if sequence.finished:
                self._cache.release(sequence.blocks)
        self._active = [sequence for sequence in self._active if not sequence.finished]
