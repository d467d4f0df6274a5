"""An edit of the settings file counts for the next request, and a broken one for none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.proxy.memory_scene import Scene, block_of, scene
from tests.proxy.proxy_server import PATIENCE

from festinger.observability.checks import CheckSeverity, worst_severity
from festinger.runtime.supervisor import check_settings
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings, SettingChange
from festinger.settings.watch import watch_settings_file

PATIENT = "memory_deadline_ms: 10000"


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[Scene, LiveSettings, "asyncio.Queue[str]"]]:
    """A door whose settings follow a file, and what the file was heard to bring or to get wrong."""
    file, heard, stop = folder / "festinger.yaml", asyncio.Queue[str](), asyncio.Event()
    file.write_text(f"proxy: {{{PATIENT}}}")
    live = LiveSettings(Deployment(environment={}, folder=folder, config_folder=folder / "config"))

    def changed(changes: tuple[SettingChange, ...]) -> None:
        for change in changes:
            heard.put_nowait(change.key)

    live.on_change(changed)
    live.on_refusal(lambda problem: heard.put_nowait("refused"))
    following = asyncio.create_task(watch_settings_file(live, stop=stop))
    try:
        async with scene(live=lambda: live.now.proxy) as at:
            yield at, live, heard
    finally:
        stop.set()
        await asyncio.wait_for(following, PATIENCE)


async def until(heard: "asyncio.Queue[str]", what: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await heard.get() != what:
            pass


@pytest.mark.requirement("P-78")
async def test_an_edit_counts_for_the_next_request_and_a_broken_one_changes_nothing(tmp_path: Path):
    async with watched(tmp_path) as (at, live, heard):
        file = tmp_path / "festinger.yaml"
        await at.chat("open ramanujan")
        before = at.said
        file.write_text(f"proxy: {{{PATIENT}, label: Remember}}")
        await until(heard, "proxy.label")
        await at.chat("please open ramanujan")
        after = at.said
        file.write_text("proxy: {label: [broken")
        await until(heard, "refused")
        await at.chat("now open ramanujan")
        unwell = worst_severity(check_settings(live))
        file.write_text(f"proxy: {{{PATIENT}, label: Again}}")
        await until(heard, "proxy.label")
        await at.chat("then open ramanujan")

    assert before == [f"{block_of('ramanujan: [type] server')}\n\nopen ramanujan"]
    assert after == ["<recollection>\nRemember\nramanujan: [type] server\n</recollection>\n\nplease open ramanujan"]
    sent = [message.body for message in at.upstream.received]
    assert b"Remember" in sent[2]
    assert (unwell, worst_severity(check_settings(live))) == (CheckSeverity.FAIL, CheckSeverity.OK)
    assert b"Again" in sent[3]
