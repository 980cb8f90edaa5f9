"""Attention over routed blocks and a local window, against loops and against itself."""

import math
from typing import Any

import pytest
import torch

from ocrcli.kernels.block_routing import RoutedBlocks, RouterPolicy
from ocrcli.kernels.dash_attention import (
    dash_attention_decode,
    dash_attention_prefill,
    naive,
)
from ocrcli.kernels.page_rope import IMAGE, PAGE, TEXT
from ocrcli.kernels.paged_kv import PagedKv


def attention_by_loop(doc: Any) -> torch.Tensor:
    """The rules of the op, one query, head and key at a time, in double precision."""
    routed = doc.route(doc.position)
    size, groups = doc.block_size, doc.query.shape[1] // doc.key.shape[1]
    out = torch.zeros(doc.query.shape, dtype=torch.float64)
    for q in range(doc.length):
        start = int(doc.window_start[q])
        bias = dict.fromkeys(range(start, q + 1), 0.0)
        for k in range(routed.selected.shape[1]):
            if routed.valid[q, k]:
                first = int(routed.selected[q, k]) * size
                for p in range(first, min(first + size, start, doc.prompt_length)):
                    bias[p] = float(routed.bias[q, k])
        keys = [p for p in bias if doc.is_real[p]]
        for h in range(doc.query.shape[1]) if keys else ():
            query = doc.query[q, h].double()
            logits = [
                float(query @ doc.key[p, h // groups].double()) / math.sqrt(len(query)) + bias[p]
                for p in keys
            ]
            weights = torch.tensor(logits, dtype=torch.float64).softmax(0)
            out[q, h] = weights @ doc.value[keys, h // groups].double()
    return out


def test_prefill_equals_loop(either: Any) -> None:
    wanted = attention_by_loop(either)
    got = either.prefill()
    torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_grouped_heads_equal_loop(
    document: Any, vectors: Any, small_policy: RouterPolicy, kv_heads: int
) -> None:
    roles = document.shared_roles([21, 18], [9])
    doc = document(roles, vectors.random(len(roles), heads=4, kv_heads=kv_heads), small_policy)
    wanted = attention_by_loop(doc)
    torch.testing.assert_close(doc.prefill().double(), wanted, rtol=1e-4, atol=1e-5)
    last = [doc.length - 1]
    torch.testing.assert_close(doc.decode(last).double(), wanted[last], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [3, 31, 32, 33, 128, 129, 160, 161, 333])
def test_all_blocks_without_bias_are_dense_causal_attention(
    document: Any, vectors: Any, length: int
) -> None:
    # Softmax gives every block a positive share, so none of them is dropped.
    policy = RouterPolicy(alpha=1.0, topn=64, topk=64, bias_mode="zero", page_gate=False)
    roles = [TEXT, PAGE, IMAGE] + [TEXT] * (length - 3)
    doc = document(roles, vectors.random(length), policy, local_tokens=128)
    query, key, value = (x.transpose(0, 1)[None] for x in (doc.query, doc.key, doc.value))
    dense = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(doc.prefill(), dense[0].transpose(0, 1), rtol=1e-4, atol=1e-5)


def test_eligible_blocks_are_those_four_blocks_behind(document: Any, vectors: Any) -> None:
    roles = document.shared_roles([300], [])
    doc = document(roles, vectors.random(len(roles)), RouterPolicy(), local_tokens=128)
    block = torch.arange(doc.num_blocks)
    wanted = block <= torch.div(doc.position[:, None], 32, rounding_mode="floor") - 4
    assert torch.equal(doc.remote, wanted)


def test_decode_equals_prefill_at_every_position(either: Any) -> None:
    positions = [p for p in range(either.length) if either.is_real[p]]
    wanted = either.prefill()[positions]
    torch.testing.assert_close(either.decode(positions), wanted, rtol=1e-4, atol=1e-5)
    for p in positions[:: max(len(positions) // 7, 1)]:
        alone = either.prefill(torch.tensor([p]))
        torch.testing.assert_close(either.decode([p]), alone, rtol=1e-4, atol=1e-5)


def test_token_by_token_generation_equals_one_pass(either: Any) -> None:
    wanted = either.prefill()
    fresh = torch.full_like(either.paged.keys, float("nan"))
    memory = PagedKv(fresh, fresh.clone(), either.paged.summaries)
    real = torch.zeros_like(either.real)
    slots = either.block_table.repeat_interleave(8) * 8 + torch.arange(8).repeat(either.num_blocks)
    for p in range(either.length):
        if not either.is_real[p]:
            continue
        memory.keys.flatten(0, 1)[slots[p]] = either.key[p]
        memory.values.flatten(0, 1)[slots[p]] = either.value[p]
        real.view(-1)[slots[p]] = True
        if p >= either.prompt_length:
            arguments = either.decode_arguments([p]) | {"paged": memory, "real": real}
            got = dash_attention_decode(**arguments)
            torch.testing.assert_close(got, wanted[[p]], rtol=1e-4, atol=1e-5)


def test_merging_segments_by_log_sum_exp_equals_one_softmax(shared: Any) -> None:
    p = shared.length - 1
    routed = shared.route(torch.tensor([p]))
    start = int(shared.window_start[p])
    segments = [(0.0, list(range(start, p + 1)))]
    for block, bias, valid in zip(
        routed.selected[0].tolist(), routed.bias[0].tolist(), routed.valid[0], strict=True
    ):
        end = min(block * 8 + 8, start, shared.prompt_length)
        if valid and end > block * 8:
            segments.append((bias, list(range(block * 8, end))))
    assert len(segments) > 2
    outputs, mass = [], []
    for bias, keys in segments:
        logits = torch.einsum("hd,phd->hp", shared.query[p], shared.key[keys]) / math.sqrt(8)
        outputs.append(torch.einsum("hp,phd->hd", logits.softmax(-1), shared.value[keys]))
        mass.append(logits.logsumexp(-1) + bias)
    weights = torch.stack(mass).softmax(0)
    merged = torch.einsum("jh,jhd->hd", weights, torch.stack(outputs))
    torch.testing.assert_close(shared.decode([p])[0], merged, rtol=1e-4, atol=1e-5)


def answers(doc: Any, order: list[int], images: list[int], texts: list[int]) -> dict[int, Any]:
    """The outputs of each page's answer, by page, from a document with pages in `order`."""
    out, start = {}, doc.length - sum(texts[k] + 1 for k in order)
    rows = doc.prefill()
    for k in order:
        out[k] = rows[start : start + texts[k] + 1]
        start += texts[k] + 1
    return out


def test_isolated_pages_do_not_depend_on_their_order_or_company(
    document: Any, vectors: Any, isolated_policy: RouterPolicy
) -> None:
    images, texts = [37, 4, 55], [25, 30, 7]
    page_vectors = [vectors.random(100, seed=50 + k) for k in range(3)]
    rest = vectors.random(100, seed=99)

    def build(order: list[int], alone: bool = False) -> Any:
        parts: list[Any] = []
        if alone:
            (k,) = order
            roles = document.padded_to([PAGE] + [IMAGE] * images[k], 8) + [PAGE] + [TEXT] * texts[k]
        else:
            roles = document.isolated_roles(
                [images[k] for k in order], [texts[k] for k in order], 8
            )
            parts.append(rest.take(torch.arange(8)))
        for k in order:
            parts.append(page_vectors[k].take(torch.arange(-(-(images[k] + 1) // 8) * 8)))
        if not alone:
            parts.append(rest.take(torch.arange(8, 11)))
        for k in order:
            parts.append(page_vectors[k].take(torch.arange(99 - texts[k], 100)))
        names = ("query", "key", "value", "router_query", "router_key")
        joined = vectors(
            *(torch.cat([getattr(each, name) for each in parts]) for name in names),
            rest.head_cls,
        )
        return document(
            roles,
            joined,
            isolated_policy,
            isolated=True,
            rope=document.isolated_rope,
            prompt_length=len(roles) - sum(texts[k] + 1 for k in order),
        )

    first = answers(build([0, 1, 2]), [0, 1, 2], images, texts)
    other = answers(build([2, 0, 1]), [2, 0, 1], images, texts)
    for k in range(3):
        alone = answers(build([k], alone=True), [k], images, texts)
        torch.testing.assert_close(other[k], first[k], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(alone[k], first[k], rtol=1e-4, atol=1e-5)


def test_physical_order_of_blocks_has_no_effect(either: Any, document: Any, vectors: Any) -> None:
    other = document(
        either.roles.tolist(),
        vectors.random(either.length),
        either.policy,
        isolated=bool((either.coordinates.section_start > 0).any()),
        rope=document.isolated_rope if either.policy.fallback == "local_only" else None,
        prompt_length=either.prompt_length,
        physical_seed=5,
    )
    assert not torch.equal(other.block_table, either.block_table)
    torch.testing.assert_close(other.prefill(), either.prefill(), rtol=1e-5, atol=1e-6)
    last = [either.length - 1]
    torch.testing.assert_close(other.decode(last), either.decode(last), rtol=1e-5, atol=1e-6)


def test_entries_that_are_not_valid_may_name_any_block(shared: Any) -> None:
    routed = shared.route(shared.position)
    arbitrary = RoutedBlocks(
        torch.where(routed.valid, routed.selected, 0), routed.bias, routed.valid
    )
    got = dash_attention_prefill(
        shared.query,
        shared.paged,
        shared.real,
        shared.block_table,
        shared.position,
        shared.window_start,
        shared.prompt_length,
        arbitrary,
    )
    assert torch.equal(got, shared.prefill())


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_of_queries_do_not_change_the_result(
    either: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = either.prefill()
    monkeypatch.setattr(naive, "QUERY_CHUNK", chunk)
    torch.testing.assert_close(either.prefill(), whole, rtol=1e-5, atol=1e-6)


def test_bf16_memory_gives_bf16_close_to_fp32(
    document: Any, vectors: Any, isolated_policy: RouterPolicy
) -> None:
    roles = document.isolated_roles([37, 20], [25, 9], 8)
    x = vectors.random(len(roles)).to(torch.bfloat16)
    doc = document(roles, x, isolated_policy, isolated=True, rope=document.isolated_rope)
    wanted = attention_by_loop(doc)
    got = doc.prefill()
    assert got.dtype == torch.bfloat16
    # One rounding of the output to 8 bits: half a unit in the last place is 2^-9.
    torch.testing.assert_close(got.double(), wanted, rtol=2**-8, atol=1e-4)
    last = [doc.length - 1]
    torch.testing.assert_close(doc.decode(last).double(), wanted[last], rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("query", torch.zeros(3, 2, 8), r"block_table must have shape \[3, nblk\], got \[2, "),
        ("query", torch.zeros(2, 8), r"query must have shape \[B, H, D\], got \[2, 8\]"),
        ("query", torch.zeros(2, 3, 8), "query must have heads in a multiple of 2"),
        ("query", torch.zeros(2, 2, 6), "query must have .* head size 8"),
        ("real", torch.zeros(4, 8, dtype=torch.bool), "real must have shape"),
        ("remote_limit", torch.zeros(1, dtype=torch.long), "remote_limit must have shape"),
        ("local_slots", torch.zeros(2, 4), "local_slots must be torch.int64"),
        ("local_valid", torch.zeros(2, 1, dtype=torch.bool), "local_valid must have shape"),
    ],
)
def test_wrong_decode_arguments_are_named(
    shared: Any, name: str, value: torch.Tensor, message: str
) -> None:
    arguments = shared.decode_arguments([50, 60]) | {name: value}
    with pytest.raises(ValueError, match="^" + message):
        dash_attention_decode(**arguments)


def test_wrong_prefill_arguments_are_named(shared: Any) -> None:
    routed = shared.route(shared.position)
    good: dict[str, Any] = {
        "query": shared.query,
        "paged": shared.paged,
        "real": shared.real,
        "block_table": shared.block_table,
        "position": shared.position,
        "window_start": shared.window_start,
        "prompt_length": shared.prompt_length,
        "routed": routed,
    }
    dash_attention_prefill(**good)
    fewer = RoutedBlocks(routed.selected[1:], routed.bias[1:], routed.valid[1:])
    for name, value, message in (
        ("position", shared.position[1:], "position must have shape"),
        ("window_start", shared.window_start.float(), "window_start must be"),
        ("block_table", shared.block_table[None], "block_table must have shape"),
        ("routed", fewer, r"routed\.selected must have shape"),
        ("real", shared.real[1:], "real must have shape"),
    ):
        with pytest.raises(ValueError, match="^" + message):
            dash_attention_prefill(**(good | {name: value}))
