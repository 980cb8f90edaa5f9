"""Scheduling, with a model that writes given ids."""

import time

import pytest
import torch

from ocrcli.confidence import TokenTrace
from ocrcli.engine import Engine, FinishReason, GenerationLimits

EOS = 2


def scripts(*lengths):
    return [[10 + i % 80 for i in range(n)] + [EOS] for n in lengths]


def build(kit, texts, **limits):
    model = kit.ScriptedModel(kit.tiny_config(), texts)
    return Engine(model, kit.DigitCodec(), GenerationLimits(**limits)), model


def test_results_come_in_page_order_whatever_ends_first(kit):
    lengths = [50, 3, 0, 20, 1, 70, 2, 2, 9]
    engine, _ = build(kit, scripts(*lengths), pages_in_flight=3)
    pages = [kit.ScriptPage(100 + i, i) for i in range(len(lengths))]
    results = list(engine.transcribe(pages))
    assert [r.page_number for r in results] == [p.page_number for p in pages]
    assert [r.output_tokens for r in results] == lengths
    assert all(r.finish is FinishReason.EOS and r.error is None for r in results)
    assert engine.cache_blocks == 0


def test_markup_holds_neither_marker_nor_end(kit):
    engine, _ = build(kit, [[11, 12, EOS]])
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    assert result.token_ids == (11, 12)
    assert result.markup == "11 12"
    assert result.prompt_tokens == 10
    assert result.trace.ends == (2, 5)
    assert all(0.9 < probability <= 1.0 for probability in result.trace.probabilities)
    assert min(result.seconds.encode, result.seconds.prefill, result.seconds.decode) > 0


@pytest.mark.parametrize("in_flight", [1, 2, 5])
def test_pages_are_pulled_only_when_there_is_room(kit, in_flight):
    engine, model = build(kit, scripts(*[30] * 12), pages_in_flight=in_flight)
    pulled = []

    def source():
        for i in range(12):
            pulled.append(i)
            yield kit.ScriptPage(i, i)

    delivered = 0
    for _ in engine.transcribe(source()):
        delivered += 1
        assert len(pulled) <= min(delivered - 1 + in_flight, 12)
        assert model.num_prefills == len(pulled)
    assert delivered == 12


def test_nothing_is_pulled_before_the_first_result_is_asked_for(kit):
    engine, _ = build(kit, scripts(3))
    pulled = []
    results = engine.transcribe(pulled.append(1) or kit.ScriptPage(1, 0) for _ in range(1))
    assert not pulled
    next(results)
    assert pulled == [1]


def test_a_slow_page_does_not_let_transcripts_pile_up(kit):
    engine, _ = build(kit, scripts(600, *[1] * 200), pages_in_flight=2)
    pulled = []

    def source():
        for i in range(201):
            pulled.append(i)
            yield kit.ScriptPage(i, i)

    results = engine.transcribe(source())
    next(results)
    assert len(pulled) <= 16
    assert len(list(results)) == 200


def test_no_pages_give_no_results(kit):
    engine, _ = build(kit, scripts(3))
    assert list(engine.transcribe([])) == []


def test_budget_cuts_a_page_and_says_so(kit):
    engine, _ = build(kit, scripts(90, 7), max_tokens_per_page=25)
    long, short = engine.transcribe([kit.ScriptPage(1, 0), kit.ScriptPage(2, 1)])
    assert (long.finish, long.output_tokens, len(long.token_ids)) == (FinishReason.LENGTH, 25, 25)
    assert (short.finish, short.output_tokens) == (FinishReason.EOS, 7)


def test_a_loop_is_stopped_and_cut_after_its_first_repetition(kit):
    start, unit = list(range(10, 30)), list(range(30, 80))
    engine, _ = build(kit, [start + unit * 40])
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    assert result.finish is FinishReason.LOOP
    assert list(result.token_ids) == start + unit
    assert len(result.trace.probabilities) == len(result.token_ids)
    assert result.trace.ends[-1] == len(result.markup)
    assert len(start) + 200 <= result.output_tokens <= len(start) + 200 + 16


def test_structural_ids_are_never_written(kit):
    pad, bos, image, marker = 0, 1, 3, 4
    engine, _ = build(kit, [[pad, bos, image, marker, 20, EOS]])
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    assert len(result.token_ids) == 5
    assert not {pad, bos, image, marker} & set(result.token_ids)


class BrokenPage:
    page_number = 7

    @property
    def pixels(self):
        raise OSError("page 7 is unreadable")


