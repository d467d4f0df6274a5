"""The command line keeps the one contract of every channel through which people decide."""

import asyncio
import json
from typing import Any

import pytest
from tests.cli.shell import Shell
from tests.jobs.deps import rows
from tests.stories.verdicts import BEES, STORIES, UNTIL, expected, left

from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store


@pytest.mark.requirement("H-80")
def test_the_command_line_leaves_what_every_channel_leaves(shell: Shell, database_url: str):
    memory = shell("learn", BEES, "--json").json["memory"]["id"]
    payload = json.dumps({"op": "archive", "ids": [memory]})
    ids = {}
    for story in STORIES:
        more = ("--type", "memory_change", "--payload", payload) if story == "stale" else ()
        given = ("inbox", "propose", f"Change for {story}", "--category", "cost", "--scope", "tools", "--json")
        ids[story] = shell(*given, *more).json["proposal"]["id"]
    asyncio.run(_changed(database_url))
    (me,) = shell("reviewer", "--json").json

    said = [
        shell("reject", ids["reject"], "--note", "We tried it."),
        shell("deepen", ids["deepen"]),
        shell("duplicate", ids["duplicate"], "--of", ids["approve"]),
        shell("defer", ids["defer"], "--until", UNTIL),
        shell("approve", ids["approve"]),
        shell("approve", ids["stale"]),
        shell("reviewer", "off", me["name"]),
        shell("approve", ids["unverified"]),
    ]

    found, channels = asyncio.run(_left(database_url))
    assert [each.code for each in said] == [0, 0, 0, 0, 0, 4, 0, 6]
    assert found == expected()
    assert channels == {"cli"}


async def _changed(url: str) -> None:
    """Let the memory be another than the one that was proposed about."""
    async with open_store(url, StoreSettings(), door="test") as store:
        await rows(store, "update memory set version = version + 1 returning id")


async def _left(url: str) -> tuple[dict[str, dict[str, Any]], set[str]]:
    async with open_store(url, StoreSettings(), door="test") as store:
        return await left(store)
