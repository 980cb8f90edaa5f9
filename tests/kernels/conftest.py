"""A small document with random vectors, taken through all ops, for the tests of this folder."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from ocrcli.kernels.block_routing import RoutedBlocks, RouterPolicy, block_scores, route_blocks
from ocrcli.kernels.block_summary import block_summary
from ocrcli.kernels.dash_attention import dash_attention_decode, dash_attention_prefill
from ocrcli.kernels.page_rope import (
    IMAGE,
    PADDING,
    PAGE,
    TEXT,
    PageCoordinates,
    RopeSettings,
    page_coordinates,
    page_rope,
)
from ocrcli.kernels.paged_kv import PagedKv, slots_of, write_kv, write_summaries


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Vectors:
    """Projections of every token before the rotation, and the learned query of the summaries."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    router_query: torch.Tensor
    router_key: torch.Tensor
    head_cls: torch.Tensor

    @classmethod
    def random(
        cls,
        length: int,
        seed: int = 0,
        heads: int = 2,
        kv_heads: int = 2,
        dim: int = 8,
        router_dim: int = 8,
    ) -> "Vectors":
        g = torch.Generator().manual_seed(seed)
        return cls(
            torch.randn(length, heads, dim, generator=g),
            torch.randn(length, kv_heads, dim, generator=g),
            torch.randn(length, kv_heads, dim, generator=g),
            3.0 * torch.randn(length, router_dim, generator=g),
            torch.randn(length, router_dim, generator=g),
            torch.randn(router_dim, generator=torch.Generator().manual_seed(7)),
        )

    def take(self, index: torch.Tensor) -> "Vectors":
        return Vectors(
            self.query[index],
            self.key[index],
            self.value[index],
            self.router_query[index],
            self.router_key[index],
            self.head_cls,
        )

    def to(self, dtype: torch.dtype) -> "Vectors":
        return Vectors(*(each.to(dtype) for each in vars(self).values()))


