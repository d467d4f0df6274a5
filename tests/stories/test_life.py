"""A life in ninety days: which milestones an agent reaches by talking, recalling, sleeping and thinking, and on which day.

With a model everything passes through what a person and a server use: chats, thoughts between them, nights, recalls with
their outcome, and a yes where one is needed. The clock is moved; the model is a server that answers by what it reads.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.agent.test_mind import serving
from tests.consolidation.sleeper import Sleeper, insights, sleeping, thinking
from tests.web.asgi import ask
from tests.web.deps import kept

from festinger.agent.readiness import MILESTONES, load_milestones
from festinger.agent.tools import AgentTool, ToolEffect
from festinger.client.memory import Memory
from festinger.consolidation.reflect import InsightsAnswer
from festinger.ids import EVERY_SPACE, MAIN_SPACE, AgentId, Scope, SessionId
from festinger.llm.model import Model
from festinger.services.access import issue_key
from festinger.services.agent import open_mind
from festinger.services.resident import tick
from festinger.store.repositories.auth import AccessRole
from festinger.web.app import build_admin_app

ADA = AgentId("ada")
PREFERENCE = "I prefer short answers with an example."
SAID = {
    2: "Our dog is called Pepper.",
    8: "I live in Lisgate near the river.",
    20: "My goal is to finish the thesis by May.",
    31: "Our staging server listens on port 5433.",
    32: "Actually, our staging server listens on port 5434.",
    62: "I finished my thesis yesterday!",
}
STEP, VALUE, APART, REACHED = (
    "What would be a next step", "speak for or against that", "never thought of together", "The person reached this goal",
)  # fmt: skip
DEEDS = {STEP: ("add_to_calendar", {"entry": "thesis"}), VALUE: ("shorten_digest", {"lines": "3"})}


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def answer(asked: Mapping[str, Any]) -> web.Response:
    """What the model says: in thoughts it wants to do something, after a yes it does it, otherwise it agrees."""
    before, last = asked["messages"][-2]["content"], asked["messages"][-1]
    text = str(last["content"])
    deeds = [deed for cue, deed in DEEDS.items() if cue in text]
    if text.startswith("Yes"):
        deeds = [(name, given) for name, given in DEEDS.values() if f"`{name}`" in str(before)]
    if last["role"] == "tool" or not deeds:
        thought = next((cue for cue in (APART, REACHED) if cue in text), "")
        return _stream({"content": f"I thought about it: {thought}." if thought else "All right."})
    name, given = deeds[0]
    call = {"index": 0, "id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    return _stream({"tool_calls": [call]}, finish="tool_calls")


def _stream(delta: dict[str, Any], *, finish: str = "stop") -> web.Response:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "ada"}
    parts = [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
    return web.Response(text=body, content_type="text/event-stream")


def night_model() -> Model:
    """Finds something only in what an idle thought connected."""
    model = thinking(lambda _prompt: "", question="Nothing of all this?")

    def connect(prompt: str) -> InsightsAnswer:
        notes = re.findall(r"^\[\d+\] (?:\([^)]*\) )?(.+?)\.?$", prompt, re.MULTILINE)
        return insights((" and ".join(notes), [1, 2])) if "An idle thought connected" in prompt else insights()

    model.answers[InsightsAnswer] = connect
    return model


@dataclass
class Life:
    """A person, their agent, and what it did outside."""

    at: Sleeper
    model: Model | None = None
    done: list[str] = field(default_factory=list)
    key: str = ""

    def tools(self, _app: Any, _scope: Scope) -> list[AgentTool]:
        def tool(name: str) -> AgentTool:
            async def run(_given: Mapping[str, Any]) -> str:
                self.done.append(name)
                return "done"

            return AgentTool(name=name, description="", schema={"type": "object"}, run=run, effect=ToolEffect.OUTSIDE)

        return [tool(name) for name, _ in DEEDS.values()]

    async def live(self, day: int) -> None:
        """A day: the person talks, what is recalled helps now and then, it thinks, and once a week there is a night."""
        here = Scope(space=MAIN_SPACE, agent=ADA, session=SessionId(f"chat:{day}"))
        async with open_mind(self.at.app, here) as mind:
            thought = await mind.tell_thought() or ""
            said = ["Yes, go ahead."] if "Say yes" in thought else []
            said += [SAID.get(day, PREFERENCE if day % 3 == 0 else "")]
            for text in filter(None, said):
                await mind.hear(text)
                await mind.step()
        if day % 2 == 1:
            memory = Memory(space=here.space, agent=ADA, session=here.session, _app=self.at.app)
            found = await memory.recall("Which answers do I prefer?")
            await memory.observe({found.items[0].id: "acted"}, recall=found.id)
        self.at.forward(timedelta(hours=1))
        await tick(self.at.app)
        if day % 7 == 6:
            await self.at.night(self.model, agent=ADA)
        self.at.forward(timedelta(hours=23))

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        """Ask the server as the person does with a key of their own."""
        if not self.key:
            made = await issue_key(
                self.at.app, "ann", role=AccessRole.REVIEWER, space=EVERY_SPACE, agent=None, by="ann"
            )
            self.key = made[1]
        pages = build_admin_app(kept(self.at.app))
        return (await ask(pages, method, f"/admin/api/agents/{path}", key=self.key, **more)).json


@asynccontextmanager
async def ninety_days(
    url: str, folder: Path, *, model: Model | None = None, **flags: Any
) -> AsyncIterator[tuple[Life, dict[str, int]]]:
    """A life, and on which of its days each milestone was reached."""
    async with sleeping(url, folder, proxy__upstream="http://127.0.0.1:1", **flags) as at:
        life, born = Life(at=at, model=model), at.hands.now
        at.app.agent_tools = life.tools
        for day in range(90):
            await life.live(day)
        found = await load_milestones(at.app.store, Scope(space=MAIN_SPACE, agent=ADA))
        yield life, {each["name"]: (each["reached_at"] - born).days for each in found if each["reached_at"]}


@pytest.mark.requirement("A-90")
async def test_a_life_reaches_all_milestones_and_a_person_verifies_them(database_url: str, tmp_path: Path):
    async with (
        serving(v1_chat_completions=answer) as base,
        ninety_days(database_url, tmp_path, model=night_model(), llm__chat=f"openai:ada@{base}/v1") as (life, reached),
    ):
        for name in MILESTONES:
            await life.ask("POST", "ada/readiness", body={"name": name})
        verified = (await life.ask("GET", "ada/readiness"))["milestones"]
        refused = await life.ask("POST", "bob/readiness", body={"name": "conflict"})
        other = (await life.ask("GET", "bob/readiness"))["milestones"]

    assert reached == {
        "memory": 0, "retrieval": 1, "consolidation": 20, "goal_weight": 27, "self_prompt": 21, "identity_weight": 84,
        "conflict": 32, "association": 20, "goal": 62, "values": 4,
    }  # fmt: skip
    assert {"add_to_calendar", "shorten_digest"} == set(life.done)
    assert {each["verified_by"] for each in verified} == {"key:ann"}
    assert "not reached yet" in str(refused)
    assert [each["name"] for each in other if each["reached_at"] or each["verified_at"]] == []


async def test_a_life_without_a_model_reaches_what_needs_none(database_url: str, tmp_path: Path):
    async with ninety_days(database_url, tmp_path) as (_, reached):
        pass

    assert reached == {
        "memory": 0, "retrieval": 1, "consolidation": 20, "goal_weight": 27, "identity_weight": 84, "conflict": 32,
    }  # fmt: skip
