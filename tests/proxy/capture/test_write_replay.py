"""What waited while the store was away, and was forgotten meanwhile."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.memory.oblivion import places_of
from tests.proxy.capture.test_queue import capture
from tests.proxy.store_recorder import recorder
from tests.runtime.server import Hands, fixed_tools, opened

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.proxy.capture.exchange import Capture
from festinger.proxy.capture.spool import Spool
from festinger.proxy.capture.write import encode_entry, remove_forgotten_sentences
from festinger.retrieval.log import RecallRecord
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.runtime.app import App, StartOptions
from festinger.runtime.erasure import build_erasure_service

SECRET = "The spare key hangs behind the quokka painting"
HERE = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT), session=SessionId("s1"))


async def forget_it(app: App) -> dict[str, int]:
    learned = await learn(app.memory.deps, HERE, LearnRequest(text=SECRET))
    assert learned.memory is not None
    selector = ErasureSelector(ids=(learned.memory.id,))
    plan = await build_erasure_service(app).forget(MAIN_SPACE, selector, reason="asked", by="person:ann")
    return dict(plan.rows)


@pytest.mark.requirement("M-82", "M-83", "F-93")
async def test_an_exchange_that_comes_late_does_not_bring_back_what_was_forgotten(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), tools=fixed_tools(hands)) as app:
        folder = app.home / "spool"
        waiting = recorder(lambda: app, folder, clock=hands.clock, name="held")
        said = capture(1, f"Good morning. {SECRET}. Buy some paint.")
        stored = waiting.writer.put(said)
        assert stored is not None
        await stored
        hands.forward(timedelta(hours=1))
        await forget_it(app)

        await waiting.writer._work()
        await waiting.writer.finish()

        assert await places_of(app.store, "quokka") == []
        assert await places_of(app.store, "Buy some paint") != []


@pytest.mark.requirement("M-82")
async def test_a_recall_that_comes_late_is_not_written_down_if_anything_was_forgotten_meanwhile(
    database_url: str, tmp_path: Path
):
    hands = Hands()
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), tools=fixed_tools(hands)) as app:
        await learn(app.memory.deps, HERE, LearnRequest(text=SECRET))
        kept: list[RecallRecord] = []
        query = parse_recall_query("Where is the quokka key?", now=hands.now)
        await recall(app.recall.deps, HERE, query, keep=kept.append)
        await app.afterwards.written()
        hands.forward(timedelta(hours=1))
        before = await remove_forgotten_sentences(app, kept)
        await forget_it(app)

        assert before == kept
        assert await remove_forgotten_sentences(app, kept) == []


async def test_what_is_said_after_it_was_forgotten_is_said_anew(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), tools=fixed_tools(hands)) as app:
        said = capture(1, f"{SECRET}.")
        hands.now -= timedelta(days=1)
        await forget_it(app)

        [kept] = await remove_forgotten_sentences(app, [said])

        assert isinstance(kept, Capture)
        assert kept.exchange.said == said.exchange.said


@pytest.mark.requirement("M-82")
async def test_what_a_dead_process_left_behind_is_cut_where_it_lies(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), tools=fixed_tools()) as app:
        left = Spool(app.home / "spool", name="dead")
        left.append([encode_entry(capture(1, f"She said: {SECRET}!"))], limit=2**20)
        left.close()

        rows = await forget_it(app)

        files = [path.read_bytes() for path in (app.home / "spool").iterdir()]
        assert rows["spool"] == 1
        assert [b"quokka" in data for data in files] == [False]
