import numpy as np
import pytest
import torch

from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.models.unlimited_ocr.config import SpecialTokens, VisionConfig
from ocrcli.prompt import (
    coordinate_extent,
    document_prompt,
    instruction,
    page_prompt,
    page_tensor,
)

TOKENS = SpecialTokens(bos=0, eos=1, pad=2, image=7, page=8)
FREE = VisionConfig(image_channels=1, position_layout="factored")


def test_page_is_padded_with_white_at_right_and_bottom():
    tensor = page_tensor(np.zeros((65, 130), np.uint8), FREE)
    assert tensor.shape == (1, 128, 192)
    assert tensor.dtype == torch.float32
    assert (tensor[0, :65, :130] == -1.0).all()
    assert (tensor[0, 65:] == 1.0).all()
    assert (tensor[0, :, 130:] == 1.0).all()


def test_page_of_fitting_size_is_left_alone():
    pixels = np.arange(64 * 128, dtype=np.int64).reshape(64, 128).astype(np.uint8)
    tensor = page_tensor(pixels, FREE)
    assert torch.equal(tensor[0], torch.from_numpy(pixels).float() / 127.5 - 1.0)


def test_coordinates_of_padded_pictures_reach_to_the_end_of_the_padding():
    padded = VisionConfig(image_channels=1, position_layout="factored", padded_coordinates=True)
    assert coordinate_extent(64, 128, padded) == (1.0, 1.0)
    assert coordinate_extent(100, 80, padded) == (1.6, 1.28)
    assert coordinate_extent(100, 80, FREE) == (1.0, 1.0)
    assert coordinate_extent(100, 80, VisionConfig(padded_coordinates=True)) == (1.0, 1.0)


def test_square_grid_gets_a_centred_page_in_three_channels():
    tensor = page_tensor(np.zeros((100, 50), np.uint8), VisionConfig())
    assert tensor.shape == (3, 1024, 1024)
    assert torch.allclose(tensor[:, :, :250], torch.tensor(127 / 127.5 - 1.0))
    assert (tensor[:, :, 300:700] == -1.0).all()


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4), np.float32), np.zeros((0, 4), np.uint8)],
)
def test_other_arrays_are_refused(pixels):
    with pytest.raises(ValueError, match="pixels must be a non-empty uint8 array"):
        page_tensor(pixels, FREE)


def test_page_prompt_ends_on_a_block_border():
    prompt = page_prompt(5, TOKENS, block_size=4)
    assert prompt.ids.tolist() == [8, 7, 7, 7, 7, 7, 2, 2]
    assert prompt.roles.tolist() == [PAGE] + [IMAGE] * 5 + [PADDING] * 2
    assert prompt.num_pages == 1


def test_page_prompt_that_fits_needs_no_padding():
    assert page_prompt(7, TOKENS, block_size=4).roles.tolist() == [PAGE] + [IMAGE] * 7


def test_document_prompt_marks_every_page():
    prompt = document_prompt([2, 1], TOKENS, [5, 6])
    assert prompt.ids.tolist() == [0, 8, 7, 7, 8, 7, 5, 6]
    assert prompt.roles.tolist() == [TEXT, PAGE, IMAGE, IMAGE, PAGE, IMAGE, TEXT, TEXT]
    assert prompt.num_pages == 2


def test_prompts_without_pages_or_image_tokens_are_refused():
    with pytest.raises(ValueError, match="at least one page"):
        document_prompt([], TOKENS, [5])
    with pytest.raises(ValueError, match="image_tokens must be positive, got 0"):
        page_prompt(0, TOKENS, 4)


def test_model_without_page_id_is_refused():
    with pytest.raises(ValueError, match="page_token_id"):
        page_prompt(3, SpecialTokens(), 4)


def test_instruction_depends_on_the_number_of_pages():
    assert instruction(1) == "document parsing."
    assert instruction(2) == "Multi page parsing."
