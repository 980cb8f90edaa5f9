"""Reference sliding-window attention against a loop over queries and keys."""

import math

import pytest
import torch

from ocrcli.kernels.paged_kv import PagedKv
from ocrcli.kernels.rswa_attention import rswa_attention_decode, rswa_attention_prefill

SIZE, HEADS, KV_HEADS, DIM = 4, 4, 2, 6


def by_hand(query, keys, values):
    """Return [H, D] of one query [H, D] over keys and values [T, Hkv, D]."""
    rows = []
    for head in range(query.shape[0]):
        group = head * keys.shape[1] // query.shape[0]
        scores = keys[:, group] @ query[head] / math.sqrt(query.shape[1])
        rows.append(scores.softmax(0) @ values[:, group])
    return torch.stack(rows)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("count", [1, 2, 63, 100])
def test_prefill_is_dense_and_causal(count):
    query = draw(count, HEADS, DIM, seed=1)
    key, value = draw(count, KV_HEADS, DIM, seed=2), draw(count, KV_HEADS, DIM, seed=3)
    out = rswa_attention_prefill(query, key, value)
    for index in range(count):
        expected = by_hand(query[index], key[: index + 1], value[: index + 1])
        torch.testing.assert_close(out[index], expected, rtol=1e-5, atol=1e-5)


def memory(prompt, window, kv_heads=KV_HEADS, scattered=True):
    """Return a poisoned pool that holds a prompt, in scattered blocks or not, and a window."""
    blocks = -(-prompt // SIZE)
    table = torch.arange(2, 2 + blocks)
    table = table.flip(0) if scattered else table
    pool = blocks + 2 + -(-window // SIZE)
    paged = PagedKv(
        keys=torch.full((pool, SIZE, kv_heads, DIM), torch.nan),
        values=torch.full((pool, SIZE, kv_heads, DIM), torch.nan),
        summaries=torch.zeros(pool, 1),
    )
    real = torch.zeros(pool, SIZE, dtype=torch.bool)
    key, value = draw(prompt + window, kv_heads, DIM, seed=4), draw(prompt + window, kv_heads, DIM)
    for position in range(prompt):
        block = table[position // SIZE]
        paged.keys[block, position % SIZE] = key[position]
        paged.values[block, position % SIZE] = value[position]
        real[block, position % SIZE] = True
    slots = (blocks + 2) * SIZE + torch.arange(window)
    paged.keys.view(-1, kv_heads, DIM)[slots] = key[prompt:]
    paged.values.view(-1, kv_heads, DIM)[slots] = value[prompt:]
    real.view(-1)[slots] = True
    return paged, real, table, slots, key, value


@pytest.mark.parametrize("prompt", [1, 4, 9])
@pytest.mark.parametrize("generated", [1, 3, 5])
@pytest.mark.parametrize("scattered", [True, False])
@pytest.mark.parametrize("kv_heads", [KV_HEADS, HEADS])
def test_decode_reads_the_whole_prompt_and_the_window(prompt, generated, scattered, kv_heads):
    paged, real, table, slots, key, value = memory(prompt, generated, kv_heads, scattered)
    query = draw(1, HEADS, DIM, seed=7)
    table = torch.nn.functional.pad(table, (0, 3))[None]
    valid = torch.ones(1, generated, dtype=torch.bool)
    out = rswa_attention_decode(
        query, paged, real, table, torch.tensor([prompt]), slots[None], valid
    )
    torch.testing.assert_close(out[0], by_hand(query[0], key, value), rtol=1e-5, atol=1e-5)


def test_limit_keeps_what_the_window_covers_from_counting_twice():
    paged, real, table, slots, key, value = memory(8, 2)
    query = draw(1, HEADS, DIM, seed=7)
    tail = torch.tensor([[(table[1] * SIZE + offset).item() for offset in (2, 3)]])
    local = torch.cat((tail, slots[None]), 1)
    out = rswa_attention_decode(
        query, paged, real, table[None], torch.tensor([6]), local, torch.ones_like(local).bool()
    )
    torch.testing.assert_close(out[0], by_hand(query[0], key, value), rtol=1e-5, atol=1e-5)


def test_sequences_of_different_length_do_not_meet():
    paged, real, table, slots, key, value = memory(9, 3)
    query = draw(2, HEADS, DIM, seed=8)
    tables = torch.stack((table, torch.tensor([int(table[0]), 0, 0])))
    local = slots[None].repeat(2, 1)
    valid = torch.tensor([[True, True, True], [True, False, False]])
    out = rswa_attention_decode(query, paged, real, tables, torch.tensor([9, 3]), local, valid)
    short = torch.tensor([0, 1, 2, 9])
    torch.testing.assert_close(out[0], by_hand(query[0], key, value), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(
        out[1], by_hand(query[1], key[short], value[short]), rtol=1e-5, atol=1e-5
    )


def test_prompt_in_one_piece_is_not_copied(monkeypatch):
    from ocrcli.kernels.rswa_attention import naive

    monkeypatch.setattr(naive, "_gathered", None)
    monkeypatch.setattr(naive, "_PIECE", 4)
    paged, real, table, slots, key, value = memory(9, 3, HEADS, scattered=False)
    query = draw(1, HEADS, DIM, seed=7)
    valid = torch.ones(1, 3, dtype=torch.bool)
    out = rswa_attention_decode(
        query, paged, real, table[None], torch.tensor([9]), slots[None], valid
    )
    torch.testing.assert_close(out[0], by_hand(query[0], key, value), rtol=1e-5, atol=1e-5)


def test_slot_that_may_not_be_read_has_no_influence_wherever_it_lies():
    paged, real, table, slots, key, value = memory(9, 3, HEADS, scattered=False)
    query = draw(1, HEADS, DIM, seed=7)
    hole = 2 * SIZE + 5
    real.view(-1)[hole] = False
    paged.keys.view(-1, HEADS, DIM)[hole] = torch.nan
    kept = [index for index in range(12) if index != 5]
    valid = torch.ones(1, 3, dtype=torch.bool)
    out = rswa_attention_decode(
        query, paged, real, table[None], torch.tensor([9]), slots[None], valid
    )
    expected = by_hand(query[0], key[kept], value[kept])
    torch.testing.assert_close(out[0], expected, rtol=1e-5, atol=1e-5)


def test_query_with_nothing_to_read_is_zero():
    paged, real, table, slots, _, _ = memory(9, 3, HEADS, scattered=False)
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    query = draw(1, HEADS, DIM, seed=7)
    out = rswa_attention_decode(
        query, paged, real, table[None], torch.tensor([0]), slots[None], nothing
    )
    assert torch.equal(out, torch.zeros_like(out))


def test_heads_must_divide():
    with pytest.raises(ValueError, match="query must have heads in a multiple of 2, got 3"):
        rswa_attention_prefill(draw(2, 3, 4), draw(2, 2, 4), draw(2, 2, 4))
