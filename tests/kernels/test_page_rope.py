"""Coordinates against a worked example and a decode state; rotation against complex numbers."""

import cmath
import random

import pytest
import torch

from ocrcli.kernels.page_rope import (
    IMAGE,
    PADDING,
    PAGE,
    TEXT,
    RopeSettings,
    apply_rope,
    page_coordinates,
    page_rope,
    rope_tables,
)

EXAMPLE = [0, 2, 1, 1, 1, 2, 1, 1, 1, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0]


def test_worked_example_is_exact() -> None:
    at = page_coordinates(torch.tensor(EXAMPLE))
    assert at.token.tolist() == [0, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 4, 5, 6, 4, 5, 6, 4, 5]
    assert at.page.tolist() == [0] + [1] * 4 + [2] * 4 + [0, 0] + [1] * 3 + [2] * 3 + [2, 2]
    assert at.query_page.tolist() == (
        [-1] + [0] * 4 + [1] * 4 + [-1, -1] + [0] * 3 + [1] * 3 + [2, 2]
    )
    assert at.image_page.tolist() == [-1, -1, 0, 0, 0, -1, 1, 1, 1] + [-1] * 10
    assert at.section_start.tolist() == [0] * len(EXAMPLE)
    assert at.num_pages == 2
    assert at.prompt_tokens_per_page.tolist() == [1, 4, 4]


def decode_state(prompt: list[int], answer: list[int]) -> list[tuple[int, int, int]]:
    """(token, page, query_page) of the answer, one step at a time, padding skipped."""
    pages = prompt.count(PAGE)
    count, page = [0] * (pages + 1), 0
    for role in prompt:
        page += role == PAGE
        count[page] += role != PADDING
    raw, token, out = 0, count[0] - 1, []
    for role in answer:
        if role == PAGE:
            raw, token = raw + 1, count[min(raw + 1, pages)]
        elif role != PADDING:
            token += 1
        out.append((token, min(raw, pages), raw - 1))
    return out


@pytest.mark.parametrize("seed", range(20))
def test_response_coordinates_equal_incremental_decode_state(seed: int) -> None:
    rng = random.Random(seed)
    pages = rng.randint(1, 4)
    prompt = [TEXT] * rng.randint(0, 2) + [PADDING] * rng.randint(0, 3)
    for _ in range(pages):
        prompt += [PADDING] * rng.randint(0, 3) + [PAGE] + [IMAGE] * rng.randint(1, 5)
    answer = [PADDING] * rng.randint(0, 3) + [TEXT] * rng.randint(0, 3)
    for _ in range(pages + 2):
        answer += [PAGE] + [TEXT] * rng.randint(0, 4)
    at = page_coordinates(torch.tensor(prompt + answer))
    got = list(zip(at.token.tolist(), at.page.tolist(), at.query_page.tolist(), strict=True))
    for role, mine, wanted in zip(
        answer, got[len(prompt) :], decode_state(prompt, answer), strict=True
    ):
        assert role == PADDING or mine == wanted


def test_one_page_without_instruction_continues_after_its_image() -> None:
    at = page_coordinates(torch.tensor([PAGE, IMAGE, IMAGE, PAGE, TEXT]))
    assert at.token.tolist() == [0, 1, 2, 3, 4]


def test_padding_does_not_move_any_real_token() -> None:
    plain = [TEXT, PAGE, IMAGE, IMAGE, PAGE, IMAGE, TEXT, PAGE, TEXT, PAGE, TEXT]
    padded = [TEXT, PADDING, PADDING, PAGE, IMAGE, IMAGE, PADDING, PAGE, IMAGE, PADDING]
    padded += [PADDING, TEXT, PAGE, TEXT, PAGE, TEXT]
    with_padding = torch.tensor(padded)
    a, b = page_coordinates(torch.tensor(plain)), page_coordinates(with_padding)
    real = with_padding != PADDING
    for name in ("token", "page", "image_page", "query_page"):
        assert getattr(a, name).tolist() == getattr(b, name)[real].tolist()
    assert a.prompt_tokens_per_page.tolist() == b.prompt_tokens_per_page.tolist()


