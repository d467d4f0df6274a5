"""No page of the console reads a whole table: on a filled store each of its queries reads little more than it shows."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.jobs.deps import rows
from tests.plans import most_read
from tests.runtime.server import opened

from festinger.memory.changes import MemoryChangeOp
from festinger.store.pool import Store
from festinger.store.queries import load_queries

MANY = 20_000
SHOWN = 50
MOST_READ = 500
NOW = datetime(2026, 1, 31, tzinfo=UTC)

FILLED = (
    """insert into memory (space_id, id, agent_id, content, subject, subject_key, fold, gist, origin, trust, confidence,
           weight_alpha, weight_beta, valid_from, event_time, tags, metadata, status, created_at, updated_at)
       select 'main', gen_random_uuid(), case when n % 10 = 0 then 'a' || n % 3 end, 'Box ' || n, 'shelf' || n / 10,
           'shelf' || n / 10, decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'), 'person', 1, 0.5, 1, 1, null,
           null, '{}', '{}', 'active', %(now)s::timestamptz - n * interval '10 minutes', %(now)s
       from generate_series(1, %(many)s) as n""",
    """insert into agent_cycle (space_id, id, agent_id, session_id, n, at, source, winner, reason, action, seed)
       select 'main', gen_random_uuid(), 'a' || n % 3, 's' || n, n, %(now)s, 'user', gen_random_uuid(), '', 'said', 1
       from generate_series(1, %(many)s) as n""",
    """insert into memory_change (space_id, id, op, memory_ids, before, after, reason, by, at)
       select 'main', gen_random_uuid(), 'edit', array[gen_random_uuid()], '{}', '{}', '', 'x',
           %(now)s::timestamptz - n * interval '10 minutes' from generate_series(1, %(many)s) as n""",
    """insert into episode (space_id, id, agent_id, session_id, opened_at, last_at, closed_at, closed_by, state)
       select 'main', gen_random_uuid(), 'a', 's' || n, %(now)s, %(now)s, %(now)s, 'idle', 'closed'
       from generate_series(1, %(many)s) as n""",
    """insert into request_log (space_id, id, at, agent_id, session_id, route)
       select 'main', 'r' || n, %(now)s::timestamptz - n * interval '10 minutes', 'a', 's' || n, '/api/chat'
       from generate_series(1, %(many)s) as n""",
    """insert into surfacing (space_id, id, memory_id, partition, agent_id, reason, first_surfaced_at, surfaced_at)
       select 'main', gen_random_uuid(), gen_random_uuid(), 'p' || n, 'a', 'recall', %(now)s, %(now)s
       from generate_series(1, %(many)s) as n""",
    """with words as (insert into soas (space_id, token) select 'main', 'word' || n from generate_series(1, %(many)s) n
           returning id)
       insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at, version)
       select 'main', id, id - 1, id - 1, true, 0.5, 'gutask', 'person', %(now)s, 1
       from words where id > (select min(id) from words)""",
)

NOTHING = dict.fromkeys(("agent", "statuses", "kinds", "origins", "subject", "tag", "since", "until"))
ASKED: Mapping[str, Mapping[str, Any]] = {
    "memory.browse": {**NOTHING, "at": None, "after": None},
    "memory.owners": {},
    "memory.subjects": {"agent": None, "after": ""},
    "memory.about": {"agent": None, "subject": "shelf7"},
    "memory.changes": {
        "ops": [op.value for op in MemoryChangeOp],
        "memory": None,
        "agent": None,
        "at": None,
        "after": None,
    },
    "memory.episodes": {"agent": None, "session": None, "state": None, "before": None},
    "memory.daily_kinds": {"since": NOW - timedelta(days=1)},
    "outcomes.surfacings_of_memory": {"memory": UUID(int=1)},
    "outcomes.daily_outcomes": {"since": NOW - timedelta(days=1)},
    "store.list_requests": {"session": "s7", "since": NOW - timedelta(days=1), "before": NOW},
    "store.daily_overhead": {"since": NOW - timedelta(days=1)},
    "store.daily_costs": {"since": NOW - timedelta(days=1)},
    "world.browse_edges": {"before": None},
    "memory.brief_of_newest": {"agent": "a1", "newest": MOST_READ, "others": MOST_READ},
    "agent.cycles": {"agent": "a1", "before": None},
    "agent.open_goals": {"agent": "a1"},
    "agent.settled_goals": {"agent": "a1"},
}


async def test_each_query_of_a_page_reads_little_more_than_it_shows(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        for statement in FILLED:
            await rows(app.store, f"{statement} returning 1", now=NOW, many=MANY)
        await _analyze(app.store)
        read = {name: await count_read(app.store, name, asked) for name, asked in ASKED.items()}

    assert {name: count for name, count in read.items() if count > MOST_READ} == {}


async def _analyze(store: Store) -> None:
    async with store.transaction() as transaction:
        await transaction.connection.execute(b"analyze")


async def count_read(store: Store, name: str, asked: Mapping[str, Any]) -> int:
    room, _, query = name.partition(".")
    async with store.transaction() as transaction:
        sql = load_queries(f"festinger.{room}")[query].sql
        return await most_read(transaction, sql, {"space": "main", "limit": SHOWN, **asked})
