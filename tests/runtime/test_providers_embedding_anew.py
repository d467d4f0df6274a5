"""Another embedder at the next start: it is counted, told, asked for, and shown until it is done."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.jobs.deps import drain
from tests.runtime.server import opened, told

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.jobs.dead_letters import list_jobs
from festinger.memory.jobs import REEMBED
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.runtime.app import App, StartOptions
from festinger.runtime.providers import queue_missing_embeddings
from festinger.services.status import build_status

HERE = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("s1"))
OLD, NEW = "hashed:64", "hashed:32"
TEXTS = ("The mill grinds on Tuesdays", "Carla repairs old radios", "Basalt is a volcanic rock")


async def learn_all(url: str, folder: Path, *, embedder: str = OLD) -> None:
    async with opened(url, folder, start=StartOptions(providers=True), embedding__model=embedder) as app:
        for text in TEXTS:
            await learn(app.memory.deps, HERE, LearnRequest(text=text))


async def shown(app: App) -> str:
    return str((await build_status(app, space=MAIN_SPACE))["memory"]["vectors"])


@pytest.mark.requirement("M-100", "X-78")
async def test_a_start_counts_warns_tells_and_asks_for_the_job(database_url: str, tmp_path: Path):
    await learn_all(database_url, tmp_path)

    with capture_logs() as logs:
        start = StartOptions(providers=True, workers=True)
        async with opened(database_url, tmp_path, start=start, embedding__model=NEW) as app:
            [event] = await told(app, "embedder_changed")
            asked = [job.name for job in await list_jobs(app.store) if job.name == REEMBED]

    warned = [line for line in logs if line["log_level"] == "warning" and line.get("left") == len(TEXTS)]
    assert [line["total"] for line in warned] == [len(TEXTS)]
    assert event.payload == {"from": OLD, "to": NEW, "vectors_left": len(TEXTS)}
    assert asked == [REEMBED]


@pytest.mark.requirement("M-101", "X-78")
async def test_status_shows_how_far_it_is_until_it_is_done(database_url: str, tmp_path: Path):
    await learn_all(database_url, tmp_path)

    async with opened(database_url, tmp_path, start=StartOptions(providers=True), embedding__model=NEW) as app:
        await learn(app.memory.deps, HERE, LearnRequest(text="The ferry leaves before noon"))
        before = await shown(app)
        await queue_missing_embeddings(app)
        await drain(app.jobs)
        after, [finished] = await shown(app), await told(app, "reembedding_finished")
        await queue_missing_embeddings(app)
        changes = await told(app, "embedder_changed")

    assert before == "re-embedded 1 of 4"
    assert after == "all there"
    assert finished.payload == {"model": NEW, "count": 3}
    assert len(changes) == 1


async def test_status_knows_it_without_opening_the_embedder(database_url: str, tmp_path: Path):
    await learn_all(database_url, tmp_path)

    async with opened(database_url, tmp_path, embedding__model=NEW) as app:
        assert await shown(app) == "re-embedded 0 of 3"
    async with opened(database_url, tmp_path, embedding__model="none:") as app:
        assert await shown(app) == "all there"


async def test_a_start_with_the_same_embedder_tells_nothing(database_url: str, tmp_path: Path):
    await learn_all(database_url, tmp_path)

    async with opened(database_url, tmp_path, start=StartOptions(providers=True), embedding__model=OLD) as app:
        await queue_missing_embeddings(app)

        assert await told(app, "embedder_changed") == []
        assert [job for job in await list_jobs(app.store) if job.name == REEMBED] == []
