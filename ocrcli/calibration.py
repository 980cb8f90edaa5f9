"""Settles open settings with the weights at hand: which of them make a known page most likely.

A model that computes what it was trained to compute is rarely surprised by the right transcript.
Each setting is therefore judged by the perplexity of a known transcript, given the page, with the
others as good as known so far.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.kernels.page_rope import IMAGE, PAGE, TEXT
from ocrcli.models.unlimited_ocr.config import SparseConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.open_settings import OPEN_SETTINGS, OpenSetting
from ocrcli.prompt import document_prompt

_SAME = 1e-6
# A page is a small sample: a gain below this, relative, speaks for nothing.
_DECISIVE = 5e-3


@dataclass(frozen=True)
class Verdict:
    """What the known transcript says about one setting.

    Attributes:
        key: Key of `config.json`.
        perplexities: Of each value, the other settings being those that won.
        winner: The best value, or None if no two values differ.
        is_close: Whether values differ, but by so little that the winner was only kept.
    """

    key: str
    perplexities: tuple[tuple[object, float], ...]
    winner: object | None
    is_close: bool = False


class KnownPages:
    """Pages with their transcript, laid out as the model would see and write them."""

    def __init__(
        self,
        model: UnlimitedOcr,
        images: Sequence[Tensor],
        instruction_ids: Sequence[int],
        answer: Sequence[int],
    ) -> None:
        """Lay out prompt and answer.

        Args:
            model: A model of the second generation.
            images: Image tokens [n, hidden] of each page.
            instruction_ids: The encoded instruction.
            answer: Ids of the transcript: one section per page, each begun by the id of `<PAGE>`.

        Raises:
            ValueError: The model has no router, or the transcript has another number of pages.
        """
        if model.config.attention != "dash":
            raise ValueError("model must be of the second generation; the first has no router")
        tokens = model.config.tokens
        markers = sum(id_ == tokens.page for id_ in answer)
        if markers != len(images) or answer[0] != tokens.page:
            raise ValueError(
                f"answer must hold one <PAGE> before the text of each of {len(images)} pages, got "
                f"{markers}"
            )
        prompt = document_prompt([len(image) for image in images], tokens, instruction_ids)
        self._model, self._images = model, torch.cat(list(images))
        self._length = len(prompt.ids)
        self._ids = torch.cat((prompt.ids, torch.tensor(answer)))
        answer_roles = torch.tensor([PAGE if id_ == tokens.page else TEXT for id_ in answer])
        self._roles = torch.cat((prompt.roles, answer_roles))

    @torch.inference_mode()
    def perplexity(self, sparse: SparseConfig) -> float:
        """Return the perplexity of the transcript under some settings, inf if it has none."""
        model = self._model
        before = model.config.sparse
        model.use_sparse(sparse)
        try:
            scores = self._scores(sparse)
        finally:
            model.use_sparse(before)
        wanted = self._ids[self._length + 1 :].to(scores.device)
        # Markers may be given to the model instead of being written by it, so they do not count.
        written = wanted != model.config.tokens.page
        loss = torch.nn.functional.cross_entropy(scores[:-1][written].double(), wanted[written])
        return math.exp(min(float(loss), 700.0)) if torch.isfinite(loss) else math.inf

    def _scores(self, sparse: SparseConfig) -> Tensor:
        """Return scores [answer, vocabulary] after every id of the answer."""
        model = self._model
        weight = next(iter(model.parameters()))
        device, size = weight.device, sparse.block_size
        blocks = -(-len(self._ids) // size)
        cache = model.new_cache(blocks + 1, device, weight.dtype)
        real = torch.zeros(blocks + 1, size, dtype=torch.bool, device=device)
        roles = self._roles.to(device)
        table = torch.arange(1, blocks + 1, device=device)
        plan = prefill_plan(roles, table, self._length, sparse)
        real.view(-1)[plan.slots] = True
        embeddings = model.embed_tokens(self._ids.to(device))
        embeddings[roles == IMAGE] = self._images.to(embeddings)
        return model.logits(model.prefill_hidden(embeddings, plan, cache, real)[self._length :])


def calibrate(pages: KnownPages, start: SparseConfig) -> tuple[SparseConfig, list[Verdict]]:
    """Return the settings under which the known pages are least surprising, and why.

    Takes the best single change, again and again; where none helps, the best pair of changes. What
    turns out not to matter in the end is put back.

    Args:
        pages: Pages with their transcript.
        start: Settings to begin with; they win where nothing speaks against them.
    """
    best, least = start, pages.perplexity(start)
    while True:
        found = _best_of(pages, _changed_once(best), least)
        found = found or _best_of(pages, _changed_twice(best), least)
        if found is None:
            break
        best, least = found
    settings = [setting for setting in OPEN_SETTINGS if setting.field]
    for setting in settings:
        restored = _put(setting, best, setting.of(start))
        if restored and pages.perplexity(restored) <= least * (1 + _DECISIVE):
            best = restored
    return best, [_judged(pages, best, setting) for setting in settings]


def _best_of(
    pages: KnownPages, candidates: Iterator[SparseConfig], least: float
) -> tuple[SparseConfig, float] | None:
    best = None
    for sparse in candidates:
        perplexity = pages.perplexity(sparse)
        if perplexity < least * (1 - _DECISIVE):
            best, least = (sparse, perplexity), perplexity
    return best


def _changed_once(sparse: SparseConfig, after: int = -1) -> Iterator[SparseConfig]:
    """Yield the settings with one other value; only settings behind number `after` are changed."""
    for setting in OPEN_SETTINGS[after + 1 :]:
        for value in setting.choices:
            if value != setting.of(sparse) and (changed := _put(setting, sparse, value)):
                yield changed


def _changed_twice(sparse: SparseConfig) -> Iterator[SparseConfig]:
    for number, setting in enumerate(OPEN_SETTINGS):
        for value in setting.choices:
            if value != setting.of(sparse) and (changed := _put(setting, sparse, value)):
                yield from _changed_once(changed, number)


def _put(setting: OpenSetting, sparse: SparseConfig, value: object) -> SparseConfig | None:
    """Return changed settings, or None if the value excludes another, such as topk and topn."""
    try:
        return setting.put(sparse, value)
    except ValueError:
        return None


def _judged(pages: KnownPages, sparse: SparseConfig, setting: OpenSetting) -> Verdict:
    now = setting.of(sparse)
    found: list[tuple[object, float]] = []
    for value in (now, *(value for value in setting.choices if value != now)):
        if changed := _put(setting, sparse, value):
            found.append((value, pages.perplexity(changed)))
    lowest = min(perplexity for _, perplexity in found)
    highest = max(perplexity for _, perplexity in found)
    spread = highest / lowest - 1
    return Verdict(
        setting.key, tuple(found), now if spread > _SAME else None, _SAME < spread <= _DECISIVE
    )


def table_of(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of a table: each setting, what each value gives, and the winner."""
    for verdict in verdicts:
        values = ", ".join(f"{value} {each:.6g}" for value, each in verdict.perplexities)
        winner = "indistinguishable" if verdict.winner is None else f"-> {verdict.winner}"
        winner += " (kept, too close to tell)" if verdict.is_close else ""
        yield f"{verdict.key}: {winner} (perplexity: {values})"
