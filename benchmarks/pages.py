"""The suite `pages`: how long the console's pages take on a large store, and how large they are.

A hundred thousand memories, ten thousand concepts, a thousand open proposals, a hundred open conflicts, and as many
conversations, changes, requests and events as months of use leave. Every page is asked for as a logged-in reviewer
sees it, in the process that renders it: a browser and the network are not measured. `python -m benchmarks.pages FILE
AMOUNT SEED` fills and measures on the home that its environment names.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from benchmarks.large_memory import cues
from benchmarks.large_world import LargeWorldSize, name
from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.proposals import suggestion
from benchmarks.recalling import MODEL, Recalling
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult, silence
from benchmarks.thinking import collide
from benchmarks.thinking import fill as fill_world
from festinger.clock import system_stopwatch
from festinger.ids import MAIN_SPACE
from festinger.observability.logs import configure_logging
from festinger.proposals.sightings.intake import record_sighting_in_transaction
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.supervisor import Supervisor
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.store.queries import Query
from festinger.text.secrets import remove_secrets
from festinger.web.app import build_admin_app
from festinger.web.auth import COOKIE

MS, KB = 1000.0, 1024
HOST = "http://127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAmount:
    memories: int = 100_000
    concepts: int = 10_000
    proposals: int = 1_000
    conflicts: int = 100
    rows: int = 100_000
    """Changes, conversations, requests, outcomes and events."""
    visits: int = 20


AMOUNTS = {
    "full": PageAmount(),
    "quick": PageAmount(memories=60, concepts=40, proposals=5, conflicts=3, rows=50, visits=2),
}

FILLED = (
    """update memory set subject = 'Project ' || seq / 40, subject_key = 'project ' || seq / 40,
           created_at = %(now)s::timestamptz - seq * interval '10 minutes'""",
    """insert into memory_change (space_id, id, op, memory_ids, before, after, reason, by, at)
       select m.space_id, gen_random_uuid(), 'confirm', array[m.id], '{}', '{}', '', 'person:ann',
           %(now)s::timestamptz - row_number() over () * interval '1 minute' from memory m limit %(rows)s""",
    """insert into episode (space_id, id, agent_id, session_id, opened_at, last_at, closed_at, closed_by, state, title)
       select 'main', gen_random_uuid(), 'a' || n %% 3, 's' || n, %(now)s, %(now)s, %(now)s, 'idle', 'closed',
           'What was said on day ' || n from generate_series(1, %(rows)s) as n""",
    """insert into episode_turn (space_id, episode_id, seq, turn_id, at, role, origin, content)
       select 'main', e.id, n, gen_random_uuid(), %(now)s, case when n %% 2 = 1 then 'user' else 'assistant' end,
           case when n %% 2 = 1 then 'person' else 'model' end, repeat('Some words of a conversation. ', 10)
       from (select id from episode order by seq desc limit 50) as e, generate_series(1, 40) as n""",
    """insert into request_log (space_id, id, at, agent_id, session_id, route)
       select 'main', 'r' || n, %(now)s::timestamptz - n * interval '1 minute', 'a', 's' || n, '/api/chat'
       from generate_series(1, %(rows)s) as n""",
    """insert into surfacing (space_id, id, memory_id, partition, agent_id, reason, first_surfaced_at, surfaced_at)
       select m.space_id, gen_random_uuid(), m.id, 'p', 'a', 'recall', %(now)s, %(now)s from memory m limit %(rows)s""",
    """insert into event (space_id, id, name, version, subject, payload, at)
       select 'main', gen_random_uuid(), case when n %% 100 = 0 then 'loop_detected' else 'recall_made' end, 1,
           'session:s' || n, jsonb_build_object('session', 's' || n, 'rule', 'same_call', 'level', 2, 'count', 6,
           'key', 'k', 'did', 'nudge'), %(now)s from generate_series(1, %(rows)s) as n""",
    "update proposal set state = 'promoted', promoted_at = %(now)s",
    "analyze",
)
"""What other parts of the product leave, written as rows: this measures reading."""


def all_pages(ids: Mapping[str, str], cue: str) -> dict[str, str]:
    """The address of each page by its name."""
    return {
        "overview": "/admin",
        "memories": "/admin/memories",
        "memories_deep": f"/admin/memories?cursor={ids['cursor']}",
        "search": f"/admin/memories?q={quote(cue)}",
        "memory": f"/admin/memories/{ids['memory']}",
        "subjects": "/admin/about",
        "about": "/admin/about/Project%201",
        "conversations": "/admin/conversations",
        "conversation": f"/admin/conversations/{ids['episode']}",
        "inbox": "/admin/inbox",
        "proposal": f"/admin/inbox/{ids['proposal']}",
        "conflicts": "/admin/conflicts",
        "world": "/admin/world",
        "word": f"/admin/world?concept={name(1)}&depth=3",
        "mind": "/admin/mind/default",
        "nights": "/admin/nights",
        "outcomes": "/admin/outcomes",
        "loops": "/admin/loops",
        "changes": "/admin/changes",
        "health": "/admin/health",
        "docs": "/admin/docs?q=port",
    }


PAGES = tuple(all_pages(dict.fromkeys(("cursor", "memory", "episode", "proposal"), ""), ""))
GOAL = at_most(300)
METRICS = (
    *(BenchMetric(name=f"pages.{page}.p50", unit="ms", about=f"the page `{page}`, median") for page in PAGES),
    *(BenchMetric(name=f"pages.{page}.p95", unit="ms", about="the same, p95", goal=GOAL) for page in PAGES),
    BenchMetric(name="pages.largest", unit="KB", about="the largest page", goal=at_most(200)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMeasurement:
    seconds: list[float]
    size: int


async def fill(app: App, amount: PageAmount, *, seed: int) -> str:
    """Fill the store; returns a cue that is searched for."""
    recalling = Recalling(app, seed=seed)
    await recalling.grow(amount.memories)
    await fill_world(app, LargeWorldSize(concepts=amount.concepts, edges_each=3), seed=seed)
    for number in range(amount.conflicts):
        await collide(app, number)
    deps = app.inbox.deps
    async with deps.store.transaction(patient=True) as transaction:
        for number in range(amount.proposals):
            said = suggestion(f"Change part{number} of the plan", f"fill-{number}")
            await record_sighting_in_transaction(deps, transaction, MAIN_SPACE, said)
    for statement in FILLED:
        async with app.store.transaction(patient=True) as transaction:
            query = Query(room="benchmarks", name="fill", purpose="fill a store", sql=statement)
            await transaction.run(query, now=app.tools.clock(), rows=amount.rows)
    return cues(recalling.texts, 1, seed=seed)[0]


async def find_ids(app: App) -> dict[str, str]:
    """Something of each kind that has a page of its own."""
    asked = {
        "memory": "select id from memory where subject is not null order by seq limit 1",
        "episode": "select id from episode order by seq desc limit 1",
        "proposal": "select id from proposal limit 1",
        "cursor": "select (extract(epoch from created_at) * 1000000)::bigint || '.' || id as id from memory"
        " order by created_at desc, id desc offset 50 limit 1",
    }
    found = {}
    for kind, sql in asked.items():
        query = Query(room="benchmarks", name=kind, purpose="find one", sql=sql)
        found[kind] = str((await app.store.one(query))["id"])
    return found


async def measure_pages(app: App, amount: PageAmount, cue: str) -> dict[str, PageMeasurement]:
    """Ask for each page as often as it says, after two visits that do not count."""
    supervisor = Supervisor(app.settings, lambda: nullcontext(app))
    supervisor.app = app
    _, cookie = await app.logins.enter(await app.logins.invite("ann"), address="bench")
    found = {}
    # As a browser asks: some addresses have another answer for programs.
    browser = {"accept": "text/html", "cookie": f"{COOKIE}={cookie}"}
    transport = httpx2.ASGITransport(build_admin_app(supervisor))
    async with httpx2.AsyncClient(transport=transport, trust_env=False, headers=browser) as http:
        for page, path in all_pages(await find_ids(app), cue).items():
            seconds, size = [], 0
            for _ in range(amount.visits + 2):
                began = system_stopwatch()
                answer = await http.get(HOST + path)
                seconds.append(system_stopwatch() - began)
                answer.raise_for_status()
                size = len(answer.content)
            found[page] = PageMeasurement(seconds=seconds[2:], size=size)
    return found


def samples(found: Mapping[str, PageMeasurement]) -> list[Sample]:
    numbers: dict[str, tuple[float, int]] = {}
    for page, each in found.items():
        numbers[f"pages.{page}.p50"] = (MS * percentile(each.seconds, 0.5), len(each.seconds))
        numbers[f"pages.{page}.p95"] = (MS * percentile(each.seconds, 0.95), len(each.seconds))
    numbers["pages.largest"] = (max(each.size for each in found.values()) / KB, len(found))
    return [Sample(metric=metric, system=PRODUCT, value=value, n=n) for metric, (value, n) in numbers.items()]


async def measure(bench: Bench) -> SuiteResult:
    bench.say("Filling a large store, and asking for every page.")
    file = bench.folder / "pages.json"
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
        await run_apart("pages", str(file), "quick" if bench.quick else "full", str(bench.seed), home=home)
    found: dict[str, Any] = json.loads(file.read_bytes())
    return SuiteResult(samples=samples({page: PageMeasurement(**each) for page, each in found.items()}))


async def measured(amount: PageAmount, *, seed: int) -> dict[str, PageMeasurement]:
    configure_logging(level="warning", style="console", content=False, redact=remove_secrets)
    settings = LiveSettings(capture_deployment(flags={"embedding.model": MODEL}))
    async with open_app(settings, door="bench", progress=silence, start=StartOptions(providers=True)) as app:
        return await measure_pages(app, amount, await fill(app, amount, seed=seed))


PAGE_TIMES = Suite(
    name="pages",
    about="The console's pages on a store with a hundred thousand memories.",
    metrics=METRICS,
    measure=measure,
)


if __name__ == "__main__":
    _, told, how_much, grown_from = sys.argv
    pages = asyncio.run(measured(AMOUNTS[how_much], seed=int(grown_from)))
    Path(told).write_text(json.dumps({page: asdict(each) for page, each in pages.items()}))
