"""Places of lines: no line of a block is read again, and their numbers are no text."""

from pathlib import Path

import pytest

import ocrcli.models.small
from ocrcli.engine import Engine, GenerationLimits, LinePlaces, LoopGuard
from ocrcli.engine.line_places import MASKED
from ocrcli.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_file(Path(ocrcli.models.small.__file__).with_name("tokenizer.json"))


@pytest.fixture(scope="module")
def places(tokenizer):
    return LinePlaces.of(tokenizer)


@pytest.fixture(scope="module")
def lines(tokenizer):
    """Make the ids of a block at 100 to 300 whose lines after the first stand at some places."""

    def ids(*downs, text="word"):
        made = [tokenizer.page_id, *tokenizer.encode_det("text", (50, 100, 900, 300))]
        made += tokenizer.encode(text)
        for down in downs:
            made += [tokenizer.newline_id, tokenizer.integer_id(down), *tokenizer.encode(text)]
        return made

    return ids


def values(tokenizer, banned):
    return [id_ - tokenizer.integer_id(0) for id_ in banned]


def test_a_line_begins_below_the_one_before(tokenizer, places, lines):
    banned = places.banned([*lines(124, 140), tokenizer.newline_id])
    assert values(tokenizer, banned) == list(range(141))


def test_the_second_line_begins_below_the_top_of_the_block(tokenizer, places, lines):
    banned = places.banned([*lines(), tokenizer.newline_id])
    assert values(tokenizer, banned) == list(range(101))


def test_rows_of_a_table_begin_below_each_other(tokenizer, places):
    tag = tokenizer.encode_tag
    ids = tokenizer.encode_det("table", (50, 400, 900, 600)) + tag("<table>") + tag("<tr>")
    assert values(tokenizer, places.banned(ids)) == list(range(401))
    # The number of columns that a cell spans is no place.
    ids += [tokenizer.integer_id(420), *tag("<td>", columns=7), *tag("</td>"), *tag("</tr>")]
    assert values(tokenizer, places.banned(ids + tag("<tr>"))) == list(range(421))


def test_only_places_are_banned_and_only_where_one_may_stand(tokenizer, places, lines):
    assert not places.banned([])
    assert not places.banned(lines(124))
    # A block may begin above the one before, in the next column; its header is no place.
    ids = [*lines(124), tokenizer.newline_id, tokenizer.det_id]
    assert not places.banned(ids)
    assert not places.banned([*ids, tokenizer.label_ids["text"]])
    # Text without a block, or with half a header, is not held to anything.
    word = tokenizer.encode("word")
    assert not places.banned([tokenizer.page_id, *word, tokenizer.newline_id])
    half = [tokenizer.det_id, tokenizer.label_ids["text"], tokenizer.integer_id(500)]
    assert not places.banned([*half, tokenizer.end_det_id, *word, tokenizer.newline_id])


def test_a_line_that_is_read_again_and_again_is_a_loop(tokenizer, places, lines):
    text = "a line of a dozen words, all of which come back in the next one of them"
    ids = lines(*range(104, 900, 16), text=text)
    guard = LoopGuard()
    assert guard.find(ids) is None
    masked = places.masked(ids)
    assert len(masked) == len(ids)
    loop = guard.find(masked)
    assert loop is not None
    assert loop.period == len(tokenizer.encode(text)) + 2
    assert [id_ for id_, seen in zip(ids, masked, strict=True) if seen == MASKED] == [
        tokenizer.integer_id(down) for down in range(104, 900, 16)
    ]


def test_tokenizers_without_coordinates_have_no_places(tokenizer, monkeypatch):
    monkeypatch.setattr(Tokenizer, "num_integers", 0)
    assert LinePlaces.of(tokenizer) is None
    assert GenerationLimits().line_places is None


LINE, BLOCK, END, LABEL, OTHER, FIRST = 11, 12, 13, 14, 15, 60
SMALL = LinePlaces(first=FIRST, count=20, det=BLOCK, cue=LINE, openers=frozenset({LINE}))
HEADER = [BLOCK, LABEL, FIRST, FIRST + 2, FIRST + 9, FIRST + 9, END]


def written(kit, script, **limits):
    model = kit.ScriptedModel(kit.tiny_config(), [[*script, 2]])
    engine = Engine(model, kit.DigitCodec(), GenerationLimits(**limits))
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    return result


def test_the_engine_keeps_a_model_from_going_back_in_a_block(kit):
    script = [*HEADER, 30, LINE, FIRST + 5, 31, LINE, FIRST + 4, 32]
    assert written(kit, script).token_ids == tuple(script)
    held = written(kit, [OTHER, *script], line_places=SMALL).token_ids
    assert held[:-2] == tuple(script[:-2])
    assert held[-2] != FIRST + 4
    assert held[-1] == 32


@pytest.mark.parametrize("begun", [OTHER, LINE, 2])
def test_the_engine_asks_for_places_whatever_the_model_would_begin_with(kit, begun):
    script = [*HEADER, 30, LINE, FIRST + 5, 31]
    asked = written(kit, [begun, *script], line_places=SMALL)
    assert asked.token_ids == tuple(script)
    assert asked.output_tokens == len(script)
    assert [start.down for start in asked.line_starts] == [5]
    assert not written(kit, script).line_starts


def test_how_sure_a_place_is_says_nothing_of_the_text(kit):
    script = [*HEADER, 30, LINE, FIRST + 5, 31]
    every = written(kit, script)
    text = written(kit, [OTHER, *script], line_places=SMALL)
    assert text.token_ids == every.token_ids == tuple(script)
    assert text.markup == every.markup
    place = script.index(FIRST + 5)
    for kind in ("ends", "probabilities"):
        whole = getattr(every.trace, kind)
        assert getattr(text.trace, kind) == whole[:place] + whole[place + 1 :]
