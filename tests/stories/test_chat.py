"""An agent that knows you tomorrow: the first evening, the next day, and what was corrected, with the bundled models."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.clients import make_key
from tests.runtime.server import given
from tests.stories.stage import stage

import festinger
from festinger.agent.mind import Agent
from festinger.ids import AgentId, Scope, SessionId
from festinger.llm.model import ModelPurpose
from festinger.llm.providers.scripted import ScriptedProvider, build_scripted_model
from festinger.services.agent import open_mind
from festinger.settings.tree import EmbeddingSettings
from festinger.store.repositories.auth import AccessRole

EMBEDDER = EmbeddingSettings().model
EVENING = (
    "hi there!",
    "I work as a nurse in Bergen and my shifts are long",
    "what helps against tired feet?",
    "thanks, that sounds good",
    "by the way I'm allergic to walnuts",
    "can you suggest something I could bake on Sunday?",
    "hm, not too sweet please",
    "our dog is called Pepper and he eats everything",
    "how long does bread dough keep in the fridge?",
    "my sister Ingrid visits on Saturday",
    "what could we cook together?",
    "good night!",
)


class Life:
    """Conversations with one agent, whose model says yes to everything."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.script: ScriptedProvider
        self.model, self.script = build_scripted_model(*["All right."] * 60)

    async def choose(self, purpose: ModelPurpose, _scope: Scope) -> Any:
        return self.model if purpose is ModelPurpose.CHAT else None

    def place(self, session: str) -> Scope:
        return Scope(space=self.app.directory.need("main"), agent=AgentId("ada"), session=SessionId(session))

    async def talk(self, session: str, *said: str) -> list[str]:
        """Say this in one conversation; what the model read with each message."""
        async with open_mind(self.app, self.place(session), choose=self.choose) as agent:
            return [await self._say(agent, text) for text in said]

    async def _say(self, agent: Agent, text: str) -> str:
        await agent.hear(text)
        assert await agent.step() is not None
        return self.script.asked[-1].messages[-1].text


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_what_is_said_on_the_first_evening_is_known_the_next_day(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model=EMBEDDER), database=database_url) as memory:
        life = Life(memory._app)
        evening = await life.talk("chat:1", *EVENING)
        work, nuts, dog, sister = await life.talk(
            "chat:2",
            "what do I do for a living?",
            "any ideas for a cake with nuts?",
            "what's our dog's name again?",
            "who is coming on Saturday?",
        )

    assert evening[0] == "hi there!"
    assert "nurse" in work
    assert "allergic to walnuts" in nuts
    assert "Pepper" in dog
    assert "Ingrid" in sister


async def test_what_was_corrected_once_stays_corrected(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model=EMBEDDER), database=database_url, agent="ada") as memory:
        life = Life(memory._app)
        await life.talk("chat:1", "Our staging server listens on port 5433.")
        await life.talk("chat:1", "Actually it moved to 5434.")
        (asked,) = await life.talk("chat:2", "Which port does our staging server listen on?")
        recollected = await memory.recollect("Which port does our staging server listen on?")

    assert "5434" in asked
    assert "5433" not in asked
    assert "5434" in recollected.text
    assert "5433" not in recollected.text


async def test_at_a_server_the_model_looks_into_the_memory_by_itself(database_url: str, tmp_path: Path):
    file = tmp_path / "answers.jsonl"
    steps = ({"call": "recall", "with": {"cue": "office in Lisgate"}}, "It opens at nine.")
    file.write_text("\n".join(map(json.dumps, steps)))
    async with stage(database_url, tmp_path, llm__chat=f"scripted:{file}") as at:
        headers = {"X-Festinger-Key": await make_key(at, AccessRole.REVIEWER)}
        fact = {"text": "The office in Lisgate opens at nine."}
        async with at.http.post(f"{at.url}/admin/api/memories", json=fact, headers=headers) as learned:
            assert learned.status == 201
        said = {"text": "Have a look at it, please."}
        async with at.http.post(f"{at.url}/admin/api/agents/default/say", json=said, headers=headers) as got:
            reply = await got.json()
        [script] = [each for each in at.app.switchboard._open.values() if isinstance(each, ScriptedProvider)]

    assert (reply["reply"], reply["tools"]) == ("It opens at nine.", ["recall"])
    assert "The office in Lisgate opens at nine." in script.asked[1].messages[-1].text
