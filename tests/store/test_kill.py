import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.store.homes import Home, connected, launched, opened, writer

SEED = 25


def kill_process(program: "subprocess.Popen[str]", home: Home) -> None:
    program.kill()


def kill_postmaster(program: "subprocess.Popen[str]", home: Home) -> None:
    os.kill(home.postmaster, signal.SIGKILL)


def kill_both(program: "subprocess.Popen[str]", home: Home) -> None:
    os.kill(home.postmaster, signal.SIGKILL)
    program.kill()


def kill_everything(program: "subprocess.Popen[str]", home: Home) -> None:
    server = psutil.Process(home.postmaster)
    for victim in [server, *server.children()]:
        victim.kill()
    program.kill()


VICTIMS: tuple[Callable[["subprocess.Popen[str]", Home], None], ...] = (
    kill_process,
    kill_postmaster,
    kill_both,
    kill_everything,
)


@pytest.mark.requirement("X-25")
async def test_no_acknowledged_row_is_lost_whoever_is_killed(home: Home, place: Path) -> None:
    chance = random.Random(SEED)
    log = place / "acknowledged"
    for round_number, kill in enumerate(VICTIMS):
        first = round_number * 100_000
        program = launched(
            writer(home, "w", str(first), "100000", str(log)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with program:
            assert program.stdout is not None
            for _ in range(chance.randrange(1, 150)):
                assert program.stdout.readline(), f"round {round_number}: the writer could not write"
            kill(program, home)
            program.stdout.read()

        async with opened(home) as url, connected(url) as connection:
            rows = await (await connection.execute("select writer, number from written")).fetchall()

        stored = {f"{name} {number}" for name, number in rows}
        acknowledged = set(log.read_text(encoding="utf-8").splitlines())
        assert acknowledged <= stored, f"round {round_number}, seed {SEED}"
        # Of what was under way at the kill at most one row can have been written unseen in each round.
        assert len(stored - acknowledged) <= round_number + 1
    assert not home.is_running
