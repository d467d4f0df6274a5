"""The tables hold by themselves what no process may break."""

import pytest
from tests.jobs.deps import rows, run_sql
from tests.world.worldly import Bench

from festinger.errors import Refused
from festinger.ids import MAIN_SPACE
from festinger.store.pool import Store
from festinger.world.edge_statements import apply_statement

ADD = (
    "insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at, version)"
    " select 'main', c.id, p.id, d.id, {is_isa}, {confidence}, '{source}', 'person', now(), 0"
    " from soas c, soas p, soas d where c.token = 'gnommoweb' and p.token = '{parent}' and d.token = '{dim}'"
)


def adding(
    parent: str = "repo", dim: str = "type", *, is_isa: bool = True, confidence: float = 0.9, source: str = "gutask"
) -> str:
    return ADD.format(parent=parent, dim=dim, is_isa=is_isa, confidence=confidence, source=source)


@pytest.mark.requirement("W-30", "W-31")
async def test_a_slot_holds_one_parent_whoever_writes_and_whatever_the_flavour(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("dobby container"))

    for other in (adding("container"), adding("container", is_isa=False), adding("repo")):
        with pytest.raises(Refused):
            await run_sql(store, other)

    assert await run_sql(store, adding("container", "tech")) == 1


@pytest.mark.requirement("W-30")
@pytest.mark.parametrize("wrong", [{"source": "manual"}, {"confidence": 1.1}, {"confidence": -0.1}])
async def test_sources_and_confidences_are_bounded(store: Store, wrong: dict[str, object]):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    with pytest.raises(Exception, match="violates check constraint"):
        await run_sql(store, adding(dim="tech", **wrong))  # type: ignore[arg-type]


@pytest.mark.requirement("W-30")
async def test_an_edge_names_words_that_are_there(store: Store):
    await Bench(store).open()

    with pytest.raises(Refused):
        await run_sql(
            store,
            "insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, source, origin, created_at,"
            " version) values ('main', 1, 999999, 2, true, 0.9, 'gutask', 'person', now(), 0)",
        )


@pytest.mark.requirement("W-20")
async def test_a_word_stands_once_in_a_space_and_gets_its_number_from_the_database(store: Store):
    await Bench(store).open()

    with pytest.raises(Refused):
        await run_sql(store, "insert into soas (space_id, token) values ('main', 'type')")
    with pytest.raises(Exception, match="non-DEFAULT value"):
        await run_sql(store, "insert into soas (space_id, id, token) values ('main', 7, 'seven')")

    (row,) = await rows(store, "select * from soas where token = 'type'")
    assert (row["encounter_count"], row["saliency"], row["novelty"], row["trusted_seen"]) == (0, 0.0, 0.0, False)
