import json
import random
from pathlib import Path

import numpy as np
import pytest

import ocrcli.models.small
from ocrcli.models.small.training.atlas import GLYPH_INDEX, GLYPHS, SIZES, Atlas
from ocrcli.models.small.training.composer import Composer
from ocrcli.models.small.training.text_source import TextSource
from ocrcli.models.small.training.typeset import PLAIN, SLANTED, TYPEWRITER
from ocrcli.models.unlimited_ocr.config import ModelConfig

FONTS = ("Block-Regular.ttf", "Block-Bold.ttf", "Fixed-Regular.ttf", "Poor-Regular.ttf")


@pytest.fixture(scope="session")
def block_atlas():
    """Fonts whose glyphs are black blocks; the last one lacks letters and has no ligatures."""
    rng = random.Random(0)
    grid = (len(FONTS), len(SIZES), len(GLYPHS))
    advance = np.array([[rng.uniform(0.3, 0.8) for _ in GLYPHS] for _ in FONTS], np.float32)
    advance[2] = 0.6
    shape = np.zeros((*grid, 4), np.int32)
    for index, size in enumerate(SIZES):
        shape[:, index, :, 0] = np.rint(0.8 * advance * size)
        shape[:, index, :, 1] = round(0.6 * size)
        shape[:, index, :, 3] = -round(0.6 * size)
    shape[:, :, GLYPH_INDEX[" "]] = 0
    present = np.ones((len(FONTS), len(GLYPHS)), bool)
    for glyph in "żęçßﬁﬀ§":
        present[3, GLYPH_INDEX[glyph]] = False
    return Atlas(
        shape=shape,
        start=np.zeros(grid, np.int64),
        pixels=np.full(int((shape[..., 0] * shape[..., 1]).max()), 255, np.uint8),
        advance=advance,
        present=present,
        vertical=np.tile(np.array([0.8, 0.2], np.float32), (len(FONTS), 1)),
        names=FONTS,
    )


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "text" / "train").mkdir(parents=True)
    (folder / "text" / "words").mkdir()
    story = "The office of the first affair was difficult to find, said Hélène; “so it was.” "
    lines = [story * count for count in (1, 2, 5, 9)]
    (folder / "text" / "train" / "story.txt").write_text("\n".join(lines), encoding="utf-8")
    for language, words in (("de", "der Straße Größe und Haus"), ("pl", "żółć się być oko nie")):
        rows = "\n".join(f"{word}\t0.01" for word in words.split())
        (folder / "text" / "words" / f"{language}.tsv").write_text(rows, encoding="utf-8")
    (folder / "text" / "prose").mkdir()
    (folder / "text" / "code").mkdir()
    manual = (
        f"If {TYPEWRITER}strict(int x){PLAIN} is called, the {SLANTED}value{PLAIN} is kept and "
        "every other one of the list is left out of the count that follows below here."
    )
    (folder / "text" / "prose" / "en.txt").write_text(f"{manual}\n" * 3, encoding="utf-8")
    german = "Ganze Sätze stehen hier, damit auch wirklicher Text gelesen wird; das ist so."
    (folder / "text" / "prose" / "de.txt").write_text(f"{german}\n" * 3, encoding="utf-8")
    code = "int x;\nfor (;;) {\n    x[0] += '&';\n}\n\nvar=abc\nrep=\"$var\"\n"
    (folder / "text" / "code" / "some.txt").write_text(code, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def composer(block_atlas, text_folder):
    return Composer(block_atlas, TextSource(text_folder))


@pytest.fixture
def tiny_config():
    """The shipped configuration with a few thousand weights."""
    folder = Path(ocrcli.models.small.__file__).parent
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    raw |= {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
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
    stages["sam_vit_b"] |= {"width": 16, "layers": 2, "heads": 2, "downsample_channels": [32]}
    stages["sam_vit_b"]["global_attn_indexes"] = [1]
    stages["clip-l-14-224"] |= {"width": 32, "layers": 1, "heads": 2}
    return ModelConfig.from_dict(raw)
