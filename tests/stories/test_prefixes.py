"""The cache of the model server stays warm: over thirty turns each prompt begins with the one before, whatever is learnt
and decided meanwhile."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.stories.plot import note_in
from tests.stories.stage import Stage, stage

from festinger.observability.metrics import PROXY_PREFIX_CHANGED

NAMES = ("gnommoweb", "dobby", "ramanujan", "zorkmid", "quuxdb", "frobnitz", "blorbo", "snarfle", "wibblet", "grommix")
SYSTEM = {"role": "system", "content": "You look after the machines of a small university."}


def line(turn: int) -> str:
    """What the user says in a turn: three turns in ten each tell something, ask for it, and chat."""
    name = NAMES[turn // 3]
    return (f"{name} is a server.", f"How is {name} doing?", "Thank you, go on.")[turn % 3]


async def conversation(at: Stage, *, stream: bool = False) -> list[list[dict[str, Any]]]:
    """Thirty turns, while facts are learnt and a conflict is opened and decided; what was forwarded in each."""
    history: list[dict[str, Any]] = [SYSTEM]
    for turn in range(30):
        at.model.says(f"That was turn {turn}, and nothing is wrong with it.")
        history.append({"role": "user", "content": line(turn)})
        body = {"model": "m", "messages": history, "stream": stream, "options": {"num_ctx": 32768}}
        got = await at.post("/api/chat", body)
        history.append({"role": "assistant", "content": got.body["message"]["content"]})
        if turn % 3 == 0:
            await at.until_known(NAMES[turn // 3])
        if turn == 10:
            await at.post("/iknowthat", {"fact": "server -isa machine"})
            await at.post("/iknowthat", {"fact": "gnommoweb -isa machine"})
            await at.until(at.pending)
        if turn == 16:
            assert (await at.night())["seen"] == 1
    return [sent.body["messages"] for sent in at.model.heard]


@pytest.mark.requirement("P-35")
async def test_each_forwarded_list_begins_with_the_one_before(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        forwarded = await conversation(at)

    assert len(forwarded) == 30
    for before, after in pairwise(forwarded):
        assert after[: len(before)] == before
    users = [message["content"] for message in forwarded[-1] if message["role"] == "user"]
    noted = [note_in(text) for text in users]
    assert [note for note in noted[1::3] if "server" in note] == [f"{name}: [type] server" for name in NAMES]
    assert forwarded[-1][0] == SYSTEM


@pytest.mark.requirement("P-32", "P-35")
async def test_with_notes_at_the_start_of_the_system_text_the_prefix_moves_when_they_change_and_says_so(
    database_url: str, tmp_path: Path
):
    before = prefix_changes()
    async with stage(database_url, tmp_path, proxy__injection_position="system_start") as at:
        forwarded = await conversation(at)
        changes = prefix_changes() - before

    moved = [later[0] != earlier[0] for earlier, later in pairwise(forwarded)]
    assert sum(moved) > 5
    assert sum(moved) == changes + 1, "the first block is no change of an earlier one"
    for earlier, later in pairwise(forwarded):
        assert later[1 : len(earlier)] == earlier[1:]
    assert all(message["content"].endswith(SYSTEM["content"]) for message in (each[0] for each in forwarded))


def prefix_changes() -> float:
    """How often this process has moved a prefix, for whatever reason."""
    return sum(
        sample.value
        for metric in PROXY_PREFIX_CHANGED.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )
