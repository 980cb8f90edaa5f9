"""The decoder against its description, written once more token by token in float64."""

import math

import pytest
import torch

from ocrcli.kernels.page_rope import IMAGE, PAGE


class ReferenceDecoder:
    """The decoder for whole documents, token by token in float64, from its description."""

    def __init__(self, model):
        self.config = model.config
        self.weights = {name: value.double() for name, value in model.state_dict().items()}

    def __call__(self, embeddings, roles, prompt_length):
        roles, x = roles.tolist(), embeddings.double()
        self.prompt_length = prompt_length
        self.place(roles)
        for index in range(self.config.decoder.num_layers):
            name = f"model.layers.{index}."
            x = x + self.attention(name + "self_attn.", self.norm(x, name + "input_layernorm"))
            inner = self.norm(x, name + "post_attention_layernorm")
            x = x + torch.stack([self.feed_forward(name + "mlp.", index, row) for row in inner])
        return self.norm(x, "model.norm") @ self.weights["lm_head.weight"].T

    def place(self, roles):
        """Work out token, page and query page of every position, and the blocks of every page."""
        last_image = max(p for p, role in enumerate(roles) if role == IMAGE)
        pages = roles[:last_image].count(PAGE)
        counts = [0] * (pages + 1)
        self.token, self.page, self.query_page = [], [], []
        self.image_blocks = [set() for _ in range(pages)]
        markers = token = 0
        for position, role in enumerate(roles):
            markers += role == PAGE
            raw = markers if position <= last_image else markers - pages
            page = min(raw, pages)
            starts = role == PAGE or position in (0, last_image + 1)
            token = 0 if starts else token + 1
            self.token.append(token + (counts[page] if position > last_image else 0))
            self.page.append(page)
            self.query_page.append(raw - 1)
            if position <= last_image:
                counts[page] += 1
            if role == IMAGE:
                block = position // self.config.sparse.block_size
                self.image_blocks[markers - 1].add(block)

    def norm(self, x, name, offset=0.0):
        mean = x.square().mean(-1, keepdim=True)
        scale = self.weights[name + ".weight"] + offset
        return x / (mean + self.config.decoder.rms_norm_eps).sqrt() * scale

    def rotated(self, vector, position, settings):
        half = len(vector) // 2
        tokens = half - settings.page_pairs
        spread = half if settings.token_frequency == "truncate" else tokens
        out = vector.clone()
        for pair in range(half):
            if pair < tokens:
                angle = self.token[position] * settings.token_theta ** (-pair / spread)
            else:
                power = -(pair - tokens) / settings.page_pairs
                page = self.page[position] % (settings.page_modulus or len(self.page))
                angle = page * settings.page_theta**power
            a, b = vector[pair], vector[pair + half]
            out[pair] = a * math.cos(angle) - b * math.sin(angle)
            out[pair + half] = b * math.cos(angle) + a * math.sin(angle)
        return out

    def attention(self, name, x):
        sparse, decoder = self.config.sparse, self.config.decoder
        router_query, router_key = [], []
        query, key, value = (
            (x @ self.weights[f"{name}{part}_proj.weight"].T).unflatten(1, (-1, decoder.head_dim))
            for part in "qkv"
        )
        for part, out in (("q", router_query), ("k", router_key)):
            mapped = x @ self.weights[f"{name}router.{part}_proj.weight"].T
            norm = f"{name}router.{part}_norm", sparse.router_norm_offset
            first = mapped if sparse.router_norm_last else self.norm(mapped, *norm)
            turned = [self.rotated(v, p, sparse.router_rope) for p, v in enumerate(first)]
            out += [self.norm(v, *norm) for v in turned] if sparse.router_norm_last else turned
        query, key = (
            [[self.rotated(v, p, sparse.main_rope) for v in heads] for p, heads in enumerate(all_)]
            for all_ in (query, key)
        )
        summaries = self.summaries(router_key, self.weights[name + "router.head_cls"])
        group = decoder.num_heads // decoder.num_kv_heads
        rows = []
        for position in range(len(x)):
            read = self.read(position, router_query[position], summaries)
            heads = []
            for head in range(decoder.num_heads):
                logits = [
                    query[position][head] @ key[p][head // group] / math.sqrt(decoder.head_dim) + b
                    for p, b in read.items()
                ]
                chance = torch.stack(logits).softmax(0)
                heads.append(chance @ value[list(read), head // group])
            rows.append(torch.cat(heads))
        return torch.stack(rows) @ self.weights[name + "o_proj.weight"].T

    def summaries(self, keys, head_cls):
        size, out = self.config.sparse.block_size, []
        for start in range(0, self.prompt_length, size):
            block = torch.stack(keys[start : min(start + size, self.prompt_length)])
            weight = (block @ head_cls / math.sqrt(len(head_cls))).softmax(0)
            out.append(weight @ block)
        return out

    def read(self, position, router_query, summaries):
        """Return the bias of every position that `position` reads."""
        sparse, policy = self.config.sparse, self.config.sparse.policy
        size, local = sparse.block_size, sparse.local_tokens
        remote = [b for b in range(len(summaries)) if b <= position // size - sparse.local_blocks]
        page, pages = self.query_page[position], self.image_blocks
        own = pages[page] if 0 <= page < len(pages) else set()
        allowed = [b for b in remote if b in own] or remote
        score = {
            b: float(router_query @ summaries[b]) / math.sqrt(len(router_query)) for b in allowed
        }
        best = sorted(score, key=lambda b: (-score[b], b))[: policy.topn]
        bias = {}
        for block, p in zip(best, self.entmax([score[b] for b in best]), strict=True):
            if p > 0 and block in best[: policy.topk]:
                bias[block] = math.log(p)
        read = {
            p: bias[block]
            for block in bias
            for p in range(block * size, block * size + size)
            if p <= position - local and p < self.prompt_length
        }
        return read | dict.fromkeys(range(max(position - local + 1, 0), position + 1), 0.0)

    def entmax(self, scores):
        if not scores:
            return []
        low, high = max(scores) / 2 - 1, max(scores) / 2
        for _ in range(100):
            middle = (low + high) / 2
            total = sum(max(s / 2 - middle, 0) ** 2 for s in scores)
            low, high = (middle, high) if total > 1 else (low, middle)
        return [max(s / 2 - low, 0) ** 2 for s in scores]

    def feed_forward(self, name, index, x):
        decoder = self.config.decoder
        if index < decoder.first_dense_layers:
            return self.gated(name, x)
        chance = (self.weights[name + "gate.weight"] @ x).softmax(0)
        out = self.gated(name + "shared_experts.", x)
        for expert in chance.argsort(descending=True)[: decoder.experts_per_token].tolist():
            out = out + chance[expert] * self.gated(f"{name}experts.{expert}.", x)
        return out

    def gated(self, name, x):
        gate, up, down = (
            self.weights[f"{name}{part}_proj.weight"] for part in ("gate", "up", "down")
        )
        return down @ ((gate @ x) * torch.sigmoid(gate @ x) * (up @ x))


@pytest.mark.parametrize(
    "rope",
    [
        {},
        {"sparse_main_rope_tok_freq_mode": "truncate", "sparse_rope_page_pairs": 2},
        {"sparse_rope_tok_freq_mode": "truncate", "sparse_rope_page_mod": 2},
        {"sparse_router_norm_last": True},
    ],
    ids=["default", "main", "router", "norm"],
)
@torch.inference_mode()
def test_prefill_equals_the_description(kit, rope):
    """Three pages, the second of them small; every answer begins far from its page's blocks."""
    large = kit.random_model(kit.large_config(**rope), seed=3)
    roles, prompt_length = kit.document([37, 5, 29], [18, 3, 12], surplus=4)
    embeddings = kit.embedded(large, roles, kit.random_ids(roles))
    expected = ReferenceDecoder(large)(embeddings, roles, prompt_length)
    actual = kit.whole_scores(large, embeddings, roles, prompt_length)
    torch.testing.assert_close(actual.double(), expected, rtol=1e-3, atol=1e-4)


@torch.inference_mode()
def test_with_every_block_open_attention_is_dense_and_causal(kit):
    model = kit.random_model(
        kit.large_config(
            sparse_entmax_alpha=1.0,
            sparse_topk_blocks=99,
            sparse_entmax_topn=99,
            sparse_bias_mode="zero",
            sparse_page_gate=False,
        ),
        seed=6,
    )
    roles, _ = kit.document([30, 26], [20, 10])
    embeddings = kit.embedded(model, roles, kit.random_ids(roles))
    reference = ReferenceDecoder(model)
    reference.read = lambda position, *_: dict.fromkeys(range(position + 1), 0.0)
    expected = reference(embeddings, roles, len(roles))
    actual = kit.whole_scores(model, embeddings, roles, len(roles))
    torch.testing.assert_close(actual.double(), expected, rtol=1e-3, atol=1e-4)
