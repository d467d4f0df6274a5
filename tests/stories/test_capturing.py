"""What is said through the door is kept once, word for word, and told to whoever listens."""

from pathlib import Path
from typing import Any

import pytest
from tests.app.house import told
from tests.stories.model import Turn
from tests.stories.stage import Stage, stage

from festinger.ids import MAIN_SPACE, SessionId
from festinger.store.exchanges import session_messages


def chat(*said: str, reply: str = "Certainly.") -> dict[str, Any]:
    """A chat whose user said these things, the model answering each the same."""
    messages = [{"role": "user", "content": said[0]}]
    for text in said[1:]:
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": text}]
    return {"model": "m", "messages": messages, "stream": False}


async def words(at: Stage, session: str) -> list[tuple[str, str]]:
    await at.kept()
    found = await session_messages(at.app.store, MAIN_SPACE, SessionId(session))
    return [(message.origin.value, message.text) for message in found]


@pytest.mark.requirement("P-43")
async def test_both_sides_of_a_conversation_are_kept_in_order(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        at.model.says(Turn(text="Certainly."), Turn(text="It is."))
        first = await at.post("/api/chat", chat("Deploy gnommoweb."))
        await at.post("/api/chat", chat("Deploy gnommoweb.", "Is it done?"))
        kept = await words(at, first.session)
        events = await told(at.app, "session_started", "exchange_captured")

    assert sorted(kept) == sorted(
        [
            ("person", "Deploy gnommoweb."),
            ("model", "Certainly."),
            ("person", "Is it done?"),
            ("model", "It is."),
        ]
    )
    assert [event.name for event in events] == ["session_started", "exchange_captured", "exchange_captured"]
