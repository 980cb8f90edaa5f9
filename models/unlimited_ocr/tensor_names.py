"""Which tensor of a checkpoint goes where: published names, their re-export, and unnamed routers.

The first generation exists in two layouts, the published one and the one that transformers writes
(other prefixes, split vision projections, fused experts). The router's names of the second
generation are not known; its tensors are told by what is left over in a layer and by their shapes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ocrcli.models.placement import Placement
from ocrcli.models.unlimited_ocr.config import ModelConfig
from ocrcli.models.unlimited_ocr.config_section import ConfigError
from ocrcli.models.unlimited_ocr.decoder_config import DecoderConfig

Shapes = Mapping[str, tuple[int, ...]]

_SAM, _CLIP = r"^model\.vision_tower\.sam_encoder\.", r"^model\.vision_tower\.vision_encoder\."
_RENAMINGS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (_SAM + r"layers\.(\d+)\.layer_norm([12])\.", r"model.sam_model.blocks.\1.norm\2."),
        (_SAM + r"layers\.", "model.sam_model.blocks."),
        (_SAM + r"patch_embed\.projection\.", "model.sam_model.patch_embed.proj."),
        (_SAM + r"neck\.conv1\.", "model.sam_model.neck.0."),
        (_SAM + r"neck\.layer_norm1\.", "model.sam_model.neck.1."),
        (_SAM + r"neck\.conv2\.", "model.sam_model.neck.2."),
        (_SAM + r"neck\.layer_norm2\.", "model.sam_model.neck.3."),
        (_SAM + r"proj\.conv1\.", "model.sam_model.net_2."),
        (_SAM + r"proj\.conv2\.", "model.sam_model.net_3."),
        (_SAM, "model.sam_model."),
        (_CLIP + r"encoder\.", "model.vision_model.transformer."),
        (_CLIP, "model.vision_model."),
        (r"^model\.view_separator$", "model.view_seperator"),
        (r"^model\.multi_modal_projector\.", "model.projector.layers."),
        (r"^model\.language_model\.", "model."),
    )
)
_SPLIT = re.compile(
    r"^(model\.vision_model\..*\.self_attn\.)([qkv])_proj\.(weight|bias)$",
)
_FUSED = re.compile(r"^(.*\.mlp\.experts)\.(gate_up_proj|down_proj)$")
_LAYER = re.compile(r"^model\.layers\.(\d+)\.(.*)$")
_PLAIN = re.compile(
    r"^(self_attn\.[qkvo]_proj\.(weight|bias)|mlp\..*|(input|post_attention)_layernorm\.weight)$"
)


@dataclass(frozen=True)
class Router:
    """The tensors of one layer's router, by role."""

    q_proj: str
    k_proj: str
    q_norm: str
    k_norm: str
    head_cls: str


def published_name(name: str) -> str:
    """Return the published name of a tensor in the layout of transformers; others stay as they are.

    Example:
        >>> published_name("model.vision_tower.sam_encoder.layers.3.layer_norm1.bias")
        'model.sam_model.blocks.3.norm1.bias'
    """
    for pattern, replacement in _RENAMINGS:
        name, count = pattern.subn(replacement, name)
        if count:
            return name
    return name


def find_routers(shapes: Shapes) -> dict[int, Router]:
    """Return the router of every layer that has one.

    A layer's tensors that no other part claims are sorted by the ends of their names, then checked
    by shape: two projections of equal shape, one or two norms as wide, and a vector as wide.

    Args:
        shapes: Shape of every tensor in the files.

    Raises:
        ConfigError: Tensors are left over, or layers differ in what they hold.
    """
    leftover: dict[int, list[str]] = {}
    for name in shapes:
        match = _LAYER.match(published_name(name))
        if match and not _PLAIN.match(match[2]) and not name.endswith(".scale"):
            leftover.setdefault(int(match[1]), []).append(name)
    routers = {layer: _router(layer, names, shapes) for layer, names in sorted(leftover.items())}
    counts = {layer: len(leftover[layer]) for layer in routers}
    if len(set(counts.values())) > 1:
        raise ConfigError(f"layers hold routers of different numbers of tensors: {counts}")
    return routers


