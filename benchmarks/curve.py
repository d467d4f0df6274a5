"""What is drawn, not only told: points of several systems over one axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A plot with a name. Where `joined`, a system's points are one line; otherwise each stands for itself."""

    name: str
    title: str
    x: str
    """What the axis shows, with its unit."""
    y: str
    points: Mapping[str, Points]
    joined: bool = True
    log_x: bool = False
    log_y: bool = False
    counted: bool = True
    """Whether it is the same in every run; a stopwatch's is not."""
