"""What does a yes do to memories?"""

from pathlib import Path

import pytest
from tests.runtime.effects.approving import Approving, approving

from festinger.errors import BadInput, EffectFailed, Outdated, UndoBlocked
from festinger.ids import MemoryId
from festinger.memory.confidence import HIGHEST_CENTER
from festinger.memory.edit import archive, edit
from festinger.memory.model import Status
from festinger.proposals.model import ProposalState, ProposalType, VerdictKind
from festinger.proposals.verdicts.propose import rebuild_proposal

CHANGE = ProposalType.MEMORY_CHANGE


async def states(at: Approving, *ids: MemoryId) -> list[Status]:
    return [(await at.memory(each)).status for each in ids]


@pytest.mark.requirement("H-55", "H-57")
async def test_memories_are_merged_replaced_put_away_and_reworded_and_all_of_it_undone(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        one, two, three = [
            await at.learn(text) for text in ("Ann keeps bees", "The kettle is red", "Bob sails on lakes")
        ]
        kept = [await at.memory(each) for each in (one, two, three)]

        merged = await at.approve(CHANGE, {"op": "merge", "ids": [str(one), str(two), str(three)]})
        assert sorted(await states(at, one, two, three)) == ["active", "merged", "merged"]
        assert merged.effect is not None
        assert len(merged.effect.changes) == 2
        await at.undo(merged)
        assert await states(at, one, two, three) == [Status.ACTIVE] * 3

        replaced = await at.approve(CHANGE, {"op": "supersede", "ids": [str(one), str(two)]})
        assert await states(at, one, two) == [Status.SUPERSEDED, Status.ACTIVE]
        await at.undo(replaced)

        away = await at.approve(CHANGE, {"op": "archive", "ids": [str(one)]})
        assert await states(at, one) == [Status.ARCHIVED]
        back = await at.approve(CHANGE, {"op": "restore", "ids": [str(one)]})
        assert await states(at, one) == [Status.ACTIVE]
        with pytest.raises(UndoBlocked):
            await at.undo(away)
        await at.undo(back)
        await at.undo(away)

        other = await at.approve(CHANGE, {"op": "edit", "ids": [str(two)], "text": "The kettle is blue"})
        assert (await at.memory(two)).content == "The kettle is blue"
        await at.undo(other)

        assert [(await at.memory(each.id)).content for each in kept] == [each.content for each in kept]
        assert await states(at, one, two, three) == [Status.ACTIVE] * 3
        assert [(await at.memory(each.id)).weight for each in kept] == [each.weight for each in kept]


@pytest.mark.requirement("H-55", "H-57")
async def test_a_memory_is_parted_and_undoing_puts_the_parts_away(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        whole = await at.learn("Ann keeps bees and Bob sails on lakes")

        done = await at.approve(
            CHANGE, {"op": "split", "ids": [str(whole)], "texts": ["Ann keeps bees", "Bob sails on lakes"]}
        )

        assert done.effect is not None
        parts = [MemoryId(row["id"]) for row in await at.rows("select id from memory order by seq")][1:]
        assert sorted(done.effect.after["parts"]) == sorted(map(str, parts))
        assert await states(at, whole, *parts) == [Status.ARCHIVED, Status.ACTIVE, Status.ACTIVE]
        await at.undo(done)
        assert await states(at, whole, *parts) == [Status.ACTIVE, Status.ARCHIVED, Status.ARCHIVED]


@pytest.mark.requirement("H-49", "H-56")
async def test_what_changed_was_done_or_is_refused_by_the_room_is_not_approved(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        one, held = await at.learn("Ann keeps bees"), await at.learn("The vault is closed", immutable=True)
        stale = await at.propose(CHANGE, {"op": "archive", "ids": [str(one)]})
        await edit(at.app.memory.deps, stale.space_id, one, "Ann keeps geese", by="Bob")
        with pytest.raises(Outdated) as caught:
            await at.decide(stale)
        fresh = await rebuild_proposal(at.app.deciding.office, stale.space_id, stale.id, by="Ada")
        assert caught.value.details["changed"] == [f"memory:{one}"]
        assert (await at.decide(fresh)).result == "applied"

        with pytest.raises(Outdated, match="so already"):
            await at.approve(CHANGE, {"op": "archive", "ids": [str(one)]})
        with pytest.raises(EffectFailed, match="held for good"):
            await at.approve(CHANGE, {"op": "archive", "ids": [str(held)]})
        assert await states(at, held) == [Status.ACTIVE]
        for payload in ({"op": "burn", "ids": [str(one)]}, {"op": "edit", "ids": [str(one)]}, {"op": "merge"}):
            with pytest.raises(BadInput):
                await at.propose(CHANGE, payload)


@pytest.mark.requirement("H-49")
@pytest.mark.requirement("H-55")
async def test_forgetting_is_asked_for_done_with_its_word_and_never_undone(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        one, two = await at.learn("Ann keeps bees"), await at.learn("The kettle is red")
        other = await at.propose(CHANGE, {"op": "archive", "ids": [str(one)]})
        payload = {"memory_ids": [str(one)], "reason": "Ann asked"}
        asked = await at.propose(ProposalType.FORGET_REQUEST, payload, what="Forget that Ann keeps bees")
        with pytest.raises(BadInput, match="cannot be undone"):
            await at.decide(asked)

        done = await at.decide(asked, word="forget")

        assert done.effect is not None
        assert done.effect.after["erased"] == [str(one)]
        assert [row["id"] for row in await at.rows("select id from memory")] == [two]
        assert "Ann keeps bees" not in done.proposal.what
        with pytest.raises(UndoBlocked):
            await at.undo(done)
        closed = await at.decide(other)
        assert (closed.result, closed.proposal.state) == ("target forgotten", ProposalState.REJECTED)


@pytest.mark.requirement("H-55", "H-57")
async def test_a_memory_becomes_part_of_who_the_agent_is_only_by_approval_and_the_gain_is_taken_back(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        one = await at.learn("Ann keeps bees")
        await at.rows("update memory set weight_alpha = 22.4, weight_beta = 4 returning id")
        before = (await at.memory(one)).weight
        payload = {"memory_id": str(one), "gain": 5.0}

        first = await at.approve(ProposalType.IDENTITY_PROMOTION, payload)
        deeper = (await at.memory(one)).weight
        await at.undo(first)
        restored = (await at.memory(one)).weight
        second = await at.approve(ProposalType.IDENTITY_PROMOTION, payload)
        await at.rows("update memory set weight_alpha = weight_alpha + 1 returning id")
        await at.undo(second)
        moved = (await at.memory(one)).weight

        assert before.center < 0.85 < deeper.center < HIGHEST_CENTER
        assert restored == before
        assert moved.alpha == pytest.approx(before.alpha + 1)
        with pytest.raises(BadInput, match="gain"):
            await at.propose(ProposalType.IDENTITY_PROMOTION, payload | {"gain": 50.0})
        await archive(at.app.memory.deps, first.proposal.space_id, one, by="Bob")
        with pytest.raises(EffectFailed, match="archived"):
            await at.approve(ProposalType.IDENTITY_PROMOTION, payload)
        assert [row["kind"] for row in await at.rows("select kind from verdict where result = 'failed'")] == [
            VerdictKind.APPROVE
        ]
