"""What becomes of statements that cannot both stand."""

from dataclasses import replace

import pytest
from tests.jobs.deps import rows, run_sql
from tests.memory.remembering import Mind, events, known, memories, now, says, texts

from festinger.errors import BadDecision, Refused, Stale
from festinger.ids import MAIN_SPACE
from festinger.memory.conflicts import apply_verdict, undo_verdict
from festinger.memory.edit import archive
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction, Status
from festinger.store.pool import Store, Transaction
from festinger.world.conflicts import Conflict, load_conflicts
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision

OLD = "retry failed uploads"
NEW = "do not retry failed uploads"


def wired(mind: Mind) -> Mind:
    """The world's queue with the memory behind it."""

    async def settled(
        transaction: Transaction, _space: object, item: Conflict, verdict: ConflictVerdict
    ) -> dict[str, object]:
        return await apply_verdict(mind.deps, transaction, MAIN_SPACE, conflict=item, verdict=verdict)

    async def taken_back(transaction: Transaction, _space: object, item: Conflict, by: str) -> None:
        await undo_verdict(mind.deps, transaction, MAIN_SPACE, conflict=item, by=by)

    mind.world = replace(mind.deps.world, settle_memory=settled, unsettle_memory=taken_back)
    return mind


async def disputed(store: Store, **more: str) -> tuple[Mind, Learned, Learned]:
    mind = wired(Mind(store, near={OLD: 1.0, NEW: 0.97}))
    old = await mind.learn(OLD)
    mind.forward()
    new = await mind.learn(NEW, **more)  # type: ignore[arg-type]
    return mind, old, new


def said(decision: str, **more: object) -> ConflictVerdict:
    return ConflictVerdict(decision=decision, judge=ConflictJudge.PERSON, by="ada", **more)  # type: ignore[arg-type]


async def test_a_contradiction_is_held_and_waits_in_the_one_queue(store: Store):
    mind, old, new = await disputed(store)

    assert new.action is LearnAction.CONFLICTED
    assert now(new).status is Status.HELD
    assert await texts(store) == [OLD]
    (item,) = await load_conflicts(mind.deps.world, MAIN_SPACE)
    assert (item.about, item.old_memory, item.new_memory, item.id) == (
        "memory", known(old), known(new), new.conflict,
    )  # fmt: skip
    assert item.judgement_id is not None
    (held,) = await events(store, "memory_held")
    assert held["payload"]["against"] == str(known(old))


@pytest.mark.requirement("M-27")
async def test_a_pair_waits_once_and_a_repeat_is_one_more_sighting(store: Store):
    mind, _, new = await disputed(store)

    again = await mind.learn(NEW, session="s2")

    assert (again.action, again.conflict) == (LearnAction.CONFLICTED, new.conflict)
    (item,) = await load_conflicts(mind.deps.world, MAIN_SPACE)
    assert item.sightings == 2
    assert (await mind.memory(new)).cause_count == 1
    assert len(await memories(store)) == 2


@pytest.mark.parametrize(
    ("old", "new", "mode", "action"),
    [
        ("person", "person", "queue", LearnAction.CONFLICTED),
        ("person", "person", "newest_wins", LearnAction.SUPERSEDED),
        ("model", "person", "queue", LearnAction.SUPERSEDED),
        ("person", "document", "newest_wins", LearnAction.CONFLICTED),
        ("model", "model", "queue", LearnAction.CONFLICTED),
    ],
)
async def test_who_may_contradict_whom(store: Store, old: str, new: str, mode: str, action: LearnAction):
    mind = Mind(store, near={OLD: 1.0, NEW: 0.97}, on_contradiction=mode)
    await mind.learn(OLD, origin=old, subject="uploads")

    learned = await mind.learn(NEW, origin=new, subject="uploads")

    assert learned.action is action


@pytest.mark.requirement("M-45")
@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("person", "document", LearnAction.CONFLICTED),
        ("person", "model", LearnAction.CONFLICTED),
        ("person", "system", LearnAction.SUPERSEDED),
        ("model", "tool", LearnAction.SUPERSEDED),
        ("document", "person", LearnAction.SUPERSEDED),
        ("model", "document", LearnAction.CONFLICTED),
    ],
)
async def test_a_little_less_trusted_may_replace_and_much_less_may_not(
    store: Store, old: str, new: str, action: LearnAction
):
    before, after = "The server has 16 GB", "The server has 32 GB"
    mind = Mind(store, near={before: 1.0, after: 0.97})
    await mind.learn(before, origin=old)

    learned = await mind.learn(after, origin=new)

    assert learned.action is action


async def test_an_unsure_update_is_a_conflict(store: Store):
    mind = Mind(store, near={OLD: 1.0, "uploads are tried thrice": 0.9})
    await mind.learn(OLD, subject="uploads")
    mind.judges.told = says("update", 0.7)

    learned = await mind.learn("uploads are tried thrice", subject="uploads")

    assert learned.action is LearnAction.CONFLICTED