class Document:
    """One sequence, written to paged memory whose every other slot holds NaN."""

    isolated_rope = RopeSettings(page_modulus=1)

    @staticmethod
    def padded_to(roles: list[int], block_size: int) -> list[int]:
        return roles + [PADDING] * (-len(roles) % block_size)

    @staticmethod
    def shared_roles(images: list[int], texts: list[int], instruction: int = 3) -> list[int]:
        """A prompt as the large model has it: pages back to back, then the answers."""
        roles = [TEXT]
        for count in images:
            roles += [PAGE] + [IMAGE] * count
        roles += [TEXT] * instruction
        for count in texts:
            roles += [PAGE] + [TEXT] * count
        return roles

    @staticmethod
    def isolated_roles(images: list[int], texts: list[int], block_size: int) -> list[int]:
        """The same for the page-isolated model: every page padded to whole blocks."""
        roles = Document.padded_to([TEXT], block_size)
        for count in images:
            roles += Document.padded_to([PAGE] + [IMAGE] * count, block_size)
        roles += [TEXT] * 3
        for count in texts:
            roles += [PAGE] + [TEXT] * count
        return roles

    @staticmethod
    def prompt_tokens(roles: list[int], instruction: int = 3) -> int:
        return len(roles) - roles[::-1].index(IMAGE) + instruction

    def __init__(
        self,
        roles: list[int],
        vectors: Vectors,
        policy: RouterPolicy,
        *,
        isolated: bool = False,
        local_tokens: int = 16,
        prompt_length: int | None = None,
        rope: RopeSettings | None = None,
        physical_seed: int = 0,
    ) -> None:
        self.policy, self.local_tokens, self.block_size = policy, local_tokens, policy.block_size
        self.roles = torch.tensor(roles)
        self.length = len(roles)
        self.prompt_length = self.length if prompt_length is None else prompt_length
        self.num_blocks = -(-self.length // self.block_size)
        rope = rope or RopeSettings()
        at: PageCoordinates = page_coordinates(self.roles, isolated)
        self.coordinates = at
        self.position = torch.arange(self.length)
        self.window_start = (self.position - local_tokens + 1).maximum(at.section_start)
        self.is_real = self.roles != PADDING
        block_start = torch.arange(self.num_blocks) * self.block_size
        self.remote = (block_start < self.window_start[:, None]) & (
            block_start < self.prompt_length
        )
        pages_of_block = torch.zeros(self.num_blocks, at.num_pages, dtype=torch.bool)
        for position in (at.image_page >= 0).nonzero().flatten().tolist():
            pages_of_block[position // self.block_size, at.image_page[position]] = True
        known = (at.query_page >= 0) & (at.query_page < at.num_pages)
        index = at.query_page.clamp(0, at.num_pages - 1)
        self.candidate = pages_of_block.T[index] & known[:, None]

        self.query = page_rope(vectors.query, at.token, at.page, rope)
        self.key = page_rope(vectors.key, at.token, at.page, rope)
        self.value = vectors.value
        self.router_query = page_rope(vectors.router_query, at.token, at.page, rope)
        self.router_key = page_rope(vectors.router_key, at.token, at.page, rope)
        in_prompt = self.is_real & (self.position < self.prompt_length)
        self.summaries = block_summary(
            self.router_key, vectors.head_cls, in_prompt, self.block_size
        )
        self.spare_blocks = 3
        g = torch.Generator().manual_seed(physical_seed)
        total = self.num_blocks + self.spare_blocks
        self.block_table = (torch.randperm(total, generator=g) + 1)[: self.num_blocks]
        self.paged = empty_memory(total + 1, self.block_size, self.key, self.summaries)
        self.real = torch.zeros(total + 1, self.block_size, dtype=torch.bool)
        self.store(self.paged, self.real, self.block_table)

    def store(self, paged: PagedKv, real: torch.Tensor, block_table: torch.Tensor) -> None:
        kept = self.position[self.is_real]
        slots = slots_of(block_table, kept, self.block_size)
        write_kv(paged, slots, self.key[kept], self.value[kept])
        write_summaries(paged, block_table, self.summaries)
        real.view(-1)[slots] = True

    def route(self, rows: torch.Tensor, layer_index: int = 0) -> RoutedBlocks:
        scores = block_scores(self.router_query[rows], self.paged.summaries[self.block_table])
        return route_blocks(
            scores, self.remote[rows], self.candidate[rows], self.policy, layer_index
        )

    def prefill(self, rows: torch.Tensor | None = None) -> torch.Tensor:
        rows = self.position if rows is None else rows
        return dash_attention_prefill(
            self.query[rows],
            self.paged,
            self.real,
            self.block_table,
            self.position[rows],
            self.window_start[rows],
            self.prompt_length,
            self.route(rows),
        )

    def decode_arguments(self, positions: list[int]) -> dict[str, Any]:
        """Arguments for one batch: the same sequence at several lengths."""
        rows = torch.tensor(positions)
        batch = len(positions)
        local = self.window_start[rows, None] + torch.arange(self.local_tokens)
        inside = local <= rows[:, None]
        local = local.minimum(rows[:, None])
        slots = self.block_table[local // self.block_size] * self.block_size
        slots = slots + local % self.block_size
        scores = block_scores(
            self.router_query[rows],
            self.paged.summaries[self.block_table].expand(batch, -1, -1),
        )
        return {
            "query": self.query[rows],
            "paged": self.paged,
            "real": self.real,
            "block_table": self.block_table.expand(batch, -1).contiguous(),
            "routed": route_blocks(scores, self.remote[rows], self.candidate[rows], self.policy),
            "remote_limit": self.window_start[rows].clamp(max=self.prompt_length),
            "local_slots": slots,
            "local_valid": inside & self.is_real[local],
        }

    def decode(self, positions: list[int]) -> torch.Tensor:
        return dash_attention_decode(**self.decode_arguments(positions))


def empty_memory(
    num_blocks: int, block_size: int, key: torch.Tensor, summaries: torch.Tensor
) -> PagedKv:
    """Memory in which everything is NaN until it is written."""
    shape = (num_blocks, block_size, *key.shape[1:])
    return PagedKv(
        torch.full(shape, float("nan"), dtype=key.dtype),
        torch.full(shape, float("nan"), dtype=key.dtype),
        torch.full((num_blocks, summaries.shape[1]), float("nan")),
    )


@pytest.fixture
def vectors() -> type[Vectors]:
    """The class of random projections."""
    return Vectors


@pytest.fixture
def document() -> type[Document]:
    """The class of test documents."""
    return Document


@pytest.fixture
def small_policy() -> RouterPolicy:
    """Few, small blocks, so that the cuts bind in short sequences."""
    return RouterPolicy(block_size=8, topn=6, topk=4)


@pytest.fixture
def isolated_policy(small_policy: RouterPolicy) -> RouterPolicy:
    """The policy of a page-isolated model."""
    return replace(small_policy, fallback="local_only", bias_floor=1e-3)


@pytest.fixture
def shared(
    document: type[Document], vectors: type[Vectors], small_policy: RouterPolicy
) -> Document:
    """Three pages with answers, as the large model sees them; a block holds image and answer."""
    roles = document.shared_roles([37, 20, 30], [25, 30, 7])
    return document(
        roles, vectors.random(len(roles)), small_policy, prompt_length=document.prompt_tokens(roles)
    )


@pytest.fixture
def isolated(
    document: type[Document], vectors: type[Vectors], isolated_policy: RouterPolicy
) -> Document:
    """Three pages with answers, as the page-isolated model sees them."""
    roles = document.isolated_roles([37, 4, 55], [25, 30, 7], 8)
    return document(
        roles,
        vectors.random(len(roles)),
        isolated_policy,
        isolated=True,
        rope=document.isolated_rope,
        prompt_length=document.prompt_tokens(roles, instruction=3),
    )


@pytest.fixture(params=["shared", "isolated"])
def either(request: pytest.FixtureRequest) -> Document:
    """Each kind of document in turn."""
    return request.getfixturevalue(request.param)
