"""In the header of a block stand a label and four coordinates, whatever a model would write."""

from pathlib import Path

import pytest

import ocrcli.models.small
from ocrcli.engine import BlockHeader, Engine, GenerationLimits
from ocrcli.tokenizer import Tokenizer

BLOCK, END, LABEL, FIRST, WORD = 12, 13, 14, 60, 30
SMALL = BlockHeader(BLOCK, [LABEL], range(FIRST, FIRST + 20), END, 90)


def written(kit, script, **limits):
    model = kit.ScriptedModel(kit.tiny_config(), [[*script, 2]])
    engine = Engine(model, kit.DigitCodec(), GenerationLimits(**limits))
    (result,) = engine.transcribe([kit.ScriptPage(1, 0)])
    return result.token_ids


@pytest.mark.parametrize("place", range(1, 7))
def test_what_does_not_belong_into_a_header_is_not_written(kit, place):
    script = [BLOCK, LABEL, FIRST, FIRST + 2, FIRST + 9, FIRST + 9, END, WORD, WORD]
    assert written(kit, script, block_header=SMALL) == tuple(script)
    wrong = [*script[:place], WORD, *script[place + 1 :]]
    assert written(kit, wrong) == tuple(wrong)
    held = written(kit, wrong, block_header=SMALL)
    allowed = {1: {LABEL}, 6: {END}}.get(place, set(range(FIRST, FIRST + 20)))
    assert held[place] in allowed
    assert held[:place] + held[place + 1 :] == tuple(wrong[:place] + wrong[place + 1 :])


def test_nothing_else_is_banned():
    header = [BLOCK, LABEL, FIRST, FIRST, FIRST, FIRST, END]
    assert not SMALL.banned([])
    assert not SMALL.banned([WORD])
    assert not SMALL.banned(header)
    assert not SMALL.banned([*header, WORD])


def test_small_model_has_ids_for_all_of_it(monkeypatch):
    path = Path(ocrcli.models.small.__file__).with_name("tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    header = BlockHeader.of(tokenizer)
    ids = tokenizer.encode_det("text", (0, 999, 5, 70))
    for end in range(1, len(ids)):
        assert ids[end] not in header.banned(ids[:end])
        assert tokenizer.newline_id in header.banned(ids[:end])
    monkeypatch.setattr(Tokenizer, "num_integers", 0)
    assert BlockHeader.of(tokenizer) is None
