"""The curriculum: what is drawn at each stage of training."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One kind of training image.

    Attributes:
        shapes: Image sizes (width, height) in pixels with their weights.
        batch: Images per GPU and step.
        max_tokens: Longest response, the leading `<PAGE>` and the closing EOS included.
        sizes: Smallest and largest em size of body text in pixels.
        structured: Whether pages carry block headers with boxes; bare lines otherwise.
        tilt: Largest rotation in degrees.
    """

    shapes: tuple[tuple[tuple[int, int], float], ...]
    batch: int
    max_tokens: int
    sizes: tuple[int, int]
    structured: bool
    tilt: float


# Reading emerges on small crops; whole pages from the start were never seen to learn.
STAGES = {
    "lines": Stage((((256, 128), 1.0),), 256, 128, (12, 30), False, 0.5),
    "crops": Stage((((512, 256), 1.0),), 128, 320, (11, 30), False, 0.5),
    "blocks": Stage((((512, 512), 1.0),), 80, 704, (11, 30), True, 0.5),
    "sheets": Stage((((768, 1024), 1.0),), 48, 1216, (12, 28), True, 1.0),
    "pages": Stage(
        (((1024, 1280), 0.55), ((960, 1280), 0.35), ((1280, 960), 0.05), ((768, 1024), 0.05)),
        36,
        1920,
        (12, 26),
        True,
        1.0,
    ),
}
