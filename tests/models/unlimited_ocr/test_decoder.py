"""The decoder as a whole: its two ways of running, and what its scores depend on."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from ocrcli.engine.attention_plan import DecodeBatch, prefill_plan, sequence_layout
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, page_coordinates
from ocrcli.models.unlimited_ocr.decoder import rope_phases


def stepwise_scores(kit, model, embeddings, ids, roles, prompt_length):
    """Return scores [S - prompt + 1, V]: after the prompt, and after each further token."""
    sparse = model.config.sparse
    blocks = -(-prompt_length // sparse.block_size)
    cache, real = kit.empty_memory(model, 2 + blocks + sparse.local_blocks)
    table = torch.arange(2, 2 + blocks)
    prompt = slice(0, prompt_length)
    plan = prefill_plan(roles[prompt], table, prompt_length, sparse)
    real.view(-1)[plan.slots] = plan.real
    scores = [model.prefill(embeddings[prompt], plan, cache, real)]
    ring = range(2 + blocks, 2 + blocks + sparse.local_blocks)
    layout = sequence_layout(
        page_coordinates(roles[prompt], sparse.page_isolated), table.tolist(), list(ring), sparse
    )
    places = page_coordinates(roles, sparse.page_isolated)
    for position in range(prompt_length, len(roles)):
        member = SimpleNamespace(
            layout=layout,
            token=int(places.token[position]),
            page=int(places.page[position]),
            query_page=int(places.query_page[position]),
            section_start=int(places.section_start[position]),
            position=position,
            prompt_length=prompt_length,
            num_pages=places.num_pages,
        )
        step = DecodeBatch([member], 1, sparse).plan
        real.view(-1)[step.write_slots] = True
        scores.append(model.decode(ids[position : position + 1], step, cache, real)[0])
    return torch.stack(scores)


@pytest.fixture(scope="module")
def large(kit):
    return kit.random_model(kit.large_config(), seed=3)


@pytest.fixture(scope="module")
def isolated(kit):
    return kit.random_model(kit.isolated_config(), seed=4)


@torch.inference_mode()
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sparse_block_size": 4, "sparse_local_block": 1, "sparse_topk_blocks": 2},
        {"sparse_bias_mode": "centered", "sparse_renormalise": True},
        {"sparse_candidate_scope": "candidate", "sparse_per_layer": {"1": {"topk": 1}}},
        {"sparse_router_norm_offset": 0.0, "sparse_rope_page_mod": 2},
    ],
)
def test_decoding_step_by_step_equals_one_pass(kit, changes):
    model = kit.random_model(kit.large_config(**changes), seed=5)
    roles, prompt_length = kit.document([41, 20, 33], [30, 9, 14], surplus=5)
    ids = kit.random_ids(roles)
    embeddings = kit.embedded(model, roles, ids)
    whole = kit.whole_scores(model, embeddings, roles, prompt_length)[prompt_length - 1 :]
    steps = stepwise_scores(kit, model, embeddings, ids, roles, prompt_length)
    torch.testing.assert_close(steps, whole, rtol=1e-4, atol=1e-4)
    assert whole.std(0).min() > 0.1


@torch.inference_mode()
def test_isolated_pages_decode_step_by_step_as_in_one_pass(isolated, kit):
    roles, prompt_length = kit.document([41, 20, 33], [30, 9, 25], block_size=8)
    ids = kit.random_ids(roles)
    embeddings = kit.embedded(isolated, roles, ids)
    whole = kit.whole_scores(isolated, embeddings, roles, prompt_length)[prompt_length - 1 :]
    steps = stepwise_scores(kit, isolated, embeddings, ids, roles, prompt_length)
    torch.testing.assert_close(steps, whole, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
@pytest.mark.parametrize("name", ["large", "isolated"])
def test_scores_depend_on_nothing_that_comes_later(kit, name, request):
    model = request.getfixturevalue(name)
    size = model.config.sparse.block_size if name == "isolated" else 0
    roles, prompt_length = kit.document([30, 26], [20, 10], block_size=size)
    embeddings = kit.embedded(model, roles, kit.random_ids(roles))
    whole = kit.whole_scores(model, embeddings, roles, prompt_length)
    for end in (prompt_length, prompt_length + 7, len(roles) - 3):
        part = kit.whole_scores(model, embeddings[:end], roles[:end], prompt_length)
        real = roles[:end] != PADDING
        torch.testing.assert_close(part[real], whole[:end][real], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_answers_reach_their_page_and_forget_old_text(large, kit):
    """A change in a page's image is seen from afar, one in text beyond the window is not."""
    roles, prompt_length = kit.document([40, 40], [60, 3])
    embeddings = kit.embedded(large, roles, kit.random_ids(roles))
    before = kit.whole_scores(large, embeddings, roles, prompt_length)
    last = prompt_length + 60
    image = embeddings.clone()
    image[2:42] += 1.0
    assert (
        kit.whole_scores(large, image, roles, prompt_length)[last] - before[last]
    ).abs().max() > 0.1
    reach = large.config.decoder.num_layers * large.config.sparse.local_tokens
    text = embeddings.clone()
    text[prompt_length : last - reach] += 1.0
    assert torch.equal(kit.whole_scores(large, text, roles, prompt_length)[last], before[last])


