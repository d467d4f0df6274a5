"""How are judgements kept and found again?"""

from datetime import timedelta
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.judge.judging import UNDECIDED, House, pair

from festinger.errors import NotFound
from festinger.events.outbox import event_history
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge import records
from festinger.judge.model import (
    CurrentSide,
    GuardKind,
    Judgement,
    PairJudgement,
    Relation,
    text_hash,
    unsure_judgement,
)
from festinger.store.pool import Store

SAID = Judgement(
    relation=Relation.UPDATE,
    current=CurrentSide.NEW,
    confidence=0.85,
    judge="rules@1",
    reasoning="one at a time",
    guards=(GuardKind.SLOT, GuardKind.NAME),
)


@pytest.mark.requirement("J-02", "J-01")
async def test_a_judgement_is_found_again_whole(store: Store):
    server, about = House(store), pair("Anna lives in Paris", "Anna lives in Rome")

    [kept] = await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=SAID, latency_ms=1.5))

    found = await records.find_judgement(server.deps, MAIN_SPACE, kept)
    assert found.judgement == SAID
    assert (found.old_ref, found.new_ref, found.latency_ms) == (about.old_ref, about.new_ref, 1.5)
    assert (found.at, found.next_try, found.overruled_by) == (server.hands.now, None, None)


@pytest.mark.requirement("J-02")
async def test_a_judgement_that_nobody_made_is_not_found(store: Store):
    with pytest.raises(NotFound):
        await records.find_judgement(House(store).deps, MAIN_SPACE, UUID(int=1))


async def test_a_judgement_is_told_of(store: Store):
    server, about = House(store), pair(*UNDECIDED)

    [waits] = await server.keep(
        MAIN_SPACE, PairJudgement(pair=about, judgement=unsure_judgement("rules@1", "who knows"))
    )
    [ended] = await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=SAID))

    told = {event.name: event.payload for event in await event_history(store, space=MAIN_SPACE)}
    assert told["judgement_waiting"] == {"judgement": str(waits), "old": str(about.old_ref), "new": str(about.new_ref)}
    assert told["judgement_made"]["relation"] == "update"
    assert ended == waits, "the row that waited is the one that ended"


async def test_what_waits_has_one_row_that_each_try_moves_on(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    by_rules = PairJudgement(pair=about, judgement=unsure_judgement("rules@1", "who knows"))
    by_llm = PairJudgement(pair=about, judgement=unsure_judgement("llm:some", "not clear"))

    [first] = await server.keep(MAIN_SPACE, by_rules)
    [second] = await server.keep(MAIN_SPACE, by_llm)
    [third] = await server.keep(MAIN_SPACE, by_llm)

    [found] = await records.load_judgements(server.deps, MAIN_SPACE, final=False)
    assert first == second == third == found.id
    assert (found.attempts, found.judgement.judge) == (2, "llm:some"), "a new judge begins anew"
    assert await records.load_judgements(server.deps, MAIN_SPACE, final=True) == []


async def test_a_pair_is_due_when_its_time_has_come_or_a_new_judge_has(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=unsure_judgement("llm:some", "not clear")))

    async def due(judge: str) -> int:
        return len(await records.list_due_pairs(server.deps, MAIN_SPACE, judge=judge, limit=10))

    assert await due("llm:some") == 0
    assert await due("llm:other") == 1
    server.hands.forward(timedelta(minutes=1))
    assert await due("llm:some") == 1


async def test_after_five_tries_a_pair_is_a_question_to_a_person(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    for _ in range(5):
        await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=unsure_judgement("llm:some", "not clear")))
        server.hands.forward(timedelta(days=2))

    assert await records.list_due_pairs(server.deps, MAIN_SPACE, judge="llm:some", limit=10) == []
    assert (await records.load_backlog(server.deps, MAIN_SPACE)).for_person == 1
    assert len(await records.list_due_pairs(server.deps, MAIN_SPACE, judge="llm:other", limit=10)) == 1


@pytest.mark.requirement("J-02")
async def test_a_person_ends_the_waiting_and_overrules_what_was_said(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    earlier = pair(*UNDECIDED)
    [before] = await server.keep(MAIN_SPACE, PairJudgement(pair=earlier, judgement=SAID))
    [waits] = await server.keep(
        MAIN_SPACE, PairJudgement(pair=about, judgement=unsure_judgement("llm:some", "not clear"))
    )

    async with store.transaction() as transaction:
        kept, said = await records.save_person_decision(
            server.deps,
            transaction,
            MAIN_SPACE,
            about,
            name="ada",
            relation=Relation.UNRELATED,
            current=CurrentSide.BOTH,
        )

    assert (kept, said.judge, said.by_person) == (waits, "person:ada", True)
    assert (await records.find_judgement(server.deps, MAIN_SPACE, before)).overruled_by == kept
    assert await records.load_judgements(server.deps, MAIN_SPACE, final=False) == []


async def test_what_is_said_of_a_statement_is_listed_and_dropped_with_it(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=unsure_judgement("rules@1", "who knows")))

    async with store.transaction() as transaction:
        [waiting] = await server.cascade.waiting(transaction, MAIN_SPACE, about.old_ref)
        assert (waiting.old_ref, waiting.new_ref) == (about.old_ref, about.new_ref)
        await server.cascade.drop(transaction, MAIN_SPACE, about.old_ref)

    assert await records.list_statement_judgements(server.deps, MAIN_SPACE, about.new_ref) == []


async def test_what_is_forgotten_leaves_no_words(store: Store):
    server, about = House(store), pair("Anna lives in Paris", "Anna lives in Rome")
    [kept] = await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=SAID))

    async with store.transaction() as transaction:
        await records.redact_judgements(transaction, MAIN_SPACE, [about.old_ref])

    [row] = await rows(store, "select reasoning, old_hash, new_hash from judgement")
    assert row["reasoning"] == ""
    assert text_hash("Anna lives in Paris") not in (bytes(row["old_hash"]), bytes(row["new_hash"]))
    assert (await records.find_judgement(server.deps, MAIN_SPACE, kept)).judgement.relation is Relation.UPDATE


async def test_another_space_knows_nothing_of_it(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    other = SpaceId("other")
    await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=SAID))

    assert await records.find_known_judgements(server.deps, other, [about], judges=["rules@1"]) == {}
    assert about.hashes in await records.find_known_judgements(server.deps, MAIN_SPACE, [about], judges=["rules@1"])


async def test_pairs_that_wait_are_kept_together_and_those_that_wait_already_are_moved_on(store: Store):
    server = House(store)
    first, second, third = (pair(f"Anna paints {thing}", f"Anna draws {thing}") for thing in ("a", "b", "c"))
    rules, model = unsure_judgement("rules@1", "who knows"), unsure_judgement("llm:x", "who knows")
    [waits] = await server.keep(MAIN_SPACE, PairJudgement(pair=second, judgement=rules))

    kept = await server.keep(
        MAIN_SPACE,
        PairJudgement(pair=first, judgement=rules),
        PairJudgement(pair=second, judgement=rules),
        PairJudgement(pair=third, judgement=model),
    )

    found = {each: await records.find_judgement(server.deps, MAIN_SPACE, each) for each in kept}
    assert [found[each].old_ref for each in kept] == [first.old_ref, second.old_ref, third.old_ref]
    assert kept[1] == waits
    assert [found[each].attempts for each in kept] == [1, 2, 1]
    assert [found[each].next_try is None for each in kept] == [True, True, False]
