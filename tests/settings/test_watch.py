"""Has the settings file changed?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings, SettingChange
from festinger.settings.watch import reread_settings, watch_settings_file, watched_folders

SOON = 60
"""Seconds after which a test gives up waiting; the promise is 2 s, which a busy machine may miss."""


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(environment={}, folder=tmp_path, config_folder=tmp_path / "config")


@asynccontextmanager
async def watching(live: LiveSettings) -> AsyncIterator["asyncio.Queue[SettingChange]"]:
    """What the watcher brings into force, as it comes, once it has had its first look."""
    stop, heard = asyncio.Event(), asyncio.Queue[SettingChange]()

    def hear(changes: tuple[SettingChange, ...]) -> None:
        for change in changes:
            heard.put_nowait(change)

    live.on_change(hear)
    task = asyncio.create_task(watch_settings_file(live, stop=stop))
    (live.deployment.folder / "festinger.yaml").write_text("llm: {max_parallel: 5}")
    try:
        first = await asyncio.wait_for(heard.get(), SOON)
        assert first.new == "5"
        yield heard
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, SOON)


def write_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def rename_over(path: Path, text: str) -> None:
    fresh = path.with_suffix(".tmp")
    fresh.write_text(text)
    fresh.replace(path)


def turn_the_link(path: Path, text: str) -> None:
    """The way in which mounted configuration is swapped: the file is a link, and its target changes."""
    target = path.parent / "data-2" / "festinger.yaml"
    target.parent.mkdir()
    target.write_text(text)
    fresh = path.with_suffix(".link")
    fresh.symlink_to(target)
    fresh.replace(path)


@pytest.mark.requirement("X-14")
@pytest.mark.parametrize("save", [write_in_place, rename_over, turn_the_link])
async def test_an_edit_comes_into_force_however_the_editor_saves(deployment: Deployment, save):
    path = deployment.folder / "festinger.yaml"
    live = LiveSettings(deployment)

    async with watching(live) as heard:
        save(path, "llm: {max_parallel: 6}")
        change = await asyncio.wait_for(heard.get(), SOON)

    assert (change.key, change.old, change.new) == ("llm.max_parallel", "5", "6")
    assert live.now.llm.max_parallel == 6


@pytest.mark.requirement("X-14")
async def test_a_file_that_appears_later_counts_when_the_stronger_one_goes(deployment: Deployment):
    live = LiveSettings(deployment)

    async with watching(live) as heard:
        deployment.config_folder.mkdir()
        (deployment.config_folder / "config.yaml").write_text("llm: {max_parallel: 6}")
        (deployment.folder / "festinger.yaml").unlink()
        change = await asyncio.wait_for(heard.get(), SOON)

    assert change.new == "6"


@pytest.mark.requirement("X-15")
@pytest.mark.parametrize("half", ["llm:\n  max_parallel: [", "", "llm:\n  max_para"])
async def test_a_half_written_file_is_read_again_after_a_pause(deployment: Deployment, half: str):
    path = deployment.folder / "festinger.yaml"
    path.write_text("llm: {max_parallel: 5}")
    live = LiveSettings(deployment)
    heard: list[SettingChange] = []
    live.on_change(heard.extend)
    pauses: list[float] = []

    async def finish_meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        path.write_text("llm: {max_parallel: 6}")

    path.write_text(half)
    await reread_settings(live, pause=finish_meanwhile)

    assert pauses == [0.2]
    assert [change.new for change in heard] == ["6"]
    assert live.problem is None


@pytest.mark.requirement("X-15")
async def test_a_file_that_stays_broken_is_refused_after_the_pause(deployment: Deployment):
    live = LiveSettings(deployment)
    (deployment.folder / "festinger.yaml").write_text("llm: [")

    async def no_pause(_: float) -> None:
        assert live.problem is None

    await reread_settings(live, pause=no_pause)

    assert live.problem is not None
    assert live.now.llm.max_parallel == 4


def test_the_folder_of_a_link_s_target_is_followed_too(deployment: Deployment, tmp_path: Path):
    target = tmp_path / "mounted" / "festinger.yaml"
    target.parent.mkdir()
    target.write_text("")
    (deployment.folder / "festinger.yaml").symlink_to(target)

    assert set(watched_folders(deployment)) == {tmp_path, target.parent}
