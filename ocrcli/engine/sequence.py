"""One request: a prompt, the sections generated for its pages, and where the next token goes.

A page-isolated model gets one sequence per page. Other models may get several pages in one prompt;
the sequence then writes one section per page, in page order, and turns to the next page at each
`<PAGE>`. The first generation spells that marker out: nothing can be forced on it, so its sections
are handed out together at the end, and only if there are as many as pages.
"""

import math
from dataclasses import dataclass, field

from ocrcli.engine.attention_plan import SequenceLayout
from ocrcli.engine.limits import GenerationLimits
from ocrcli.engine.line_places import MASKED
from ocrcli.engine.page import FinishReason
from ocrcli.engine.separator import Border, TextSeparator
from ocrcli.kernels.page_rope import TEXT, PageCoordinates
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.prompt import Prompt


@dataclass(eq=False)
class Section:
    """The answer to one page while it grows.

    Attributes:
        order: Index of the page among those given to the engine.
        page_number: As given by the caller.
        deadline: When the page is given up, in seconds of `time.monotonic`, or None.
        prompt_tokens: Tokens of the page's marker and image.
        rotation: Degrees by which the page was turned clockwise.
        extent: How far right and down the last coordinate lies, as shares of the upright picture.
        encode_seconds: Wall time of the image encoder.
        prefill_seconds: This page's share of the prefill.
        decode_seconds: This page's share of the decode steps so far.
        token_ids: Generated ids that belong to the transcript.
        probabilities: What the model gave each of them.
        output_tokens: Number of tokens generated.
        head: Text before the ids, left over from a spelled marker.
        tail: Text behind the ids, likewise.
        is_miscounted: Whether the model, which nothing holds to one section per page, wrote another
            number of them; nobody knows then which page the section belongs to.
        finish: Why the section ended, None while it grows.
        error: What went wrong when `finish` is ERROR.
    """

    order: int
    page_number: int
    deadline: float | None = None
    prompt_tokens: int = 0
    rotation: int = 0
    extent: tuple[float, float] = (1.0, 1.0)
    encode_seconds: float = 0.0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    token_ids: list[int] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    output_tokens: int = 0
    head: str = ""
    tail: str = ""
    is_miscounted: bool = False
    finish: FinishReason | None = None
    error: str | None = None

    def append(self, token_id: int, probability: float) -> None:
        """Add one generated token."""
        self.token_ids.append(token_id)
        self.probabilities.append(probability)
        self.output_tokens += 1

    def cut(self, num_tokens: int) -> None:
        """Keep the first `num_tokens` tokens of the transcript only."""
        del self.token_ids[num_tokens:], self.probabilities[num_tokens:]

    def fail(self, message: str) -> None:
        """End the section as one that could not be transcribed."""
        self.finish, self.error = FinishReason.ERROR, message

    def is_late(self, now: float) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and now > self.deadline


