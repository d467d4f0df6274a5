"""The whole command on real processes, with a handful of requests: shape and plausibility, no speed."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from benchmarks.catalogue import SUITES
from benchmarks.run import PREFIX, WALKABLE
from tests.benchmarks.schema import assert_fits_the_schema

COMMAND = (sys.executable, "-c", "from festinger.cli.main import main; main()", "bench")


async def started(*arguments: str, temp: Path | None = None) -> asyncio.subprocess.Process:
    environment = {**os.environ, "TMPDIR": str(temp)} if temp else None
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        # A run of the tests in the background of a shell is deaf to it, and so would be whatever it starts.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


async def bench(*arguments: str, temp: Path | None = None) -> tuple[int | None, str, str]:
    process = await started(*arguments, temp=temp)
    out, told = await process.communicate()
    return process.returncode, out.decode(), told.decode()


@pytest.fixture
def temp() -> Iterator[Path]:
    """A folder for temporary files of one bench alone; its path is short, because sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="fb") as name:
        Path(name).chmod(WALKABLE)
        yield Path(name)


def left_behind(temp: Path) -> list[str]:
    return [path.name for path in temp.glob(f"{PREFIX}*")]


def broken_python(folder: Path) -> Path:
    path = folder / "python"
    path.write_text("#!/bin/sh\necho the wheel is for another machine\nexit 3\n")
    path.chmod(0o755)
    return path


@pytest.mark.postgres
async def test_a_quick_run_measures_every_part_beside_the_others(tmp_path: Path, temp: Path):
    peer = ("--peers", "litellm", "--peer-python", f"litellm={broken_python(tmp_path)}")
    code, out, told = await bench("foundation", "--quick", "--repeat", "1", "--json", "-", *peer, temp=temp)

    assert code == 0, told
    written = json.loads(out)
    assert_fits_the_schema(written)
    systems = {system["name"]: system for system in written["systems"]}
    assert [systems[name]["status"] for name in ("festinger", "direct", "plain")] == ["ran"] * 3
    assert systems["litellm"]["status"] == "not_run"
    assert "the wheel is for another machine" in systems["litellm"]["reason"]
    values = {(result["metric"], result["system"]): result["value"] for result in written["results"]}
    assert {name for name, system in values if system == "festinger"} == {
        metric.name for metric in SUITES["foundation"].metrics if "litellm" not in metric.name
    }
    assert [values["passthrough.errors", name] for name in ("festinger", "direct", "plain")] == [0, 0, 0]
    assert all(values["passthrough.5k.p50", name] > 0 for name in ("festinger", "direct", "plain"))
    assert all(values[f"start.{name}", "festinger"] > 0 for name in ("cold", "warm", "forwarding"))
    assert values["memory.serve.uss", "festinger"] < values["memory.serve.rss", "festinger"]
    assert not any(system == "litellm" for _, system in values)
    assert left_behind(temp) == []


@pytest.mark.postgres
async def test_an_interrupted_run_stops_everything_that_it_started(temp: Path):
    process = await started("foundation", "--quick", temp=temp)
    assert process.stderr is not None
    async for line in process.stderr:
        if b"empty home" in line:
            break
    process.send_signal(signal.SIGINT)
    await process.communicate()

    # What still ran or lay around would also fail the whole run of the tests at its end.
    assert (process.returncode, left_behind(temp)) == (130, [])
