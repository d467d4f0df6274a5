import asyncio

from structlog.testing import capture_logs

from festinger.errors import StoreDown
from festinger.runtime.lifecycle import BackgroundTasks


async def test_work_that_fails_is_logged_and_stops_nothing():
    background, done = BackgroundTasks(), asyncio.Event()

    async def down() -> None:
        raise StoreDown("Gone.")

    async def fault() -> None:
        raise ValueError("ours")

    async def fine() -> None:
        done.set()

    with capture_logs() as lines:
        for work in (down(), fault(), fine()):
            background.start(work)
        await asyncio.wait_for(done.wait(), 60)
        await background.stop()

    assert {line["log_level"] for line in lines} == {"warning", "error"}


async def test_nothing_outlives_its_house():
    background = BackgroundTasks()
    background.start(asyncio.Event().wait())
    await asyncio.sleep(0)
    await background.stop()

    assert background._tasks == set()
