"""How is the world joined to the rest of the house?"""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.jobs.deps import drain, rows
from tests.runtime.server import MONDAY, SOON, Hands, fixed_tools, opened

from festinger.consolidation.resolution import find_resolution_run
from festinger.errors import AlreadyRunning
from festinger.ids import EVERY_SPACE, MAIN_SPACE, AgentId, Cause, Origin, Scope, SessionId
from festinger.jobs.queue import defer_due_jobs, latest_due_time, next_due_time
from festinger.runtime.world import RESOLVE, RESOLVE_SPACE, preload_world, request_resolution
from festinger.services.access import add_space
from festinger.settings.sources import ConfigTableRow
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, WorldStatement
from festinger.world.recall import SourceText
from festinger.world.write import SEED_DIMENSIONS, list_dimensions

PLACE = Scope(space=MAIN_SPACE, agent=AgentId("a1"), session=SessionId("s1"))


def say(parent: str, hands: Hands) -> WorldStatement:
    because = Cause(agent=PLACE.agent, session=PLACE.session, day=hands.now.date(), origin=Origin.PERSON)
    return WorldStatement(
        concept="gnommoweb",
        parent=parent,
        dimension="type",
        is_isa=True,
        confidence=0.65,
        source=EdgeSource.INFERRED,
        cause=because,
    )


@pytest.mark.requirement("W-50")
async def test_what_a_message_asserts_is_written_by_a_durable_job_once(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await app.world.need(MAIN_SPACE)
        said = SourceText(text="gnommoweb is a repo", origin=Origin.PERSON, message="m1")
        for _ in range(2):
            async with app.store.transaction() as transaction:
                await app.world.recollector.learn(transaction, PLACE, said)
        await drain(app.jobs)

        found = app.world.recollector.recollect(
            PLACE, [SourceText(text="open gnommoweb", origin=Origin.PERSON, message="m2")]
        )
        jobs = await rows(app.store, "select status from procrastinate_jobs where task_name = 'write_claims'")

    assert found is not None
    assert found.lines == ("gnommoweb: [type] repo",)
    assert [str(row["status"]) for row in jobs] == ["succeeded"]


@pytest.mark.requirement("W-72")
async def test_conflicts_are_resolved_when_the_settings_say_so_and_one_run_at_a_time(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        await app.world.need(MAIN_SPACE)
        for parent in ("repo", "container"):
            await apply_statement(app.world.deps, MAIN_SPACE, say(parent, hands))
        await defer_due_jobs(app.jobs)
        before = await rows(app.store, "select id from resolution_run")
        hands.forward(timedelta(days=1))
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)
        runs = await rows(app.store, "select id, state, waiting from resolution_run")
        run, pending = await request_resolution(app, app.world, MAIN_SPACE)
        with pytest.raises(AlreadyRunning):
            await request_resolution(app, app.world, MAIN_SPACE)
        await drain(app.jobs)
        done = await find_resolution_run(app.world.deps, MAIN_SPACE, run)

    assert before == []
    assert [(row["state"], row["waiting"]) for row in runs] == [("done", 1)]
    assert pending == 1
    assert done.state == "done"
    assert {RESOLVE, RESOLVE_SPACE} <= set(app.jobs)


@pytest.mark.requirement("W-72")
async def test_a_new_schedule_is_in_force_at_the_next_minute_and_nonsense_is_refused(database_url: str, tmp_path: Path):
    hands = Hands(MONDAY.replace(minute=2))
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        await app.world.need(MAIN_SPACE)
        await defer_due_jobs(app.jobs)
        app.settings.apply_rows(
            [ConfigTableRow(space=EVERY_SPACE, key="world.resolution_schedule", value="*/5 * * * *")]
        )
        too_soon = await defer_due_jobs(app.jobs)
        refused = app.settings.apply_rows(
            [ConfigTableRow(space=EVERY_SPACE, key="world.resolution_schedule", value="nonsense")]
        )
        hands.forward(timedelta(minutes=3))
        due = await defer_due_jobs(app.jobs)
        again = await defer_due_jobs(app.jobs)
        names = await rows(app.store, "select task_name from procrastinate_jobs where id = any(%(due)s)", due=due)

    assert refused is not None
    assert too_soon == again == []
    assert RESOLVE in [row["task_name"] for row in names]


@pytest.mark.requirement("W-72")
def test_a_schedule_is_read_in_its_time_zone():
    oslo = ZoneInfo("Europe/Oslo")
    one_in_utc = MONDAY.replace(hour=1)

    assert latest_due_time("0 2 * * *", now=one_in_utc, after=MONDAY - timedelta(days=1), zone=oslo) == one_in_utc
    assert next_due_time("0 2 * * *", now=MONDAY, zone=oslo) == one_in_utc + timedelta(days=1)


@pytest.mark.requirement("W-34")
async def test_a_new_space_begins_with_the_dimensions_that_every_space_has(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        space = await add_space(app, "garden")
        found = await list_dimensions(app.world.deps, space.id)
        again = await app.world.need(space.id)

    assert set(found) == set(SEED_DIMENSIONS)
    assert len(again.dimensions) == len(SEED_DIMENSIONS)


@pytest.mark.requirement("W-47")
async def test_a_space_is_loaded_beside_the_request_that_first_needs_it(database_url: str, tmp_path: Path):
    said = [SourceText(text="open gnommoweb", origin=Origin.PERSON)]
    async with opened(database_url, tmp_path) as app:
        first = app.world.recollector.recollect(PLACE, said)
        for _ in range(3):
            preload_world(app, MAIN_SPACE)
        loading = set(app.world.warming)
        await app.world.worlds.need(MAIN_SPACE)
        async with asyncio.timeout(SOON):
            while app.world.warming:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        preload_world(app, MAIN_SPACE)
        second = app.world.recollector.recollect(PLACE, said)

    assert first is None
    assert loading == {MAIN_SPACE}
    assert app.world.warming == set()
    assert second is not None


@pytest.mark.requirement("W-58")
async def test_beyond_its_calls_an_hour_the_write_model_is_asked_later(database_url: str, tmp_path: Path):
    script = tmp_path / "script"
    script.write_text("{}")
    flags: dict[str, Any] = {"world__write_calls_per_hour": 0, "llm__write": f"scripted:{script}"}
    async with opened(database_url, tmp_path, **flags) as app:
        await app.world.need(MAIN_SPACE)
        async with app.store.transaction() as transaction:
            await app.world.deps.ask_to_write(transaction, MAIN_SPACE, 1)
        await drain(app.jobs)
        jobs = await rows(
            app.store,
            "select status::text, scheduled_at > now() as is_later from procrastinate_jobs"
            " where task_name = 'write_concept' order by id",
        )

    assert [tuple(row.values()) for row in jobs] == [("succeeded", None), ("todo", True)]


@pytest.mark.requirement("W-27")
async def test_counts_are_written_when_a_process_ends(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await app.world.need(MAIN_SPACE)
        await app.world.recollector.count(PLACE, SourceText(text="about gnommoweb", origin=Origin.PERSON))
        waiting = app.world.encounters.waiting(MAIN_SPACE)

    async with opened(database_url, tmp_path) as app:
        counted = await rows(app.store, "select token from soas where encounter_count = 1")

    assert waiting == {"gnommoweb": 1}
    assert [row["token"] for row in counted] == ["gnommoweb"]
