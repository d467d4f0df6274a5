"""What happens when somebody says that a concept is in a parent?"""

from datetime import timedelta

import pytest
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench, events, kept, queue, table

from festinger.errors import BadFact, NotFound, RootSlot, SelfParent, StoreDown
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, StatementEffect
from festinger.world.write import SEED_DIMENSIONS, bootstrap_dimensions, list_dimensions


@pytest.mark.requirement("W-42", "W-43")
async def test_a_free_slot_takes_the_edge_in_the_table_and_in_memory(store: Store):
    bench = await Bench(store).open()

    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    assert stated.did is StatementEffect.ADDED
    assert stated.new_tokens == ("gnommoweb", "repo")
    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)} == kept(bench)


@pytest.mark.requirement("W-42", "W-66")
async def test_another_parent_is_queued_without_trying_to_write_it(store: Store, monkeypatch: pytest.MonkeyPatch):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    ran: list[str] = []
    real = Transaction._execute

    async def watched(self: Transaction, query: Query, parameters):
        ran.append(query.name)
        return await real(self, query, parameters)

    monkeypatch.setattr(Transaction, "_execute", watched)
    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container"))

    assert stated.did is StatementEffect.CONFLICT
    assert "put_edge" not in ran
    assert "open_conflict" in ran
    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)} == kept(bench)
    world = bench.worlds.find(MAIN_SPACE)
    assert world is not None
    assert world.pending_conflicts == {world.soas_by_token["gnommoweb"].id}
    assert [row["status"] for row in await queue(store)] == ["pending"]
    assert [event["payload"]["collision_type"] for event in await events(store, "conflict_opened")] == ["isa_isa"]


@pytest.mark.requirement("W-42")
async def test_an_edge_that_passed_by_the_lock_is_met_as_the_one_that_stands(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("winky repo"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("kreacher gnommoweb"))
    smuggle = (
        "insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at, version)"
        " select 'main', c.id, p.id, d.id, true, 0.9, 'gutask', 'person', now(), 0 from soas c, soas p, soas d"
        " where c.token = 'gnommoweb' and p.token = 'repo' and d.token = 'type'"
    )
    real = Transaction.maybe

    async def late(self: Transaction, query: Query, **parameters):
        if query.name == "put_edge":
            monkeypatch.setattr(Transaction, "maybe", real)
            await run_sql(store, smuggle)
        return await real(self, query, **parameters)

    monkeypatch.setattr(Transaction, "maybe", late)
    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb container"))

    assert stated.did is StatementEffect.CONFLICT
    assert [row["collision_type"] for row in await queue(store)] == ["isa_isa"]
    assert kept(bench) == await table(store)


@pytest.mark.requirement("W-43")
async def test_a_failed_commit_leaves_memory_as_it_was(store: Store, monkeypatch: pytest.MonkeyPatch):
    bench = await Bench(store).open()
    real = Transaction.run

    async def failing(self: Transaction, query: Query, **parameters):
        if query.name == "raise_world":
            raise StoreDown
        return await real(self, query, **parameters)

    monkeypatch.setattr(Transaction, "run", failing)
    with pytest.raises(StoreDown):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    assert kept(bench) == set()
    assert await table(store) == set()


@pytest.mark.requirement("W-36")
async def test_a_new_cause_moves_confidence_and_the_same_one_only_the_date(store: Store):
    bench = await Bench(store).open()
    seen = []
    for session in ("s1", "s2", "s3", "s3"):
        bench.hands.forward(timedelta(minutes=1))
        stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", session=session))
        assert stated.edge is not None
        assert stated.edge.last_confirmed == bench.hands.now
        seen.append((round(stated.edge.confidence, 3), stated.edge.evidence_count))

    assert seen == [(0.65, 0), (0.775, 1), (0.817, 2), (0.817, 2)]
    assert len(await events(store, "edge_corroborated")) == 2


@pytest.mark.requirement("W-36")
async def test_what_a_page_repeats_never_passes_its_cap(store: Store):
    bench = await Bench(store).open()
    for number in range(30):
        await apply_statement(
            bench.deps, MAIN_SPACE, bench.say("acme vendor", origin=Origin.TOOL, session=f"s{number}")
        )

    ((*_, confidence),) = await table(store)
    assert confidence == 0.70


@pytest.mark.requirement("W-37", "W-38")
async def test_a_weak_edge_makes_way_without_a_conflict(store: Store):
    bench = await Bench(store).open()
    weak = bench.say("gnommoweb list", origin=Origin.MODEL, confidence=0.5)
    await apply_statement(bench.deps, MAIN_SPACE, weak)

    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    assert stated.did is StatementEffect.REPLACED
    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)} == kept(bench)
    assert await queue(store) == []
    history = await rows(store, "select op, reason from urd_history where reason <> 'root' order by version, n")
    assert [tuple(row.values()) for row in history] == [("add", "stated"), ("replace", "weak"), ("add", "weak")]


@pytest.mark.requirement("W-37")
async def test_a_weak_edge_does_not_make_way_for_less_trust_nor_if_a_person_stated_it(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb list", origin=Origin.MODEL, confidence=0.5))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby list", confidence=0.5))

    by_tool = await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", origin=Origin.TOOL))
    against_person = await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby agent"))

    assert (by_tool.did, against_person.did) == (StatementEffect.CONFLICT, StatementEffect.CONFLICT)


