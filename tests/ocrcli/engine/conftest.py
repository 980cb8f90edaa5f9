"""A tiny random model of the shipped class, a codec of digits, and pages of noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ocrcli.document import Box
from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.kernels.paged_kv import PagedKv
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr
from ocrcli.prompt import page_prompt, page_tensor

VOCABULARY = 97
IMAGE_ID, PAGE_ID, EOS_ID = 3, 4, 2


def tiny_config(isolated: bool = True, block_size: int = 8, local_blocks: int = 2) -> ModelConfig:
    return ModelConfig.from_dict(
        {
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 48,
            "first_k_dense_replace": 3,
            "n_routed_experts": 0,
            "n_shared_experts": 0,
            "vocab_size": VOCABULARY,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": EOS_ID,
            "image_token_id": IMAGE_ID,
            "page_token_id": PAGE_ID,
            "sparse_block_size": block_size,
            "sparse_local_block": local_blocks,
            "sparse_router_dim": 16,
            "sparse_topk_blocks": 3,
            "sparse_entmax_topn": 5,
            "sparse_bias_floor": 1e-3,
            "sparse_page_isolated": isolated,
            "sparse_rope_page_mod": 1 if isolated else 0,
            "vision_config": {
                "image_channels": 1,
                "position_layout": "factored",
                "relative_position": False,
                "class_token": False,
                "neck_channels": 0,
                "fusion": "encoder",
                "encoder_activation": "gelu",
                "view_separator": False,
                "width": {
                    "sam_vit_b": {
                        "width": 16,
                        "layers": 1,
                        "heads": 2,
                        "window_size": 4,
                        "global_attn_indexes": [],
                        "position_size": 32,
                        "downsample_channels": [16],
                    },
                    "clip-l-14-224": {
                        "width": 16,
                        "layers": 1,
                        "heads": 2,
                        "position_size": 16,
                    },
                },
            },
            "projector_config": {"n_embed": 32},
        }
    )


def tiny_model(config: ModelConfig, seed: int = 0) -> UnlimitedOcr:
    """Return a model whose routing, attention and argmax all vary from token to token."""
    generator = torch.Generator().manual_seed(seed)
    model = UnlimitedOcr(config).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            fan_in = weight[0].numel()
            scale = 1.0 if "embed" in name else 1.6 / fan_in**0.5
            weight.normal_(0.0, scale, generator=generator)
        elif "norm" not in name:
            weight.normal_(0.0, 1.0, generator=generator)
    return model


class DigitCodec:
    """Decodes ids to their decimal numbers."""

    def encode(self, text: str) -> list[int]:
        return [10 + len(word) for word in text.split()]

    def decode_with_ends(self, ids: list[int]) -> tuple[str, list[int]]:
        text = " ".join(map(str, ids))
        return text, [len(" ".join(map(str, ids[: n + 1]))) for n in range(len(ids))]


@dataclass
class NoisePage:
    """A page of random pixels; equal seeds give equal pages."""

    page_number: int
    seed: int = 0
    height: int = 120
    width: int = 190

    @property
    def pixels(self) -> NDArray[np.uint8]:
        noise = np.random.default_rng(self.seed)
        return noise.integers(0, 256, (self.height, self.width), dtype=np.uint8)


class Recorder:
    """A model that notes the scores of every decode step, and may be kept from one id."""

    def __init__(self, model: UnlimitedOcr, never: int | None = None) -> None:
        self._model, self._never = model, never
        self.config = model.config
        self.parameters = model.parameters
        self.has_orientation_head = False
        self.encode_image = model.encode_image
        self.embed_tokens = model.embed_tokens
        self.prefill = model.prefill
        self.new_cache = model.new_cache
        self.steps: list[SimpleNamespace] = []

    def decode(self, token_ids, plan, cache, real):
        logits = self._model.decode(token_ids, plan, cache, real)
        if self._never is not None:
            logits[:, self._never] = -torch.inf
        self.steps.append(
            SimpleNamespace(
                ids=token_ids.clone(), position=plan.position.clone(), logits=logits.clone()
            )
        )
        return logits


def recomputed_logits(model, ids, roles, images, prompt_length):
    """Return scores at every position from one pass over the whole sequence."""
    blocks = -(-roles.shape[0] // model.config.sparse.block_size)
    table = torch.arange(1, blocks + 1).flip(0)
    cache = model.new_cache(blocks + 1, torch.device("cpu"), torch.float32)
    real = torch.zeros(blocks + 1, model.config.sparse.block_size, dtype=torch.bool)
    plan = prefill_plan(roles, table, prompt_length, model.config.sparse)
    real.view(-1)[plan.slots] = roles != PADDING
    embeddings = model.embed_tokens(ids)
    embeddings[roles == IMAGE] = torch.cat(images)
    return model.logits(model.prefill_hidden(embeddings, plan, cache, real))


def recomputed_page(model, page, token_ids):
    """Return scores after the opening `<PAGE>` and after each id, as `recomputed_logits`."""
    tokens = model.config.tokens
    image = model.encode_image(page_tensor(page.pixels, model.config.vision))
    prompt = page_prompt(image.shape[0], tokens, model.config.sparse.block_size)
    start = prompt.ids.shape[0]
    answer = torch.tensor([tokens.page, *token_ids])
    roles = torch.cat((prompt.roles, torch.tensor([PAGE] + [TEXT] * len(token_ids))))
    logits = recomputed_logits(model, torch.cat((prompt.ids, answer)), roles, [image], start)
    return logits[start:]


class ScriptedModel:
    """A model that writes given ids; the script of a page is named by its first pixel.

    Between scripts it is told apart by the first block of a page's prompt, as a real model is told
    apart by what that block holds.
    """

    def __init__(self, config: ModelConfig, scripts: Sequence[Sequence[int]]) -> None:
        self.config = config
        self.has_orientation_head = False
        self.num_prefills = 0
        self.prefill_token = 9
        self._scripts = scripts
        self._by_block: dict[int, tuple[int, int]] = {}
        self._weight = torch.zeros(1)

    def parameters(self) -> Iterator[torch.Tensor]:
        return iter([self._weight])

    def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
        script = round(float((pixels[0, 0, 0] + 1) * 127.5))
        return torch.full((9, 4), float(script))

    def embed_tokens(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.zeros(ids.shape[0], 4)

    def prefill(self, embeddings, plan, cache, real):
        self.num_prefills += 1
        script = int(embeddings.max())
        self._by_block[int(plan.block_table[0])] = (script, plan.prompt_length)
        logits = torch.zeros(VOCABULARY)
        logits[self.prefill_token] = 20.0
        return logits

    def decode(self, token_ids, plan, cache, real):
        logits = torch.zeros(token_ids.shape[0], VOCABULARY)
        logits[:, EOS_ID] = -5.0
        for row, block in enumerate(plan.block_table[:, 0].tolist()):
            if block:
                script, start = self._by_block[block]
                token = self._scripts[script][int(plan.position[row]) - start]
                logits[row, token] = 20.0 if token >= 0 else torch.nan
        return logits

    def new_cache(self, num_blocks, device, dtype):
        keys = torch.zeros(num_blocks, self.config.sparse.block_size, 1, 2)
        return [PagedKv(keys=keys, values=keys.clone(), summaries=torch.zeros(num_blocks, 2))]


@dataclass
class ScriptPage:
    """A page that tells the scripted model which script to write."""

    page_number: int
    script: int
    crop: Box | None = None

    @property
    def pixels(self) -> NDArray[np.uint8]:
        return np.full((64, 64), self.script, np.uint8)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def isolated_model() -> UnlimitedOcr:
    return tiny_model(tiny_config())


@pytest.fixture(scope="session")
def document_model() -> UnlimitedOcr:
    return tiny_model(tiny_config(isolated=False), seed=1)


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """What tests build with, since test folders are not packages."""
    return SimpleNamespace(
        DigitCodec=DigitCodec,
        NoisePage=NoisePage,
        Recorder=Recorder,
        ScriptPage=ScriptPage,
        ScriptedModel=ScriptedModel,
        recomputed_logits=recomputed_logits,
        recomputed_page=recomputed_page,
        tiny_config=tiny_config,
        tiny_model=tiny_model,
        EOS_ID=EOS_ID,
        PAGE_ID=PAGE_ID,
    )
