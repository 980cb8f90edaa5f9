"""What a page's tokens may depend on, with a tiny random model of the shipped class."""

import pytest
import torch

from ocrcli.engine import Engine, GenerationLimits, attention_plan
from ocrcli.engine.kv_cache import KvCache
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.prompt import page_tensor


def transcribe(model, kit, pages, **limits):
    limits = {"max_tokens_per_page": 60, "loop_guard": None, **limits}
    return list(Engine(model, kit.DigitCodec(), GenerationLimits(**limits)).transcribe(pages))


def outcome(result):
    """Everything but the wall time and the page number; probabilities bit for bit."""
    return (
        result.token_ids,
        result.finish,
        result.trace,
        result.prompt_tokens,
    )


def pages_of_many_sizes(kit):
    sizes = [(120, 190), (64, 64), (300, 200), (128, 128), (70, 400), (250, 250), (120, 190)]
    return [kit.NoisePage(n + 1, n, h, w) for n, (h, w) in enumerate(sizes)]


@torch.inference_mode()
@pytest.mark.parametrize(
    ("block_size", "local_blocks", "steps"), [(8, 2, 90), (32, 4, 280), (16, 1, 60)]
)
def test_decode_equals_full_recompute(kit, block_size, local_blocks, steps):
    model = kit.tiny_model(kit.tiny_config(True, block_size, local_blocks), seed=block_size)
    page = kit.NoisePage(1, seed=3, height=200, width=190)
    recorder = kit.Recorder(model, never=kit.EOS_ID)
    (result,) = transcribe(recorder, kit, [page], max_tokens_per_page=steps)
    assert result.output_tokens == steps
    assert len(set(result.token_ids)) > 20
    decoded = torch.stack([step.logits[0] for step in recorder.steps])
    whole = kit.recomputed_page(model, page, result.token_ids[:-1])
    whole[:, kit.EOS_ID] = -torch.inf
    torch.testing.assert_close(decoded, whole, atol=2e-4, rtol=0)


def test_page_is_the_same_alone_and_beside_any_neighbours(isolated_model, kit):
    pages = pages_of_many_sizes(kit)
    alone = [outcome(transcribe(isolated_model, kit, [page])[0]) for page in pages]
    assert len({tokens for tokens, *_ in alone}) == len(pages)
    for in_flight in (1, 2, 3, 4, 7):
        together = transcribe(isolated_model, kit, pages, pages_in_flight=in_flight)
        assert [outcome(result) for result in together] == alone
    backwards = transcribe(isolated_model, kit, pages[::-1], pages_in_flight=3)
    assert [outcome(result) for result in backwards] == alone[::-1]


@pytest.mark.parametrize("rows", [8, 9, 64])
def test_unused_rows_change_no_page(isolated_model, kit, rows):
    # More rows than a block has slots: what unused ones write must not reach a page's block.
    pages = pages_of_many_sizes(kit)
    expected = [outcome(result)[0] for result in transcribe(isolated_model, kit, pages)]
    found = transcribe(isolated_model, kit, pages, decode_width=rows)
    assert [outcome(result)[0] for result in found] == expected


def test_page_number_does_not_change_a_page(isolated_model, kit):
    results = transcribe(isolated_model, kit, [kit.NoisePage(n, seed=5) for n in (1, 2, 3, 900)])
    assert len({outcome(result) for result in results}) == 1


def test_wide_and_narrow_block_tables_are_decoded_apart(isolated_model, kit, monkeypatch):
    monkeypatch.setattr(attention_plan, "TABLE_MULTIPLE", 2)
    pages = pages_of_many_sizes(kit)
    alone = [outcome(transcribe(isolated_model, kit, [page])[0]) for page in pages]
    together = transcribe(isolated_model, kit, pages, pages_in_flight=7)
    assert [outcome(result) for result in together] == alone


def test_reused_blocks_full_of_nan_change_nothing(isolated_model, kit, monkeypatch):
    pages = pages_of_many_sizes(kit)
    expected = [outcome(result) for result in transcribe(isolated_model, kit, pages)]
    release = KvCache.release

    def poison(cache, blocks):
        release(cache, blocks)
        for layer in cache.layers:
            layer.keys[blocks] = torch.nan
            layer.values[blocks] = torch.nan
            layer.summaries[blocks] = torch.nan

    def poisoned_pool(*arguments):
        pool = type(isolated_model).new_cache(isolated_model, *arguments)
        for layer in pool:
            layer.keys.fill_(torch.nan)
            layer.values.fill_(torch.nan)
            layer.summaries.fill_(torch.nan)
        return pool

    monkeypatch.setattr(KvCache, "release", poison)
    recorder = kit.Recorder(isolated_model)
    recorder.new_cache = poisoned_pool
    for in_flight in (1, 4):
        results = transcribe(recorder, kit, pages * 2, pages_in_flight=in_flight)
        assert [outcome(result) for result in results] == expected * 2


def test_memory_does_not_grow_with_pages_or_tokens(isolated_model, kit):
    engine = Engine(
        isolated_model,
        kit.DigitCodec(),
        GenerationLimits(max_tokens_per_page=150, loop_guard=None, pages_in_flight=2),
    )
    held = set()
    for _ in engine.transcribe(kit.NoisePage(n, seed=n) for n in range(8)):
        held.add(engine.cache_blocks)
    assert max(held) <= 2 * (4 + 2)


@torch.inference_mode()
def test_one_document_sequence_gives_the_same_scores_as_page_by_page(isolated_model, kit):
    """The proof of page isolation: BOS, padding, other pages and the instruction change nothing."""
    model, tokens = isolated_model, isolated_model.config.tokens
    size = model.config.sparse.block_size
    pages = [
        kit.NoisePage(1, seed=1),
        kit.NoisePage(2, seed=2, height=250, width=190),
        kit.NoisePage(3, seed=3, height=64, width=300),
    ]
    recorder = kit.Recorder(model, never=kit.EOS_ID)
    results = transcribe(recorder, kit, pages, pages_in_flight=1, max_tokens_per_page=70)
    decoded = torch.stack([step.logits[0] for step in recorder.steps]).view(3, 70, -1)

    images = [model.encode_image(page_tensor(page.pixels, model.config.vision)) for page in pages]
    ids, roles = [tokens.bos], [TEXT]

    def pad():
        count = -len(ids) % size
        ids.extend([tokens.pad] * count)
        roles.extend([PADDING] * count)

    pad()
    for image in images:
        ids += [tokens.page] + [tokens.image] * image.shape[0]
        roles += [PAGE] + [IMAGE] * image.shape[0]
        pad()
    ids += [50, 51, 52, 53, 54]
    roles += [TEXT] * 5
    prompt_length = len(ids)
    starts = []
    for result in results:
        starts.append(len(ids))
        ids += [tokens.page, *result.token_ids]
        roles += [PAGE] + [TEXT] * 70
    whole = kit.recomputed_logits(
        model, torch.tensor(ids), torch.tensor(roles), images, prompt_length
    )
    whole[:, kit.EOS_ID] = -torch.inf
    for page, start in enumerate(starts):
        torch.testing.assert_close(
            decoded[page], whole[start : start + 70], atol=2e-4, rtol=0, msg=f"page {page}"
        )
