"""The curriculum: what is drawn at each stage of training."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stage:
    """One kind of training image.

    Attributes:
        shapes: Image sizes (width, height) in pixels with their weights.
        batch: Images per GPU and step.
        max_tokens: Longest response, the leading `<PAGE>` and the closing EOS included.
        sizes: Smallest and largest em size of body text in pixels.
        structured: Whether pages carry block headers with boxes; bare lines otherwise.
        tilt: Largest rotation in degrees of pages without damage.
        damage: Share of pages with the damage of scans, which turn by up to `DAMAGED_TILT`.
        turned: Share of the images that are also shown turned, to the orientation head alone.
        mixture: Other stages and how often a batch is theirs; shapes, tokens, sizes, tilt and
            damage are then theirs too, and so is the batch where it is 0 here.
    """

    shapes: tuple[tuple[tuple[int, int], float], ...]
    batch: int
    max_tokens: int
    sizes: tuple[int, int]
    structured: bool
    tilt: float
    damage: float = 0.0
    turned: float = 0.0
    mixture: tuple[tuple[str, float], ...] = ()


DAMAGED_TILT = 3.0
"""Largest rotation in degrees of damaged pages."""

# Sheets of paper as they are: scans whose edges are dark, pages without margins.
_SHEETS = (
    ((1024, 1280), 0.20),
    ((960, 1280), 0.16),
    ((1280, 960), 0.04),
)


def _cropped(share: float) -> tuple[tuple[tuple[int, int], float], ...]:
    """Return sizes of pages without their margins, upright ones more often, with weights."""
    found = [
        ((width, height), 3.0 if height > width else 1.0)
        for width in range(512, 1281, 128)
        for height in range(512, 1281, 128)
        if max(width, height) >= 1024 and 0.4 <= width / height <= 2.5
    ]
    total = sum(weight for _, weight in found)
    return tuple((size, share * weight / total) for size, weight in found)


_WHOLE = (*_SHEETS, *_cropped(0.6))


def _any_shape(least: int, most: int, area: int) -> tuple[tuple[tuple[int, int], float], ...]:
    """Return every size in steps of 64 pixels with at most `area` pixels.

    With a handful of sizes the model learns these by heart, and boxes on others come out squeezed.
    """
    sides = range(least, most + 1, 64)
    found = [(width, height) for width in sides for height in sides if width * height <= area]
    return tuple((size, 1.0) for size in found if max(size) <= 4 * min(size))


# Reading emerges on small crops; whole pages from the start were never seen to learn.
STAGES = {
    "lines": Stage((((256, 128), 1.0),), 256, 128, (12, 30), False, 0.5),
    "crops": Stage((((512, 256), 1.0),), 128, 320, (11, 30), False, 0.5),
    "blocks": Stage((((512, 512), 1.0),), 80, 704, (11, 30), True, 0.5),
    "sheets": Stage((((768, 1024), 1.0),), 48, 1216, (12, 28), True, 1.0),
    "pages": Stage(_WHOLE, 48, 2112, (11, 32), True, 1.0, 0.15, 0.125),
    "scans": Stage(_WHOLE, 48, 2112, (12, 30), True, 1.0, 0.6, 0.125),
    # Small type, set close: 7 to 9 pt on A4 that has no margins to crop.
    "dense": Stage(_WHOLE, 32, 3072, (9, 14), True, 1.0, 0.15, 0.125),
    "tiny": Stage(
        _any_shape(192, 1024, 640 * 704),
        160,
        832,
        (11, 36),
        True,
        1.0,
        0.4,
        0.125,
    ),
    # One kind after the other would be forgotten one after the other.
    "mixed": Stage(
        (),
        0,
        0,
        (0, 0),
        True,
        0.0,
        turned=0.125,
        mixture=(
            ("pages", 0.38),
            ("dense", 0.3),
            ("scans", 0.21),
            ("tiny", 0.11),
        ),
    ),
}


def parts(stage: Stage) -> tuple[list[Stage], list[float]]:
    """Return the stages that batches are drawn from, and their weights."""
    if not stage.mixture:
        return [stage], [1.0]
    names, weights = zip(*stage.mixture, strict=True)
    stages = [STAGES[name] for name in names]
    if stage.batch:
        stages = [replace(part, batch=stage.batch) for part in stages]
    return stages, list(weights)
