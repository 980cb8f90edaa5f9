"""The shipped checkpoint on whole pages: cached decoding against one full pass."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from ocrcli.engine import Engine, GenerationLimits
from ocrcli.models import load_model
from ocrcli.models.unlimited_ocr import decoder

STEPS = 320
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "at", "dawn", "1847"]


def printed_page(number, width, height):
    draw_word = np.random.default_rng(number)
    image = Image.new("L", (width, height), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(18)
    for top in range(60, height - 80, 26):
        line = " ".join(draw_word.choice(WORDS, width // 80))
        draw.text((60, top), line, fill=0, font=font)
    return SimpleNamespace(page_number=number, pixels=np.asarray(image))


@pytest.fixture(scope="module")
def shipped_model():
    return load_model().model


@pytest.mark.weights
@torch.inference_mode()
def test_decode_equals_full_recompute_on_whole_pages(shipped_model, kit):
    model = shipped_model
    pages = [printed_page(1, 990, 1280), printed_page(2, 800, 1000), printed_page(3, 1280, 900)]
    recorder = kit.Recorder(model, never=model.config.tokens.eos)
    limits = GenerationLimits(
        max_tokens_per_page=STEPS, loop_guard=None, pages_in_flight=3, decode_width=4
    )
    results = list(Engine(recorder, kit.DigitCodec(), limits).transcribe(pages))
    assert [result.output_tokens for result in results] == [STEPS] * 3
    for row, (page, result) in enumerate(zip(pages, results, strict=True)):
        decoded = torch.stack([step.logits[row] for step in recorder.steps])
        whole = kit.recomputed_page(model, page, result.token_ids[:-1])
        whole[:, model.config.tokens.eos] = -torch.inf
        decoded, whole = decoded.log_softmax(1), whole.log_softmax(1)
        # A block on the edge of the router's support may fall on either side of it, which moves
        # the scores of that step a little; anything wrong in the cache moves them all, and a lot.
        difference = (decoded - whole).nan_to_num().abs().amax(1)
        assert float(difference.median()) < 1e-3
        assert float(difference.max()) < 0.1
        best, second = whole.topk(2).values.unbind(1)
        clear = best - second > 0.1
        assert torch.equal(decoded.argmax(1)[clear], whole.argmax(1)[clear])


@pytest.mark.weights
def test_reading_the_wrong_blocks_changes_the_text(shipped_model, kit, monkeypatch):
    page = printed_page(1, 640, 512)
    limits = GenerationLimits(max_tokens_per_page=60, loop_guard=None)

    def read():
        (result,) = Engine(shipped_model, kit.DigitCodec(), limits).transcribe([page])
        return result.token_ids

    right = read()
    route = decoder.route_blocks

    def route_to_the_worst(scores, remote, candidate, policy, layer_index=0):
        return route(-scores, remote, candidate, policy, layer_index)

    monkeypatch.setattr(decoder, "route_blocks", route_to_the_worst)
    assert read() != right
    monkeypatch.undo()
    assert read() == right
