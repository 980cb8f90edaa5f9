"""The first generation spells its page markers; borders are found in text and counted."""

import pytest
import torch

from ocrcli.engine import Engine, FinishReason, GenerationLimits
from ocrcli.engine.separator import Border, TextSeparator
from ocrcli.models.unlimited_ocr.config import ModelConfig

PIECES = {20: ".<", 21: "PA", 22: "GE", 23: ">", 24: ">\n", 25: "<PAGE>", 30: "one", 31: "two"}
OPEN, BROKEN = 25, [20, 21, 22, 24]


class Spelling:
    def encode(self, text):
        return [9]

    def decode(self, ids):
        return self.decode_with_ends(ids)[0]

    def decode_with_ends(self, ids):
        text, ends = "", []
        for id_ in ids:
            text += PIECES.get(id_, "")
            ends.append(len(text))
        return text, ends


@pytest.fixture
def engine_for(kit):
    def build(*scripts, pages=2, **limits):
        config = ModelConfig.from_dict(
            {
                "sliding_window": 16,
                "eos_token_id": kit.EOS_ID,
                "bos_token_id": 1,
                "pad_token_id": 0,
                "image_token_id": 3,
                "vision_config": {"image_channels": 1, "position_layout": "factored",
                                  "class_token": False},
            }
        )  # fmt: skip
        model = kit.ScriptedModel(config, scripts)
        model.prefill_token = 30
        bounds = {"pages_in_flight": pages, "pages_per_prompt": pages, "loop_guard": None} | limits
        return Engine(model, Spelling(), GenerationLimits(**bounds)), model

    return build


def read(engine, kit, *scripts):
    pages = [kit.ScriptPage(number, script) for number, script in enumerate(scripts, start=1)]
    return list(engine.transcribe(pages))


@pytest.mark.parametrize(
    ("ids", "border"),
    [
        ([30, 25], Border(1, "", "")),
        ([30, 20, 21, 22, 23], Border(4, ".", "")),
        ([30, 20, 21, 22, 24], Border(4, ".", "\n")),
        ([30, 23], None),
        ([25, 30], None),
        ([20, 21, 22], None),
    ],
)
def test_border_is_found_however_it_is_cut(ids, border):
    assert TextSeparator(Spelling().decode).find(ids) == border


def test_sections_are_split_where_the_text_says_so(kit, engine_for):
    engine, model = engine_for([OPEN, 30, *BROKEN, 31, kit.EOS_ID])
    first, second = read(engine, kit, 0, 0)
    assert model.num_prefills == 1
    assert (first.markup, second.markup) == ("one.", "\ntwo")
    # What a marker left over belongs to no token of its own.
    assert (first.trace.ends, second.trace.ends) == ((3,), (4,))
    assert (first.finish, second.finish) == (FinishReason.EOS, FinishReason.EOS)
    assert engine.cache_blocks == 0


@pytest.mark.parametrize("extra", [[], [OPEN, 31, OPEN, 31]])
def test_another_number_of_sections_has_the_pages_read_one_by_one(kit, engine_for, extra):
    engine, model = engine_for(
        [OPEN, 30, *extra, kit.EOS_ID, 0, 0], [OPEN, 31, kit.EOS_ID, 0, 0, 0]
    )
    first, second = read(engine, kit, 0, 1)
    assert model.num_prefills == 3
    assert [first.page_number, second.page_number] == [1, 2]
    assert second.markup == "two"
    assert engine.cache_blocks == 0


def test_lone_page_needs_no_marker(kit, engine_for):
    engine, model = engine_for([30, 31, kit.EOS_ID], pages=1)
    (result,) = read(engine, kit, 0)
    assert (result.markup, model.num_prefills) == ("oneonetwo", 1)


def test_scores_that_are_not_finite_end_all_pages_of_the_prompt(kit, engine_for):
    engine, _ = engine_for([OPEN, -1])
    results = read(engine, kit, 0, 0)
    assert [result.finish for result in results] == [FinishReason.ERROR] * 2
    assert torch.is_inference_mode_enabled() is False
