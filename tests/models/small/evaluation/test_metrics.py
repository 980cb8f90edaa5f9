import pytest

from ocrcli.models.small.evaluation.metrics import (
    bag_of_words_f1,
    interval,
    invention,
    macro_cer,
    micro_cer,
    normalise,
    raw_cer,
    score,
    wer,
)


def test_normalisation_unifies_marks_and_keeps_case() -> None:
    assert normalise(" “A”\n«b» – it’s c\u00ad\u200bo\u0301\u2212 ") == '"A" "b" - it\'s có-'
    assert normalise("Case") != normalise("case")


@pytest.mark.parametrize(
    ("reference", "reading", "edits", "word_edits", "common"),
    [
        ("the cat sat", "the cat sat", 0, 0, 3),
        ("the cat sat", "the cot sat", 1, 1, 2),
        ("the cat\nsat", "the  cat sat\n", 0, 0, 3),
        ("the cat sat", "", 11, 3, 0),
        ("ab cd", "cd ab", 4, 2, 2),
        ("", "invented", 8, 1, 0),
    ],
)
def test_edits_of_hand_cases(
    reference: str, reading: str, edits: int, word_edits: int, common: int
) -> None:
    counts = score(reference, reading)
    assert (counts.edits, counts.word_edits, counts.common_words) == (edits, word_edits, common)


def test_micro_weighs_by_length_and_macro_by_page() -> None:
    pages = [score("a" * 90, "a" * 90), score("b" * 10, "c" * 10)]
    assert micro_cer(pages) == pytest.approx(0.1)
    assert macro_cer(pages) == pytest.approx(0.5)
    assert wer(pages) == pytest.approx(0.5)


def test_bag_of_words_ignores_order_and_punishes_invention() -> None:
    assert bag_of_words_f1([score("one two three four", "four three two one")]) == 1.0
    assert bag_of_words_f1([score("one two", "one two two two")]) == pytest.approx(2 / 3)


def test_raw_rate_counts_what_normalisation_forgives() -> None:
    pages = [score("it’s\nso", "it's so")]
    assert micro_cer(pages) == 0.0
    assert raw_cer(pages) == pytest.approx(2 / 7)


def test_leaders_of_any_length_are_alike() -> None:
    assert normalise("One . . . . . . 7") == normalise("One........7") == "One .... 7"
    assert normalise("so...") == normalise("so…") == "so..."


def test_invention_counts_runs_with_nothing_printed_behind_them() -> None:
    printed = "one two three four five six"
    assert invention([score(printed, printed + " and more was said here")]) == pytest.approx(5 / 11)
    assert invention([score(printed, "one two threee four fivve six")]) == 0.0
    assert invention([score(printed, printed + " extra word")]) == 0.0
    # Text in the wrong order is read badly, but not invented.
    assert invention([score(printed, "four five six one two three")]) == 0.0


def test_interval_is_repeatable_and_holds_the_mean() -> None:
    pages = [score("a" * 100, "a" * (100 - wrong)) for wrong in range(20)]
    low, high = interval(micro_cer, pages, seed=3)
    assert interval(micro_cer, pages, seed=3) == (low, high)
    assert low < micro_cer(pages) < high
    same = [score("abcd", "abcx")] * 5
    assert interval(micro_cer, same, seed=3) == (0.25, 0.25)
    with pytest.raises(ValueError, match="pages must hold at least one score"):
        interval(micro_cer, [], seed=3)