class Sequence:
    """State of one request between two decode steps.

    The coordinates describe the pending token, the one that the next step feeds.

    Attributes:
        layout: Where the sequence lies in the cache.
        blocks: All physical blocks it holds.
        sections: One per page, in page order.
        pending: Id of the pending token.
        position: Index of the pending token in the sequence.
        token: Offset of the pending token inside its page.
        section_start: First position that the local window may cover.
        prompt_length: Tokens of the prompt.
        num_pages: Pages of the prompt.
        finished: Whether nothing is left to feed.
    """

    def __init__(
        self,
        prompt: Prompt,
        coordinates: PageCoordinates,
        layout: SequenceLayout,
        blocks: list[int],
        sections: list[Section],
        config: ModelConfig,
        limits: GenerationLimits,
        separator: TextSeparator | None = None,
    ) -> None:
        """Create the state after the prompt and before any generated token.

        Args:
            prompt: The prompt's ids and roles.
            coordinates: Of the prompt.
            layout: Where the sequence lies in the cache.
            blocks: All physical blocks it holds.
            sections: One per page of the prompt.
            config: The model.
            limits: Token budget, loop guard and n-gram ban.
            separator: Finds page borders for models that spell them out.
        """
        self.layout, self.blocks, self.sections = layout, blocks, sections
        self.prompt_length, self.num_pages = prompt.ids.shape[0], prompt.num_pages
        self.finished = False
        self._separator, self._has_markers = separator, config.has_markers
        self._tokens, self._isolated = config.tokens, config.sparse.page_isolated
        self._limits = limits
        self._page_tokens: list[int] = coordinates.prompt_tokens_per_page.tolist()
        self._ids: list[int] = prompt.ids.tolist()
        self._markers = 0
        self._current = 0
        # What begins the response instead of what the model would begin with.
        self._cue = limits.line_places.cue if limits.line_places is not None else None
        self.section_start = 0
        self.position = self.prompt_length - 1
        # Without an instruction the response still starts where page 0 left off.
        follows_text = int(prompt.roles[-1]) == TEXT or not config.has_markers
        self.token = int(coordinates.token[-1]) if follows_text else self._page_tokens[0] - 1
        self.pending = self._ids[-1]

    @property
    def section(self) -> Section:
        """The section that grows now."""
        return self.sections[self._current]

    @property
    def page(self) -> int:
        """One-based page of the pending token, 0 before the first marker."""
        return self._markers if self._has_markers else 0

    @property
    def query_page(self) -> int:
        """Zero-based page whose blocks the pending token may read, -1 for none."""
        return self.page - 1

    @property
    def opens_with_marker(self) -> bool:
        """Whether the first `<PAGE>` is fed by the engine instead of sampled.

        Only a lone page of a model that is not page-isolated may be answered without a marker.
        """
        return self._has_markers and (self._isolated or self.num_pages > 1)

    def open(self) -> None:
        """Feed the first `<PAGE>`."""
        self._feed_marker()

    def bans(self) -> list[int]:
        """Return the ids that may not come next, beside those that never may."""
        banned: set[int] = set()
        ngram = self._limits.ngram_for(self.num_pages)
        places = self._limits.line_places
        if ngram is not None:
            ids = self._ids if places is None else places.masked(self._ids)
            banned |= ngram.banned(ids) - {MASKED}
        if self._limits.token_run is not None:
            banned |= self._limits.token_run.banned(self._ids)
        if places is not None:
            banned.update(places.banned(self._ids))
        if self._limits.block_header is not None:
            banned |= self._limits.block_header.banned(self._ids)
        if not self._isolated and self._markers == self.num_pages and self._tokens.page is not None:
            banned.add(self._tokens.page)
        return sorted(banned)

    def accept(self, token_id: int, probability: float) -> list[Section]:
        """Take the next token and return the sections that it ends.

        Args:
            token_id: The sampled id.
            probability: Its probability; NaN means that the model's scores were not finite.
        """
        section = self.section
        if not math.isfinite(probability):
            return self._abort("the model returned scores that are not finite")
        if self._cue is not None:
            self._feed(self._cue)
            self.token += 1
            self._cue = None
            return []
        if token_id == self._tokens.eos:
            return self._close(FinishReason.EOS)
        if token_id == self._tokens.page and self._has_markers:
            if self._markers == 0:
                self._feed_marker()
                return []
            return self._close(FinishReason.EOS)
        section.append(token_id, probability)
        if self._separator is not None:
            border = self._separator.find(section.token_ids)
            if border is not None:
                return self._cross(border, token_id)
        reason = self._stopped(section)
        if reason is not None:
            return self._close(reason)
        self._feed(token_id)
        self.token += 1
        return []

    def expire(self, now: float) -> list[Section]:
        """Give up the section that grows if its deadline has passed, and return it.

        Args:
            now: Seconds of `time.monotonic`.
        """
        if self.finished or not self.section.is_late(now):
            return []
        self.section.error = "the page was not finished in time"
        return self._close(FinishReason.TIMEOUT)

    def _abort(self, message: str) -> list[Section]:
        if self._separator is not None and self.num_pages > 1:
            return self._end()
        ended = self.sections[self._current :]
        for section in ended:
            section.fail(message)
        self.finished = True
        return ended

    def _stopped(self, section: Section) -> FinishReason | None:
        guard = self._limits.loop_guard
        if guard is not None and guard.due(section.output_tokens):
            places, ids = self._limits.line_places, section.token_ids
            loop = guard.find(ids if places is None else places.masked(ids))
            if loop is not None:
                section.cut(len(section.token_ids) - loop.span + loop.period)
                return FinishReason.LOOP
        if section.output_tokens >= self._limits.max_tokens_per_page:
            return FinishReason.LENGTH
        return None

    def _cross(self, border: Border, token_id: int) -> list[Section]:
        section = self.section
        section.cut(len(section.token_ids) - border.num_ids)
        section.tail = border.before
        self._markers += 1
        self._feed(token_id)
        self.token += 1
        if self._markers == 1:
            # What precedes the first marker belongs to no page.
            section.cut(0)
            section.tail, section.head = "", border.after
            return []
        section.finish = FinishReason.EOS
        if self._markers > self.num_pages:
            return self._end()
        self._current += 1
        self.section.head = border.after
        return []

    def _end(self) -> list[Section]:
        """End all sections of a model that separates pages by text."""
        self.finished = True
        unfinished = any(section.finish is None for section in self.sections)
        if self.num_pages > 1 and (unfinished or self._markers != self.num_pages):
            for section in self.sections:
                section.is_miscounted = True
        return self.sections

    def _close(self, reason: FinishReason) -> list[Section]:
        section = self.section
        section.finish = reason
        if self._separator is not None:
            return self._end()
        if self._current + 1 < self.num_pages:
            # A model that ends early, or is cut, still owes a section for every page.
            self._current += 1
            self._feed_marker()
        else:
            self.finished = True
        return [section]

    def _feed_marker(self) -> None:
        assert self._tokens.page is not None, "a prompt with pages has a <PAGE> id"
        self._feed(self._tokens.page)
        self._markers += 1
        self.token = self._page_tokens[self._markers]
        if self._isolated:
            self.section_start = self.position

    def _feed(self, token_id: int) -> None:
        self.pending = token_id
        self._ids.append(token_id)
        self.position += 1
