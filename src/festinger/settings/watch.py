"""Watches the settings file and applies edits.

Watches the folders where the file is or may appear, so that it sees an editor that renames a new file over
the old one, a link that changes its target, and a file that is created later. A check once a second catches
what the file system does not report.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchfiles import awatch

from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings

HALF_WRITTEN_SECONDS = 0.2
"""An unreadable or empty file may be half written: it is judged only after this pause."""

LOOK_MS = 1000
GATHER_MS = 200

Pause = Callable[[float], Awaitable[None]]
State = tuple[tuple[str, int, int, int], ...]


async def watch_settings_file(settings: LiveSettings, *, stop: asyncio.Event, pause: Pause = asyncio.sleep) -> None:
    """Apply every edit of the file until `stop` is set."""
    deployment = settings.deployment
    seen = stat_settings_files(deployment)
    await reread_settings(settings, pause=pause)  # an edit since the start would otherwise be missed
    async for _ in awatch(
        *watched_folders(deployment),
        recursive=False,
        stop_event=stop,
        debounce=GATHER_MS,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
    ):
        found = stat_settings_files(deployment)
        if found != seen:
            await reread_settings(settings, pause=pause)
            seen = found


async def reread_settings(settings: LiveSettings, *, pause: Pause = asyncio.sleep) -> None:
    """Reread a file that has changed; give one that cannot be read time to be finished first."""
    if not settings.is_whole():
        await pause(HALF_WRITTEN_SECONDS)
    settings.reload_file()


def watched_folders(deployment: Deployment) -> tuple[Path, ...]:
    """Return the folders of every place where the file may be, and of its link targets."""
    places = deployment.candidates()
    wanted = {folder for path in places for folder in (path.parent, path.resolve().parent)}
    return tuple(sorted(folder for folder in wanted if folder.is_dir()))


def stat_settings_files(deployment: Deployment) -> State:
    """Return file metadata that differs after every edit, without reading the files."""
    return tuple(_state_of(path) for path in deployment.candidates())


def _state_of(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns
