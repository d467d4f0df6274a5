"""How deeply is a memory held?

A weight is a Beta distribution: what spoke for keeping it (alpha) and what spoke against (beta). Every reinforcement
goes through `reinforced`, which makes each one worth less than the last and stops short of certainty, so that
nothing is held for ever because it was met often. Whose word moves a weight, and by how much, is left to others.
"""

import math
import random
from dataclasses import dataclass

from festinger.errors import BadInput

PRIOR_ALPHA = 1.0
PRIOR_BETA = 4.0

HIGHEST_CENTER = 0.95
"""No reinforcement lifts a memory above this."""

CONTESTED_ABOVE = 5.0
UNINFORMED_BELOW = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Beta(alpha, beta); a fresh memory is held lightly."""

    alpha: float = PRIOR_ALPHA
    beta: float = PRIOR_BETA

    def __post_init__(self) -> None:
        if 0 < self.alpha < math.inf and 0 < self.beta < math.inf:
            return
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not math.isfinite(value) or value <= 0:
                raise BadInput(f"The {name} of a weight must be a number above 0, not {value}.")

    @property
    def center(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    @property
    def depth_weight(self) -> float:
        """The center by its older name."""
        return self.center

    @property
    def variance(self) -> float:
        total = self.total_evidence
        return self.alpha * self.beta / (total**2 * (total + 1))

    @property
    def total_evidence(self) -> float:
        return self.alpha + self.beta

    @property
    def is_contested(self) -> bool:
        """Whether much speaks for it and much against. The spread does not tell: it shrinks with any evidence."""
        return self.alpha > CONTESTED_ABOVE and self.beta > CONTESTED_ABOVE

    @property
    def is_uninformed(self) -> bool:
        return self.alpha < UNINFORMED_BELOW and self.beta < UNINFORMED_BELOW

    def observe(self, chance: random.Random) -> float:
        """One draw of how deeply it is held."""
        return chance.betavariate(self.alpha, self.beta)

    def reinforce(self, amount: float = 1.0) -> "Weight":
        return Weight(alpha=self.alpha + checked_amount(amount), beta=self.beta)

    def contradict(self, amount: float = 0.5) -> "Weight":
        return Weight(alpha=self.alpha, beta=self.beta + checked_amount(amount))


FRESH = Weight()
RESET = Weight(alpha=1.0, beta=1.0)
IMMUTABLE = Weight(alpha=50.0, beta=1.0)
"""What is held for good starts here; nothing else may start above the highest center."""


def checked_amount(amount: float) -> float:
    if not math.isfinite(amount) or amount < 0:
        raise BadInput(f"A weight moves by 0 or more, not by {amount}.")
    return amount


def reinforced(
    weight: Weight, amount: float, *, immutable: bool = False, ceiling: float | None = None
) -> Weight:
    """The one way in which a weight rises: by less the more is known, and never past the highest center.

    `ceiling` is a lower center that this reinforcement may not pass either.
    """
    gain = checked_amount(amount) / max(1.0, math.log2(weight.total_evidence))
    highest = HIGHEST_CENTER if ceiling is None else min(HIGHEST_CENTER, ceiling)
    if immutable or weight.center >= highest:
        return weight
    at_most = highest * weight.beta / (1.0 - highest)
    return Weight(alpha=max(weight.alpha, min(weight.alpha + gain, at_most)), beta=weight.beta)


def weakened(weight: Weight, amount: float, *, immutable: bool = False) -> Weight:
    """The one way in which a weight falls. What speaks against a memory counts in full each time."""
    checked_amount(amount)
    return weight if immutable else weight.contradict(amount)


def united(weight: Weight, twin: Weight, *, immutable: bool = False) -> Weight:
    """The weight of two memories that turned out to be one: what each gathered beyond the prior, added."""
    if immutable:
        return weight
    alpha = weight.alpha + max(0.0, twin.alpha - PRIOR_ALPHA)
    beta = weight.beta + max(0.0, twin.beta - PRIOR_BETA)
    highest = HIGHEST_CENTER * beta / (1.0 - HIGHEST_CENTER)
    return Weight(alpha=max(weight.alpha, min(alpha, highest)), beta=beta)
