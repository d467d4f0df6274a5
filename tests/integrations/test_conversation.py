import pytest
from structlog.testing import capture_logs
from tests.integrations.conftest import CUE, HARBOUR, TOLD

import festinger
from festinger.errors import StoreDown
from festinger.integrations.conversation import AgentConversation


@pytest.mark.requirement("I-30")
async def test_notes_are_shown_once_and_again_for_the_same_message(memory: festinger.Memory):
    talk = AgentConversation(memory, "s1")
    first, same = await talk.notes(CUE), await talk.notes(CUE)
    other = await talk.notes(f"{CUE} I forgot.")
    elsewhere = await AgentConversation(memory, "s2").notes(CUE)

    assert HARBOUR in first
    assert first == same == elsewhere
    assert HARBOUR not in other


@pytest.mark.requirement("I-30")
async def test_what_a_person_says_is_learnt_and_what_the_model_learns_is_its_own_word(memory: festinger.Memory):
    talk = AgentConversation(memory, "s1")
    await talk.capture("user", f"{await talk.notes(CUE)}\n{TOLD}")
    await talk.capture("assistant", "Noted.")
    said = await talk.learn("The build takes nine minutes.")
    known = await talk.recall("Which port does the staging database use?")
    unknown = await talk.recall("qqq zzz")
    turns = await memory.turns("s1")
    await talk.close()
    origins = {each.text: each.origin for each in (await memory.recall("How long does the build take?")).items}

    assert said == "I keep this."
    assert TOLD.rstrip(".") in known
    assert unknown == "Nothing relevant is remembered."
    # Our own notes are no part of what was said.
    assert [turn.content for turn in turns] == [TOLD, "Noted."]
    assert await memory.turns("s1") == []
    assert origins["The build takes nine minutes."] == "model"
    assert (await memory.recall(CUE)).items[0].text == HARBOUR


async def test_an_agent_goes_on_without_a_memory_that_is_away(
    memory: festinger.Memory, monkeypatch: pytest.MonkeyPatch
):
    async def away(*_args: object, **_more: object) -> None:
        raise StoreDown

    for name in ("recollect", "recall", "learn", "episode"):
        monkeypatch.setattr(festinger.Memory, name, away)
    talk = AgentConversation(memory, "s1")
    with capture_logs() as lines:
        notes, known, said = await talk.notes(CUE), await talk.recall(CUE), await talk.learn(TOLD)

    assert notes == ""
    assert known == said != ""
    assert [line["event"] for line in lines] == ["the agent goes on without memory"]
