"""The demo of not acting on one reading: seven reflections become four proposals, and one is ripe.

The table comes from real sightings and a real run of the gate, at a given time. The second part plays sixty
days of single readings that want a knob up or down, and counts how often the system would have turned.
"""

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from examples.ground import MONDAY
from festinger.ids import DEFAULT_AGENT, Origin, SessionId, SpaceId, cause
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.inbox import load_card
from festinger.proposals.promotion import promote
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.sightings.recount import REFLECTION, Suggestion

DAY = timedelta(days=1)
MIN_SEEN, MIN_AGE_DAYS = 2, 7

REFLECTIONS = (
    ("reliability", "tools", 9, "Add a retry budget for Elasticsearch queries"),
    ("reliability", "tools", 6, "Elasticsearch queries: a budget for the retry"),
    ("reliability", "tools", 2, "Retry budget, on queries to Elasticsearch"),
    ("ux", "tools", 3, "Add a progress bar for long tool calls"),
    ("ux", "tools", 1, "Long tool calls: a progress bar"),
    ("cost", "llm_client", 1, "Lower the summarizer temperature"),
    ("performance", "tools", 10, "Parallelize the health probe"),
)

FLAP_DAYS, FLAP_SEED = 60, 7
UP, DOWN = "Raise", "Lower"
WHY_IT_FLAPS = "Without a deadband every single reading moves the system, so it chases the last anomaly."


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """A demo as text, and as numbers."""

    text: str
    document: dict[str, Any]


def deps_at_time(context: ProposalDeps, space: SpaceId, now: datetime, **settings: Any) -> ProposalDeps:
    """The same dependencies at another time and with other settings."""
    terms = context.terms(space).model_copy(update=settings)
    return replace(context, clock=lambda: now, terms=lambda _space: terms)


async def play_hysteresis(context: ProposalDeps, space: SpaceId, *, min_seen: int = MIN_SEEN) -> DemoReport:
    """Seven reflections, what is left of them, and what the gate says of each."""
    then = deps_at_time(context, space, MONDAY, min_seen_count=min_seen, min_age_days=MIN_AGE_DAYS)
    seen = [await record_sighting(then, space, _reflection(number, *each)) for number, each in enumerate(REFLECTIONS)]
    ids = list(dict.fromkeys(each.proposal for each in seen if each.proposal))
    cards = [await load_card(then, space, id_) for id_ in ids]
    run = await promote(then, space)
    fates = {each["proposal"]: each["fate"] for each in run.readings}
    rows = [
        {
            "fingerprint": each.proposal.fingerprint,
            "seen": each.proposal.seen_count,
            "age_days": each.reading.age_days,
            "fate": fates[str(each.proposal.id)],
            "what": each.proposal.what,
        }
        for each in cards
    ]
    return DemoReport(text=_table(rows, min_seen=min_seen), document={"reflections": len(seen), "proposals": rows})


async def play_flapping(context: ProposalDeps, spaces: tuple[SpaceId, SpaceId]) -> DemoReport:
    """Sixty days of readings, once without a deadband and once with one; each in a space of its own."""
    readings = _readings(random.Random(FLAP_SEED))  # noqa: S311 - the same each time, and nothing here is secret
    turns = {
        causes: await _turns(context, space, readings, min_seen=causes)
        for causes, space in zip((1, 2), spaces, strict=True)
    }
    lines = [
        f"{FLAP_DAYS} days of one-off readings that want the batch size up or down:",
        *(f"  N = {causes}: the promoted direction turned {count} times" for causes, count in turns.items()),
        WHY_IT_FLAPS,
    ]
    return DemoReport(text="\n".join(lines), document={"days": FLAP_DAYS, "turns": turns, "why": WHY_IT_FLAPS})


def _reflection(number: int, category: str, scope: str, days_ago: int, what: str) -> Suggestion:
    return build_suggestion(
        what, at=MONDAY - days_ago * DAY, session=f"reflection-{number}", category=category, scope=scope
    )


def build_suggestion(what: str, *, at: datetime, session: str, category: str, scope: str) -> Suggestion:
    """A reflection of an agent in a session of its own."""
    return Suggestion(
        category=category,
        scope=scope,
        what=what,
        producer=REFLECTION,
        source=session,
        cause=cause(agent=DEFAULT_AGENT, session=SessionId(session), origin=Origin.MODEL, at=at),
        at=at,
    )


def _table(rows: list[dict[str, Any]], *, min_seen: int) -> str:
    kept = [f"  [{row['fingerprint']}] seen {row['seen']}x, {row['age_days']}d old: {row['what']}" for row in rows]
    return "\n".join(
        [
            f"{len(REFLECTIONS)} incoming reflections -> {len(rows)} distinct proposals after dedup",
            *kept,
            f"promote if seen_count >= {min_seen} AND age >= {MIN_AGE_DAYS}d:",
            *map(_judged, rows),
        ]
    )


def _judged(row: dict[str, Any]) -> str:
    fate = "PROMOTED" if row["fate"] == "promoted" else row["fate"]
    reading = f"(seen {row['seen']}x, {row['age_days']}d)"
    return f"  {fate:<10}{reading:<15}{row['what']}"


def _readings(chance: random.Random) -> list[str]:
    """What each day asks for: another size each time, so that no reading ever comes twice."""
    sizes = chance.sample(range(100, 1000), FLAP_DAYS)
    return [f"{chance.choice((UP, DOWN))} the batch size to {size}" for size in sizes]


async def _turns(context: ProposalDeps, space: SpaceId, readings: list[str], *, min_seen: int) -> int:
    """How often what is promoted points the other way than the promotion before."""
    settings = {"min_seen_count": min_seen, "min_age_days": 0, "inbox_limit": 10 * FLAP_DAYS}
    directions: list[str] = []
    for day, reading in enumerate(readings):
        now = MONDAY + day * DAY
        today = deps_at_time(context, space, now, **settings)
        await record_sighting(
            today, space, build_suggestion(reading, at=now, session=f"day-{day}", category="performance", scope="tools")
        )
        run = await promote(today, space)
        directions += [each["what"].split()[0] for each in run.readings if each["fate"] == "promoted"]
    return sum(one != other for one, other in pairwise(directions))
