"""A whole house on a database of its own: settings of a made-up deployment, and everything below the doors."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from festinger.events.catalogue import Event
from festinger.events.outbox import event_history
from festinger.ids import MAIN_SPACE, SpaceId, id_maker
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.environment import SystemServices
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SOON = 60
"""Seconds after which a test gives up waiting; nothing here takes that long on an idle machine."""
HEARD_WITHIN = 20
"""What took longer was not heard but found by the comparison that runs every 30 seconds."""


@dataclass
class Hands:
    """A clock that moves only when told to."""

    now: datetime = MONDAY

    def clock(self) -> datetime:
        return self.now

    def forward(self, by: timedelta) -> None:
        self.now += by


def fixed_tools(hands: Hands | None = None, *, seed: int = 1) -> SystemServices:
    """Tools whose time stands still and whose chance can be foreseen."""
    hands = hands or Hands()
    chance = random.Random(seed)
    return SystemServices(
        clock=hands.clock, chance=chance, entropy=chance.randbytes, new_id=id_maker(hands.clock, chance)
    )


def given(folder: Path, *, model: str = "none:", **more: Any) -> dict[str, Any]:
    """Settings as a program gives them to `festinger.open`; `model` embeds."""
    return {
        "home": str(folder / "home"),
        "secrets": {"key_file": str(folder / "key")},
        "embedding": {"model": model},
        **more,
    }


def settings_of(url: str | None, folder: Path, **flags: Any) -> LiveSettings:
    """The settings of a deployment in `folder`; `flags` have their dots written as `__`."""
    given = {"home": str(folder / "home"), "secrets.key_file": str(folder / "key"), "offline": True}
    if url is not None:
        given["database_url"] = url
    given |= {name.replace("__", "."): value for name, value in flags.items()}
    return LiveSettings(Deployment(environment={}, folder=folder, config_folder=folder / "config", command_line=given))


@asynccontextmanager
async def opened(
    url: str,
    folder: Path,
    *,
    start: StartOptions | None = None,
    tools: SystemServices | None = None,
    settings: LiveSettings | None = None,
    **flags: Any,
) -> AsyncIterator[App]:
    settings = settings or settings_of(url, folder, **flags)
    async with open_app(settings, door="test", progress=quietly, start=start or StartOptions(), tools=tools) as app:
        yield app


def quietly(_message: str) -> None:
    """Nobody is told."""


async def told(app: App, *names: str, space: SpaceId = MAIN_SPACE) -> list[Event]:
    """Events of these names, the oldest first."""
    return list(reversed(await event_history(app.store, space=space, names=names)))
