"""A life in ninety days: which milestones an agent reaches by talking, recalling and sleeping, and on which day."""

from pathlib import Path

from tests.consolidation.sleeper import Sleeper, sleeping

from festinger.agent.readiness import load_readiness
from festinger.client.memory import Memory
from festinger.ids import MAIN_SPACE, AgentId, Scope, SessionId
from festinger.services.agent import open_mind

PREFERENCE = "I prefer short answers with an example."
SAID = {
    20: "My goal is to finish the thesis by May.",
    31: "Our staging server listens on port 5433.",
    32: "Actually, our staging server listens on port 5434.",
    62: "I finished my thesis yesterday!",
}


async def live(at: Sleeper, day: int) -> Scope:
    """A day: the person talks, what is recalled helps now and then, and once a week there is a night."""
    here = Scope(space=MAIN_SPACE, agent=AgentId("ada"), session=SessionId(f"chat:{day}"))
    said = SAID.get(day, PREFERENCE if day % 3 == 0 else "")
    if said:
        async with open_mind(at.app, here) as mind:
            await mind.hear(said)
            await mind.step()
    if day % 2 == 1:
        memory = Memory(space=here.space, agent=here.agent, session=here.session, _app=at.app)
        found = await memory.recall("Which answers do I prefer?")
        await memory.observe({found.items[0].id: "acted"}, recall=found.id)
    if day % 7 == 6:
        await at.night(agent=here.agent)
    at.forward()
    return here


async def test_a_life_without_a_model_reaches_what_is_built_and_says_what_is_not(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        born = at.hands.now
        for day in range(90):
            here = await live(at, day)
        found = await load_readiness(at.app.store, here)
        other = await load_readiness(at.app.store, Scope(space=MAIN_SPACE, agent=AgentId("bob")))

    reached = {each["name"]: (each["reached_at"] - born).days for each in found if each["reached_at"]}
    assert reached == {
        "memory": 0, "retrieval": 1, "consolidation": 20, "goal_weight": 27, "identity_weight": 84, "conflict": 32,
        "goal": 62,
    }  # fmt: skip
    assert [each["name"] for each in found if each["not_built"]] == ["values"]
    assert [each["name"] for each in other if each["reached_at"]] == []
