"""Configuration of the DeepEncoder: its structure and sizes, and how they are read from a file."""

from dataclasses import dataclass

from ocrcli.models.unlimited_ocr.config_section import ConfigError, ConfigSection, check_multiple


@dataclass(frozen=True)
class VisionConfig:
    """Structure and sizes of the DeepEncoder (windowed SAM stage, then a CLIP-like stage).

    Attributes:
        image_channels: Colour channels of the input, 3 or 1 (grey).
        patch_size: Side of a patch in pixels.
        sam_width: Channels of the first stage.
        sam_layers: Blocks of the first stage.
        sam_heads: Attention heads of the first stage.
        window_size: Side of an attention window, in patches.
        global_layers: Blocks of the first stage that attend to the whole image.
        relative_position: Whether the first stage adds decomposed relative-position biases.
        position_layout: "grid" (one learned vector a cell, resized to the image) or "factored"
            (a row table plus a column table, cropped to the image: free aspect ratio).
        position_size: Side of the first stage's position grid, in patches.
        neck_channels: Channels of the convolutional neck; 0 leaves the neck out.
        compressor_channels: Output channels of each stride-2 convolution.
        encoder_width: Channels of the second stage.
        encoder_layers: Blocks of the second stage.
        encoder_heads: Attention heads of the second stage.
        encoder_position_size: Side of the second stage's position grid, in its cells.
        class_token: Whether the second stage prepends a class token.
        encoder_activation: "quick_gelu" or "gelu".
        encoder_final_norm: Whether a LayerNorm closes the second stage.
        fusion: "concat" (second stage beside the compressed first) or "encoder" (second only).
        image_newline: Whether a learned token ends every row of visual tokens.
        view_separator: Whether a learned token ends every image.
        orientation_head: Whether a small head tells which way up an image lies.
        padded_coordinates: Whether coordinates are shares of the padded image; otherwise they are
            shares of what was padded.
        tile_size: Side in pixels of the tiles that a lone page is cut into.
    """

    image_channels: int = 3
    patch_size: int = 16
    sam_width: int = 768
    sam_layers: int = 12
    sam_heads: int = 12
    window_size: int = 14
    global_layers: tuple[int, ...] = (2, 5, 8, 11)
    relative_position: bool = True
    position_layout: str = "grid"
    position_size: int = 64
    neck_channels: int = 256
    compressor_channels: tuple[int, ...] = (512, 1024)
    encoder_width: int = 1024
    encoder_layers: int = 24
    encoder_heads: int = 16
    encoder_position_size: int = 16
    class_token: bool = True
    encoder_activation: str = "quick_gelu"
    encoder_final_norm: bool = False
    fusion: str = "concat"
    image_newline: bool = True
    view_separator: bool = True
    orientation_head: bool = False
    padded_coordinates: bool = False
    tile_size: int = 640

    @property
    def cell_size(self) -> int:
        """Side in pixels of the square that one visual token stands for."""
        return self.patch_size << len(self.compressor_channels)

    @property
    def feature_width(self) -> int:
        """Channels that reach the projector."""
        if self.fusion == "concat":
            return self.encoder_width + self.compressor_channels[-1]
        return self.encoder_width


def read_vision(top: ConfigSection) -> VisionConfig:
    """Return the configuration in the `vision_config` object of a `config.json`.

    Args:
        top: The object; sizes of the stages lie in its `width`.

    Raises:
        ConfigError: A value has the wrong type or contradicts another.
    """
    base = VisionConfig()
    sam, clip = _stages(top)
    config = VisionConfig(
        image_channels=top.get("image_channels", base.image_channels),
        patch_size=sam.get("patch_size", base.patch_size),
        sam_width=sam.get("width", base.sam_width),
        sam_layers=sam.get("layers", base.sam_layers),
        sam_heads=sam.get("heads", base.sam_heads),
        window_size=sam.get("window_size", base.window_size),
        global_layers=sam.get("global_attn_indexes", base.global_layers, minimum=0),
        relative_position=top.get("relative_position", base.relative_position),
        position_layout=top.choice("position_layout", base.position_layout, ("grid", "factored")),
        position_size=sam.get("position_size", base.position_size),
        neck_channels=top.get(
            "neck_channels", sam.get("output_channels", base.neck_channels), minimum=0
        ),
        compressor_channels=sam.get("downsample_channels", base.compressor_channels),
        encoder_width=clip.get("width", base.encoder_width),
        encoder_layers=clip.get("layers", base.encoder_layers),
        encoder_heads=clip.get("heads", base.encoder_heads),
        encoder_position_size=clip.get("position_size", base.encoder_position_size),
        class_token=top.get("class_token", base.class_token),
        encoder_activation=top.choice(
            "encoder_activation", base.encoder_activation, ("quick_gelu", "gelu")
        ),
        encoder_final_norm=top.get("encoder_final_norm", base.encoder_final_norm),
        fusion=top.choice("fusion", base.fusion, ("concat", "encoder")),
        image_newline=top.get("image_newline", base.image_newline),
        view_separator=top.get("view_separator", base.view_separator),
        orientation_head=top.get("orientation_head", base.orientation_head),
        padded_coordinates=top.get("padded_coordinates", base.padded_coordinates),
        tile_size=top.get("tile_size", base.tile_size),
    )
    _check_vision(config)
    if top.values.get("tile_size") is not None and config.tile_size % config.cell_size:
        raise ConfigError(
            f"config key vision_config.tile_size must be a multiple of {config.cell_size}, the "
            f"pixels of one visual token, got {config.tile_size}"
        )
    return config


def _stages(top: ConfigSection) -> tuple[ConfigSection, ConfigSection]:
    """Return the objects of both stages, under the published names of their keys.

    The layout that transformers writes names them differently and gives image sizes in pixels.
    """
    if "sam_config" not in top.values and "encoder_config" not in top.values:
        widths = top.section("width")
        return widths.section("sam_vit_b"), widths.section("clip-l-14-224")
    stages = []
    for key, hidden, patch, size in (
        ("sam_config", "mlp_dim", 16, 1024),
        ("encoder_config", "intermediate_size", 14, 224),
    ):
        stage = top.section(key)
        width = stage.get("hidden_size", 768 if key == "sam_config" else 1024)
        if stage.get(hidden, 4 * width) != 4 * width:
            raise ConfigError(
                f"{key}.{hidden} must be four times hidden_size ({4 * width}), "
                f"got {stage.get(hidden, 0)}"
            )
        values = dict(stage.values)
        for ours, theirs in (
            ("width", "hidden_size"),
            ("layers", "num_hidden_layers"),
            ("heads", "num_attention_heads"),
        ):
            if theirs in values:
                values[ours] = values[theirs]
        values["position_size"] = stage.get("image_size", size) // stage.get("patch_size", patch)
        stages.append(ConfigSection(values, f"vision_config.{key}"))
    return stages[0], stages[1]


def _check_vision(config: VisionConfig) -> None:
    check_multiple("sam_vit_b.width", config.sam_width, "sam_vit_b.heads", config.sam_heads)
    encoder = "clip-l-14-224"
    check_multiple(
        f"{encoder}.width", config.encoder_width, f"{encoder}.heads", config.encoder_heads
    )
    if config.compressor_channels[-1:] != (config.encoder_width,):
        raise ConfigError(
            f"downsample_channels must end with {encoder}.width ({config.encoder_width}), "
            f"got {list(config.compressor_channels)}"
        )
    if config.class_token and config.position_layout == "factored":
        raise ConfigError(
            "class_token must be false when position_layout is factored: only a grid has a "
            "position for it"
        )
