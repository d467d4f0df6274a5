"""What happens, live: from now, from an event on, and what a slow reader is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.jobs.deps import run_sql
from tests.web.asgi import Visit, streamed
from tests.web.deps import Desk, deps
from tests.web.visitor import visitor

from festinger.errors import StoreDown
from festinger.events.catalogue import Event
from festinger.events.outbox import MAX_WAITING, FeedGap
from festinger.runtime.settings import change_setting
from festinger.store.connection import cancel_tasks
from festinger.web.api.events import MAX_STREAMS, encode_sse
from festinger.web.auth import COOKIE

STREAM = "/admin/api/events/stream"

MANY = """
insert into event (space_id, id, name, version, subject, payload, at)
select 'main', gen_random_uuid(), 'setting_changed', 1, 'setting:many', '{}', now() from generate_series(1, %(count)s)
"""


async def change(at: Desk, value: int) -> None:
    await change_setting(at.app, "llm.max_parallel", str(value), by="test")


def read(part: str | None) -> tuple[str, dict[str, Any]]:
    """The name and the data of a part of the stream."""
    assert part is not None
    fields = dict(line.split(": ", 1) for line in part.strip().splitlines())
    return fields["event"], orjson.loads(fields["data"])


@pytest.mark.requirement("X-46")
async def test_a_reader_is_told_of_what_happens_from_the_moment_of_its_answer(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await change(at, 5)
        async with streamed(at.pages, STREAM, key=at.key) as stream:
            await change(at, 6)
            name, data = read(await stream.next())

        assert stream.status == 200
        assert (name, data["payload"]["new"]) == ("setting_changed", "6")


@pytest.mark.requirement("X-46")
async def test_a_reader_that_comes_again_goes_on_behind_its_last_event(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        for value in (5, 6, 7):
            await change(at, value)
        events = (await at.ask("GET", "/admin/api/events?name=setting_changed")).json["items"]
        first = next(event for event in events if event["payload"]["new"] == "5")

        async with streamed(at.pages, STREAM, key=at.key, headers={"last-event-id": first["id"]}) as stream:
            news = [read(await stream.next())[1]["payload"]["new"] for _ in range(2)]

        assert news == ["6", "7"]


@pytest.mark.requirement("X-46")
async def test_only_the_wanted_names_are_told(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        async with streamed(at.pages, f"{STREAM}?name=space_created", key=at.key) as stream:
            await change(at, 5)
            await at.ask("POST", "/admin/api/spaces", body={"name": "team"})
            await change(at, 6)
            await at.ask("DELETE", "/admin/api/spaces/team", body={"confirm": "team"})

            # The new space tells of itself in its own feed; nothing here may be of another name.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(stream.parts.get(), 0.7)


@pytest.mark.requirement("X-46")
async def test_a_reader_that_falls_a_thousand_behind_is_told_of_the_gap_and_cut_off(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        async with streamed(at.pages, STREAM, key=at.key) as stream:
            await change(at, 5)
            _, seen = read(await stream.next())
            # Nobody reads now, and the writer is not slowed by it.
            async with asyncio.timeout(60):
                await run_sql(at.app.store, MANY, count=MAX_WAITING + 1)
            name, gap = read(await stream.next())
            end = await stream.next()

        assert (name, gap["after"]) == ("gap", seen["id"])
        assert end is None


@pytest.mark.requirement("U-32")
async def test_of_one_login_five_pages_are_live_and_a_sixth_once_one_is_left(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        cookie = {"cookie": f"{COOKIE}={(await visitor(at)).cookie}"}
        async with AsyncExitStack() as pages:
            for _ in range(MAX_STREAMS):
                await pages.enter_async_context(streamed(at.pages, STREAM, headers=cookie))
            full = await at.ask("GET", STREAM, key=None, headers=cookie)
        async with streamed(at.pages, STREAM, headers=cookie) as again:
            pass

    assert (full.status, again.status) == (429, 200)


@pytest.mark.requirement("X-46")
async def test_behind_an_event_that_is_not_known_nothing_can_be_followed(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("GET", f"{STREAM}?after=018f3a5e-7b21-7000-8000-000000000001")
        bad = await at.ask("GET", STREAM, headers={"last-event-id": "x"})

        assert (got.status, bad.status) == (404, 422)


async def test_a_reader_that_leaves_ends_the_looking():
    ended = asyncio.Event()

    async def looking() -> AsyncIterator[Event | FeedGap]:
        try:
            yield FeedGap(after=None)
            await asyncio.Event().wait()
        finally:
            ended.set()

    parts = encode_sse(looking(), until=asyncio.Event())  # type: ignore[arg-type]
    await anext(parts)
    reading = asyncio.ensure_future(anext(parts))
    await asyncio.sleep(0)
    await cancel_tasks([reading])

    assert ended.is_set()


async def test_silence_is_filled_with_comments():
    async def silent() -> AsyncIterator[Event | FeedGap]:
        await asyncio.Event().wait()
        yield FeedGap(after=None)

    parts = encode_sse(silent(), until=asyncio.Event(), keep_alive=0.001)  # type: ignore[arg-type]

    assert (await anext(parts)).startswith(b":")
    await parts.aclose()  # type: ignore[attr-defined]


async def test_a_stream_that_nothing_happens_in_ends_when_the_server_stops():
    async def silent() -> AsyncIterator[Event | FeedGap]:
        await asyncio.Event().wait()
        yield FeedGap(after=None)

    stopping = asyncio.Event()
    parts = encode_sse(silent(), until=stopping, keep_alive=3600)  # type: ignore[arg-type]
    rest = asyncio.ensure_future(_all_of(parts))
    await asyncio.sleep(0)
    stopping.set()

    assert await asyncio.wait_for(rest, 60) in ([], [b": still here\n\n"])


async def _all_of(parts: AsyncIterator[bytes]) -> list[bytes]:
    return [part async for part in parts]


async def test_with_the_store_away_the_stream_ends_so_that_its_reader_comes_again():
    async def breaking() -> AsyncIterator[Event | FeedGap]:
        raise StoreDown
        yield FeedGap(after=None)

    assert [part async for part in encode_sse(breaking(), until=asyncio.Event())] == []  # type: ignore[arg-type]


async def test_history_comes_in_pages_without_holes(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        for value in range(5, 10):
            await change(at, value)
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            got = (await at.ask("GET", f"/admin/api/events?name=setting_changed&limit=2{cursor}")).json
            seen += [event["payload"]["new"] for event in got["items"]]
            cursor = f"&cursor={got['next']}" if got["next"] else None

        assert seen == ["9", "8", "7", "6", "5"]


@pytest.mark.parametrize("wrong", ["limit=0", "limit=201", "limit=x", "limit=²", "cursor=-1", "after=1.5"])
async def test_a_page_that_cannot_be_is_refused(wrong: str, database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        assert (await at.ask("GET", f"/admin/api/events?{wrong}")).status == 422


@pytest.mark.requirement("X-96")
async def test_what_a_request_caused_can_be_asked_for(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await change(at, 5)
        await at.ask(
            "PUT", "/admin/api/config/llm.max_parallel", body={"value": 6}, authorized=Visit(request_id="req-1")
        )

        found = (await at.ask("GET", "/admin/api/events?trace=req-1")).json["items"]
        assert [event["payload"]["new"] for event in found] == ["6"]
