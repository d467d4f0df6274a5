"""Forgetting is whole at once, in every room, also where nobody does background work."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.memory.oblivion import places_of
from tests.runtime.effects.approving import PLACE, Approving, approving
from tests.runtime.server import given

import festinger
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, Scope, SessionId, cause
from festinger.memory.erasure.repair import RepairMode
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.undo import undo
from festinger.outcomes.model import Reporter
from festinger.proposals.inbox import load_card
from festinger.proposals.model import ProposalState
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.sightings.recount import REFLECTION, SightingResult, Suggestion
from festinger.runtime.erasure import build_erasure_service
from festinger.world.counts import text_hash
from festinger.world.learn import iknowthat, write_claims
from festinger.world.recall import SourceText

EPISODE, TOLD, ASKED = (UUID(int=number) for number in (1, 2, 3))
HOME = "Ada lives at Elm Road."


@pytest.mark.requirement("M-82", "R-74")
async def test_what_was_recalled_and_then_forgotten_is_nowhere_although_no_worker_runs(
    database_url: str, tmp_path: Path
):
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        kept = (await memory.learn("The heirloom clock is in the attic.")).memory
        assert kept is not None
        recalled = await memory.recall("where is the heirloom clock?")
        assert [item.id for item in recalled.items] == [kept.id]
        await memory._app.afterwards.written()
        store = memory._app.store
        assert any("recall" in place for place in await places_of(store, "heirloom"))

        await memory.forget(kept.id)

        assert await places_of(store, "heirloom") == []


@pytest.mark.requirement("F-93")
async def test_what_one_process_forgets_another_that_has_just_recalled_it_neither_finds_nor_learns(
    database_url: str, tmp_path: Path
):
    async with (
        festinger.open(given(tmp_path), database=database_url) as here,
        festinger.open(given(tmp_path), database=database_url) as there,
    ):
        kept = (await here.learn("The heirloom clock is in the attic.")).memory
        assert kept is not None
        before = await there.recall("where is the heirloom clock?")
        await here.forget(kept.id)
        after = await there.recall("where is the heirloom clock?")
        shown = await there.recollect("where is the heirloom clock?")
        again = await there.learn("The heirloom clock is in the attic.", origin="model")

        assert [item.id for item in before.items] == [kept.id]
        assert (after.items, "heirloom" in shown.text, again.reasons) == ((), False, ("forgotten",))


@pytest.mark.requirement("H-93")
async def test_what_was_proposed_because_of_something_forgotten_loses_its_words_and_keeps_its_counters(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        await talk(at)
        memory = await at.learn(HOME, turn_id=TOLD)
        seen = {
            "memory": await sight(at, "Call her where she dwells", memories=[memory]),
            "turn": await sight(at, "Write to the house under the trees", turns=[TOLD]),
            "payload": await sight(at, "Archive what is known of her", payload={"ids": [str(memory)]}),
            "other turn": await sight(at, "Show the clock", turns=[ASKED]),
            "episode": await sight(at, "Greet whoever comes", episodes=[EPISODE]),
        }

        await build_erasure_service(at.app).forget(MAIN_SPACE, ErasureSelector(ids=(memory,)), reason="asked", by="ada")
        after = await left(at, seen)
        await build_erasure_service(at.app).forget(
            MAIN_SPACE, ErasureSelector(session=SessionId("s1")), reason="asked", by="ada"
        )

        assert after == {
            "memory": ("", 1, ProposalState.REJECTED),
            "turn": ("", 1, ProposalState.REJECTED),
            "payload": ("Archive what is known of her", 1, ProposalState.WAITING),
            "other turn": ("Show the clock", 1, ProposalState.WAITING),
            "episode": ("Greet whoever comes", 1, ProposalState.WAITING),
        }
        assert await left(at, seen) == after | dict.fromkeys(("other turn", "episode"), ("", 1, ProposalState.REJECTED))
        assert await places_of(at.app.store, "dwells", "trees", "greet") == []


async def talk(at: Approving) -> None:
    """An episode of two turns, in the first of which something is said."""
    episode = (
        "insert into episode (space_id, id, agent_id, session_id, opened_at, last_at)"
        " values ('main', %(id)s, 'default', 's1', %(at)s, %(at)s) returning id"
    )
    turn = (
        "insert into episode_turn (space_id, episode_id, seq, turn_id, at, role, origin, content)"
        " values ('main', %(id)s, %(seq)s, %(turn)s, %(at)s, 'user', 'person', %(said)s) returning seq"
    )
    await at.rows(episode, id=EPISODE, at=at.hands.now)
    for seq, (id_, said) in enumerate(((TOLD, HOME), (ASKED, "What time is it?")), start=1):
        await at.rows(turn, id=EPISODE, seq=seq, turn=id_, at=at.hands.now, said=said)


async def sight(
    at: Approving, what: str, *, payload: dict[str, Any] | None = None, **cited: list[UUID]
) -> SightingResult:
    evidence = {name: [str(each) for each in ids] for name, ids in cited.items()}
    said = Suggestion(
        category="knowledge",
        scope="chat",
        what=what,
        producer=REFLECTION,
        source=f"call-{next(at.numbers)}",
        cause=cause(agent=DEFAULT_AGENT, session=SessionId("s2"), origin=Origin.MODEL, at=at.hands.now),
        at=at.hands.now,
        payload=payload or {},
        evidence=evidence,
    )
    return await record_sighting(at.app.inbox.deps, MAIN_SPACE, said)


async def left(at: Approving, seen: dict[str, SightingResult]) -> dict[str, tuple[str, int, ProposalState]]:
    found = {}
    for name, each in seen.items():
        assert each.proposal is not None
        card = await load_card(at.app.inbox.deps, MAIN_SPACE, each.proposal)
        found[name] = (card.proposal.what, card.proposal.seen_count, card.proposal.state)
    return found


@pytest.mark.requirement("M-84")
async def test_a_repair_takes_back_what_a_session_brought_to_every_room_and_undoing_it_gives_all_back(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        memory = await at.learn(HOME)
        place = replace(PLACE, session=SessionId("s2"))
        watching = at.app.outcomes.protocol(Reporter(scope=place, name="bot", door="api", origin=Origin.MODEL))
        await sight(at, "Show the clock")
        await watching.on_context_used([memory], {str(memory): "contradicted"})
        before = await everything(at)

        done = await build_erasure_service(at.app).repair(
            MAIN_SPACE, ErasureSelector(session=SessionId("s2")), by="ada"
        )
        without = await everything(at)
        assert done.change is not None
        await undo(at.app.memory.deps, MAIN_SPACE, done.change, by="ada")

        assert (done.locked, done.elsewhere) == ((), 2)
        assert [row["seen_count"] for row in without["proposal"]] == [0]
        assert [row["counted"] for row in without["outcome"]] == [False]
        assert without["memory"] != before["memory"]
        assert await everything(at) == before


@pytest.mark.requirement("M-84")
async def test_a_repair_that_forgets_leaves_no_word_of_what_was_proposed_there(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        await sight(at, "Greet whoever comes")

        await build_erasure_service(at.app).repair(
            MAIN_SPACE, ErasureSelector(session=SessionId("s2")), by="ada", mode=RepairMode.FORGET
        )

        assert await places_of(at.app.store, "whoever") == []


async def everything(at: Approving) -> dict[str, list[dict[str, Any]]]:
    """What is believed, counted and proposed."""
    columns = {
        "memory": "id, status, confidence, weight_alpha, weight_beta",
        "outcome": "id, counted, uncounted_because",
        "proposal": "id, state, seen_count, days_seen, sightings, first_seen, last_seen",
        "proposal_sighting": "id, counted, uncounted_because, text",
    }
    return {table: await at.rows(f"select {names} from {table} order by id") for table, names in columns.items()}


async def read(at: Approving, text: str, *, session: str, origin: Origin) -> tuple[str, ...]:
    """One turn of a conversation: what comes to mind of the world; then what is said there is written."""
    room = at.app.world
    place = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId(session))
    message = text_hash(f"{session} {text}")
    said = SourceText(text=text, origin=origin, message=message)
    found = room.recollector.recollect(place, [said])
    assert found is not None
    async with at.app.store.transaction() as transaction:
        is_kept = await room.recollector.learn(transaction, place, said)
    if is_kept:
        await write_claims(room.deps, MAIN_SPACE, message)
    return found.lines


async def poisoned(at: Approving) -> None:
    """Pages of three days say what nobody else does, and what a person said too; a person says something of her own."""
    await at.app.world.need(MAIN_SPACE)
    await read(at, "Winky is an elf", session="ada", origin=Origin.PERSON)
    for name in ("red", "blue", "green"):
        at.hands.forward(timedelta(days=1))
        page = f"Zanzibo is a quuxling, says the {name} page. Winky is an elf."
        await read(at, page, session=f"read-{name}", origin=Origin.TOOL)


async def of_the_world(at: Approving) -> dict[str, list[dict[str, Any]]]:
    return {
        name: await at.rows(f"select to_jsonb(t) - 'version' as row from {name} t order by 1")
        for name in ("urd", "urd_cause", "cue_quarantine_cause", "resolution_queue", "soas")
    }


ASKED_OF = "what of Zanzibo and Winky?"


@pytest.mark.requirement("M-84")
async def test_what_planted_pages_taught_the_world_is_as_if_never_said_after_a_repair_until_it_is_undone(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        await poisoned(at)
        before = await of_the_world(at)
        shown = await read(at, ASKED_OF, session="ask", origin=Origin.PERSON)
        repairing = build_erasure_service(at.app)

        planned = await repairing.repair(MAIN_SPACE, ErasureSelector(origin=Origin.TOOL), by="ada", dry_run=True)
        after_plan = await of_the_world(at)
        done = await repairing.repair(MAIN_SPACE, ErasureSelector(origin=Origin.TOOL), by="ada")
        without = await read(at, ASKED_OF, session="ask again", origin=Origin.PERSON)
        (winky,) = await at.rows("select confidence, evidence_count from urd where id <> parent_id")
        assert done.change is not None
        await undo(at.app.memory.deps, MAIN_SPACE, done.change, by="ada")
        await at.app.world.worlds.follow(MAIN_SPACE)

        assert [line.split(":")[0] for line in shown] == ["winky", "zanzibo"]
        assert (planned.elsewhere, after_plan) == (done.elsewhere, before)
        assert [line.split(":")[0] for line in without] == ["winky"]
        assert winky == {"confidence": 0.65, "evidence_count": 0}
        assert await of_the_world(at) == before
        assert await read(at, ASKED_OF, session="at last", origin=Origin.PERSON) == shown


@pytest.mark.requirement("M-84")
async def test_a_repair_that_forgets_leaves_no_word_of_what_planted_pages_taught_the_world(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        await poisoned(at)

        done = await build_erasure_service(at.app).repair(
            MAIN_SPACE, ErasureSelector(origin=Origin.TOOL), by="ada", mode=RepairMode.FORGET
        )

        assert done.forgotten is not None
        assert done.forgotten.rows["world"] > 0
        assert await places_of(at.app.store, "zanzibo", "quuxling") == []
        assert [line.split(":")[0] for line in await read(at, ASKED_OF, session="a", origin=Origin.PERSON)] == ["winky"]


@pytest.mark.requirement("M-84")
async def test_a_source_is_taken_back_from_the_world_by_the_messages_in_which_it_was_heard(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        await at.app.world.need(MAIN_SPACE)
        await at.learn("The page says that Zanzibo is a quuxling.", source="https://bad.test", turn_id=TOLD)
        for fact, message in (("zanzibo -isa quuxling", str(TOLD)), ("winky -isa elf", str(ASKED))):
            because = cause(agent=DEFAULT_AGENT, session=SessionId("s"), origin=Origin.MODEL, at=at.hands.now)
            await iknowthat(at.app.world.deps, MAIN_SPACE, [fact], because=because, message=message)

        done = await build_erasure_service(at.app).repair(
            MAIN_SPACE, ErasureSelector(source="https://bad.test"), by="ada"
        )

        (left,) = await read(at, ASKED_OF, session="ask", origin=Origin.PERSON)
        assert (len(done.locked), left.split(":")[0]) == (1, "winky")
