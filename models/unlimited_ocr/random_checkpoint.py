"""Writes a checkpoint of random weights, of the published size or any other.

The published weights take time to fetch and may not be at hand. A random model of the same size
takes the same memory and the same time, so loading and speed can be tried with it. Its text means
nothing.

    python -m ocrcli.models.unlimited_ocr.random_checkpoint FOLDER --generation 2
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from ocrcli.models.outline import in_outline
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.model import UnlimitedOcr

SHARD_BYTES = 1 << 30

_STEP = 0.02
_SPECIAL_TOKENS = {
    "<｜begin▁of▁sentence｜>": ("bos_token_id", 0),
    "<｜end▁of▁sentence｜>": ("eos_token_id", 1),
    "<｜▁pad▁｜>": ("pad_token_id", 2),
    "<image>": ("image_token_id", 128815),
    "<PAGE>": ("page_token_id", 128827),
}
_VISIBLE_TAGS = {"<|ref|>": 1, "<|/ref|>": 2, "<|det|>": 3, "<|/det|>": 4, "<td>": 6, "</td>": 7}
"""Offsets from the image token's id."""


def published_settings(generation: int) -> dict[str, Any]:
    """Return a `config.json` of the published size.

    Args:
        generation: 1 or 2.
    """
    settings: dict[str, Any] = {
        "model_type": "unlimited-ocr",
        "hidden_size": 1280,
        "num_hidden_layers": 12,
        "num_attention_heads": 10,
        "vocab_size": 129280,
        "image_token_id": 128815,
    }
    if generation == 1:
        return settings | {"sliding_window": 128}
    return settings | {"page_token_id": 128827, "sparse_block_size": 32, "sparse_local_block": 4}


def write_random_checkpoint(
    folder: Path,
    settings: Mapping[str, Any],
    seed: int = 0,
    dtype: torch.dtype = torch.bfloat16,
    step: float = _STEP,
    device: str = "cpu",
) -> None:
    """Write settings, tokenizer and sharded weights of a random model.

    Never holds more than one shard in memory.

    Args:
        folder: Created if need be.
        settings: What `config.json` shall hold.
        seed: Of the weights.
        dtype: Type of the weights.
        step: Standard deviation of the weights.
        device: Where the weights are drawn; each device draws its own, a GPU much faster.

    Raises:
        ConfigError: The settings do not make a model.
    """
    config = ModelConfig.from_dict(settings)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(settings), indent=2) + "\n")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(config), ensure_ascii=False))
    with in_outline():
        model = UnlimitedOcr(config)
    weight_map: dict[str, str] = {}
    total = 0
    for index, shard in enumerate(_shards(model, seed, dtype, step, device), start=1):
        name = f"model-{index:05d}.safetensors"
        save_file(shard, folder / name, {"format": "pt"})
        weight_map |= dict.fromkeys(shard, name)
        total += sum(values.nbytes for values in shard.values())
    contents = {"metadata": {"total_size": total}, "weight_map": weight_map}
    text = json.dumps(contents, indent=2)
    (folder / "model.safetensors.index.json").write_text(text + "\n")


def _shards(
    model: UnlimitedOcr, seed: int, dtype: torch.dtype, step: float, device: str
) -> Iterator[dict[str, Tensor]]:
    generator = torch.Generator(device).manual_seed(seed)
    shard: dict[str, Tensor] = {}
    size = 0
    for name, param in model.named_parameters():
        values = torch.empty(param.shape, dtype=dtype, device=device)
        values.normal_(0.0, step, generator=generator)
        # Router norms scale by 1 + w, all others by w.
        if "norm" in name and name.endswith("weight") and ".router." not in name:
            values += 1.0
        shard[name] = values.cpu()
        size += values.nbytes
        if size >= SHARD_BYTES:
            yield shard
            shard, size = {}, 0
    if shard:
        yield shard


def _tokenizer(config: ModelConfig) -> dict[str, Any]:
    """Return a byte-level tokenizer with the model's special tokens at their ids and no merges."""
    tokens = config.tokens
    special = dict(
        zip(
            _SPECIAL_TOKENS,
            (tokens.bos, tokens.eos, tokens.pad, tokens.image, tokens.page),
            strict=True,
        )
    )
    vocabulary = {text: id_ for text, id_ in special.items() if id_ is not None}
    tags = {text: tokens.image + offset for text, offset in _VISIBLE_TAGS.items()}
    taken = set(vocabulary.values())
    tags = {
        text: id_
        for text, id_ in tags.items()
        if id_ < config.decoder.vocab_size and id_ not in taken
    }
    taken |= set(tags.values())
    free = (id_ for id_ in range(config.decoder.vocab_size) if id_ not in taken)
    vocabulary |= dict(zip(_letters(), free, strict=False)) | tags
    added = [
        {
            "id": vocabulary[text],
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": text in special,
        }
        for text in (*special, *tags)
        if text in vocabulary
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda token: token["id"]),
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        },
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        },
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def _letters() -> list[str]:
    """Return one letter per byte, as byte-level vocabularies spell them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(0x100 + n) for n in range(len(others))]


def main(argv: Sequence[str] | None = None) -> int:
    """Write a checkpoint of the published size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--generation", type=int, choices=(1, 2), default=2)
    parser.add_argument("--layers", type=int, default=12, help="decoder layers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    settings = published_settings(options.generation) | {"num_hidden_layers": options.layers}
    write_random_checkpoint(options.folder, settings, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