@pytest.mark.requirement("M-08")
async def test_what_is_held_for_good_is_never_replaced_and_its_rival_is_held(store: Store):
    mind = Mind(store, near={"The server has 16 GB": 1.0, "The server has 32 GB": 0.97})
    law = await mind.learn("The server has 16 GB", immutable=True)

    rival = await mind.learn("The server has 32 GB")

    assert rival.action is LearnAction.CONFLICTED
    assert (now(law).weight.alpha, now(law).weight.beta) == (50.0, 1.0)
    with pytest.raises(Refused) as refused:
        await archive(mind.deps, MAIN_SPACE, known(law), by="ada")
    assert refused.value.details["reason"] == "immutable"


@pytest.mark.requirement("M-47")
@pytest.mark.parametrize(
    ("decision", "old_status", "new_status"),
    [
        ("update", "superseded", "active"),
        ("dismiss", "active", "archived"),
        ("both", "active", "active"),
        ("neither", "archived", "archived"),
        ("same", "active", "merged"),
    ],
)
async def test_a_decision_is_carried_out_and_its_undo_brings_the_conflict_back(
    store: Store, decision: str, old_status: str, new_status: str
):
    mind, old, new = await disputed(store)
    assert new.conflict is not None

    decided = await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said(decision))

    assert decided.status == ("dismissed" if decision == "dismiss" else "resolved")
    assert [(await mind.memory(old)).status, (await mind.memory(new)).status] == [old_status, new_status]
    mind.forward()
    await undo_conflict_decision(mind.world, MAIN_SPACE, new.conflict, by="ben")
    assert [(await mind.memory(old)).status, (await mind.memory(new)).status] == ["active", "held"]
    again = await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said(decision))
    assert again.status == decided.status


@pytest.mark.requirement("M-47")
async def test_a_split_says_both_anew(store: Store):
    mind, old, new = await disputed(store)
    assert new.conflict is not None

    with pytest.raises(BadDecision):
        await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("split"))
    clearer = ("retry uploads that timed out", "do not retry uploads that were refused")
    await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("split", texts=clearer))

    assert {memory.status for memory in (await mind.memory(old), await mind.memory(new))} == {"archived"}
    assert set(await texts(store)) | set(await texts(store, "held")) == set(clearer)
    await undo_conflict_decision(mind.world, MAIN_SPACE, new.conflict, by="ben")
    assert await texts(store) == [OLD]


@pytest.mark.requirement("M-47")
async def test_both_hold_and_the_pair_does_not_come_back(store: Store):
    mind, _, new = await disputed(store)
    assert new.conflict is not None
    await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("both"))
    await archive(mind.deps, MAIN_SPACE, known(new), by="ada")

    again = await mind.learn(NEW)

    assert again.action is LearnAction.STORED
    assert set(await texts(store)) == {OLD, NEW}


@pytest.mark.requirement("M-47")
async def test_what_changed_since_is_stale_and_nonsense_is_no_decision(store: Store):
    mind, old, new = await disputed(store)
    assert new.conflict is not None

    with pytest.raises(BadDecision):
        await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("reclassify"))
    await archive(mind.deps, MAIN_SPACE, known(old), by="ada")
    with pytest.raises(Stale):
        await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("update"))


@pytest.mark.requirement("M-47")
async def test_the_stronger_belief_is_not_made_stronger_by_winning(store: Store):
    mind, old, new = await disputed(store)
    assert new.conflict is not None

    await decide_conflict(mind.world, MAIN_SPACE, new.conflict, said("dismiss"))

    assert (await mind.memory(old)).belief == now(old).belief


async def test_nothing_is_lost_of_what_is_held(store: Store):
    mind, _, _ = await disputed(store)
    await run_sql(store, "delete from resolution_queue")

    given = LearnRequest(text=NEW)
    again = await learn(mind.deps, mind.place("s9"), given)

    assert again.conflict is not None
    assert len(await rows(store, "select 1 from resolution_queue")) == 1


@pytest.mark.requirement("M-24", "M-45")
@pytest.mark.parametrize("with_vectors", [True, False], ids=["with vectors", "without"])
async def test_what_stands_is_not_hidden_behind_many_that_wait(store: Store, with_vectors: bool):
    """More lies than there are candidates, all nearer to each other than to the truth."""
    truth = "The bank account of the chess club is 4711"
    lies = [f"The bank account of the chess club is {number}" for number in range(9000, 9030)]
    near = {truth: 0.9, **dict.fromkeys(lies, 1.0)}
    mind = Mind(store, near=near, without_embedder=not with_vectors, burst_limit=1_000)
    await mind.learn(truth)

    done = [await mind.learn(text, origin="document", session="page") for text in lies]

    assert {each.action.value for each in done} <= {"conflicted", "quarantined"}
    assert await texts(store) == [truth]
