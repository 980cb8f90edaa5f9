import unicodedata

import pytest

from ocrcli.models.small.training.charset import CHARS, INDEX, LIGATURES, untaught
from ocrcli.models.small.training.corpus import QUOTES, clean_line

ALPHABETS = {
    "de": "äöüß",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "es": "áéíñóúü",
    "it": "àèéìîòù",
    "pt": "áâãàçéêíóôõúü",
    "nl": "éëïóöü",
    "sv": "åäöé",
    "da": "æøåé",
    "pl": "ąćęłńóśźż",
}


def test_every_character_has_one_place() -> None:
    assert len(set(CHARS)) == len(CHARS) == len(INDEX)
    assert all(CHARS[index] == char for char, index in INDEX.items())
    assert CHARS[:95] == "".join(map(chr, range(32, 127)))
    assert 260 <= len(CHARS) <= 300


@pytest.mark.parametrize("language", ALPHABETS)
def test_alphabet_is_taught_in_both_cases(language: str) -> None:
    letters = ALPHABETS[language]
    capitals = letters.replace("ß", "ẞ").upper()
    assert untaught(letters + capitals + "".join(QUOTES[language])) == set()


def test_characters_are_composed_and_visible() -> None:
    for char in CHARS[1:]:
        assert unicodedata.normalize("NFC", char) == char
        assert unicodedata.category(char)[0] in "LNPS"


def test_ligatures_are_drawn_but_not_written() -> None:
    assert set(LIGATURES.values()) == {"ff", "fi", "fl", "ffi", "ffl"}
    for glyph, letters in LIGATURES.items():
        assert glyph not in INDEX
        assert unicodedata.normalize("NFKC", glyph) == letters


def test_lines_are_folded_into_the_taught_characters() -> None:
    assert (
        clean_line("M.\u00a0Duval\u2060—he\u0301  1\u20442 ⸺ co\u2011op")
        == "M. Duval—hé 1/2 —— co-op"
    )
    assert clean_line("Ḥadīth") == "Hadīth"
    assert clean_line("the word λόγος") == ""
