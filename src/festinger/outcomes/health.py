"""Is the loop closed, and what should be done if not?

Memories that are brought to mind and never come to an outcome teach nothing; a system that only hears what was wrong
sinks its store. Both are said, with the door that reports nothing.
"""

from collections.abc import Sequence

from festinger.ids import SpaceId
from festinger.observability.checks import Check, ok, warn
from festinger.outcomes.desk import Desk
from festinger.outcomes.outcome import How
from festinger.outcomes.tally import WEEK, rate
from festinger.settings.outcomes import GOOD, OutcomesSettings
from festinger.store.queries import queries_of
from festinger.world.corroboration import Outcome

Q = queries_of("festinger.outcomes")

MANY = 100
"""Surfaced more often than this without an outcome in a week, a loop is open."""
LOW_RATE = 0.2
NEGATIVE = (Outcome.DISMISSED, Outcome.CONTRADICTED)


async def check_outcomes(desk: Desk, spaces: Sequence[SpaceId], terms: OutcomesSettings) -> list[Check]:
    """Whether outcomes come back in every space, and whether the constants lie where they were tried out."""
    checks = [check for space in spaces for check in await _check_space(desk, space)]
    found = checks or [ok("outcomes.loop", "What is brought to mind comes to outcomes.")]
    return [*found, *check_constants(terms)]


async def _check_space(desk: Desk, space: SpaceId) -> list[Check]:
    since = desk.clock() - WEEK
    async with desk.store.transaction() as transaction:
        doors = await transaction.all(Q["tally_surfaced"], space=space, since=since)
        resolved = await transaction.all(Q["tally_surfacings"], space=space, since=since)
        told = await transaction.all(Q["tally_outcomes"], space=space, since=since)
    counts = {
        Outcome(outcome): sum(row["told"] for row in told if row["outcome"] == outcome)
        for outcome in {row["outcome"] for row in told if row["how"] != How.EXPIRED}
    }
    surfaced = sum(row["surfaced"] for row in doors)
    silent = [row["door"] or "unknown" for row in doors if row["answered_at"] is None]
    if surfaced > MANY and not counts:
        return [_open_loop(space, int(surfaced), silent)]
    checks = []
    if counts and all(outcome in NEGATIVE for outcome in counts):
        checks.append(_only_negative(space))
    if (found := rate(resolved)) is not None and found < LOW_RATE and surfaced > MANY:
        checks.append(_mostly_unused(space, found))
    return checks


def _open_loop(space: SpaceId, surfaced: int, silent: Sequence[str]) -> Check:
    doors = ", ".join(f"`{door}`" for door in silent) or "no door"
    return warn(
        "outcomes.loop",
        f"In `{space}` {surfaced:,} memories were surfaced in a week and nothing is known of any; silent: {doors}.",
        "Let the application report with `observe`, or turn `outcomes.infer` on.",
        space=space,
        doors=list(silent),
    )


def _only_negative(space: SpaceId) -> Check:
    return warn(
        "outcomes.loop",
        f"In `{space}` every outcome of the last week was negative: such a loop only sinks what is known.",
        "Report `acted` and `used` too.",
        space=space,
    )


def _mostly_unused(space: SpaceId, found: float) -> Check:
    return warn(
        "outcomes.rate",
        f"In `{space}` only {found:.0%} of what is brought to mind comes to an outcome.",
        "Most of it is not used: raise the bar of recall, or report what is.",
        space=space,
        rate=found,
    )


def check_constants(terms: OutcomesSettings) -> list[Check]:
    """Constants outside the range in which they were tried out: allowed, and said."""
    beyond = {
        name: (getattr(terms, name), low, high)
        for name, (low, high) in GOOD.items()
        if not low <= getattr(terms, name) <= high
    }
    return [
        warn(
            "outcomes.constants",
            f"`outcomes.{name}` is {value:g}; it was tried out from {low:g} to {high:g}.",
            "Set it back, or watch what happens.",
            key=f"outcomes.{name}",
        )
        for name, (value, low, high) in beyond.items()
    ]
