"""Page lists, ranges of numbers and the environment."""

from dataclasses import FrozenInstanceError

import pytest

from ocrcli.errors import ExitCode, UsageError
from ocrcli.options import Options, PageSelection


@pytest.mark.parametrize(
    ("text", "total", "expected"),
    [
        ("1", 3, (1,)),
        ("1-3,7", 8, (1, 2, 3, 7)),
        (" 2 - 3 , 1 ", 3, (1, 2, 3)),
        ("2,2,1-2", 2, (1, 2)),
    ],
)
def test_selection_lists_pages_once_in_order(text, total, expected):
    assert PageSelection.parse(text).resolve(total) == expected


def test_empty_selection_means_all_pages():
    assert PageSelection().resolve(3) == (1, 2, 3)


@pytest.mark.parametrize("text", ["", "0", "x", "1-", "-1", "3-2", "1,,2", "1.5", "²", "9" * 5000])
def test_malformed_page_lists_are_usage_errors(text):
    with pytest.raises(UsageError) as caught:
        PageSelection.parse(text)
    assert caught.value.exit_code == ExitCode.USAGE


def test_page_beyond_the_end_is_named():
    with pytest.raises(UsageError, match="page 99, but the document has 6 pages"):
        PageSelection.parse("2,99").resolve(6)


def test_huge_range_is_refused_without_building_it():
    with pytest.raises(UsageError):
        PageSelection.parse("1-999999999").resolve(5)


@pytest.mark.parametrize("field", ["pages_in_flight", "max_tokens", "threads"])
def test_numbers_out_of_range_are_usage_errors(field):
    with pytest.raises(UsageError, match=field.replace("_", "-")):
        Options(**{field: 0})


def test_options_do_not_show_the_password():
    assert "sesame" not in repr(Options(password="sesame"))


def test_options_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Options().force = True


@pytest.mark.parametrize(
    ("text", "ban"), [(None, None), ("off", None), ("35:1024", (35, 1024)), ("2:2", (2, 2))]
)
def test_ban_on_repetition_is_size_and_window(text, ban):
    assert Options(no_repeat_ngram=text).ngram_ban() == ban


@pytest.mark.parametrize("text", ["\udcff", "a" * 4001])
def test_instructions_that_no_model_could_be_given_are_refused(text):
    with pytest.raises(UsageError, match="--instruction"):
        Options(instruction=text)


@pytest.mark.parametrize("text", ["", "35", "1:20", "35:34", "a:b", "-3:20", "9" * 5000])
def test_malformed_bans_are_usage_errors(text):
    with pytest.raises(UsageError, match="must be off or SIZE:WINDOW"):
        Options(no_repeat_ngram=text)
