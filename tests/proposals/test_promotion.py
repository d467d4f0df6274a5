"""A run of the gate puts the best ripe proposals before a person, says what the others lack, and changes nothing else."""

import ast

import pytest
from tests.architecture.source import package_modules
from tests.jobs.deps import rows, run_sql
from tests.proposals.proposing import DAY, Room

from festinger.ids import Origin
from festinger.proposals.model import ProposalPriority, ProposalState
from festinger.store.pool import Store

OUTSIDE = (
    "select table_name as name from information_schema.tables where table_schema = 'public'"
    " and table_type = 'BASE TABLE' and table_name not like 'procrastinate%%'"
    " and table_name not in ('event', 'event_delivery', 'proposal', 'promotion_run') order by 1"
)


async def outside(store: Store) -> dict[str, str]:
    """Everything that stands in other tables, as text."""
    found = {}
    for table in await rows(store, OUTSIDE):
        (row,) = await rows(
            store, f"select coalesce(string_agg(t::text, '|' order by t::text), '') as all from {table['name']} t"
        )
        found[table["name"]] = row["all"]
    return found


@pytest.mark.requirement("H-30")
@pytest.mark.requirement("H-31")
async def test_a_run_promotes_what_is_ripe_and_says_what_the_others_lack(store: Store):
    room = Room(store)
    ripe = await room.ripen()
    for n in range(5):
        await room.sight("Cache the answer", session=f"s{n}", days_ago=n % 4)
    await room.sight("Parallelize the health probe", days_ago=30)
    for n in range(3):
        await room.sight("Log the slow calls", session=f"s{n}", days_ago=8)

    run = await room.promote()

    assert run.counts == {
        "considered": 4, "promoted": 1, "too_few": 2, "too_new": 1, "held": 0, "over_cap": 0, "excluded": 0,
    }  # fmt: skip
    assert [(each["what"], each["fate"], each["missing"]) for each in run.readings] == [
        ("Retry the failed query", "promoted", ""),
        ("Cache the answer", "too new", "4 more days"),
        ("Log the slow calls", "too few", "1 of 2 days"),
        ("Parallelize the health probe", "too few", "1 more cause"),
    ]
    proposal = await room.proposal(ripe)
    assert (proposal.state, proposal.promoted_at, proposal.version) == (ProposalState.PROMOTED, room.hands.now, 2)
    (kept,) = await rows(store, "select * from promotion_run")
    assert (kept["promoted"], kept["too_new"], kept["bars"]["min_seen_count"]) == (1, 1, 2)
    assert [each["missing"] for each in kept["readings"]] == ["", "4 more days", "1 of 2 days", "1 more cause"]
    (told,) = await room.events("proposal_promoted")
    assert (told["seen_count"], told["age_days"], told["priority"]) == (2, 10, "low")
    (finished,) = await room.events("promotion_run_finished")
    assert finished["promoted"] == 1


async def test_the_best_are_taken_first_and_the_rest_waits_for_the_next_run(store: Store):
    room = Room(store, promote_max_per_run=2)
    room.values = {("api", "ux"): 0.5}
    for n in range(5):
        await room.sight("Seen by five", session=f"s{n}", days_ago=9 - n)
    for n in range(4):
        await room.sight("Seen by four of worth", session=f"s{n}", days_ago=9 - n, producer="api", category="ux")
    await room.ripen("Seen long ago")

    first = await room.promote()
    second = await room.promote()

    assert (first.promoted, first.over_cap) == (2, 1)
    assert [each["what"] for each in first.readings[:2]] == ["Seen by four of worth", "Seen by five"]
    assert (second.promoted, second.considered) == (1, 1)


async def test_of_equal_rank_the_older_is_taken_and_then_the_smaller_id(store: Store):
    room = Room(store, promote_max_per_run=3)
    for n, age in enumerate((8, 20, 8, 9)):
        await room.sight(f"Change number{n}", session="a", days_ago=age)
        await room.sight(f"Change number{n}", session="b", days_ago=1)

    run = await room.promote()

    assert [each["what"][-1] for each in run.readings] == ["1", "3", "0", "2"]
    assert [each["fate"] for each in run.readings] == ["promoted"] * 3 + ["over cap"]


async def test_a_full_inbox_pauses_until_something_is_decided(store: Store):
    room = Room(store, inbox_limit=10, promote_max_per_run=100)
    promoted = [await room.ripen(f"Change number{n}") for n in range(9)]
    await room.promote()
    await room.ripen("Change ten")
    await room.ripen("Change eleven")

    nearly = await room.promote()
    full = await room.promote()
    await room.reject(promoted[0])
    after = await room.promote()

    assert (nearly.promoted, nearly.over_cap, nearly.warning) == (1, 1, "inbox nearly full (9 of 10)")
    assert (full.promoted, full.over_cap, full.paused_because) == (0, 1, "inbox full (10 of 10)")
    assert (after.promoted, after.paused_because) == (1, None)
    paused = [each["paused_because"] for each in await room.events("promotion_run_finished")]
    assert paused == [None, None, "inbox full (10 of 10)", None]