def shuffled(roles, prompt_length, order, images, answers, block_size):
    """Return the position in the first document of each token of one with pages in `order`."""
    position = torch.arange(len(roles))
    markers = (roles == PAGE).nonzero().squeeze(1).tolist()
    starts, answer_starts = markers[: len(images)], markers[len(images) :]
    padded = [-(-(count + 1) // block_size) * block_size for count in images]
    parts = [position[: starts[0]]]
    parts += [position[starts[page] : starts[page] + padded[page]] for page in order]
    parts += [position[prompt_length - 3 : prompt_length]]
    parts += [
        position[answer_starts[page] : answer_starts[page] + answers[page] + 1] for page in order
    ]
    return torch.cat(parts)


@torch.inference_mode()
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_order_of_isolated_pages_does_not_matter(kit, order):
    """A page's scores change through its page coordinate only, and not at all without one."""
    images, answers = (41, 20, 33), (30, 9, 25)
    roles, prompt_length = kit.document(images, answers, block_size=8)
    moved = shuffled(roles, prompt_length, order, images, answers, 8)
    assert sorted(moved.tolist()) == list(range(len(roles)))
    real = roles[moved] != PADDING

    def scores(model, order_of_tokens, page=None):
        embeddings = kit.embedded(model, roles, kit.random_ids(roles))[order_of_tokens]
        return kit.whole_scores(model, embeddings, roles[order_of_tokens], prompt_length, page)

    first = torch.arange(len(roles))
    without = kit.random_model(kit.isolated_config(), seed=4)
    expected = scores(without, first)[moved]
    actual = scores(without, moved)
    torch.testing.assert_close(actual[real], expected[real], rtol=1e-4, atol=1e-4)

    numbered = kit.random_model(kit.isolated_config(sparse_rope_page_mod=0), seed=4)
    expected = scores(numbered, first)[moved]
    assert (scores(numbered, moved) - expected)[real].abs().max() > 1e-3
    numbers = page_coordinates(roles, isolated=True).page[moved]
    actual = scores(numbered, moved, numbers)
    torch.testing.assert_close(actual[real], expected[real], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_isolated_pages_do_not_see_each_other(isolated, kit):
    roles, prompt_length = kit.document([41, 20, 33], [30, 9, 25], block_size=8)
    embeddings = kit.embedded(isolated, roles, kit.random_ids(roles))
    before = kit.whole_scores(isolated, embeddings, roles, prompt_length)
    places = page_coordinates(roles, isolated=True)
    for page in (1, 2, 3):
        noise = kit.embedded(isolated, torch.full_like(roles, IMAGE), roles, seed=page)
        other = torch.where((places.page == page)[:, None], embeddings, noise)
        after = kit.whole_scores(isolated, other, roles, prompt_length)
        own = (places.page == page) & (roles != PADDING)
        torch.testing.assert_close(after[own], before[own], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_half_precision_stays_close(large, kit):
    roles, prompt_length = kit.document([30, 26], [12, 5])
    embeddings = kit.embedded(large, roles, kit.random_ids(roles))
    half = kit.random_model(kit.large_config(), seed=3).bfloat16()
    full = kit.whole_scores(large, embeddings, roles, prompt_length)
    scores = kit.whole_scores(half, embeddings.bfloat16(), roles, prompt_length)
    assert scores.dtype == torch.float32
    assert torch.nn.functional.cosine_similarity(scores, full).median() > 0.95


def test_cache_of_another_depth_is_refused(large, kit):
    roles, prompt_length = kit.document([9], [])
    cache, real = kit.empty_memory(large, 4)
    plan = prefill_plan(roles, torch.tensor([1, 2]), prompt_length, large.config.sparse)
    with pytest.raises(ValueError, match="shorter"):
        large.prefill(torch.zeros(len(roles), kit.WIDTH), plan, cache[:-1], real)


@torch.inference_mode()
@pytest.mark.parametrize("norm_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shared", [True, False])
def test_few_tokens_are_projected_to_the_same_bits(kit, norm_last, dtype, shared):
    config = kit.large_config(sparse_router_dim=8)
    model = kit.random_model(config, seed=5).to(dtype)
    main = config.sparse.main_rope
    other = main if shared else replace(main, token_theta=7.0)
    sparse = replace(config.sparse, router_rope=other)
    attention = model.model.layers[0].self_attn
    attention.router.norm_last = norm_last
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(3, config.decoder.hidden_size, generator=generator).to(dtype)
    token, page = torch.tensor([5, 90, 3]), torch.tensor([1, 1, 2])
    phases = rope_phases(token, page, config.decoder.head_dim, sparse)
    assert phases.are_shared == phases.to(dtype).are_shared == shared
    expected, found = attention.project(x, phases), attention.project_few(x, phases.to(dtype))
    for name, value in vars(expected).items():
        assert torch.equal(getattr(found, name), value), name
        assert getattr(found, name).dtype == value.dtype
