"""What the world promises, seen through the door: a name is met, a fact is told, contradicted, decided; names that stand
out are explained; and the client always gets its model's own bytes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows, run_sql
from tests.runtime.server import Hands
from tests.soundness import assert_sound
from tests.stories.model import Turn
from tests.stories.plot import note_in
from tests.stories.stage import Got, Stage, parents, stage

from festinger.ids import MAIN_SPACE
from festinger.world.decisions import undo_conflict_decision

DECOMPOSE = {
    "reasoning": "Both were said, of different things.",
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "confidence": 0.9,
}
DISMISS = {"reasoning": "Docker runs there; nothing new is said.", "decision": "dismiss", "confidence": 0.9}
EXPLAINED = {
    "reasoning": "The sentences call it a website.",
    "facts": [{"concept": "gnommoweb", "parent": "website", "dimension": "type", "is_isa": True}],
}


def chat(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "stream": False}


async def say(at: Stage, text: str) -> Got:
    """A new conversation that begins so."""
    return await at.post("/api/chat", chat(text))


def note(at: Stage) -> str:
    """The lines of the block in what the model server got last."""
    return note_in(at.model.heard[-1].newest)


def scripted(folder: Path, *answers: dict[str, Any]) -> str:
    """The name of a model that gives these answers."""
    path = folder / "script"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return f"scripted:{path}"


@pytest.mark.requirement("P-10", "W-94")
async def test_a_name_that_nobody_explained_is_counted_and_the_request_forwarded_as_it_came(
    database_url: str, tmp_path: Path
):
    sent = json.dumps(chat("Please update gnommoweb to use FastAPI instead"), indent=2).encode()
    async with stage(database_url, tmp_path) as at:
        got = await at.post("/api/chat", sent)
        await at.kept()
        await at.until(lambda: counted(at, "gnommoweb"))
        words = await rows(at.app.store, "select token, saliency from soas where encounter_count > 0")
        world, waiting = await at.world(), await at.pending()

    assert at.model.heard[-1].raw == sent
    assert got.memory.startswith("empty")
    assert {row["token"]: row["saliency"] for row in words} == {"gnommoweb": 0.0, "fastapi": 0.0}
    assert waiting == []
    assert world.pending_conflicts == set()


async def counted(at: Stage, token: str) -> int:
    """How often a word was met, as far as is written."""
    await at.app.world.write_counts()
    found = await rows(at.app.store, "select encounter_count from soas where token = %(token)s", token=token)
    return found[0]["encounter_count"] if found else 0


@pytest.mark.requirement("W-92")
@pytest.mark.parametrize("wished", [True, False])
async def test_a_salient_name_without_any_fact_gives_a_note_only_if_that_is_wished(
    wished: bool, database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, world__zero_hit_notes=wished) as at:
        await run_sql(
            at.app.store,
            "insert into soas (space_id, token, encounter_count, saliency, trusted_seen)"
            " values ('main', 'gnommoweb', 50, 0.9, true)",
        )
        await at.post("/reload")
        await say(at, "Please update gnommoweb to use FastAPI instead")
        lines = note(at).splitlines()
        world = await at.world()

    if wished:
        assert lines[0].startswith("? gnommoweb: no recollection")
        assert [flag for flag in ("-isa", "-ispart") if flag in "\n".join(lines)] == ["-isa", "-ispart"]
    else:
        assert lines == []
    assert world.pending_conflicts == set()


@pytest.mark.requirement("W-66", "W-72", "W-76", "W-82")
async def test_a_contradiction_is_marked_at_once_decided_over_night_and_can_be_undone(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, llm__resolve=scripted(tmp_path, DECOMPOSE)) as at:
        await at.post("/iknowthat", {"fact": "gnommoweb -isa repo"})
        await say(at, "gnommoweb is a container deployed on Docker")
        same = note(at)
        await at.until(at.pending)
        (item,) = await at.pending()
        stands = parents(await at.world(), "gnommoweb")
        await say(at, "Open gnommoweb.")
        following = note(at)
        ran = await at.night()
        await say(at, "Show gnommoweb.")
        decided, waiting = note(at), (await at.world()).pending_conflicts
        await undo_conflict_decision(at.app.world.deps, MAIN_SPACE, UUID(item["id"]), by="reviewer")
        await say(at, "And gnommoweb now?")
        undone = note(at)
        # Who knows the world takes the edge back; the memory of the same sentence stays.
        await assert_sound(at.app.store, besides=("memories_outlive_edges",))

    assert same == following == "gnommoweb: [type?] repo — conflict pending"
    assert (item["collision_type"], item["status"], item["incoming"]["parent"]) == ("isa_isa", "pending", "container")
    assert stands == {"type": "repo"}
    assert (ran["seen"], ran["resolved"]) == (1, 1)
    # The memory agrees with what was decided, and says more.
    assert decided.splitlines() == [
        "gnommoweb: [artifact-type] repo [deployment-type] container",
        "- Gnommoweb is a container deployed on Docker",
    ]
    assert waiting == set()
    assert undone == same


@pytest.mark.requirement("P-15", "W-03", "W-26")
async def test_a_compound_in_mid_sentence_is_found_counted_and_told(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await at.post("/iknowthat", {"fact": "glitch_university -isa school"})
        before = await counted(at, "glitch_university")
        body = {**chat("Who runs the Glitch University nowadays?"), "stream": True}
        direct = (await _raw(at, at.upstream, body), await _raw(at, at.url, body))
        noted = note(at)
        await at.until(lambda: counted(at, "glitch_university"))
        after = await counted(at, "glitch_university")

    assert noted == "glitch_university: [type] school"
    assert direct[0] == direct[1]
    assert (before, after) == (0, 1)


async def _raw(at: Stage, base: str, body: dict[str, Any]) -> bytes:
    async with at.http.post(f"{base}/api/chat", json=body) as answer:
        return await answer.read()


@pytest.mark.requirement("W-12", "W-50")
async def test_what_was_said_in_passing_is_known_in_the_next_prompt(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await say(at, "gnommoweb is a repo of Glitch University")
        first = note(at)
        await at.until_known("gnommoweb")
        await say(at, "open gnommoweb")
        edges = await rows(
            at.app.store,
            "select s.token, p.token as parent, d.token as dim, u.is_isa, u.confidence, u.source from urd u"
            " join soas s on s.id = u.id join soas p on p.id = u.parent_id join soas d on d.id = u.dim_id"
            " where s.token in ('gnommoweb', 'glitch_university') order by s.token",
        )

    assert (first, note(at)) == ("", "gnommoweb: [glitch_university] repo")
    root, edge = edges
    assert (root["token"], root["parent"], root["dim"]) == ("glitch_university",) * 3
    assert tuple(edge.values()) == ("gnommoweb", "repo", "glitch_university", True, 0.65, "inferred")


def mention(number: int) -> str:
    return f"Message number {number} asks how gnommoweb does on day {number}."


async def mentioned(at: Stage, numbers: range) -> None:
    """Name gnommoweb in that many conversations, and let it be counted."""
    for number in numbers:
        await say(at, mention(number))

    async def all_counted() -> bool:
        return await counted(at, "gnommoweb") >= numbers.stop - 1

    await at.until(all_counted)


@pytest.mark.requirement("W-54", "W-55")
async def test_the_sixteenth_mention_has_the_name_explained_once_and_no_request_waits(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path, llm__write=scripted(tmp_path, EXPLAINED)) as at:
        at.model.says(*[Turn(text="Fine.")] * 20)
        await mentioned(at, range(1, 16))
        before = parents(await at.world(), "gnommoweb")
        calls_before = await rows(at.app.store, "select 1 from cost")
        await mentioned(at, range(16, 17))
        await at.until_known("gnommoweb")
        calls = await rows(at.app.store, "select purpose from cost")
        await say(at, "Open gnommoweb.")

    assert (before, calls_before) == ({}, [])
    assert [call["purpose"] for call in calls] == ["write"]
    assert note(at) == "gnommoweb: [type] website"


@pytest.mark.requirement("W-57")
async def test_without_a_model_the_name_is_listed_as_wanted_and_nothing_fails(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        at.model.says(*[Turn(text="Fine.")] * 20)
        await mentioned(at, range(1, 17))

        async def wanted() -> bool:
            return bool(
                await rows(at.app.store, "select 1 from soas where token = 'gnommoweb' and wanted_at is not null")
            )

        await at.until(wanted)
        got = await say(at, "Open gnommoweb.")

    assert got.status == 200
    assert note(at) == ""


@pytest.mark.requirement("W-65", "W-68")
async def test_a_dismissed_contradiction_leaves_the_world_alone_and_does_not_come_back_the_next_day(
    database_url: str, tmp_path: Path
):
    hands = Hands()
    async with stage(database_url, tmp_path, hands=hands, llm__resolve=scripted(tmp_path, DISMISS)) as at:
        await say(at, "gnommoweb runs on docker.")
        await at.until_known("gnommoweb")
        history = await edge_history(at)
        await say(at, "gnommoweb runs on ramanujan.")
        during = note(at)
        await at.until(at.pending)
        ran = await at.night()
        await say(at, "Open gnommoweb.")
        after = note(at)
        hands.forward(timedelta(days=1))
        await say(at, "gnommoweb runs on ramanujan.")
        await say(at, "dobby is an agent.")
        await at.until_known("dobby")
        await say(at, "Show gnommoweb.")
        next_day, waiting = note(at), await at.pending()
        unchanged = await edge_history(at)

    assert during == "gnommoweb: [runs-on?] docker — conflict pending"
    assert (ran["dismissed"], ran["resolved"]) == (1, 0)
    assert after == next_day == "gnommoweb: [runs-on] docker"
    assert waiting == []
    assert unchanged == history


async def edge_history(at: Stage) -> list[dict[str, Any]]:
    """Edges of gnommoweb and their history, without what a mere confirmation moves."""
    stands = await rows(
        at.app.store, "select u.parent_id, u.dim_id from urd u join soas s on s.id = u.id where s.token = 'gnommoweb'"
    )
    past = await rows(
        at.app.store,
        "select h.op, h.parent_id from urd_history h join soas s on s.id = h.id where s.token = 'gnommoweb'",
    )
    return stands + past
