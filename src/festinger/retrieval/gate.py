"""Is anything that was found good enough to be told?

Evidence is absolute: how near a hit is to the cue in meaning, and how much of what the cue says it holds, which counts
less where it is so long that it holds a little of everything. No place among others counts, so the best of many bad hits is still bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WORDS_ALONE = 0.25
"""Coverage that is enough where no vector says anything."""
OF_STRANGERS = 0.75
"""What evidence counts where a cue asks of somebody of whom nobody ever spoke."""
FOR_BREADTH = 0.1
"""What coverage loses by each e-fold that a hit is too long. Chosen on the developers' half, together with leaving out
the words beside a turn: questions of another conversation that bring nothing rise from .71 to .79 on BEAM and from .98 to
.99 on LoCoMo."""
OF_A_PART = 0.8
"""Share of a question that a hit can hold at best where the question asks for an overview of many things. Seen on the
developers' half: of ten questions for an order five brought nothing, and foreign ones stay below."""
LOOKED_AT = 10
"""Best hits among which one must be good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What evidence must reach; without a reference cosine words alone decide."""

    threshold: float = WORDS_ALONE
    reference: float | None = None


def evidence(
    bar: Bar,
    *,
    cosine: float | None,
    coverage: float,
    breadth: float = 0.0,
    of_strangers: bool = False,
    of_a_part: bool = False,
) -> float:
    """From 0 to 1."""
    found = held = max(0.0, coverage - FOR_BREADTH * breadth)
    if bar.reference is not None:
        found = 0.5 * min(1.0, max(0.0, cosine or 0.0) / bar.reference) + 0.5 * held
    found = min(1.0, found / OF_A_PART) if of_a_part else found
    return (OF_STRANGERS if of_strangers else 1.0) * found


def is_open(bar: Bar, found: Sequence[float]) -> bool:
    """Whether one of the best hits, which are given in their order, is good enough."""
    return any(each >= bar.threshold for each in found[:LOOKED_AT])
