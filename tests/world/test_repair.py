"""What is left of the world when a source of it turns out to be bad?"""

import random
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench, apply_outcome, kept, queue

from festinger.errors import UndoBlocked
from festinger.ids import MAIN_SPACE, AgentId, Origin, SessionId, SpaceId
from festinger.store.pool import Store
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, NoteOutcome
from festinger.world.query import load_edges_as_of
from festinger.world.recollection import ShownEdge
from festinger.world.repair import SourceFilter, WorldWithdrawal, reinstate_source, withdraw_source

pytestmark = pytest.mark.requirement("M-84")

BAD = SourceFilter(session=SessionId("bad"))
WITHOUT = SpaceId("without")
PERSON = Origin.PERSON

Story = Callable[["Both"], Coroutine[Any, Any, None]]


class Both:
    """The same story told in two spaces, in one of them without the bad session."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.alone = Bench(bench.store, hands=bench.hands, seed=2)

    async def open(self) -> "Both":
        await run_sql(
            self.bench.store, f"insert into space (id, name, created_at) values ('{WITHOUT}', '{WITHOUT}', now())"
        )
        await self.bench.open(MAIN_SPACE)
        await self.alone.open(WITHOUT)
        return self

    async def say(self, triple: str, *, session: str = "good", hours: float = 1, **more: Any) -> None:
        self.bench.hands.now += timedelta(hours=hours)
        for bench, space in self._spaces(session):
            await apply_statement(bench.deps, space, bench.say(triple, session=session, **more))

    async def hear(self, text: str, *, session: str = "good", **more: Any) -> None:
        self.bench.hands.now += timedelta(hours=1)
        for bench, space in self._spaces(session):
            await bench.hear(text, session=session, space=space, **more)

    async def observe(self, note: str, outcome: NoteOutcome, *, session: str = "good", **more: Any) -> None:
        self.bench.hands.now += timedelta(hours=1)
        concept, parent, dimension = note.split()
        for bench, space in self._spaces(session):
            shown = ShownEdge(concept=concept, parent=parent, dimension=dimension, version=1)
            await apply_outcome(bench.deps, space, shown, outcome, cause=bench.because(session=session), **more)

    def _spaces(self, session: str) -> list[tuple[Bench, SpaceId]]:
        everywhere = [(self.bench, MAIN_SPACE), (self.alone, WITHOUT)]
        return everywhere[:1] if session == "bad" else everywhere


async def edges(store: Store, space: SpaceId = MAIN_SPACE) -> list[dict[str, Any]]:
    """Everything of the edges, in words, but the count of changes."""
    return await rows(
        store,
        "select c.token as concept, p.token as parent, d.token as dim, u.is_isa, u.confidence, u.last_confirmed,"
        " u.source, u.origin, u.evidence_count, u.person_stated, u.unconfirmed, u.created_at from urd u"
        " join soas c on c.space_id = u.space_id and c.id = u.id"
        " join soas p on p.space_id = u.space_id and p.id = u.parent_id"
        " join soas d on d.space_id = u.space_id and d.id = u.dim_id"
        " where u.space_id = %(space)s and u.id <> u.parent_id order by 1, 3",
        space=space,
    )


async def waiting(store: Store, space: SpaceId = MAIN_SPACE) -> list[tuple[Any, ...]]:
    """What is disputed, in words."""
    found = await rows(
        store,
        "select c.token as concept, e.token as existing, i.token as incoming, q.collision_type, q.priority,"
        " q.incoming_confidence, q.incoming_origin from resolution_queue q"
        " join soas c on c.space_id = q.space_id and c.id = q.concept_id"
        " left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id"
        " join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id"
        " where q.space_id = %(space)s and q.status = 'pending' order by q.created_at, 1, 3",
        space=space,
    )
    return [tuple(row.values()) for row in found]


async def confirmed(store: Store, space: SpaceId = MAIN_SPACE) -> list[dict[str, Any]]:
    """The words that surface because something is known of them."""
    return await rows(
        store, "select token from soas where space_id = %(space)s and novelty > 0 order by 1", space=space
    )


async def everything(store: Store) -> dict[str, Any]:
    """All that a repair may touch, but the count of changes and history."""
    return {
        name: await rows(
            store, f"select to_jsonb(t) - 'version' as row from {name} t where space_id = 'main' order by 1"
        )
        for name in ("urd", "urd_cause", "urd_outcome", "resolution_queue", "cue_quarantine_cause", "alias", "soas")
    } | {
        "cue_quarantine": await rows(
            store, "select concept, parent, status from cue_quarantine where space_id = 'main' order by 1, 2"
        )
    }


async def taken(bench: Bench, whence: SourceFilter = BAD) -> WorldWithdrawal:
    async with bench.store.transaction() as transaction:
        done = await withdraw_source(bench.deps, transaction, MAIN_SPACE, whence)
    await bench.worlds.follow(MAIN_SPACE)
    return done


async def given_back(bench: Bench, done: WorldWithdrawal) -> None:
    async with bench.store.transaction() as transaction:
        await reinstate_source(bench.deps, transaction, MAIN_SPACE, done.as_json())
    await bench.worlds.follow(MAIN_SPACE)


async def alone(both: Both) -> None:
    await both.say("gnommoweb repo", session="bad")


async def said_again(both: Both) -> None:
    await both.say("gnommoweb repo", session="good", origin=Origin.MODEL, confidence=0.6)
    await both.say("gnommoweb repo", session="bad")
    await both.say("gnommoweb repo", session="other")
    await both.say("gnommoweb repo", session="other")
    await both.say("gnommoweb repo", session="bad")


async def said_first(both: Both) -> None:
    await both.say("gnommoweb repo", session="bad", confidence=1.0, source=EdgeSource.GUTASK)
    await both.say("gnommoweb repo", session="good", origin=Origin.MODEL, confidence=0.6)
    await both.say("gnommoweb repo", session="other", origin=Origin.MODEL, confidence=0.6)


async def said_in_passing(both: Both) -> None:
    await both.hear("Gnommoweb is a vendor", session="bad")
    await both.hear("Gnommoweb is a vendor", session="good", origin=Origin.TOOL)


async def weak_made_way(both: Both) -> None:
    await both.say("gnommoweb service", session="good", origin=Origin.MODEL, confidence=0.5)
    await both.say("gnommoweb repo", session="bad", origin=Origin.MODEL, confidence=0.58)
    await both.say("gnommoweb tool", session="bad", origin=Origin.MODEL, confidence=0.6)


async def weak_made_way_and_would_again(both: Both) -> None:
    await both.say("gnommoweb service", session="good", origin=Origin.MODEL, confidence=0.5)
    await both.say("gnommoweb repo", session="bad")
    await both.say("gnommoweb tool", session="other")


async def was_in_the_way(both: Both) -> None:
    await both.say("gnommoweb repo", session="bad")
    await both.say("gnommoweb service", session="good")
    await both.say("gnommoweb tool", session="other")


async def was_said_by_others_later(both: Both) -> None:
    await both.say("gnommoweb repo", session="bad")
    await both.say("gnommoweb service", session="good")
    await both.say("gnommoweb repo", session="other", origin=Origin.MODEL)


async def closed_a_cycle(both: Both) -> None:
    await both.say("north south", session="bad")
    await both.say("south north", session="good")


async def opened_conflicts(both: Both) -> None:
    await both.say("gnommoweb repo", session="good")
    await both.say("gnommoweb service", session="bad")
    await both.say("gnommoweb tool", session="bad", confidence=1.0, source=EdgeSource.GUTASK)
    await both.say("gnommoweb tool", session="other", origin=Origin.MODEL)


async def was_acted_on(both: Both) -> None:
    await both.say("gnommoweb repo", session="good")
    await both.observe("gnommoweb repo type", NoteOutcome.CONTRADICTED, session="bad")
    await both.observe("gnommoweb repo type", NoteOutcome.ACTED, session="other")
    await both.observe("gnommoweb repo type", NoteOutcome.CONTRADICTED, session="third", is_explicit=False)


async def voted(both: Both) -> None:
    for number, session in enumerate(("one", "bad", "two")):
        await both.hear(f"Acme is a vendor, page {number}", session=session, origin=Origin.TOOL)


async def voted_with_enough_others(both: Both) -> None:
    for number, session in enumerate(("one", "two", "bad", "three")):
        await both.hear(f"Acme is a vendor, page {number}", session=session, origin=Origin.TOOL)


STORIES: tuple[Story, ...] = (
    alone,
    said_again,
    said_first,
    said_in_passing,
    weak_made_way,
    weak_made_way_and_would_again,
    was_in_the_way,
    was_said_by_others_later,
    closed_a_cycle,
    opened_conflicts,
    was_acted_on,
    voted,
    voted_with_enough_others,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_without_a_bad_session_the_world_is_as_if_it_had_never_spoken(store: Store, story: Story):
    both = await Both(Bench(store)).open()
    await story(both)
    before = await everything(store)

    done = await taken(both.bench)
    without = await edges(store), await waiting(store), await confirmed(store)
    in_memory, disputed = kept(both.bench), both.bench.world().pending_slots
    await given_back(both.bench, done)

    assert without == (await edges(store, WITHOUT), await waiting(store, WITHOUT), await confirmed(store, WITHOUT))
    assert {edge[:3] for edge in in_memory} == {(e["concept"], e["parent"], e["dim"]) for e in without[0]}
    assert len(disputed) == len({row[0] for row in without[1]})
    assert await everything(store) == before
    assert {edge[:4] for edge in kept(both.bench)} == {tuple(row.values())[:4] for row in await edges(store)}


NAMES, PARENTS = ("xa", "xb", "xc"), ("ya", "yb", "yc")
SPEAKERS = ("bad", "bad", "one", "two", "three")


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_was_said_the_rest_is_what_the_others_alone_would_have_made(store: Store, seed: int):
    both = await Both(Bench(store)).open()
    chance = random.Random(seed)
    for _ in range(30):
        concept, parent = chance.choice(NAMES), chance.choice(PARENTS)
        await both.say(
            f"{concept} {parent}",
            session=chance.choice(SPEAKERS),
            origin=chance.choice((PERSON, Origin.MODEL)),
            confidence=chance.choice((0.65, 0.9)),
            hours=chance.choice((1, 30)),
        )
    before = await everything(store)

    done = await taken(both.bench)
    without = await edges(store)
    in_memory = kept(both.bench)
    replayed = await load_edges_as_of(both.bench.deps, MAIN_SPACE, both.bench.hands.now)
    standing = {slot: edge.parent_id for slot, edge in both.bench.world().urd_by_concept_dim.items()}
    await given_back(both.bench, done)

    assert without == await edges(store, WITHOUT)
    assert in_memory == {(e["concept"], e["parent"], e["dim"], e["is_isa"], e["confidence"]) for e in without}
    assert {slot: edge.parent_id for slot, edge in replayed.items()} == standing
    assert await everything(store) == before


@pytest.mark.parametrize(
    ("decision", "left"),
    [
        ("update", {("gnommoweb", "repo", "type")}),
        ("decompose", {("gnommoweb", "repo", "type")}),
        ("same", {("gnommoweb", "repo", "type")}),
        ("dismiss", {("gnommoweb", "repo", "type")}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_was_decided_for_a_bad_session_is_taken_back_and_comes_back_with_it(
    store: Store, decision: str, left: set[tuple[str, str, str]]
):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session="good"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container", session="bad"))
    (item,) = await queue(store)
    verdict = ConflictVerdict(
        decision=decision, judge=ConflictJudge.MODEL, by="m", existing_dimension="artifact", new_dimension="deployment"
    )
    await decide_conflict(bench.deps, MAIN_SPACE, item["id"], verdict)
    before, names = await everything(store), dict(bench.world().aliases)

    done = await taken(bench)
    without = {edge[:3] for edge in kept(bench)}
    names_without = dict(bench.world().aliases)
    (closed,) = await queue(store)
    await given_back(bench, done)

    assert without == left
    assert names_without == {}
    assert closed["status"] == ("dismissed" if decision == "dismiss" else "resolved")
    assert bench.world().aliases == names
    assert await everything(store) == before


async def test_what_others_built_on_since_keeps_a_repair_of_the_world_from_being_undone(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session="bad"))
    done = await taken(bench)
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb service", session="good"))

    with pytest.raises(UndoBlocked):
        await given_back(bench, done)

    assert {edge[:2] for edge in kept(bench)} == {("gnommoweb", "service")}


async def test_a_name_of_which_only_a_bad_session_told_surfaces_no_more(store: Store):
    bench = await Bench(store).open()
    await bench.hear("Zanzibo is a vendor", session="bad")
    shown = await bench.hear("what of Zanzibo?", session="later")

    done = await taken(bench)
    silent = await bench.hear("what of Zanzibo now?", session="later")
    await given_back(bench, done)
    again = await bench.hear("and Zanzibo?", session="later")

    assert (len(shown.lines), silent.lines, again.lines) == (1, (), shown.lines)


@pytest.mark.parametrize(
    ("whence", "gone"),
    [
        (SourceFilter(agent=AgentId("a2")), {"two"}),
        (SourceFilter(origin=Origin.MODEL), {"three"}),
        (SourceFilter(messages=("m1",)), {"one"}),
        (SourceFilter(session=SessionId("s1"), messages=("m1", "m4")), {"one"}),
        (SourceFilter(session=SessionId("s1"), origin=Origin.MODEL), set()),
    ],
    ids=["agent", "origin", "message", "message and session", "nothing"],
)
async def test_only_what_came_from_there_is_taken_back(store: Store, whence: SourceFilter, gone: set[str]):
    bench = await Bench(store).open()
    for concept, session, agent, origin, message in (
        ("one", "s1", "a1", PERSON, "m1"),
        ("two", "s2", "a2", PERSON, "m2"),
        ("three", "s3", "a1", Origin.MODEL, "m3"),
        ("four", "s4", "a1", PERSON, "m4"),
    ):
        said = bench.say(f"{concept}_x thing", message=message, cause=bench.because(origin, session, agent))
        await apply_statement(bench.deps, MAIN_SPACE, said)

    await taken(bench, whence)

    assert {edge[0] for edge in kept(bench)} == {f"{name}_x" for name in {"one", "two", "three", "four"} - gone}


async def test_what_was_said_before_or_after_the_time_that_is_named_stays(store: Store):
    bench = await Bench(store).open()
    start = bench.hands.now
    for name in ("before", "within", "after"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(f"{name}_x thing", session="bad"))
        bench.hands.now += timedelta(hours=1)

    hour = timedelta(hours=1)
    await taken(bench, SourceFilter(session=SessionId("bad"), since=start + hour, until=start + 2 * hour))

    assert {edge[0] for edge in kept(bench)} == {"before_x", "after_x"}
