"""A page that loops is read alone once more, with settings of its own."""

import pytest

from ocrcli.engine import Engine, FinishReason, GenerationLimits, LoopGuard
from ocrcli.options import Options
from ocrcli.recogniser import ModelRecogniser

EOS = 2


@pytest.fixture
def reading(kit):
    """A recogniser around scripted engines: one for the first reading, one for the second."""

    def build(first, second, codec=None, page=None, **options):
        recogniser = ModelRecogniser(Options(**options))
        limits = GenerationLimits(max_tokens_per_page=300, loop_guard=LoopGuard())
        codec = codec or kit.DigitCodec()
        engine = Engine(kit.ScriptedModel(kit.tiny_config(), [first]), codec, limits)
        recogniser._engine, recogniser._tokenizer = engine, codec
        recogniser._model = kit.ScriptedModel(kit.tiny_config(), [second])
        (result,) = recogniser.transcribe([page or kit.ScriptPage(1, 0)])
        return recogniser, result

    return build


def words(count):
    return [10 + index % 80 for index in range(count)]


def test_budget_is_doubled_for_a_page_that_was_cut(kit, reading):
    recogniser, first = reading(words(500), [*words(500), EOS])
    assert first.finish is FinishReason.LENGTH
    second = recogniser.again(kit.ScriptPage(1, 0), first)
    assert (second.finish, second.output_tokens) == (FinishReason.EOS, 500)


def test_page_that_the_user_wants_cut_is_not_read_again(kit, reading):
    recogniser, first = reading(words(500), [EOS], max_tokens=300)
    assert recogniser.again(kit.ScriptPage(1, 0), first) is None


def test_nothing_is_read_again_before_a_model_was_loaded(kit, reading):
    _, first = reading(words(500), [EOS])
    assert ModelRecogniser(Options()).again(kit.ScriptPage(1, 0), first) is None


def test_boxes_of_both_readings_lie_on_the_whole_page(kit, reading):
    class BoxCodec(kit.DigitCodec):
        def decode_with_ends(self, ids):
            markup = "<|det|>text [0, 0, 999, 999]<|/det|>" + "a" * len(ids)
            return markup, list(range(len(markup) - len(ids) + 1, len(markup) + 1))

    page = kit.ScriptPage(1, 0, crop=(0.1, 0.2, 0.6, 0.7))
    recogniser, first = reading(words(500), [*words(10), EOS], BoxCodec(), page)
    second = recogniser.again(kit.ScriptPage(1, 0, crop=(0.0, 0.1, 0.7, 0.8)), first)
    assert first.markup == "<|det|>text [100, 200, 599, 699]<|/det|>" + "a" * 300
    assert second.markup == "<|det|>text [0, 100, 699, 799]<|/det|>" + "a" * 10
    assert second.trace.ends[-1] == len(second.markup)