def _router(layer: int, names: list[str], shapes: Shapes) -> Router:
    roles: dict[str, str] = {}
    norms: list[str] = []
    for name in sorted(names):
        role = _role(name)
        if role == "norm":
            norms.append(name)
        elif role is None or role in roles:
            raise _unclear(layer, names, shapes)
        else:
            roles[role] = name
    if len(norms) == 1 and not {"q_norm", "k_norm"} & roles.keys():
        roles["q_norm"] = roles["k_norm"] = norms.pop()
    if norms or len(roles) != 5:
        raise _unclear(layer, names, shapes)
    held = {role: shapes[name] for role, name in roles.items()}
    dim = held["q_proj"][:1]
    fits = (
        len(held["q_proj"]) == 2
        and held["q_proj"] == held["k_proj"]
        and held["q_norm"] == held["k_norm"] == dim
        # A vector may be stored as a matrix of one row.
        and held["head_cls"] in (dim, (1, *dim))
    )
    if not fits:
        raise _unclear(layer, names, shapes)
    return Router(**roles)


def _role(name: str) -> str | None:
    stem = name.removesuffix(".weight").rsplit(".", 1)[-1]
    for role, pattern in (
        ("q_norm", r"q.*norm|norm.*q"),
        ("k_norm", r"k.*norm|norm.*k"),
        ("norm", r"norm"),
        ("head_cls", r"cls"),
        ("q_proj", r"q_proj|q$"),
        ("k_proj", r"k_proj|k$"),
    ):
        if re.search(pattern, stem):
            return role
    return None


def _unclear(layer: int, names: list[str], shapes: Shapes) -> ConfigError:
    listed = ", ".join(f"{name} {list(shapes[name])}" for name in sorted(names))
    return ConfigError(
        f"layer {layer}: a router needs two projections, one or two norms and one head_cls of one "
        f"width, found {listed}"
    )


def placements(shapes: Shapes, config: ModelConfig) -> dict[str, tuple[Placement, ...]]:
    """Return where the tensors of a checkpoint go.

    Args:
        shapes: Shape of every tensor in the files.
        config: The model to be filled.

    Raises:
        ConfigError: A router cannot be made out, or fused experts are misshapen.
    """
    routes = {name: _placed(name, shapes[name], config.decoder) for name in shapes}
    if config.attention == "dash":
        for layer, router in find_routers(shapes).items():
            home = f"model.layers.{layer}.self_attn.router"
            for name in {*vars(router).values()}:
                routes[name] = tuple(
                    Placement(f"{home}.{role}" + ("" if role == "head_cls" else ".weight"))
                    for role, held in vars(router).items()
                    if held == name
                )
    return routes


def _placed(stored: str, shape: tuple[int, ...], decoder: DecoderConfig) -> tuple[Placement, ...]:
    name = published_name(stored)
    if split := _SPLIT.match(name):
        part = "qkv".index(split[2])
        return (Placement(f"{split[1]}qkv_proj.{split[3]}", part=part, num_parts=3),)
    fused = _FUSED.match(name)
    if not fused:
        return (Placement(name),)
    half = decoder.moe_intermediate_size
    is_down = fused[2] == "down_proj"
    sides = (decoder.hidden_size, half) if is_down else (2 * half, decoder.hidden_size)
    if shape != (wanted := (decoder.num_experts, *sides)):
        raise ConfigError(
            f"tensor {stored} must have shape {wanted} by the configuration, got {shape}"
        )
    places = []
    for expert in range(decoder.num_experts):
        home = f"{fused[1]}.{expert}"
        if is_down:
            places.append(Placement(f"{home}.down_proj.weight", (expert,)))
            continue
        places += [
            Placement(f"{home}.gate_proj.weight", (expert, slice(0, half))),
            Placement(f"{home}.up_proj.weight", (expert, slice(half, None))),
        ]
    return tuple(places)


def router_width(shapes: Shapes) -> tuple[int, list[str]]:
    """Return the routers' width, 0 for none, and the names of all their norms."""
    routers = find_routers(shapes)
    if not routers:
        return 0, []
    first = next(iter(routers.values()))
    norms = {name for router in routers.values() for name in (router.q_norm, router.k_norm)}
    return shapes[first.q_proj][0], sorted(norms)
