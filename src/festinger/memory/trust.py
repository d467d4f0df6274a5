"""How far is whoever said something trusted?

By origin, from the settings; something derived is never trusted more than the least trusted thing it derives from,
however far back. Pure: who said it was found out by the door.
"""

from collections.abc import Iterable, Mapping

from festinger.errors import BadInput
from festinger.ids import Origin

WORDED_BY_MODEL = 0.9
"""What is left of the trust in sources when a model put them into its own words."""

DEFAULTS = {
    Origin.PERSON: 1.0,
    Origin.SYSTEM: 0.9,
    Origin.MODEL: 0.6,
    Origin.TOOL: 0.5,
    Origin.DOCUMENT: 0.4,
}


def trust_in(
    origin: Origin, trusts: Mapping[Origin, float], *, sources: Iterable[float] = (), by_model: bool = False
) -> float:
    """The trust that a statement starts with. `sources` are the trusts of what it derives from.

    `by_model` says that a model put it into words. What derives from nothing has the trust of its origin.
    """
    lowest = min(sources, default=None)
    if lowest is None:
        if origin is Origin.JOB:
            raise BadInput(
                "A job cannot learn what derives from nothing.",
                hint="Name in `derived_from` what it was derived from.",
            )
        return trusts[origin]
    if origin not in (Origin.MODEL, Origin.JOB):
        lowest = min(lowest, trusts[origin])
    return rounded(lowest * WORDED_BY_MODEL if by_model else lowest)


def rounded(trust: float) -> float:
    """As the store keeps it: six digits, so that a trust read back compares equal."""
    return round(trust, 6)
