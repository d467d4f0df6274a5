"""Has the settings file changed?

Follows the folders in which the file lies or may appear, so that an editor that renames a new file over the
old one, a link that is turned to another target and a file that comes later are all seen. A look once a
second catches what a file system does not report. What an edit means is `live`'s matter.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchfiles import awatch

from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings

HALF_WRITTEN_SECONDS = 0.2
"""A file that cannot be read, or is empty, may be half written: it counts only as it is after this pause."""

LOOK_MS = 1000
GATHER_MS = 200

Pause = Callable[[float], Awaitable[None]]
State = tuple[tuple[str, int, int, int], ...]


async def watch_settings_file(settings: LiveSettings, *, stop: asyncio.Event, pause: Pause = asyncio.sleep) -> None:
    """Take every edit of the file into force until `stop` is set."""
    deployment = settings.deployment
    seen = read_file_state(deployment)
    await reread_settings(settings, pause=pause)  # an edit since the start would otherwise go unseen
    async for _ in awatch(
        *watched_folders(deployment),
        recursive=False,
        stop_event=stop,
        debounce=GATHER_MS,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
    ):
        found = read_file_state(deployment)
        if found != seen:
            await reread_settings(settings, pause=pause)
            seen = found


async def reread_settings(settings: LiveSettings, *, pause: Pause = asyncio.sleep) -> None:
    """Read a file that has changed; one that cannot be read gets time to be finished first."""
    if not settings.is_whole():
        await pause(HALF_WRITTEN_SECONDS)
    settings.reload_file()


def watched_folders(deployment: Deployment) -> tuple[Path, ...]:
    """The folders to follow: of every place where the file may lie, and of what it links to."""
    places = deployment.candidates()
    wanted = {folder for path in places for folder in (path.parent, path.resolve().parent)}
    return tuple(sorted(folder for folder in wanted if folder.is_dir()))


def read_file_state(deployment: Deployment) -> State:
    """What is known of the files without reading them; it differs after every edit."""
    return tuple(_state_of(path) for path in deployment.candidates())


def _state_of(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns
