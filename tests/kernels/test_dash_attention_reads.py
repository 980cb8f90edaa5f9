"""Which keys the attention reads: the limits hold, and nothing else has any influence."""

from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ocrcli.kernels.block_routing import RouterPolicy
from ocrcli.kernels.dash_attention import dash_attention_decode, keys_read
from ocrcli.kernels.page_rope import PADDING, PAGE, TEXT


def attention_weights(
    document: Any, vectors: Any, roles: list[int], policy: RouterPolicy, **kwargs: Any
) -> tuple[Any, torch.Tensor]:
    """A document whose values are unit vectors, so that the output shows the weight of each key."""
    dim = len(roles) + len(roles) % 2
    x = vectors.random(len(roles), heads=1, kv_heads=1, dim=dim)
    x = replace(x, query=x.query * 0.1, value=torch.eye(len(roles), dim)[:, None])
    doc = document(roles, x, policy, **kwargs)
    return doc, doc.prefill()[:, 0, : len(roles)]


def test_isolated_local_window_stops_at_the_last_marker(
    document: Any, vectors: Any, isolated_policy: RouterPolicy
) -> None:
    roles = document.isolated_roles([20, 12], [30, 6], 8)
    doc, weights = attention_weights(
        document, vectors, roles, isolated_policy, isolated=True, rope=document.isolated_rope
    )
    at = doc.coordinates
    for q in (p for p in range(doc.length) if roles[p] != PADDING and 0 <= at.query_page[p] < 2):
        section = max(p for p in range(q + 1) if roles[p] == PAGE)
        read = set(weights[q].nonzero().flatten().tolist())
        assert {p for p in read if p > q - 16} >= set(range(max(section, q - 15), q + 1))
        for p in read - set(range(section, q + 1)):
            block = p // 8
            assert at.query_page[q] in at.image_page[block * 8 : block * 8 + 8]


def test_padding_is_never_read(document: Any, vectors: Any, isolated_policy: RouterPolicy) -> None:
    roles = document.isolated_roles([20, 12], [30, 6], 8)
    doc, weights = attention_weights(
        document, vectors, roles, isolated_policy, isolated=True, rope=document.isolated_rope
    )
    real = doc.is_real
    assert not weights[:, ~real].any()
    torch.testing.assert_close(weights[real].sum(-1), torch.ones(int(real.sum())))


def test_instruction_of_isolated_pages_reads_only_itself(
    document: Any, vectors: Any, isolated_policy: RouterPolicy
) -> None:
    roles = document.isolated_roles([20, 12], [5, 6], 8)
    doc, weights = attention_weights(
        document, vectors, roles, isolated_policy, isolated=True, rope=document.isolated_rope
    )
    first = document.prompt_tokens(roles, 0)
    first = next(p for p in range(first, len(roles)) if roles[p] == TEXT)
    for q in range(first, first + 3):
        assert weights[q].nonzero().flatten().tolist() == list(range(first, q + 1))


def test_isolated_page_without_eligible_block_reads_its_window_only(
    document: Any, vectors: Any, isolated_policy: RouterPolicy
) -> None:
    roles = document.isolated_roles([20, 12], [5, 6], 8)
    doc, weights = attention_weights(
        document, vectors, roles, isolated_policy, isolated=True, rope=document.isolated_rope
    )
    second = [p for p in range(doc.length) if roles[p] == PAGE][1]
    assert doc.remote[second].any()
    for q in range(second, second + 13):
        assert not doc.route(torch.tensor([q])).valid.any()
        assert weights[q].nonzero().flatten().tolist() == list(range(second, q + 1))


