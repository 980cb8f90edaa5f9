"""What a scanner and a photocopier do to a sheet, for evaluation only.

Written apart from `training/damage.py`, with other tools (Pillow and NumPy on whole 300-dpi pages),
so that a model cannot have learnt the marks of this simulation.
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from ocrcli.models.small.evaluation.page_set import Grey


@dataclass(frozen=True)
class Scan:
    """How one sheet is scanned.

    Attributes:
        skew: Degrees counter-clockwise.
        paper: Grey of the paper, 0 to 255.
        ink: Grey of full ink.
        shade: Share of light lost at the darkest corner.
        shade_angle: Direction in which light is lost, radians.
        blur: Radius of a Gaussian, pixels at 300 dpi.
        noise: Standard deviation of the sensor's noise, grey values.
        quality: JPEG quality, 1 to 95.
        threshold: Share of the way from ink to paper at which a 1-bit scan divides, or None.
    """

    skew: float
    paper: float
    ink: float
    shade: float
    shade_angle: float
    blur: float
    noise: float
    quality: int
    threshold: float | None

    def __str__(self) -> str:
        """Return the settings in a few words."""
        bits = "1-bit" if self.threshold is not None else f"JPEG {self.quality}"
        return f"skew {self.skew:+.1f}° blur {self.blur:.1f} noise {self.noise:.0f} {bits}"


def choose_scan(rng: np.random.Generator, max_skew: float = 2.0) -> Scan:
    """Return settings of an office scanner: one sheet in three is scanned in 1 bit.

    Args:
        rng: Source of all choices.
        max_skew: Largest skew to either side, degrees.
    """
    return Scan(
        skew=float(rng.uniform(-max_skew, max_skew)),
        paper=float(rng.uniform(215, 252)),
        ink=float(rng.uniform(15, 80)),
        shade=float(rng.uniform(0.0, 0.18)),
        shade_angle=float(rng.uniform(0, 2 * np.pi)),
        blur=float(rng.uniform(0.6, 1.7)),
        noise=float(rng.uniform(3, 10)),
        quality=int(rng.integers(35, 81)),
        threshold=float(rng.uniform(0.6, 0.8)) if rng.random() < 1 / 3 else None,
    )


def scan(sheet: Grey, settings: Scan, rng: np.random.Generator) -> Grey:
    """Return a sheet as a scanner would deliver it, in the same size.

    Args:
        sheet: A clean page at 300 dpi.
        settings: How it is scanned.
        rng: Source of the noise.
    """
    picture = Image.fromarray(sheet)
    picture = picture.rotate(settings.skew, Image.Resampling.BICUBIC, fillcolor=255)
    picture = picture.filter(ImageFilter.GaussianBlur(settings.blur))
    light = np.asarray(picture, dtype=np.float32) / 255
    grey = (settings.ink + (settings.paper - settings.ink) * light) * _light(sheet.shape, settings)
    grey += rng.standard_normal(sheet.shape, dtype=np.float32) * settings.noise
    # Sensors smear their noise over neighbouring pixels.
    grey = (grey + np.roll(grey, 1, axis=1)) / 2
    scanned = np.clip(np.rint(grey), 0, 255).astype(np.uint8)
    if settings.threshold is not None:
        limit = settings.ink + settings.threshold * (settings.paper - settings.ink)
        return np.where(scanned < limit * (1 - settings.shade / 2), 0, 255).astype(np.uint8)
    data = io.BytesIO()
    Image.fromarray(scanned).save(data, "JPEG", quality=settings.quality)
    with Image.open(data) as decoded:
        return np.array(decoded.convert("L"))


def _light(shape: tuple[int, ...], settings: Scan) -> np.ndarray:
    """Return the share of light at every pixel: less towards one edge."""
    height, width = shape
    across = np.linspace(-0.5, 0.5, width, dtype=np.float32)[None, :]
    down = np.linspace(-0.5, 0.5, height, dtype=np.float32)[:, None]
    along = across * np.cos(settings.shade_angle) + down * np.sin(settings.shade_angle)
    share = np.clip(along / np.sqrt(0.5) * 0.5 + 0.5, 0, 1)
    return 1 - settings.shade * share**2
