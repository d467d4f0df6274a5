"""What a conversation does with its notes is read from what is said, and changes what is remembered."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.soundness import assert_sound
from tests.stories.clients import ollama_call
from tests.stories.model import ToolCall, Turn
from tests.stories.plot import note_in
from tests.stories.stage import Stage, stage
from tests.stories.test_recalling import key_of, library, logged, note, read, talk

from festinger.ids import MAIN_SPACE
from festinger.memory.learn.result import Learned
from festinger.outcomes.surface import expire_surfacings

WHERE = "ramanujan is where gnommoweb gets its restart."
NEIGHBOURS = (
    "Before each restart of gnommoweb Quillon is phoned.",
    "The restart of gnommoweb rings the Marisol bell.",
    "Nobody may restart gnommoweb on Fridays.",
    "To restart gnommoweb bring a torch.",
)

FIRST, LAST = ("Bra", "Dol", "Fen", "Gri", "Hul", "Jor", "Kes", "Mun"), ("vek", "zot", "lim", "pag", "rud")
DEPOTS = [first + last for first in FIRST for last in LAST]
"""Forty names that nobody else has."""
WARES = [
    f"{first}{middle}{last}"
    for first in "bcdf"
    for middle in ("ali", "omu", "ery")
    for last in ("sk", "nx", "ld", "rg", "th")
]
"""Sixty words that stand in one note each."""


def ids_of(learned: list[Learned]) -> list[UUID]:
    assert {each.action.value for each in learned} <= {"stored", "pending"}
    return [each.memory.id for each in learned if each.memory is not None]


async def outcomes(at: Stage) -> dict[UUID, list[tuple[str, str]]]:
    """What is known of each memory and counts, with how it became known."""
    found = await rows(
        at.app.store, "select memory_id, outcome, how from outcome where replaced_by is null order by at, id"
    )
    told: dict[UUID, list[tuple[str, str]]] = {}
    for row in found:
        told.setdefault(row["memory_id"], []).append((row["outcome"], row["how"]))
    return told


async def surfaced(at: Stage, number: int) -> bool:
    """Whether so many notes were read for what became of them."""
    (row,) = await rows(at.app.store, "select count(*) as n from surfacing where reason = 'recollection'")
    return bool(row["n"] >= number)


@pytest.mark.requirement("P-45", "P-46", "P-56")
async def test_only_the_note_that_a_call_took_its_host_from_was_acted_on_and_a_persons_word_goes_before(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        memory, key = library(at.app), await key_of(at)
        where, *others = ids_of(await memory.learn_many([WHERE, *NEIGHBOURS]))
        at.model.says(Turn(text="", call=ToolCall(name="look_up", arguments={"name": "ssh ramanujan reboot"})))
        await ollama_call(at.url, "Please restart gnommoweb.")
        shown = set(note(at).splitlines())
        await at.kept()
        await at.until(lambda: surfaced(at, 5))
        inferred = await outcomes(at)
        (request,) = (await read(at, "requests", key))["items"]
        log = await read(at, f"requests/{request['id']}", key)
        recollection = log["details"]["recollection"]
        before = (await memory.get(where)).confidence
        await memory.observe({where: "contradicted"}, recall=recollection)
        after = (await memory.get(where)).confidence
        told = await outcomes(at)

    assert shown == {f"- {text}" for text in (WHERE, *NEIGHBOURS)}
    assert inferred == {where: [("acted", "inferred")]}
    assert {each["memory"]: each["outcome"] for each in log["outcomes"]} == {
        str(where): "acted",
        **{str(other): None for other in others},
    }
    assert 0.5 < before <= 0.6
    assert told[where] == [("contradicted", "explicit")]
    assert after < 0.5


@pytest.mark.requirement("P-45", "P-46")
async def test_a_chat_that_reports_nothing_teaches_which_of_sixty_notes_were_used(database_url: str, tmp_path: Path):
    firsts = [f"{depot} keeps a {ware}." for depot, ware in zip(DEPOTS, WARES, strict=False)]
    seconds = [f"Every {ware} of {depot} is locked." for depot, ware in zip(DEPOTS, WARES[40:], strict=False)]
    messages: list[dict[str, Any]] = []
    async with stage(database_url, tmp_path) as at:
        learnt = ids_of(await library(at.app).learn_many([*firsts, *seconds]))
        for turn, depot in enumerate(DEPOTS):
            reply = f"I would ask for a {WARES[turn]} there." if turn % 2 == 0 else "I would not know."
            messages.append({"role": "user", "content": f"What about {depot}?"})
            at.model.says(reply)
            body = {"model": "m", "messages": messages, "stream": False, "options": {"num_ctx": 131_072}}
            assert (await at.post("/api/chat", body)).memory.startswith("injected")
            messages.append({"role": "assistant", "content": reply})
            at.hands.forward(timedelta(seconds=20))
        await at.kept()
        await at.until(lambda: surfaced(at, 60))
        read_from = await outcomes(at)
        at.hands.forward(timedelta(hours=2))
        expired = await expire_surfacings(at.app.outcomes.deps, MAIN_SPACE)
        held = await rows(at.app.store, "select confidence from memory")

    used = set(learnt[:40:2])
    assert len(used & read_from.keys()) >= 18
    assert len(read_from.keys() - used) <= 1
    assert {told for each in read_from.values() for told in each} <= {("acted", "inferred"), ("used", "inferred")}
    assert len(expired) == 60 - len(read_from)
    assert all(abs(row["confidence"] - 0.5) <= 0.1 + 1e-9 for row in held)


@pytest.mark.requirement("P-45", "P-36", "M-46")
async def test_a_person_who_corrects_a_reply_replaces_the_memory_behind_it(database_url: str, tmp_path: Path):
    teal, crimson = "Rana's favourite colour is teal.", "Rana's favourite colour is crimson"
    async with stage(database_url, tmp_path) as at:
        (stale,) = ids_of(await library(at.app).learn_many([teal]))
        at.model.says(teal)
        first = [{"role": "user", "content": "Which is Rana's favourite colour?"}]
        await at.post("/api/chat", {"model": "m", "messages": first, "stream": False})
        shown = note(at)
        await at.kept()
        await at.until(lambda: surfaced(at, 1))
        acted = await outcomes(at)
        at.hands.forward(timedelta(minutes=1))
        said = [*first, {"role": "assistant", "content": teal}, {"role": "user", "content": "No, it is crimson."}]
        await at.post("/api/chat", {"model": "m", "messages": said, "stream": False})
        await at.kept()
        await at.until(lambda: rows(at.app.store, "select 1 from memory where status = 'superseded'"))
        contradicted = await outcomes(at)
        await talk(at, "Which is Rana's favourite colour, again?")
        elsewhere = note(at)
        await assert_sound(at.app.store)

    assert shown == f"- {teal}"
    assert (acted[stale], contradicted[stale]) == ([("acted", "inferred")], [("contradicted", "inferred")])
    assert elsewhere.startswith(f"- {crimson}")
    assert "teal" not in elsewhere


@pytest.mark.requirement("P-30")
async def test_what_a_person_asked_to_remember_in_one_chat_stands_in_another(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        key = await key_of(at)
        await talk(at, "Please remember that the vault opens with key 7714.")
        await at.kept()
        await at.until(lambda: rows(at.app.store, "select id from episode"))
        (episode,) = (await read(at, "episodes", key))["items"]
        await at.post(f"/admin/api/episodes/{episode['id']}/close", **key)
        await at.until(lambda: rows(at.app.store, "select id from memory where kind = 'fact'"))
        got = await talk(at, "Which key opens the vault?")
        lines = note_in(at.model.heard[-1].newest).splitlines()
        log = await logged(at, got, key)

    assert any("vault opens with key 7714" in line for line in lines)
    assert {each["kind"] for each in log["details"]["notes"]} == {"memory"}
