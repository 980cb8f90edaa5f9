"""The dense training pass and the paged inference pass are one model."""

import json
from pathlib import Path

import torch

import ocrcli.models.small
from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT
from ocrcli.models.small.training.forward import response_logits
from ocrcli.models.small.training.initialise import initialise
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr


def _tiny_model() -> UnlimitedOcr:
    folder = Path(ocrcli.models.small.__file__).parent
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    raw |= {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
    raw |= {"num_attention_heads": 2, "num_key_value_heads": 2, "first_k_dense_replace": 2}
    raw["projector_config"] = {}
    raw["sparse_attention_config"] |= {
        "sparse_block_size": 8,
        "sparse_local_block": 2,
        "sparse_router_dim": 16,
        "sparse_topk_blocks": 3,
        "sparse_entmax_topn": 4,
    }
    stages = raw["vision_config"]["width"]
    stages["sam_vit_b"] |= {"width": 16, "layers": 1, "heads": 2, "downsample_channels": [32]}
    stages["clip-l-14-224"] |= {"width": 32, "layers": 1, "heads": 2}
    model = UnlimitedOcr(ModelConfig.from_dict(raw))
    initialise(model, seed=1)
    with torch.no_grad():
        for name, param in model.named_parameters():
            # Larger router weights, so that routing is sharp and wrong blocks would show.
            if ".router." in name:
                param.mul_(20) if param.ndim > 1 else param.normal_()
    return model.eval()


def test_training_forward_equals_paged_prefill() -> None:
    torch.manual_seed(0)
    model = _tiny_model()
    sparse = model.config.sparse
    pages, image_tokens, answer = 2, 61, 29
    visual = torch.randn(pages, image_tokens, 32)
    tokens = torch.randint(5, 50, (pages, answer))
    tokens[:, 0] = model.config.tokens.page
    with torch.no_grad():
        scores = response_logits(model, visual, tokens)
    padding = -(image_tokens + 1) % sparse.block_size
    prompt = 1 + image_tokens + padding
    roles = [PAGE] + [IMAGE] * image_tokens + [PADDING] * padding + [PAGE] + [TEXT] * (answer - 1)
    blocks = -(-len(roles) // sparse.block_size)
    plan = prefill_plan(torch.tensor(roles), torch.arange(1, blocks + 1), prompt, sparse)
    for row in range(pages):
        cache = model.new_cache(blocks + 1, torch.device("cpu"), torch.float32)
        real = torch.zeros(blocks + 1, sparse.block_size, dtype=torch.bool)
        real.view(-1)[plan.slots] = plan.real
        embeddings = torch.cat(
            (
                model.embed_tokens(torch.tensor([model.config.tokens.page])),
                visual[row],
                torch.zeros(padding, 32),
                model.embed_tokens(tokens[row]),
            )
        )
        with torch.no_grad():
            hidden = model.prefill_hidden(embeddings, plan, cache, real)
            expected = model.logits(hidden[prompt:])
        torch.testing.assert_close(scores[row], expected, atol=2e-5, rtol=1e-4)