def test_isolated_sections_start_at_the_last_marker() -> None:
    roles = [TEXT, PADDING, PAGE, IMAGE, PADDING, PAGE, IMAGE, PADDING, TEXT, TEXT, PAGE, TEXT]
    roles += [PAGE, TEXT]
    start = page_coordinates(torch.tensor(roles), isolated=True).section_start
    assert start.tolist() == [0, 0, 2, 2, 2, 5, 5, 5, 8, 8, 10, 10, 12, 12]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ([0, 2, 0], "roles must hold at least one image token"),
        ([], "roles must hold at least one image token"),
        ([1, 1, 2], "roles must hold a <PAGE> marker .* before the last image"),
        ([2, 1, 4], "roles must lie in 0..3, got 1..4"),
        ([[2, 1]], r"roles must have shape \[S\], got \[1, 2\]"),
    ],
)
def test_bad_roles_are_refused(roles: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_coordinates(torch.tensor(roles, dtype=torch.long))


def turned(x: list[float], token: int, page: int, settings: RopeSettings) -> list[float]:
    """One vector, turned as dim / 2 complex numbers in double precision."""
    half = len(x) // 2
    token_pairs = half - settings.page_pairs
    spread = half if settings.token_frequency == "truncate" else token_pairs
    page = page % settings.page_modulus if settings.page_modulus else page
    angles = [token * settings.token_theta ** (-j / spread) for j in range(token_pairs)]
    angles += [
        page * settings.page_theta ** (-m / settings.page_pairs) for m in range(settings.page_pairs)
    ]
    z = [complex(x[i], x[i + half]) * cmath.exp(1j * angles[i]) for i in range(half)]
    return [each.real for each in z] + [each.imag for each in z]


@pytest.mark.parametrize("frequency", ["stretch", "truncate"])
@pytest.mark.parametrize(("pairs", "modulus"), [(1, 0), (2, 3), (1, 1), (0, 0), (4, 0)])
def test_rotation_equals_complex_product(frequency: str, pairs: int, modulus: int) -> None:
    settings = RopeSettings(pairs, 500.0, 16.0, frequency, modulus)  # type: ignore[arg-type]
    token, page = torch.tensor([0, 1, 7, 300]), torch.tensor([0, 1, 5, 40])
    x = torch.randn(4, 3, 8, generator=torch.Generator().manual_seed(0))
    got = page_rope(x, token, page, settings)
    for t in range(4):
        for h in range(3):
            wanted = turned(x[t, h].tolist(), int(token[t]), int(page[t]), settings)
            torch.testing.assert_close(got[t, h], torch.tensor(wanted), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(page_rope(x[:, 0], token, page, settings), got[:, 0])


def test_modulus_one_removes_the_page() -> None:
    x, token = torch.randn(2, 8), torch.tensor([5, 5])
    settings = RopeSettings(page_modulus=1)
    first = page_rope(x, token, torch.tensor([1, 2]), settings)
    torch.testing.assert_close(first, page_rope(x, token, torch.tensor([0, 9]), settings))


def test_tables_are_fp32_and_cast_to_the_vector_before_the_product() -> None:
    token, page = torch.tensor([3, 900]), torch.tensor([1, 2])
    cos, sin = rope_tables(token, page, 8, RopeSettings())
    assert cos.dtype == sin.dtype == torch.float32
    x = torch.randn(2, 8).bfloat16()
    got = apply_rope(x, cos, sin)
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, apply_rope(x, cos.bfloat16(), sin.bfloat16()))


def test_tables_made_in_inference_mode_serve_training_later() -> None:
    settings = RopeSettings(token_theta=1234.0)
    at = torch.tensor([2])
    with torch.inference_mode():
        rope_tables(at, at, 8, settings)
    x = torch.ones(1, 8, requires_grad=True)
    page_rope(x, at, at, settings).sum().backward()
    assert x.grad is not None


def test_wrong_shapes_are_refused() -> None:
    at = torch.arange(3)
    with pytest.raises(ValueError, match=r"^page must have shape \[3\], got \[2\]"):
        rope_tables(at, at[:2], 8, RopeSettings())
    with pytest.raises(ValueError, match=r"^dim must be even"):
        rope_tables(at, at, 7, RopeSettings())
    with pytest.raises(ValueError, match=r"^dim must be even and at least 2 \* page_pairs = 10"):
        rope_tables(at, at, 8, RopeSettings(page_pairs=5))
    cos, sin = rope_tables(at, at, 8, RopeSettings())
    with pytest.raises(ValueError, match=r"^cos must have shape \[3, 4\], got \[3, 8\]"):
        apply_rope(torch.zeros(3, 4), cos, sin)
    with pytest.raises(ValueError, match=r"^x must have shape"):
        apply_rope(torch.zeros(1, 3, 2, 8), cos, sin)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("page_pairs", -1),
        ("token_theta", 0.0),
        ("token_frequency", "stretched"),
        ("page_modulus", -2),
    ],
)
def test_bad_settings_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        RopeSettings(**{name: value})  # type: ignore[arg-type]
