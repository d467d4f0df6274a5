"""What must hold of the rows: it does after a long and mixed history, and each rule sees the row that breaks it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.mixing import mix
from psycopg.rows import dict_row
from tests import database
from tests.consolidation.sleeper import Sleeper, sleeping
from tests.consolidation.test_nights import gardener, plant
from tests.jobs.deps import MONDAY, drain, run_sql
from tests.memory.remembering import Mind, known
from tests.soundness import broken_rules, silent
from tests.stories.test_recalling import library

from festinger.errors import FestingerError
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, SpaceId, cause
from festinger.memory.model import Status
from festinger.observability.checks import Check, CheckSeverity
from festinger.services.status import run_deep_checks
from festinger.store.health import INVARIANTS, SHOWN, check_invariants
from festinger.store.pool import Store
from festinger.store.repositories.spaces import create_space
from festinger.world.conflicts import list_pending_conflicts
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision
from festinger.world.erase import forget_edge
from festinger.world.learn import iknowthat

LEARNED = 60
MIXED_LATE = ("conflicts_can_be_decided", "pending_pairs_match")
"""Rules that only warn: what is learned at the same moment may leave a conflict or a mark behind."""


async def live(at: Sleeper) -> None:
    """Do to memories and edges whatever a person, a model and a night do to them."""
    memory = library(at.app, "s1")
    await mix(at.app.memory.deps, LEARNED, seed=7)
    await plant(at)
    await at.night(gardener())
    await correct(at)
    await talk(at)
    await decide(at)
    for town in ("Lima", "Oslo"):
        await memory.learn(f"Cleo was born in {town}")
    kept = [known(await memory.learn(text)) for text in ("Ann repairs clocks", "Ben repairs boats")]
    await memory.recall("Who repairs boats?")
    for outcomes in ({kept[0]: "acted", kept[1]: "used"}, {kept[0]: "contradicted"}):
        await memory.observe(outcomes)
        at.forward()
    await memory.propose("Show the clock in the kitchen", category="ux", scope="home")
    await memory.censor("(?i)secret plan", reason="hush")
    await memory.check("Here is the secret plan.")
    key, place = [known(await memory.learn(f"Cleo hides the spare key {where}")) for where in ("inside", "outside")]
    await memory.supersede(key, new=place)
    await memory.forget(place, reason="asked")
    await memory.repair(session="s3")
    await drain(at.app.jobs)


async def correct(at: Sleeper) -> None:
    """Replace, merge, split, edit, archive and restore by hand, and take every second of it back."""
    memory = library(at.app, "s2").for_agent("ada")
    texts = [f"{who} keeps {what}" for who in ("Dora", "Emil", "Fritz", "Gerda") for what in ("geese", "mules", "carp")]
    ids = [known(await memory.learn(text)) for text in texts]
    for number, start in enumerate(range(0, len(ids), 6)):
        one, two, three, four, five, six = ids[start : start + 6]
        done = [
            (await memory.supersede(one, new=two)).change,
            (await memory.merge([three, four])).change,
            (await memory.edit(five, content=f"Nobody keeps {number} bears")).change,
            (await memory.archive(six)).change,
            (await memory.restore(six)).change,
        ]
        if number:
            for change in reversed(done):
                assert change is not None
                await memory.undo(change)
    await memory.split(ids[1], texts=["Dora keeps mules", "Dora rides in the hills"])


async def talk(at: Sleeper) -> None:
    memory = library(at.app, "talk")
    async with memory.episode() as said:
        for text in ("I live in Porto.", "My sister is called Ada.", "Since June I live in Bologna."):
            await said.say("user", text)
            await said.say("assistant", "Noted.")
            at.forward()


async def decide(at: Sleeper) -> None:
    """Decide what conflicts, each in another way, and take one decision back."""
    world = at.app.world.deps
    person = cause(agent=DEFAULT_AGENT, session=SessionId("s1"), origin=Origin.PERSON, at=at.hands.now)
    for fact in ("gnommoweb -isa repo", "gnommoweb -isa app", "dobby -isa elf", "dobby -ispart hogwarts"):
        await iknowthat(world, MAIN_SPACE, [fact], because=person)
    await forget_edge(world, MAIN_SPACE, concept="dobby", parent="hogwarts", dimension="membership", by="ann")
    items = await list_pending_conflicts(world, MAIN_SPACE, limit=50, memories=True)
    for number, item in enumerate(items):
        decision = ("update", "dismiss", "same" if item.about == "memory" else "update")[number % 3]
        verdict = ConflictVerdict(decision=decision, judge=ConflictJudge.PERSON, by="ann")
        try:
            await decide_conflict(world, MAIN_SPACE, item.id, verdict)
        except FestingerError:  # One side has changed: it stays.
            continue
        if number % 5 == 0:
            await undo_conflict_decision(world, MAIN_SPACE, item.id, by="ann")


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """A store with a history, what the doctor says of it, and a way to break its rows past every guard."""

    checks: tuple[Check, ...]
    connection: psycopg.Connection[dict[str, Any]]


UNGUARD = """
do $$ declare each record; begin
    for each in select conrelid::regclass as t, conname from pg_constraint
        where contype = 'c' and connamespace = 'public'::regnamespace and conparentid = 0
    loop execute format('alter table %s drop constraint %I', each.t, each.conname); end loop;
