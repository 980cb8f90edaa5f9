"""What is drawn on one training page: glyphs, rectangles and textures, before they are painted."""

import numpy as np

from ocrcli.models.small.training.composed import ComposedBlock, ComposedPage


class Canvas:
    """Glyphs, fills and figures that gather while a page is composed, in canvas pixels."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.em = 16.0
        self._glyphs: list[np.ndarray] = []
        self._xs: list[np.ndarray] = []
        self._ys: list[np.ndarray] = []
        self._fills: list[tuple[float, float, float, float, float]] = []
        self._figures: list[tuple[int, int, int, int, int]] = []

    def glyphs(self, glyph: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Draw glyphs, int64 [N], at pen positions, float64 [N], on baselines, int64 [N]."""
        self._glyphs.append(glyph.astype(np.int64, copy=False))
        self._xs.append(np.rint(x))
        self._ys.append(y)

    def fill(self, left: float, top: float, right: float, bottom: float, ink: float) -> None:
        """Draw a rectangle of darkness `ink`, 0 to 1."""
        # Sixty-fourths add up without rounding, whatever their order.
        self._fills.append((left, top, right, bottom, round(ink * 64) / 64))

    def rule(self, left: float, right: float, y: float, thick: float, ink: float = 1.0) -> None:
        """Draw a horizontal line whose upper edge is at `y`."""
        self.fill(left, y, right, y + max(1.0, thick), ink)

    def upright(self, x: float, top: float, bottom: float, thick: float, ink: float = 1.0) -> None:
        """Draw a vertical line whose left edge is at `x`."""
        self.fill(x, top, x + max(1.0, thick), bottom, ink)

    def frame(self, left: float, top: float, right: float, bottom: float, thick: float) -> None:
        """Draw the four sides of a rectangle, from the inside."""
        self.rule(left, right, top, thick)
        self.rule(left, right, bottom - thick, thick)
        self.upright(left, top + thick, bottom - thick, thick)
        self.upright(right - thick, top + thick, bottom - thick, thick)

    def figure(self, left: float, top: float, right: float, bottom: float, texture: int) -> None:
        """Draw a textured rectangle; rectangles must not overlap."""
        self._figures.append((round(left), round(top), round(right), round(bottom), texture))

    def finish(self, blocks: list[ComposedBlock]) -> ComposedPage:
        """Return the composed page."""
        none = np.zeros(0, np.int64)
        return ComposedPage(
            glyph=np.concatenate(self._glyphs) if self._glyphs else none,
            x=np.concatenate(self._xs).astype(np.int32) if self._xs else none.astype(np.int32),
            y=np.concatenate(self._ys).astype(np.int32) if self._ys else none.astype(np.int32),
            fills=np.array(self._fills, np.float32).reshape(-1, 5),
            figures=np.array(self._figures, np.int64).reshape(-1, 5),
            blocks=[block for block in blocks if block.is_seen],
            em=self.em,
        )
