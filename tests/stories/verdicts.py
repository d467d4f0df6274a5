"""What deciding leaves behind, whatever the channel: seven stories, and the rows afterwards."""

from typing import Any

from tests.jobs.deps import rows

from festinger.store.pool import Store

UNTIL = "2035-01-01"
BEES, WASPS = "Ann keeps bees", "Ann keeps wasps"

STORIES = ("approve", "reject", "deepen", "duplicate", "defer", "stale", "unverified")

LEFT = {
    "approve": {"state": "applied", "kind": "approve", "verified": True, "result": "applied"},
    "reject": {
        "state": "rejected",
        "kind": "reject",
        "verified": True,
        "result": "rejected",
        "note": "We tried it.",
        "rejections": 1,
        "silent_days": 30,
    },
    "deepen": {"state": "promoted", "kind": "deepen", "verified": True, "result": "reevaluated", "thoughts": 1},
    "duplicate": {
        "state": "duplicate",
        "kind": "duplicate",
        "verified": True,
        "result": "duplicate",
        "of": "Change for approve",
    },
    "defer": {"state": "deferred", "kind": "defer", "verified": True, "result": "deferred", "until": UNTIL},
    "stale": {"state": "promoted", "kind": "approve", "verified": True, "result": "stale"},
    "unverified": {"state": "promoted", "kind": "approve", "verified": False, "result": "unverified"},
}
"""What each story leaves, whatever the channel; what is not named is as if nothing had been said."""

NOTHING = {"note": "", "rejections": 0, "silent_days": None, "thoughts": 0, "of": None, "until": None}

READ = """
    select p.what, p.state, v.kind, v.verified, v.result, v.note, p.rejections, v.channel,
           extract(day from p.suppressed_until - v.received_at)::int as silent_days,
           jsonb_array_length(coalesce(p.payload->'thoughts', '[]'))::int as thoughts,
           (select o.what from proposal o where o.space_id = p.space_id and o.id = p.duplicate_of) as of,
           to_char(p.deferred_until at time zone 'UTC', 'YYYY-MM-DD') as until
    from proposal p join verdict v on v.space_id = p.space_id and v.proposal_id = p.id
"""


async def left(store: Store) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """What every story left, and through which channels."""
    found = {row.pop("what").removeprefix("Change for "): row for row in await rows(store, READ)}
    channels = {row.pop("channel") for row in found.values()}
    tasks = await rows(store, "select title from task")
    assert [row["title"] for row in tasks] == ["Change for approve"]
    return found, channels


def expected() -> dict[str, dict[str, Any]]:
    return {story: NOTHING | row for story, row in LEFT.items()}