end $$;
drop index memory_once; drop index episode_open; set session_replication_role = replica
"""
"""The database keeps some rules by itself, as long as nobody goes past it."""


@pytest.fixture(scope="module")
def used(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    url = database.clone(run_folder)

    async def build() -> tuple[Check, ...]:
        async with sleeping(url, tmp_path_factory.mktemp("used")) as at:
            await live(at)
            return tuple(await run_deep_checks(at.app, silent))

    checks = asyncio.run(build())
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection:
        connection.execute(UNGUARD)
        yield Used(checks=checks, connection=connection)
    database.drop(run_folder, url)


def test_every_rule_holds_after_a_long_and_mixed_history(used: Used):
    wanting = [check for check in used.checks if check.severity is not CheckSeverity.OK]
    lived = {row["status"] for row in used.connection.execute("select distinct status from memory")}

    assert lived == set(Status)
    assert [check for check in wanting if check.name.removeprefix("rows.") not in MIXED_LATE] == []
    assert {"rows", "memory.embedded", "outcomes.replay"} <= {check.name for check in used.checks}


ONE = "(select id from memory where status = '{}' order by seq limit 1)"
ACTIVE, GONE, MERGED, HELD = (ONE.format(each) for each in ("active", "superseded", "merged", "held"))
NOBODY = "'00000000-0000-7000-8000-000000000001'"
TURN = "(select turn_id from episode_turn order by turn_id limit 1)"
CLOSED = "(select id from episode where state <> 'open' order by seq limit 1)"
INDEXED = (
    "insert into turn_index (space_id, turn_id, part, episode_id, seq, agent_id, session_id, at, role, origin, trust,"
    " content, text_hash) values ('main', {turn}, {part}, {episode}, 1, 'a', 's', now(), 'user', 'person', 1, 'x', '')"
)
CUE = (
    "insert into exchange (space_id, id, session_id, agent_id, request_id, at, tool_calls, ended, model)"
    f" values ('main', {NOBODY}, 's', 'a', 'r', now(), '[]', 'whole', 'm');"
    "insert into exchange_message (space_id, id, exchange_id, session_id, seq, role, origin, text, at)"
    f" values ('main', {NOBODY}, {NOBODY}, 'other', 0, 'user', 'person', 'x', now())"
)
SAID = (
    "insert into soas (space_id, token) values ('main', 'ann'), ('main', 'bees'), ('main', 'pets');"
    "insert into memory_sighting (space_id, id, memory_id, agent_id, day, origin, trust, wording, turn_id, at, counted)"
    f" select 'main', gen_random_uuid(), m.id, 'a', now(), 'person', 1, 'x', {NOBODY}, now(), true from memory m"
    " where m.id = {memory};"
    "update memory set content = 'Ann keeps bees' where id = {memory};"
    "insert into urd_cause (space_id, id, parent_id, dim_id, agent, session_id, day, origin, message_id, at)"
    f" select 'main', a.id, b.id, d.id, 'a', 's', now(), 'person', {NOBODY}, now() from soas a, soas b, soas d"
    " where a.token = 'ann' and b.token = 'bees' and d.token = 'pets';"
)
TRIPLE = "from soas a, soas b, soas d where a.token = 'ann' and b.token = 'bees' and d.token = 'pets'"

BREAKS = {
    "successors_exist": f"update memory set superseded_by = {NOBODY} where id = {GONE}",
    "successors_end": f"update memory set superseded_by = id where id = {GONE}",
    "replacements_recorded": "update memory_change set undone_at = now(), undone_by = 'ann' where op in ('supersede', 'repair')",
    "merges_recorded": "update memory_change set undone_at = now(), undone_by = 'ann' where op = 'merge'",
    "replacements_linked": f"delete from memory_link where from_id = {MERGED} or to_id = {MERGED}",
    "owners_kept": f"update memory set agent_id = 'eve' where id = (select superseded_by from memory where id = {MERGED})",
    "live_words_once": "update memory set fold = '0123456789abcdef', agent_id = 'eve', kind = 'fact', event_time = null"
    " where id in (select id from memory where status = 'active' limit 2)",
    "beliefs_sound": f"update memory set weight_alpha = 'NaN' where id = {ACTIVE}",
    "validity_ordered": f"update memory set valid_from = now(), valid_to = now() - interval '1 day' where id = {ACTIVE}",
    "memories_said": f"delete from memory_sighting where memory_id = {ACTIVE}",
    "sightings_reasoned": f"update memory_sighting set uncounted_because = 'held' where memory_id = {ACTIVE} and counted",
    "moved_sightings_merged": f"update memory_sighting set moved_by = {NOBODY} where memory_id = {ACTIVE}",
    "causes_counted": f"update memory set cause_count = cause_count + 1 where id = {ACTIVE}",
    "confirmations_counted": f"update memory set confirmation_count = confirmation_count + 1 where id = {ACTIVE}",
    "changes_name_memories": f"delete from memory where id = {GONE}",
    "links_have_both_ends": f"update memory_link set to_id = {NOBODY} where relation = 'supersedes'",
    "successors_tell_context": "update memory set content_contextualized = null",
    "held_in_conflict": f"delete from resolution_queue where new_memory = {HELD}",
    "conflicts_name_rows": f"update resolution_queue set old_memory = {NOBODY} where id = (select id from resolution_queue"
    " where status = 'pending' and about = 'memory' limit 1)",
    "conflicts_can_be_decided": f"update memory set status = 'active' where id = {HELD}",
    "decisions_dated": "update resolution_queue set resolved_at = now() where status = 'pending'",
    "pending_pairs_match": f"update memory set pending = not pending where id = {ACTIVE}",
    "pending_stands": f"update memory set pending = true where id = {HELD}",
    "judgements_overruled": f"update judgement set overruled_by = {NOBODY}",
    "episodes_dated": "update episode set closed_at = opened_at - interval '1 day' where state <> 'open'",
    "turns_counted": "update episode set turns = turns + 1",
    "indexed_turns_said": INDEXED.format(turn=NOBODY, part=0, episode=CLOSED),
    "turn_parts_whole": INDEXED.format(turn=TURN, part=1, episode=CLOSED),
    "turns_not_ahead": f"insert into turn_progress (space_id, episode_id, turns) values ('main', {CLOSED}, 999)"
    " on conflict (space_id, episode_id) do update set turns = 999",
    "vectors_measured": "update memory_vector set embedding = '[1,2]' where memory_id = " + ACTIVE,
    "vectors_paired": "insert into memory_vector (space_id, memory_id, model, purpose, dims, text_hash, embedding, at)"
    " select space_id, memory_id, model, 'compare', dims, text_hash, embedding, at from memory_vector"
    " where is_bare and purpose = 'store' limit 1",
    "outcomes_reasoned": "update outcome set counted = false, uncounted_because = null",
    "outcomes_replaced": f"update outcome set replaced_by = {NOBODY}",
    "forgotten_without_trace": "insert into staged_read (space_id, id, memory_id, partition, at, expires_at)"
    f" values ('main', {NOBODY}, {NOBODY}, 'p', now(), now())",
    "forgotten_judged_in_silence": f"update judgement set old_ref = {NOBODY} where final",
    "censors_counted": "update censor set activation_count = activation_count + 1",
    "duplicates_end": "update proposal set duplicate_of = id, state = 'duplicate'",
    "votes_counted": "update proposal set seen_count = 9",
    "effects_stand": "update proposal set state = 'applied'",
    "verdicts_answered": "insert into verdict (space_id, id, proposal_id, kind, author, verified, channel, channel_ref,"
    f" received_at, processed_at) select 'main', {NOBODY}, id, 'defer', 'ann', true, 'c', 'r', now(), now() from proposal",
    "edges_rooted": "delete from urd where id = dim_id",
    "edges_end": "update urd u set parent_id = u.id where u.id <> u.dim_id",
    "edges_caused": "update urd set evidence_count = evidence_count + 9 where id <> dim_id",
    "history_agrees": "delete from urd where id <> dim_id",
    "versions_not_ahead": "update world_version set version = 0",
    "quarantine_dated": "insert into cue_quarantine (space_id, id, concept, parent, dim, is_isa, pattern, origin, status,"
    f" first_seen) values ('main', {NOBODY}, 'a', 'b', 'c', true, 'p', 'tool', 'admitted', now())",
    "words_counted_once": "insert into words_counted (space_id, source, ref, len, terms)"
    f" values ('main', 'memory', {NOBODY}, 1, 'bee:1')",
    "nights_finished": "update night set finished_at = null",
    "messages_in_session": CUE,
    "edges_outlive_memories": SAID.format(memory=GONE)
    + "insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at, version)"
    f" select 'main', a.id, b.id, d.id, true, 0.9, 'inferred', 'person', now(), 1 {TRIPLE}",
    "memories_outlive_edges": SAID.format(memory=ACTIVE)
    + "insert into resolution_queue (space_id, id, concept_id, incoming_parent_id, dim_id, collision_type, status, created_at)"
    f" select 'main', {NOBODY}, a.id, b.id, d.id, 'x', 'dismissed', now() {TRIPLE}",
}
"""What breaks each rule: statements past every guard of the database."""

WARNINGS = {*MIXED_LATE, "edges_outlive_memories", "memories_outlive_edges"}
"""Rules that the code may leave broken, so they only warn."""


@pytest.mark.parametrize("name", INVARIANTS)
def test_each_rule_sees_the_row_that_breaks_it(used: Used, name: str):
    query, space = INVARIANTS[name], {"space": MAIN_SPACE, "limit": 10_000}
    with used.connection.transaction(force_rollback=True):
        before = used.connection.execute(query.sql, space).fetchall()
        used.connection.execute(BREAKS[name])
        after = used.connection.execute(query.sql, space).fetchall()

    found = {(row["id"], row["what"]) for row in after} - {(row["id"], row["what"]) for row in before}
    assert found
    assert {row["severity"] for row in after} == {"warn" if name in WARNINGS else "fail"}
    assert {row["found"] for row in after} == {len(after)}
    assert {row["space_id"] for row in after} == {MAIN_SPACE}
    assert all(("backup" in row["remedy"]) is (name not in WARNINGS) for row in after)


def test_no_example_is_left_of_a_rule_that_is_gone():
    assert BREAKS.keys() == INVARIANTS.keys()


async def test_broken_rows_are_counted_named_and_only_read(store: Store):
    mind = Mind(store)
    for number in range(SHOWN + 5):
        await mind.learn(f"Depot {number} has {number} doors")
    await run_sql(store, "update memory set cause_count = 7")
    seen: list[str] = []

    whole, broken = await check_invariants(store, [MAIN_SPACE], lambda _done, _total, note: seen.append(note))

    assert (whole.severity, whole.message) == (
        "ok",
        f"{len(INVARIANTS) - 1} of {len(INVARIANTS)} rules about rows hold.",
    )
    assert (broken.name, broken.severity, broken.details["found"]) == ("rows.causes_counted", "fail", SHOWN + 5)
    assert len(broken.details["rows"]) == SHOWN
    assert {row["what"] for row in broken.details["rows"]} == {"7 instead of 1"}
    assert INVARIANTS["causes_counted"].purpose in broken.message
    assert "festinger backup" in broken.remedy
    assert seen == list(INVARIANTS)


async def test_rows_of_one_space_are_not_blamed_on_another(store: Store):
    async with store.transaction() as transaction:
        await create_space(transaction, "work", at=MONDAY)
    await Mind(store).learn("Ann keeps bees")
    await run_sql(store, "update memory set cause_count = 7")

    assert await broken_rules(store, SpaceId("work")) == []
    assert [check.name for check in await broken_rules(store)] == ["rows.causes_counted"]
