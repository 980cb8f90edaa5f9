"""Several pages in one prompt, for models that are not page-isolated."""

import pytest
import torch

from ocrcli.engine import Engine, FinishReason, GenerationLimits, NoRepeatNgram
from ocrcli.kernels.page_rope import PAGE, TEXT
from ocrcli.prompt import document_prompt, instruction, page_tensor

EOS, MARKER = 2, 4


def scripted(kit, texts, **limits):
    model = kit.ScriptedModel(kit.tiny_config(isolated=False), texts)
    limits = {"pages_per_prompt": 3, "pages_in_flight": 3, **limits}
    return Engine(model, kit.DigitCodec(), GenerationLimits(**limits)), model


def three_pages(kit, first=1):
    return [kit.ScriptPage(first + i, 0) for i in range(3)]


def test_sections_are_split_at_markers_and_credited_to_their_pages(kit):
    engine, model = scripted(kit, [[11, 12, MARKER, 13, MARKER, EOS]])
    results = list(engine.transcribe(three_pages(kit)))
    assert model.num_prefills == 1
    assert [r.page_number for r in results] == [1, 2, 3]
    assert [r.token_ids for r in results] == [(11, 12), (13,), ()]
    assert [r.finish for r in results] == ["eos"] * 3
    assert engine.cache_blocks == 0


def test_a_lone_page_takes_the_memory_of_one_page_however_many_a_prompt_may_hold(kit, monkeypatch):
    def largest_pool(**limits):
        engine, model = scripted(kit, [[11, EOS]], **limits)
        sizes = []
        make = model.new_cache
        monkeypatch.setattr(
            model, "new_cache", lambda count, *rest: (sizes.append(count), make(count, *rest))[1]
        )
        assert [r.finish for r in engine.transcribe([kit.ScriptPage(1, 0)])] == ["eos"]
        return max(sizes)

    alone = largest_pool(pages_per_prompt=1, pages_in_flight=1)
    assert largest_pool(pages_per_prompt=256, pages_in_flight=256) == alone
    assert largest_pool(pages_per_prompt=1, pages_in_flight=4) > alone


def test_a_section_is_delivered_before_the_next_one_ends(kit):
    engine, _ = scripted(kit, [[11, MARKER, *[12] * 50, MARKER, 13, EOS]])
    results = engine.transcribe(three_pages(kit))
    assert next(results).token_ids == (11,)
    assert engine.cache_blocks > 0
    assert next(results).output_tokens == 50


def test_ending_early_still_gives_a_section_per_page(kit):
    engine, _ = scripted(kit, [[11, EOS, 12, EOS, 13, EOS]])
    results = list(engine.transcribe(three_pages(kit)))
    assert [r.token_ids for r in results] == [(11,), (12,), (13,)]


def test_no_more_markers_than_pages(kit):
    engine, _ = scripted(kit, [[11, MARKER, 12, MARKER, 13, MARKER, 14, EOS]])
    last = list(engine.transcribe(three_pages(kit)))[-1]
    assert len(last.token_ids) == 3
    assert MARKER not in last.token_ids
    assert last.token_ids[-1] == 14


def test_a_page_over_its_budget_is_cut_and_the_next_one_begins(kit):
    text = [*range(20, 40)]
    engine, _ = scripted(kit, [[*text, 41, EOS, 42, EOS]], max_tokens_per_page=20)
    results = list(engine.transcribe(three_pages(kit)))
    assert [r.finish for r in results] == ["length", "eos", "eos"]
    # The forced marker takes the place of the id that followed the last counted one.
    assert [r.token_ids for r in results] == [tuple(text), (41,), (42,)]


def test_documents_are_read_prompt_by_prompt(kit):
    engine, model = scripted(kit, [[11, MARKER, 12, MARKER, 13, EOS]])
    pulled = []
    pages = (pulled.append(i) or kit.ScriptPage(i, 0) for i in range(7))
    results = engine.transcribe(pages)
    next(results)
    assert len(pulled) == 3
    assert [r.page_number for r in results] == [1, 2, 3, 4, 5, 6]
    assert model.num_prefills == 3


def test_a_failing_page_is_left_out_of_its_prompt(kit):
    engine, _ = scripted(kit, [[11, MARKER, 12, EOS]])

    class Broken:
        page_number = 2
        pixels = None

    results = list(engine.transcribe([kit.ScriptPage(1, 0), Broken(), kit.ScriptPage(3, 0)]))
    assert [r.page_number for r in results] == [1, 2, 3]
    assert [r.finish for r in results] == ["eos", "error", "eos"]
    assert [r.token_ids for r in results] == [(11,), (), (12,)]


@pytest.mark.parametrize(("first", "rest"), [(11, [12, EOS]), (MARKER, [11, 12, EOS])])
def test_a_lone_page_may_be_answered_with_or_without_a_marker(kit, first, rest):
    engine, model = scripted(kit, [rest], pages_per_prompt=1)
    model.prefill_token = first
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    assert result.finish is FinishReason.EOS
    assert result.token_ids == (11, 12)


def test_scores_that_are_not_finite_fail_all_pages_left(kit):
    engine, _ = scripted(kit, [[11, MARKER, 12, -1]])
    results = list(engine.transcribe(three_pages(kit)))
    assert [r.finish for r in results] == ["eos", "error", "error"]
    assert engine.cache_blocks == 0


def test_repeated_ngrams_are_banned(kit):
    engine, _ = scripted(
        kit,
        [[11, 12, 13, 11, 12, 13, EOS]],
        pages_per_prompt=1,
        no_repeat_ngram=NoRepeatNgram(3, 50),
    )
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    assert "11 12 13" in result.markup
    assert result.markup.count("11 12 13") == 1


@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 3])
def test_decode_equals_full_recompute(document_model, kit, count):
    model, tokens = document_model, document_model.config.tokens
    pages = [kit.NoisePage(n, seed=n, height=100 + 40 * n) for n in range(1, count + 1)]
    recorder = kit.Recorder(model, never=EOS)
    limits = GenerationLimits(
        max_tokens_per_page=50, loop_guard=None, pages_per_prompt=count, pages_in_flight=count
    )
    codec = kit.DigitCodec()
    results = list(Engine(recorder, codec, limits).transcribe(pages))
    fed = [int(step.ids[0]) for step in recorder.steps]
    assert len(fed) >= 50
    assert fed.count(MARKER) == (count if count > 1 else fed.count(MARKER))
    assert sum(r.output_tokens for r in results) >= 50

    images = [model.encode_image(page_tensor(page.pixels, model.config.vision)) for page in pages]
    prompt = document_prompt(
        [image.shape[0] for image in images], tokens, codec.encode(instruction(count))
    )
    start = prompt.ids.shape[0]
    ids = torch.cat((prompt.ids, torch.tensor(fed)))
    answer = torch.tensor([PAGE if token == MARKER else TEXT for token in fed])
    roles = torch.cat((prompt.roles, answer))
    whole = kit.recomputed_logits(model, ids, roles, images, start)[start:]
    decoded = torch.stack([step.logits[0] for step in recorder.steps])
    whole[:, EOS] = -torch.inf
    torch.testing.assert_close(decoded, whole, atol=2e-4, rtol=0)