@pytest.mark.requirement("W-32")
async def test_four_rows_of_one_map_stand_together(store: Store):
    bench = await Bench(store).open()
    for triple, is_isa in (
        ("michigan state type", True),
        ("michigan usa geography", False),
        ("state country type", True),
        ("usa country type", True),
    ):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(triple, is_isa=is_isa))

    assert len(await table(store)) == 4
    assert await queue(store) == []


@pytest.mark.requirement("W-33", "W-34")
async def test_a_space_begins_with_six_dimensions_and_bootstrapping_twice_changes_nothing(store: Store):
    bench = await Bench(store).open()
    before = await rows(store, "select * from urd order by id")
    version = await rows(store, "select version from world_version")

    await bootstrap_dimensions(bench.deps, MAIN_SPACE)

    assert set(await list_dimensions(bench.deps, MAIN_SPACE)) == set(SEED_DIMENSIONS)
    assert await rows(store, "select * from urd order by id") == before
    assert await rows(store, "select version from world_version") == version
    assert all(row["id"] == row["parent_id"] == row["dim_id"] for row in before)


@pytest.mark.requirement("W-33")
async def test_a_new_dimension_gets_its_root_and_its_slot_cannot_be_written(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo glitch_university"))

    with pytest.raises(RootSlot):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say("glitch_university school glitch_university"))

    root = await rows(
        store,
        "select count(*) from urd u join soas s on s.id = u.id where s.token = 'glitch_university'"
        " and u.id = u.parent_id and u.id = u.dim_id",
    )
    assert root == [{"count": 1}]
    assert "glitch_university" not in {concept for concept, *_ in kept(bench)}


@pytest.mark.requirement("W-35")
async def test_two_statements_cannot_close_a_circle(store: Store):
    bench = await Bench(store).open()
    for triple in ("xa xb", "xb xc"):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(triple))

    stated = await apply_statement(bench.deps, MAIN_SPACE, bench.say("xc xa"))
    elsewhere = await apply_statement(bench.deps, MAIN_SPACE, bench.say("xc xa geography"))

    assert stated.did is StatementEffect.CONFLICT
    assert [row["collision_type"] for row in await queue(store)] == ["cycle"]
    assert elsewhere.did is StatementEffect.ADDED


@pytest.mark.requirement("W-39")
@pytest.mark.parametrize(
    ("triple", "error"),
    [("repo repo type", SelfParent), ("the repo type", BadFact), (f"{'x' * 65} repo type", BadFact)],
)
async def test_what_no_edge_can_be_made_of_is_refused(store: Store, triple: str, error: type[BadFact]):
    bench = await Bench(store).open()

    with pytest.raises(error):
        await apply_statement(bench.deps, MAIN_SPACE, bench.say(triple))

    assert await table(store) == set()


@pytest.mark.requirement("W-39")
async def test_an_unknown_space_is_refused(store: Store):
    bench = await Bench(store).open()

    with pytest.raises(NotFound):
        await apply_statement(bench.deps, SpaceId("nowhere"), bench.say("gnommoweb repo"))


@pytest.mark.requirement("W-23", "W-24")
async def test_a_concept_surfaces_as_soon_as_something_is_known_of_it(store: Store):
    bench = await Bench(store).open()

    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    world = bench.worlds.find(MAIN_SPACE)
    assert world is not None
    assert world.soas_by_token["gnommoweb"].novelty == 1.0
    assert world.soas_by_token["repo"].novelty == 0.0
    assert len(await events(store, "concept_confirmed")) == 1


@pytest.mark.requirement("W-23")
async def test_a_common_word_surfaces_only_as_a_name_or_if_that_was_stated_on_purpose(store: Store):
    bench = await Bench(store).open()

    await apply_statement(bench.deps, MAIN_SPACE, bench.say("state region", confidence=0.5))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("rex dog"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("atlas server", origin=Origin.MODEL))
    world = bench.worlds.find(MAIN_SPACE)
    assert world is not None
    assert [world.soas_by_token[name].novelty for name in ("rex", "atlas")] == [1.0, 0.0]
    before = world.soas_by_token["state"].novelty
    await apply_statement(
        bench.deps, MAIN_SPACE, bench.say("state region", source=EdgeSource.GUTASK, confidence=1.0, session="s2")
    )

    assert (before, world.soas_by_token["state"].novelty) == (0.0, 1.0)


@pytest.mark.requirement("W-70")
async def test_another_spelling_of_the_parent_is_another_name_for_it(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb glitch_university membership"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby repo"))

    dashed = await apply_statement(
        bench.deps, MAIN_SPACE, bench.say("gnommoweb glitch-university membership", session="s2")
    )
    plural = await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby repos", session="s2"))

    assert (dashed.did, plural.did) == (StatementEffect.CORROBORATED, StatementEffect.CORROBORATED)
    assert await queue(store) == []
    world = bench.worlds.find(MAIN_SPACE)
    assert world is not None
    assert world.row("repos") == world.row("repo")
    again = await apply_statement(bench.deps, MAIN_SPACE, bench.say("winky repos", session="s3"))
    assert again.edge is not None
    assert again.edge.parent_id == world.soas_by_token["repo"].id