@pytest.mark.requirement("H-35")
async def test_a_dry_run_finds_the_same_and_changes_nothing(store: Store):
    room = Room(store)
    await room.ripen()
    await room.sight("Cache the answer")
    before, told = await room.proposals(), await room.events()

    dry = await room.promote(dry_run=True)

    assert await room.proposals() == before
    assert await room.events() == told
    wet = await room.promote()
    assert dry.counts == wet.counts
    assert dry.readings == wet.readings
    kept = await rows(store, "select dry_run from promotion_run order by id")
    assert [each["dry_run"] for each in kept] == [True, False]


@pytest.mark.requirement("H-37")
async def test_excluded_categories_and_trials_are_never_promoted(store: Store):
    room = Room(store, excluded_categories=("cost",))
    await room.ripen("Lower the temperature", category="cost")
    await room.ripen("Seen in a trial", uncounted="evaluation")

    run = await room.promote()

    assert (run.considered, run.promoted, run.excluded) == (2, 0, 2)


@pytest.mark.requirement("H-38")
async def test_priority_follows_the_count(store: Store):
    room = Room(store)
    for n in range(10):
        seen = await room.sight(session=f"s{n}", days_ago=n)
        found = (await room.proposal(seen)).priority
        assert found == (
            ProposalPriority.HIGH if n >= 9 else ProposalPriority.NORMAL if n >= 4 else ProposalPriority.LOW
        )


@pytest.mark.requirement("H-39")
async def test_raised_bars_pull_nothing_back_and_lowered_ones_act_at_the_next_run(store: Store):
    room = Room(store)
    promoted = await room.ripen()
    once = await room.sight("Cache the answer", days_ago=9)
    await room.promote()

    room.terms = room.terms.model_copy(update={"min_seen_count": 9})
    raised = await room.promote()
    room.terms = room.terms.model_copy(update={"min_seen_count": 1})
    lowered = await room.promote()

    assert (raised.promoted, lowered.promoted) == (0, 1)
    assert (await room.proposal(promoted)).state is ProposalState.PROMOTED
    assert (await room.proposal(once)).state is ProposalState.PROMOTED


@pytest.mark.requirement("H-13")
async def test_lowered_bars_let_no_untrusted_text_through(store: Store):
    room = Room(store, min_seen_count=5)
    for day in range(30):
        seen = await room.sight(session=f"s{day}", days_ago=day, origin=Origin.TOOL)
    assert seen.seen_count == 4

    room.terms = room.terms.model_copy(update={"min_seen_count": 2})
    run = await room.promote()

    assert (run.promoted, run.too_few) == (0, 1)


async def test_what_nobody_sees_for_long_goes_quiet_and_takes_no_place(store: Store):
    room = Room(store, inbox_limit=1)
    quiet = await room.ripen()
    await room.promote()
    await room.ripen("Cache the answer")
    assert (await room.promote()).paused_because == "inbox full (1 of 1)"

    room.forward(91 * DAY)
    later = await room.promote()

    assert (later.promoted, later.paused_because) == (1, None)
    assert (await room.proposal(quiet)).state is ProposalState.PROMOTED
    await room.sight(session="again")
    assert (await room.promote()).paused_because == "inbox full (2 of 1)"


@pytest.mark.requirement("H-32")
async def test_a_clock_that_goes_back_between_runs_makes_nothing_younger(store: Store):
    room = Room(store)
    await room.sight(session="a", days_ago=5)
    await room.sight(session="b")
    before = await room.promote()

    room.forward(-2 * DAY)
    after = await room.promote()

    assert [each["age_days"] for run in (before, after) for each in run.readings] == [5, 5]


@pytest.mark.requirement("H-41")
def test_effects_are_carried_out_by_a_decision_alone():
    room = [module for module in package_modules() if module.room == "proposals"]
    appliers = {module.path.stem for module in room for name, _ in module.calls() if name.endswith(".apply")}
    importers = {
        module.path.stem
        for module in package_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "festinger.proposals.verdicts.apply"
        if "apply_verdict" in {name.name for name in node.names}
    }

    assert appliers == {"apply"}
    assert importers == {"decide"}


@pytest.mark.requirement("H-41")
async def test_promotion_leaves_everything_outside_of_this_room_as_it_was(store: Store):
    room = Room(store)
    await room.ripen()
    await run_sql(store, "insert into space (id, name) values ('work', 'work')")
    before = await outside(store)

    assert (await room.promote()).promoted == 1

    assert await outside(store) == before
    assert before["space"]
    assert before["proposal_sighting"]
