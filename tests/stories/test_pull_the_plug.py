"""Pull the plug in the middle of writing, again and again: what was acknowledged is there, whole."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.homes import Home, connected, launched, opened
from tests.store.test_kill import VICTIMS
from tests.stories.changer import KEY, server

from festinger.jobs.worker import WorkerPool
from festinger.store.queries import Query

ROUNDS = len(VICTIMS) + 1
"""Each victim once, and one more after all of them."""
SEED = 42


CHANGES = "select payload->>'new' from event where name = 'setting_changed' order by seq"
ROW = "select value from config where key = %(key)s"
TOLD = Query(
    room="tests", name="told", purpose="what was heard", sql="select new, count(*) as times from told group by new"
)


@pytest.mark.requirement("X-25", "X-40", "X-42")
async def test_kills_lose_no_change_and_part_no_event_from_its_change(home: Home, place: Path) -> None:
    chance = random.Random(SEED)
    log = place / "acknowledged"
    for round_number in range(ROUNDS):
        first = 1_000 + round_number * 1_000
        program = launched(
            [sys.executable, "-m", "tests.stories.changer", str(home.path), str(home.config), str(first), str(log)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with program:
            assert program.stdout is not None
            for _ in range(chance.randrange(1, 60)):
                assert program.stdout.readline(), f"round {round_number}: nothing could be written"
            VICTIMS[round_number % len(VICTIMS)](program, home)
            # A program whose server alone was killed has it started again and would go on.
            program.kill()
            program.stdout.read()

        # Whoever is started next wires the whole app up again; here it is enough that the server recovers.
        async with opened(home) as url, connected(url) as connection:
            told_of = [new for (new,) in await (await connection.execute(CHANGES)).fetchall()]
            [row] = await (await connection.execute(ROW, {"key": KEY})).fetchone() or [None]

        acknowledged = log.read_text(encoding="utf-8").split()
        assert set(acknowledged) <= set(told_of), f"round {round_number}, seed {SEED}"
        assert row == told_of[-1], "the last change and the last event are one"
        assert len(told_of) == len(set(told_of)) <= len(acknowledged) + round_number + 1

    async with server(home) as app:
        await WorkerPool(app.jobs, shutdown_seconds=5).drain()
        heard = {row["new"]: row["times"] for row in await app.store.all(TOLD)}
    assert heard == dict.fromkeys(told_of, 1), "every change was heard once"
