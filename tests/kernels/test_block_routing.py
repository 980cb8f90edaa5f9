"""Routing against a second implementation: loops, doubles, entmax by bisection."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocrcli.kernels.block_routing import RouterPolicy, block_scores, entmax15, route_blocks


def entmax_by_bisection(z: list[float]) -> list[float]:
    """Entmax-1.5 in double precision: halve the interval that holds the threshold 200 times."""
    low, high = max(z) / 2 - 1.0, max(z) / 2
    for _ in range(200):
        middle = (low + high) / 2
        mass = sum(max(each / 2 - middle, 0.0) ** 2 for each in z)
        low, high = (middle, high) if mass >= 1 else (low, middle)
    return [max(each / 2 - low, 0.0) ** 2 for each in z]


def softmax(z: list[float]) -> list[float]:
    weights = [math.exp(each - max(z)) for each in z]
    return [each / sum(weights) for each in weights]


def route_by_loop(
    scores: list[float], remote: list[bool], candidate: list[bool], policy: RouterPolicy
) -> list[tuple[int, float, float]]:
    """(block, probability, bias) of one query, best block first."""
    blocks = range(len(scores))
    usable = [b for b in blocks if remote[b]]
    if policy.page_gate:
        own = [b for b in usable if candidate[b]]
        has_any = any(candidate) if policy.candidate_scope == "candidate" else bool(own)
        if has_any or policy.fallback == "local_only":
            usable = own
    if not usable:
        return []
    best = sorted(usable, key=lambda b: (-scores[b], b))[: policy.topn]
    scaled = [scores[b] * policy.scale for b in best]
    p = entmax_by_bisection(scaled) if policy.alpha == 1.5 else softmax(scaled)
    kept = [(b, each) for b, each in zip(best, p, strict=True) if each > 0][: policy.topk]
    total = sum(each for _, each in kept)
    shares = [each / total if policy.renormalise else each for _, each in kept]
    logs = [math.log(max(each, policy.bias_floor)) for each in shares]
    if policy.bias_mode == "zero":
        biases = [0.0] * len(kept)
    elif policy.bias_mode == "centered":
        mean = sum(logs) / len(logs)
        biases = [(each - mean) / policy.bias_sigma for each in logs]
    elif policy.bias_mode == "logp_minus_logbs":
        biases = [each - math.log(policy.block_size) for each in logs]
    else:
        biases = logs
    return [(b, p, bias) for (b, p), bias in zip(kept, biases, strict=True)]


Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def random_case(seed: int, queries: int, blocks: int) -> Case:
    g = torch.Generator().manual_seed(seed)
    # Steps of 1/8 are exact in fp32 and make ties common.
    scores = (torch.randn(queries, blocks, generator=g) * 8).round() / 8
    reach = torch.randint(0, blocks + 1, (queries, 1), generator=g)
    remote = torch.arange(blocks) < reach
    candidate = torch.rand(queries, blocks, generator=g) < 0.4
    candidate[::4] = False
    return scores, remote, candidate


def assert_routes_alike(
    scores: torch.Tensor, remote: torch.Tensor, candidate: torch.Tensor, policy: RouterPolicy
) -> None:
    got = route_blocks(scores, remote, candidate, policy)
    kept = min(policy.topk, scores.shape[1])
    assert got.selected.shape == got.bias.shape == got.valid.shape == (scores.shape[0], kept)
    assert (got.selected.dtype, got.bias.dtype) == (torch.int64, torch.float32)
    assert bool((got.bias[~got.valid] == 0).all())
    for q in range(scores.shape[0]):
        wanted = route_by_loop(
            scores[q].tolist(), remote[q].tolist(), candidate[q].tolist(), policy
        )
        # Probabilities that are zero but for rounding may fall on either side.
        wanted = [each for each in wanted if each[1] > 1e-6]
        valid = got.selected[q][got.valid[q]].tolist()
        assert valid[: len(wanted)] == [b for b, _, _ in wanted]
        assert len(valid) <= len(wanted) + 1
        bias = got.bias[q][: len(wanted)].tolist()
        for mine, (_, p, theirs) in zip(bias, wanted, strict=True):
            assert p < 1e-4 or mine == pytest.approx(theirs, abs=5e-3)


SWITCHES = list(
    itertools.product(
        (1.0, 1.5),
        ("logp", "centered", "logp_minus_logbs", "zero"),
        ("candidate_and_remote", "candidate"),
        ("all_remote", "local_only"),
        (False, True),
    )
)


@pytest.mark.parametrize(("alpha", "bias_mode", "scope", "fallback", "renormalise"), SWITCHES)
def test_every_switch_routes_as_the_loop(
    alpha: float, bias_mode: Any, scope: Any, fallback: Any, renormalise: bool
) -> None:
    policy = RouterPolicy(
        alpha=alpha,
        topn=5,
        topk=3,
        bias_mode=bias_mode,
        bias_sigma=10.0,
        candidate_scope=scope,
        fallback=fallback,
        renormalise=renormalise,
    )
    assert_routes_alike(*random_case(1, 24, 9), policy)
    assert_routes_alike(*random_case(2, 8, 2), policy)


@pytest.mark.parametrize(
    "change",
    [
        {"bias_floor": 0.05},
        {"bias_floor": 0.05, "bias_mode": "logp_minus_logbs"},
        {"scale": 0.25},
        {"scale": 4.0},
        {"page_gate": False},
        {"topn": 16, "topk": 12},
        {"topn": 1, "topk": 1},
    ],
)
def test_numbers_route_as_the_loop(change: dict[str, Any]) -> None:
    for seed, blocks in ((3, 1), (4, 7), (5, 40)):
        assert_routes_alike(*random_case(seed, 12, blocks), RouterPolicy(**change))


def test_page_out_of_range_falls_back_to_all_remote_blocks_or_to_none() -> None:
    scores, remote = torch.zeros(1, 4), torch.tensor([[True, True, False, False]])
    candidate = torch.zeros(1, 4, dtype=torch.bool)
    routed = route_blocks(scores, remote, candidate, RouterPolicy())
    assert routed.selected[routed.valid].tolist() == [0, 1]
    routed = route_blocks(scores, remote, candidate, RouterPolicy(fallback="local_only"))
    assert not routed.valid.any()


def test_scope_decides_for_a_page_whose_blocks_are_all_local() -> None:
    scores, remote = torch.zeros(1, 3), torch.tensor([[True, False, False]])
    candidate = torch.tensor([[False, True, False]])
    wide = route_blocks(scores, remote, candidate, RouterPolicy())
    assert wide.selected[wide.valid].tolist() == [0]
    narrow = RouterPolicy(candidate_scope="candidate")
    assert not route_blocks(scores, remote, candidate, narrow).valid.any()


def test_equal_scores_go_to_the_lower_block() -> None:
    every = torch.ones(1, 20, dtype=torch.bool)
    policy = RouterPolicy(topn=6, topk=4)
    routed = route_blocks(torch.zeros(1, 20), every, every, policy)
    assert routed.selected.tolist() == [[0, 1, 2, 3]]
    torch.testing.assert_close(routed.bias, torch.full((1, 4), math.log(1 / 6)))


def test_scores_of_blocks_out_of_reach_may_be_nan() -> None:
    scores, remote, candidate = random_case(6, 10, 12)
    poisoned = scores.masked_fill(~remote, float("nan"))
    a = route_blocks(scores, remote, candidate, RouterPolicy())
    b = route_blocks(poisoned, remote, candidate, RouterPolicy())
    assert torch.equal(a.valid, b.valid)
    assert torch.equal(a.bias, b.bias)
    assert torch.equal(a.selected[a.valid], b.selected[b.valid])


def test_layers_can_differ() -> None:
    every = torch.ones(1, 9, dtype=torch.bool)
    none = torch.zeros_like(every)
    policy = RouterPolicy(
        per_layer={2: {"topk": 1, "topn": 1}, 3: {"fallback": "local_only"}, 4: {}}
    )
    assert route_blocks(torch.zeros(1, 9), every, none, policy, 0).selected.shape == (1, 9)
    assert route_blocks(torch.zeros(1, 9), every, none, policy, 2).selected.shape == (1, 1)
    assert not route_blocks(torch.zeros(1, 9), every, none, policy, 3).valid.any()
    assert policy.for_layer(4) is policy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 2.0}, r"alpha must be one of \(1.0, 1.5\), got 2.0"),
        ({"bias_mode": "log"}, "bias_mode must be one of"),
        ({"fallback": "none"}, "fallback must be one of"),
        ({"candidate_scope": "any"}, "candidate_scope must be one of"),
        ({"topk": 17}, r"topk must lie in 1\.\.topn, got topk 17, topn 16"),
        ({"topk": 0}, "topk must lie in"),
        ({"bias_floor": 1.5}, "bias_floor must lie in"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"per_layer": {1: {"top_k": 3}}}, r"per_layer\[1\] must name fields of RouterPolicy"),
        ({"per_layer": {1: {"topk": 99}}}, "topk must lie in"),
    ],
)
def test_bad_policies_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RouterPolicy(**change)


def test_entmax_sums_to_one_within_two_of_the_maximum_and_matches_bisection() -> None:
    g = torch.Generator().manual_seed(0)
    for size in (1, 2, 5, 16, 100):
        for spread in (1e-3, 0.3, 1.0, 5.0, 1e4):
            z = torch.randn(6, size, generator=g) * spread
            p = entmax15(z)
            torch.testing.assert_close(p.sum(-1), torch.ones(6), rtol=0, atol=1e-5)
            assert bool((z[p > 0] >= (z.amax(-1, keepdim=True) - 2.0).expand_as(z)[p > 0]).all())
            for row, mine in zip(z.tolist(), p, strict=True):
                wanted = torch.tensor(entmax_by_bisection(row))
                torch.testing.assert_close(mine, wanted, rtol=0, atol=2e-5)


def test_entmax_keeps_order_shape_and_batch_dimensions() -> None:
    z = torch.randn(2, 3, 7)
    p = entmax15(z)
    assert p.shape == z.shape
    torch.testing.assert_close(p[1, 2], entmax15(z[1, 2]))
    torch.testing.assert_close(entmax15(z.flip(-1)).flip(-1), p)
    torch.testing.assert_close(entmax15(z + 3.0), p, rtol=1e-4, atol=1e-5)


def test_entmax_gradient_is_finite_and_right() -> None:
    z = torch.tensor([[0.3, -0.2, 0.1, -5.0, 0.3]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(entmax15, (z,))
    # The four values together have a double root, where the derivative of the root is infinite.
    z = torch.tensor([0.0, 0.0, -2.0, -2.0], requires_grad=True)
    entmax15(z)[0].backward()
    torch.testing.assert_close(z.grad, torch.tensor([0.3536, -0.3536, 0.0, 0.0]), rtol=0, atol=1e-4)


def test_entmax_refuses_nothing_to_share() -> None:
    for z in (torch.tensor(1.0), torch.zeros(2, 0)):
        with pytest.raises(ValueError, match=r"^z must have a last dimension"):
            entmax15(z)


def test_scores_are_scaled_bounded_and_the_same_per_query_and_shared() -> None:
    query, summaries = torch.randn(3, 16), torch.randn(5, 16)
    got = block_scores(query, summaries)
    torch.testing.assert_close(got, torch.einsum("qr,br->qb", query, summaries) / 4.0)
    torch.testing.assert_close(block_scores(query, summaries.expand(3, -1, -1)), got)
    assert block_scores(query.bfloat16(), summaries).dtype == torch.float32
    huge = block_scores(query * 1e9, summaries)
    assert float(huge.abs().amax()) == 1e4
    query[0, 3] = float("nan")
    assert block_scores(query, summaries).isfinite().all()


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"^summaries must have shape \[nblk, 16\], got \[5, 8\]"):
        block_scores(torch.zeros(3, 16), torch.zeros(5, 8))
    with pytest.raises(ValueError, match=r"^summaries must have shape \[3, nblk, 16\]"):
        block_scores(torch.zeros(3, 16), torch.zeros(2, 5, 16))
    scores, mask = torch.zeros(2, 5), torch.zeros(2, 5, dtype=torch.bool)
    policy = RouterPolicy()
    with pytest.raises(ValueError, match=r"^scores must be torch\.float32"):
        route_blocks(scores.double(), mask, mask, policy)
    with pytest.raises(ValueError, match=r"^remote must have shape \[2, 5\], got \[2, 4\]"):
        route_blocks(scores, mask[:, :4], mask, policy)
    with pytest.raises(ValueError, match=r"^candidate must be torch\.bool"):
        route_blocks(scores, mask, mask.long(), policy)
    with pytest.raises(ValueError, match=r"^scores must cover at least one block"):
        route_blocks(scores[:, :0], mask[:, :0], mask[:, :0], policy)


def test_policies_are_values() -> None:
    assert replace(RouterPolicy(), topk=4) == RouterPolicy(topk=4)
