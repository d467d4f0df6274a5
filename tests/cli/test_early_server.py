import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from festinger.cli.early_server import EarlyServer
from festinger.ids import MAIN_SPACE


class House:
    """Rooms that are loaded when the test says so."""

    def __init__(self) -> None:
        self.supervisor = SimpleNamespace(
            find_key=self.find_key, known_space=lambda name: f"space of {name}", is_open=lambda: True
        )
        self.seen: list[object] = []

    async def find_key(self, secret: str) -> str:
        return f"key of {secret}"

    async def pages(self, *call: object) -> None:
        self.seen.append(call)

    async def live(self, stop: asyncio.Event) -> None:
        await stop.wait()


@pytest.mark.requirement("P-01")
async def test_whoever_needs_the_rooms_waits_for_them_and_nobody_else_does(monkeypatch: pytest.MonkeyPatch):
    server, early_server, stop = House(), EarlyServer(), asyncio.Event()
    monkeypatch.setattr(
        "festinger.cli.early_server.import_module",
        lambda _name: SimpleNamespace(build_server=lambda _how, _upstream: server),
    )
    waiting = [
        asyncio.create_task(early_server.find_key("fst_x")),
        asyncio.create_task(cast("Any", early_server.pages("scope", "receive", "send"))),
    ]
    await asyncio.sleep(0)

    assert not any(task.done() for task in waiting)
    assert not early_server.ready()
    assert early_server.known_space("main") == MAIN_SPACE
    assert early_server.known_space("team") is None

    opening = asyncio.create_task(early_server.load_server(cast("Any", None), cast("Any", None), stop=stop))
    assert await waiting[0] == "key of fst_x"
    await waiting[1]
    assert server.seen == [("scope", "receive", "send")]
    assert early_server.ready()
    assert early_server.known_space("team") == "space of team"
    stop.set()
    await opening


async def test_a_caller_who_gives_up_waiting_does_not_take_the_house_from_the_others():
    early_server = EarlyServer()
    first, second = (asyncio.create_task(early_server.find_key("fst_x")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    assert first.cancelled()
    assert not second.done()
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
