"""What training pages are written in: real text, words in any order, and text that repeats."""

import random
from collections import Counter

import pytest

from ocrcli.models.small.training.refrain import Refrain, echo
from ocrcli.models.small.training.text_source import TextSource
from ocrcli.models.small.training.typeset import TYPEWRITER, marked_words, unmarked


@pytest.fixture(scope="module")
def source(text_folder):
    return TextSource(text_folder)


def test_half_of_a_language_is_real_prose(source):
    rng = random.Random(0)
    real = sum("damit auch" in " ".join(source.paragraph(rng, "de")) for _ in range(400))
    assert 120 < real < 260


def test_documentation_holds_style_marks_only_when_they_are_wanted(source):
    rng = random.Random(0)
    plain = [word for _ in range(50) for word in source.paragraph(rng, "technical")]
    marked = [word for _ in range(50) for word in source.paragraph(rng, "technical", True)]
    assert all(unmarked(word) == word for word in plain)
    assert any(word.startswith(TYPEWRITER) for word in marked)


def test_technical_pages_are_mostly_documentation(source):
    rng = random.Random(0)
    voices = Counter(source.voice(rng, technical=True) for _ in range(500))
    others = Counter(source.voice(rng) for _ in range(500))
    assert voices["technical"] > 250
    assert 0 < others["technical"] < 100


def test_code_is_real_and_keeps_its_gaps(source):
    rng = random.Random(0)
    lines = [line for _ in range(60) for line in source.code(rng, 6)]
    assert "    x[0] += '&';" in lines
    assert "" in lines


def test_held_out_text_is_read_from_its_own_folder(tmp_path):
    for folder, text in (("train", "seen before"), ("heldout", "never seen")):
        (tmp_path / "text" / folder).mkdir(parents=True)
        (tmp_path / "text" / folder / "book.txt").write_text(text)
    (tmp_path / "text" / "heldout" / "prose").mkdir()
    (tmp_path / "text" / "heldout" / "prose" / "en.txt").write_text("held out too")
    rng = random.Random(0)
    held_out = TextSource(tmp_path, held_out=True)
    assert "technical" in {held_out.voice(rng, technical=True) for _ in range(50)}
    assert "technical" not in {TextSource(tmp_path).voice(rng, True) for _ in range(50)}


def test_a_style_that_covers_several_words_marks_each():
    words = marked_words("see \ue001f(int x)\ue004 now")
    assert words == ["see", "\ue001f(int", "\ue001x)\ue004", "now"]


def test_a_refrain_has_few_words_and_says_the_same_again():
    rng = random.Random(3)
    refrain = Refrain(rng, [f"w{index}" for index in range(12)], ["a = 1", "b = 2"])
    sentences = [" ".join(refrain.sentence(rng)) for _ in range(60)]
    words = {word.lower().rstrip(".") for sentence in sentences for word in sentence.split()}
    assert words <= {f"w{index}" for index in range(12)}
    assert Counter(sentences).most_common(1)[0][1] >= 3
    code = refrain.code(rng, 12)
    assert len(code) == 12
    assert len(set(code)) < 12


def test_a_refrain_without_code_sets_none():
    rng = random.Random(3)
    assert Refrain(rng, ["word"], []).code(rng, 5) == []


def test_an_echo_repeats_a_run_where_it_stood():
    words = [f"w{index}" for index in range(40)]
    for seed in range(30):
        result = echo(random.Random(seed), words)
        assert len(result) > len(words)
        assert set(result) == set(words)
        assert result[0] == "w0"
        assert result[-1] == "w39" or result.count("w39") > 0