def test_a_failing_page_is_reported_and_does_not_stop_the_others(kit):
    engine, _ = build(kit, scripts(20, 30, 5), pages_in_flight=2)
    pages = [kit.ScriptPage(6, 0), BrokenPage(), kit.ScriptPage(8, 1), kit.ScriptPage(9, 2)]
    results = list(engine.transcribe(pages))
    assert [r.page_number for r in results] == [6, 7, 8, 9]
    assert [r.finish for r in results] == ["eos", "error", "eos", "eos"]
    failed = results[1]
    assert failed.error == "OSError: page 7 is unreadable"
    assert (failed.markup, failed.output_tokens, failed.trace) == ("", 0, TokenTrace())
    assert engine.cache_blocks == 0


def test_a_failing_prefill_gives_its_blocks_back(kit, monkeypatch):
    engine, model = build(kit, scripts(20, 5))
    whole = model.prefill

    def prefill(embeddings, plan, cache, real):
        if float(embeddings.max()) == 1.0:
            raise RuntimeError("out of memory")
        return whole(embeddings, plan, cache, real)

    monkeypatch.setattr(model, "prefill", prefill)
    good, bad = engine.transcribe([kit.ScriptPage(1, 0), kit.ScriptPage(2, 1)])
    assert good.finish == "eos"
    assert bad.error == "RuntimeError: out of memory"
    assert engine.cache_blocks == 0


def test_only_failing_pages_still_give_a_result_each(kit):
    engine, _ = build(kit, scripts(1))
    results = list(engine.transcribe([BrokenPage(), BrokenPage(), BrokenPage()]))
    assert [r.finish for r in results] == ["error"] * 3


def test_a_page_that_does_not_fit_in_the_cache_names_the_limit(kit):
    engine, _ = build(kit, scripts(3, 3), max_cache_blocks=3)
    results = list(engine.transcribe([kit.ScriptPage(1, 0), kit.ScriptPage(2, 1)]))
    assert [r.finish for r in results] == ["error", "error"]
    assert "limited to 3 blocks of 8 tokens" in results[0].error
    assert "max_cache_blocks" in results[0].error


def test_scores_that_are_not_finite_end_that_page_only(kit):
    texts = scripts(40, 40)
    texts[0][12] = -1
    engine, _ = build(kit, texts)
    bad, good = engine.transcribe([kit.ScriptPage(1, 0), kit.ScriptPage(2, 1)])
    assert (bad.finish, bad.token_ids) == (FinishReason.ERROR, ())
    assert "not finite" in bad.error
    assert bad.trace == TokenTrace()
    assert (good.finish, good.output_tokens) == (FinishReason.EOS, 40)


def test_an_abandoned_run_gives_its_blocks_back(kit):
    engine, _ = build(kit, scripts(2, 500, 500))
    results = engine.transcribe(kit.ScriptPage(i, i) for i in range(3))
    next(results)
    assert engine.cache_blocks > 0
    results.close()
    assert engine.cache_blocks == 0
    assert next(engine.transcribe([kit.ScriptPage(1, 0)])).output_tokens == 2


def test_an_error_of_the_source_is_passed_on_and_frees_the_pages_in_flight(kit):
    engine, _ = build(kit, scripts(2, 500))

    def source():
        yield kit.ScriptPage(1, 0)
        yield kit.ScriptPage(2, 1)
        raise OSError("document vanished")

    with pytest.raises(OSError, match="document vanished"):
        list(engine.transcribe(source()))
    assert engine.cache_blocks == 0


def test_inference_mode_does_not_leak_into_the_caller(kit):
    engine, _ = build(kit, scripts(2, 4))
    for _ in engine.transcribe(kit.ScriptPage(i, i) for i in range(2)):
        assert not torch.is_inference_mode_enabled()


def test_isolated_model_refuses_several_pages_per_prompt(kit):
    with pytest.raises(ValueError, match="pages_per_prompt must be 1"):
        build(kit, scripts(2), pages_per_prompt=2)


def test_a_page_whose_time_is_over_is_given_up_and_the_others_are_not(kit):
    engine, _ = build(kit, scripts(30, 5), pages_in_flight=2)
    late = kit.ScriptPage(1, 0)
    late.deadline = time.monotonic() - 1
    first, second = engine.transcribe([late, kit.ScriptPage(2, 1)])
    assert (first.finish, first.markup, first.token_ids) == (FinishReason.TIMEOUT, "", ())
    assert first.error == "the page was not finished in time"
    assert (second.finish, second.output_tokens) == (FinishReason.EOS, 5)
    assert engine.cache_blocks == 0
