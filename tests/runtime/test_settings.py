"""A setting that is changed is in force everywhere, and told once."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.runtime.server import HEARD_WITHIN, SOON, Hands, fixed_tools, opened, told

from festinger.errors import NotFound, SettingPinned
from festinger.ids import SpaceId
from festinger.runtime.app import App
from festinger.runtime.settings import change_setting, reset_setting, subscribe_to_file_edits
from festinger.services.access import add_space
from festinger.settings.live import SettingChange
from festinger.store.repositories.spaces import read_config_rows


@pytest.mark.requirement("X-12", "X-14", "W-62")
async def test_a_row_that_one_process_writes_is_in_force_in_another_within_a_second(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as one, opened(database_url, tmp_path) as other:
        heard: asyncio.Queue[SettingChange] = asyncio.Queue()
        other.settings.on_change(lambda changes: heard.put_nowait(changes[0]))
        await change_setting(one, "llm.max_parallel", "5", by="test")
        await asyncio.wait_for(heard.get(), SOON)  # it listens from now on

        await change_setting(one, "llm.max_parallel", "6", by="test")
        change = await asyncio.wait_for(heard.get(), HEARD_WITHIN)

        assert (change.key, change.new) == ("llm.max_parallel", "6")
        assert other.settings.now.llm.max_parallel == 6


@pytest.mark.requirement("X-16")
async def test_a_tree_that_was_taken_stays_as_it_was(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        taken = app.settings.now
        await change_setting(app, "llm.max_parallel", "9", by="test")

        assert taken.llm.max_parallel == 4
        assert app.settings.now.llm.max_parallel == 9


@pytest.mark.requirement("X-14")
async def test_the_row_and_its_event_are_one(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, tools=fixed_tools()) as app:
        await change_setting(app, "max_parallel", "9", by="me")

        (event,) = await told(app, "setting_changed")
        assert event.payload == {
            "key": "llm.max_parallel", "old": "4", "new": "9", "source": "table", "by": "me",
        }  # fmt: skip
        assert event.subject == "setting:llm.max_parallel"


@pytest.mark.requirement("X-14")
async def test_without_its_event_a_row_is_not_written(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with opened(database_url, tmp_path) as app:

        async def broken(*_: object, **__: object) -> None:
            raise NotFound("no outbox")

        monkeypatch.setattr(app.outbox, "emit", broken)
        with pytest.raises(NotFound):
            await change_setting(app, "llm.max_parallel", "9", by="me")

        assert await read_config_rows(app.store) == []
        assert app.settings.now.llm.max_parallel == 4


async def test_a_value_that_is_taken_back_is_told_and_one_that_was_never_set_is_not(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await reset_setting(app, "llm.max_parallel", by="me")
        await change_setting(app, "llm.max_parallel", "9", by="me")
        after = await reset_setting(app, "llm.max_parallel", by="me")

        assert after.value == "4"
        assert [event.payload["new"] for event in await told(app, "setting_changed")] == ["9", ""]


@pytest.mark.requirement("X-13")
async def test_a_pinned_key_is_refused_before_anything_is_written(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, llm__max_parallel=3) as app:
        with pytest.raises(SettingPinned, match="command line"):
            await change_setting(app, "llm.max_parallel", "9", by="me")

        assert await read_config_rows(app.store) == []


async def test_a_row_for_a_space_goes_by_its_id_and_needs_the_space(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await add_space(app, "team")
        await app.directory.reload()
        await change_setting(app, "llm.judge", "ollama:x", by="me", space=SpaceId("team"))

        assert [row.space for row in await read_config_rows(app.store)] == ["team"]
        with pytest.raises(NotFound):
            await change_setting(app, "llm.judge", "ollama:x", by="me", space=SpaceId("nowhere"))


@pytest.mark.requirement("X-14")
async def test_an_edit_of_the_file_is_told_once_although_two_processes_read_it(database_url: str, tmp_path: Path):
    file, hands = tmp_path / "festinger.yaml", Hands()
    file.write_text("llm:\n  max_parallel: 5\n")
    async with (
        opened(database_url, tmp_path, tools=fixed_tools(hands, seed=1)) as one,
        opened(database_url, tmp_path, tools=fixed_tools(hands, seed=2)) as other,
    ):
        for app in (one, other):
            subscribe_to_file_edits(app)
        await edit(file, "llm:\n  max_parallel: 6\n  timeout_s: 9\n", one, other)
        first = {event.payload["key"]: event.payload for event in await told(one, "setting_changed")}
        count = len(await told(one, "setting_changed"))
        await edit(file, "llm:\n  max_parallel: 5\n  timeout_s: 9\n", one, other)
        hands.forward(timedelta(minutes=1))
        await edit(file, "llm:\n  max_parallel: 6\n  timeout_s: 9\n", one, other)

        assert count == 2
        assert first["llm.max_parallel"]["by"] == "file"
        news = [
            event.payload["new"]
            for event in await told(one, "setting_changed")
            if event.payload["key"] == "llm.max_parallel"
        ]
        assert news == ["6", "5", "6"]


@pytest.mark.requirement("X-15")
async def test_a_refused_edit_is_told_once(database_url: str, tmp_path: Path):
    file = tmp_path / "festinger.yaml"
    file.write_text("llm:\n  max_parallel: 5\n")
    async with opened(database_url, tmp_path) as one, opened(database_url, tmp_path) as other:
        for app in (one, other):
            subscribe_to_file_edits(app)
        await edit(file, "llm:\n  max_parallel: many\n" + "#" * 300, one, other)

        (event,) = await told(one, "config_refused")
        assert event.payload["source"] == "file"
        assert one.settings.now.llm.max_parallel == 5


async def edit(file: Path, text: str, *apps: App) -> None:
    """Edit the file and let every process read it and tell of it."""
    file.write_text(text)  # noqa: ASYNC240 - a few bytes
    for app in apps:
        before = set(app.background._tasks)
        app.settings.reload_file()
        async with asyncio.timeout(SOON):
            await asyncio.gather(*(app.background._tasks - before))