def test_shared_document_reads_within_its_limits(
    document: Any, vectors: Any, small_policy: RouterPolicy
) -> None:
    roles = document.shared_roles([37, 20, 30], [25, 30, 7])
    prompt = document.prompt_tokens(roles)
    doc, weights = attention_weights(document, vectors, roles, small_policy, prompt_length=prompt)
    for q in range(doc.length):
        read = weights[q].nonzero().flatten().tolist()
        assert len(read) <= 4 * 8 + 16
        assert set(range(max(q - 15, 0), q + 1)) <= set(read)
        assert all(p < prompt or p > q - 16 for p in read)


def test_reused_blocks_forget_their_last_owner(
    document: Any, vectors: Any, small_policy: RouterPolicy
) -> None:
    long = document.shared_roles([60, 50], [20])
    short = document.shared_roles([30], [13])
    first = document(long, vectors.random(len(long), seed=1), small_policy)
    second = document(short, vectors.random(len(short), seed=2), small_policy)
    wanted = second.prefill()
    wanted_last = second.decode([second.length - 1])
    table = first.block_table.flip(0)[: second.num_blocks]
    first.real[first.block_table] = False
    second.store(first.paged, first.real, table)
    second.paged, second.real, second.block_table = first.paged, first.real, table
    torch.testing.assert_close(second.prefill(), wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        second.decode([second.length - 1]), wanted_last, rtol=1e-5, atol=1e-6
    )


def test_nan_in_slots_that_are_not_read_has_no_effect(isolated: Any) -> None:
    q = isolated.length - 1
    before = isolated.decode([q])
    of_page = isolated.coordinates.query_page == isolated.coordinates.query_page[q]
    others = (~of_page & isolated.is_real).nonzero().flatten()
    slots = isolated.block_table[others // 8] * 8 + others % 8
    isolated.paged.keys.flatten(0, 1)[slots] = float("nan")
    isolated.paged.values.flatten(0, 1)[slots] = float("nan")
    assert torch.equal(isolated.decode([q]), before)
    row = isolated.prefill(torch.tensor([q]))
    torch.testing.assert_close(row, before, rtol=1e-4, atol=1e-5)


def test_sequence_with_nothing_to_read_gives_zero(isolated: Any) -> None:
    positions = [5, isolated.length - 1]
    arguments = isolated.decode_arguments(positions)
    arguments["local_valid"][0] = False
    arguments["routed"].valid[0] = False
    arguments["local_slots"][0] = 0
    got = dash_attention_decode(**arguments)
    assert torch.equal(got[0], torch.zeros_like(got[0]))
    torch.testing.assert_close(got[1:], isolated.decode(positions[1:]))
    padding = (~isolated.is_real).nonzero().flatten()
    assert isolated.prefill(padding).isfinite().all()


class _CountGathered(TorchDispatchMode):
    """Counts the elements of results that were copied out of one block of memory."""

    def __init__(self, memory: torch.Tensor) -> None:
        super().__init__()
        self.address, self.count = memory.untyped_storage().data_ptr(), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        reads = any(
            isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() == self.address
            for x in args
        )
        if reads and out.untyped_storage().data_ptr() != self.address:
            self.count += out.numel()
        return out


def test_keys_read_per_decode_step_do_not_grow_with_the_document(
    document: Any, vectors: Any
) -> None:
    counted = []
    for pages in (1, 40):
        roles = document.isolated_roles([400] * pages, [3], 32)
        doc = document(
            roles,
            vectors.random(len(roles), heads=1, kv_heads=1, dim=4, router_dim=4),
            RouterPolicy(fallback="local_only", bias_floor=1e-3),
            isolated=True,
            local_tokens=128,
            rope=document.isolated_rope,
        )
        arguments = doc.decode_arguments([doc.length - 1])
        assert arguments["routed"].valid.any()
        with _CountGathered(doc.paged.keys) as gathered:
            dash_attention_decode(**arguments)
        assert gathered.count % 4 == 0
        assert gathered.count // 4 == keys_read(arguments["routed"], arguments["local_slots"], 32)
        counted.append(gathered.count // 4)
    assert counted[0] == counted[1] <= 12 * 32 + 128
