"""The points of several systems over one axis, to be plotted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A named plot. If `joined`, a system's points form a line; otherwise each stands alone."""

    name: str
    title: str
    x: str
    """The label of the axis, with its unit."""
    y: str
    points: Mapping[str, Points]
    joined: bool = True
    log_x: bool = False
    log_y: bool = False
    counted: bool = True
    """Whether it is the same in every run; timings are not."""
