"""The handle that the library gives out."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.jobs.deps import ask
from tests.runtime.server import SOON, given, opened

import festinger
from festinger.errors import BadInput, BadSetting, NotFound, StoreDown, UnknownSetting
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import ModelPurpose
from festinger.runtime.settings import change_setting
from festinger.settings.tree import EmbeddingSettings, SecretsSettings, Settings

FIRST = ask("select id from event where name = 'setting_changed' order by seq")


@pytest.mark.requirement("U-02")
async def test_settings_may_be_a_mapping(database_url: str, tmp_path: Path):
    async with festinger.open({**given(tmp_path), "llm.max_parallel": 7}, database=database_url) as memory:
        assert memory._app.settings.now.llm.max_parallel == 7
        assert (memory.space, memory.agent, memory.session) == ("main", "default", None)


@pytest.mark.requirement("U-02")
async def test_settings_may_be_a_value_with_its_secrets(database_url: str, tmp_path: Path):
    settings = Settings(
        database_url=SecretStr(database_url),
        home=str(tmp_path / "home"),
        secrets=SecretsSettings(key_file=str(tmp_path / "key")),
        embedding=EmbeddingSettings(model="none:"),
    )
    async with festinger.open(settings) as memory:
        assert (await memory.status())["health"]["jobs"]["dead"] == 0


@pytest.mark.requirement("U-02")
@pytest.mark.parametrize("kind", [str, Path])
async def test_settings_may_be_the_path_of_a_file(kind: type, database_url: str, tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"home: {tmp_path / 'home'}\nsecrets:\n  key_file: {tmp_path / 'key'}\n"
        "embedding:\n  model: 'none:'\nllm:\n  max_parallel: 8\n"
    )
    async with festinger.open(kind(file), database=database_url) as memory:
        assert memory._app.settings.now.llm.max_parallel == 8


@pytest.mark.requirement("U-02")
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"llm": {"max_parallel": "many"}}, BadSetting),
        ({"no_such_key": 1}, UnknownSetting),
        ("/nowhere/at/all.yaml", BadSetting),
        ({"database_url": "postgresql://nobody@127.0.0.1:1/none"}, StoreDown),
    ],
)
async def test_a_wrong_setting_fails_on_entering_and_not_before(settings: Any, error: type, tmp_path: Path):
    if isinstance(settings, dict):
        settings = given(tmp_path, **settings)
    opening = festinger.open(settings)

    with pytest.raises(error):
        await opening.__aenter__()


async def test_an_unknown_space_fails_on_entering(database_url: str, tmp_path: Path):
    with pytest.raises(NotFound, match="nowhere"):
        async with festinger.open(given(tmp_path), database=database_url, space="nowhere"):
            pass


@pytest.mark.requirement("U-02")
def test_used_without_async_with_it_says_how_to_write_it():
    with pytest.raises(BadInput) as refused:
        festinger.open().status  # noqa: B018 - being asked for is the mistake

    assert "async with festinger.open() as memory" in refused.value.hint


async def test_a_handle_can_be_bound_to_another_agent_and_session(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        other = memory.for_agent("scout").for_session("s1")

        assert (other.agent, other.session, other.space) == ("scout", "s1", memory.space)
        assert memory.agent == "default"


async def test_a_hundred_tasks_may_use_one_memory_at_once(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        found = await asyncio.gather(*(memory.status() for _ in range(100)))

        assert len(found) == 100
        assert all(one["health"] == found[0]["health"] for one in found)


@pytest.mark.requirement("X-46")
async def test_a_subscriber_is_told_of_wanted_events_as_they_happen(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as other:
        async with festinger.open(given(tmp_path), database=database_url) as memory:
            news = memory.subscribe("setting_changed")
            first = asyncio.ensure_future(anext(news))
            await changed_until_heard(other, first)
            event = first.result()
            await news.aclose()  # type: ignore[attr-defined]

        assert event.name == "setting_changed"
        assert event.payload["key"] == "llm.max_parallel"


@pytest.mark.requirement("X-46")
async def test_a_subscriber_may_go_on_behind_an_event_it_has(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        for value in ("5", "6"):
            await change_setting(memory._app, "llm.max_parallel", value, by="test")
        first = (await memory._app.store.all(FIRST))[0]["id"]

        news = memory.subscribe(after=str(first))
        event = await asyncio.wait_for(anext(news), SOON)
        await news.aclose()  # type: ignore[attr-defined]

        assert event.payload["new"] == "6"
        with pytest.raises(NotFound):
            await anext(memory.subscribe(after="018f3a5e-7b21-7000-8000-000000000001"))


async def test_events_name_the_fact_the_episode_the_censor_and_the_agent_they_are_about(
    database_url: str, tmp_path: Path
):
    async with festinger.open(given(tmp_path), database=database_url, agent="ada") as memory:
        await change_setting(memory._app, "llm.max_parallel", "5", by="test")
        first = (await memory._app.store.all(FIRST))[0]["id"]
        fact = (await memory.learn("The spare key is under the third pot")).memory
        secret = (await memory.for_agent("bo").learn("Bo dislikes the night shift")).memory
        forgotten = (await memory.learn("Oskar owes me 40 euros")).memory
        assert fact is not None
        assert secret is not None
        assert forgotten is not None
        await memory.forget(forgotten.id)
        async with memory.episode("s1") as talk:
            await talk.say("user", "Hello")
        censor = await memory.censor("spare key", literal=True)
        await memory.check("The spare key is gone")
        wanted = ("fact_learned", "episode_closed", "censor_triggered")
        news = memory.subscribe(*wanted, after=str(first))
        heard = [await asyncio.wait_for(anext(news), SOON) for _ in range(5)]
        await news.aclose()  # type: ignore[attr-defined]

        assert [(each.fact_id, each.content, each.agent_id) for each in heard[:3]] == [
            (str(fact.id), fact.content, "ada"),
            (str(secret.id), "", "bo"),
            (str(forgotten.id), "", "ada"),
        ]
        assert (heard[3].episode_id, heard[3].agent_id, heard[3].content) == (str(talk.episode.id), "ada", "")
        assert (heard[4].censor_id, heard[4].agent_id, heard[4].fact_id) == (str(censor.id), "ada", None)


@pytest.mark.requirement("X-85")
async def test_without_any_model_the_library_works_and_says_that_there_is_none(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        models = [await memory._app.model(purpose, ModelCaller(space=memory.space)) for purpose in ModelPurpose]
        status = await memory.status()

        assert models == [None] * len(ModelPurpose)
        assert status["cost"]["all time"]["calls"] == 0
        assert status["health"]["degraded"] == []


async def changed_until_heard(app: Any, heard: "asyncio.Future[Any]") -> None:
    """Change something until the subscriber, which begins at its first look, has heard of it."""
    async with asyncio.timeout(SOON):
        value = 5
        while not heard.done():
            value += 1
            await change_setting(app, "llm.max_parallel", str(value), by="test")
            await asyncio.wait({heard}, timeout=0.1)
