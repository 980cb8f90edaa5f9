import pytest
import torch

from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


def noise(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def first_inputs(module, call):
    """Return what `module` is given first while `call` runs."""
    seen = []
    hook = module.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    call()
    hook.remove()
    return seen[0]


@pytest.fixture(scope="module")
def large(kit):
    return kit.random_model(kit.large_structure())


@pytest.fixture(scope="module")
def free(kit):
    return kit.random_model(kit.free_aspect(), seed=1)


def test_images_of_a_batch_do_not_mix(large):
    pixels = noise(3, 3, 16, 24)
    together = large.visual_features(pixels)
    for index in range(3):
        alone = large.visual_features(pixels[index : index + 1])[0]
        torch.testing.assert_close(together[index], alone, rtol=1e-5, atol=1e-5)


def test_features_are_second_stage_then_first(large, kit):
    pixels = noise(1, 3, 16, 16)
    compressed = large.model.sam_model(pixels)
    features = large.visual_features(pixels)
    torch.testing.assert_close(features[0, :, :, 12:], compressed[0].permute(1, 2, 0))


@pytest.mark.parametrize(("side", "tokens"), [(1024, 273), (640, 111)])
def test_published_image_sizes_give_the_published_token_counts(side, tokens):
    """One newline a row and one separator; tiles are counted before they are joined."""
    with torch.device("meta"):
        model = UnlimitedOcr(
            ModelConfig.from_dict({"num_hidden_layers": 1, "first_k_dense_replace": 1})
        )
        assert model.encode_image(torch.empty(3, side, side)).shape == (tokens, 1280)


def test_rows_end_with_newline_and_the_image_with_a_separator(large):
    features = noise(2, 2, 3, 24)
    tokens = large.visual_tokens(features)
    projected = large.model.projector(features)
    newline, separator = large.model.image_newline, large.model.view_seperator
    for image in range(2):
        expected = [*projected[image, 0], newline, *projected[image, 1], newline, separator]
        assert torch.equal(tokens[image], torch.stack(expected))


def test_newline_and_separator_can_be_left_out(kit):
    model = kit.random_model(kit.large_structure(image_newline=False, view_separator=False))
    features = noise(1, 2, 3, 24)
    tokens = model.visual_tokens(features)
    assert torch.equal(tokens, model.model.projector(features).view(1, 6, 14))


def test_encode_image_gives_the_tokens_of_the_features(large):
    pixels = noise(3, 16, 32)
    expected = large.visual_tokens(large.visual_features(pixels[None]))[0]
    assert torch.equal(large.encode_image(pixels), expected)
    assert expected.shape == (2 * (4 + 1) + 1, 14)


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 16, 20), (3, 12, 16), (16, 16), (3, 0, 16)])
def test_images_that_do_not_fit_the_grid_are_refused(large, shape):
    with pytest.raises(ValueError, match=r"pixels must have shape \[3, H, W\] with .* of 8, got"):
        large.encode_image(torch.zeros(shape))


def test_free_aspect_pages_have_one_newline_a_row(free):
    assert free.encode_image(noise(1, 24, 48)).shape == (3 * (6 + 1), 14)


def test_a_crop_has_the_positions_of_its_place_in_a_page(free):
    sam, page = free.model.sam_model, noise(1, 1, 64, 64)
    whole = first_inputs(sam.blocks[0], lambda: sam(page))
    crop = page[:, :, 16:48, 32:56]
    inputs = first_inputs(sam.blocks[0], lambda: sam(crop, (4, 8)))
    torch.testing.assert_close(inputs, whole[:, 4:12, 8:14])


def test_second_stage_positions_follow_the_crop(free):
    embeddings, page = free.model.vision_model.embeddings, noise(1, 12, 8, 8)
    whole = embeddings(page).view(1, 8, 8, 12)
    crop = embeddings(page[:, :, 2:6, 4:7], (2, 4)).view(1, 4, 3, 12)
    torch.testing.assert_close(crop, whole[:, 2:6, 4:7])


def test_an_offset_equals_tables_that_begin_there(free, kit):
    pixels = noise(1, 1, 32, 24)
    moved = kit.random_model(kit.free_aspect(), seed=1)
    body = moved.model
    for table, first in (
        (body.sam_model.pos_embed_rows, 4),
        (body.sam_model.pos_embed_cols, 8),
        (body.vision_model.embeddings.position_rows.weight, 2),
        (body.vision_model.embeddings.position_cols.weight, 4),
    ):
        axis = max(range(table.dim() - 1), key=lambda a, t=table: t.shape[a])
        table.copy_(table.roll(-first, axis))
    expected = moved.visual_features(pixels)
    torch.testing.assert_close(free.visual_features(pixels, (4, 8)), expected)
    assert (free.visual_features(pixels) - expected).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("shape", "offset", "reached"),
    [((72, 64), (0, 0), "18 x 16"), ((64, 72), (0, 0), "16 x 18"), ((32, 32), (10, 0), "18 x 8")],
)
def test_pages_beyond_the_position_tables_are_refused(free, shape, offset, reached):
    with pytest.raises(ValueError, match=f"pixels reach position {reached} but .* 16 x 16"):
        free.visual_features(noise(1, 1, *shape), offset)


def test_largest_page_is_accepted(free):
    assert free.visual_features(noise(1, 1, 64, 64)).shape == (1, 8, 8, 12)
