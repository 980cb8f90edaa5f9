import pytest

from ocrcli.engine import GenerationLimits, NoRepeatNgram


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens_per_page", 0),
        ("max_tokens_per_page", 10**6),
        ("pages_in_flight", 0),
        ("decode_width", 257),
        ("pages_per_prompt", 0),
    ],
)
def test_values_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must lie in .*, got {value}"):
        GenerationLimits(**{name: value})


def test_isolated_pages_are_decoded_in_wider_batches_on_a_gpu(kit):
    config = kit.tiny_config()
    on_gpu = GenerationLimits.for_model(config, device="cuda")
    assert on_gpu.decode_width == on_gpu.pages_in_flight
    assert on_gpu.decode_width > GenerationLimits.for_model(config).decode_width
    # A model that reads all pages in one prompt has one row a prompt.
    several = GenerationLimits.for_model(kit.tiny_config(isolated=False), 8, device="cuda")
    assert several.pages_in_flight == 8


def test_isolated_model_bans_no_ngrams(kit):
    assert GenerationLimits.for_model(kit.tiny_config()).no_repeat_ngram is None


def test_other_models_ban_ngrams_over_a_window_that_depends_on_the_pages(kit):
    config = kit.tiny_config(isolated=False)
    assert GenerationLimits.for_model(config).no_repeat_ngram == NoRepeatNgram(35, 128)
    several = GenerationLimits.for_model(config, pages_per_prompt=8)
    assert several.no_repeat_ngram == NoRepeatNgram(35, 1024)
    assert several.pages_in_flight == 8
