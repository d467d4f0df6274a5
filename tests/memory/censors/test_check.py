"""What censors say of a text, and what is written down of it."""

from dataclasses import replace
from typing import cast

import pytest
from tests.jobs.deps import run_sql
from tests.memory.censors.guarding import Guard, triggers
from tests.memory.remembering import events

from festinger.errors import BadInput, ProviderDown, StoreDown
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.censors.censor import CensorAction, CensorMatchMethod
from festinger.memory.censors.check import ROOM, preview_censors
from festinger.memory.health import check_censor_patterns
from festinger.observability.checks import CheckSeverity
from festinger.observability.metrics import CENSORS_FAILED
from festinger.store.cache_invalidation import CacheChange, CacheScope
from festinger.store.pool import Store


class Away:
    """A store that cannot be had."""

    async def all(self, *_given: object, **_more: object) -> None:
        raise StoreDown("The store is away.")

    def transaction(self) -> None:
        raise StoreDown("The store is away.")


AWAY = cast(Store, Away())
MEANING = "giving medical advice to strangers"


@pytest.mark.requirement("M-65", "M-69")
async def test_a_strike_is_told_counted_and_written_down_without_secrets(store: Store):
    guard = Guard(store)
    censor = await guard.add("drop table", reason="Ask before you destroy.")

    said = await guard.check("I will DROP TABLE users; password=hunter2xyz, then go on.")

    [hit] = said.triggered
    assert (hit.censor.id, hit.action, hit.matched_by) == (censor.id, CensorAction.WARN, CensorMatchMethod.PATTERN)
    assert (said.blocked, said.guidance) == (False, "Ask before you destroy.")
    [kept] = await triggers(store)
    assert kept["id"] == hit.trigger
    assert (kept["place"], kept["session_id"], kept["origin"], kept["was_blocked"]) == (
        "output", "s1", "model", False,
    )  # fmt: skip
    assert "DROP TABLE" in kept["excerpt"]
    assert "hunter2xyz" not in kept["excerpt"]
    assert len(kept["excerpt"]) <= 200
    now = await guard.now(censor)
    assert (now.activation_count, now.last_triggered) == (1, guard.mind.hands.now)
    [told] = await events(store, "censor_triggered")
    assert told["payload"] == {
        "censor": str(censor.id), "activation_count": 1, "action": "warn", "was_blocked": False,
        "trigger": str(hit.trigger), "agent": "default",
    }  # fmt: skip


@pytest.mark.requirement("M-69")
async def test_searching_leaves_no_trace(store: Store):
    guard = Guard(store)
    censor = await guard.add("drop table")

    said = await preview_censors(guard.watch, guard.mind.place(), "drop table users")

    assert [hit.trigger for hit in said.triggered] == [None]
    assert await triggers(store) == []
    assert (await guard.now(censor)).activation_count == 0
    assert await events(store, "censor_triggered") == []


@pytest.mark.requirement("M-67")
async def test_a_censor_strikes_only_where_for_whom_and_in_what_it_applies(store: Store):
    guard = Guard(store)
    await guard.add("zebra", on=("input",), domain="zoo", agent="keeper")

    async def strikes(**how: str) -> bool:
        return bool(
            (await guard.check("a ZEBRA", **{"on": "input", "domain": "zoo", "agent": "keeper", **how})).triggered
        )

    assert await strikes()
    assert not await strikes(on="output")
    assert not await strikes(domain="bank")
    assert not await strikes(agent="visitor")
    with pytest.raises(BadInput, match="place"):
        await guard.check("x", on="everywhere")


@pytest.mark.requirement("M-67")
async def test_a_text_that_hides_its_words_is_struck_all_the_same(store: Store):
    guard = Guard(store)
    await guard.add("password")

    assert (await guard.check("the pa\u200bss\u00adword")).triggered
    assert (await guard.check("the ｐａｓｓｗｏｒｄ")).triggered
    assert not (await guard.check("x" * 10_000 + "password")).triggered


@pytest.mark.requirement("M-67")
@pytest.mark.parametrize(("cosine", "struck"), [(0.70, True), (0.69, False)], ids=["at the bar", "below"])
async def test_what_means_the_same_is_struck_from_the_threshold_of_the_embedder_on(
    store: Store, cosine: float, struck: bool
):
    guard = Guard(store, near={MEANING: 1.0, "Take two of these pills": cosine})
    await guard.add(meaning=MEANING)

    said = await guard.check("Take two of these pills")

    assert bool(said.triggered) is struck
    assert said.degraded == ()
    if struck:
        [hit] = said.triggered
        assert hit.matched_by is CensorMatchMethod.MEANING
        assert hit.similarity == pytest.approx(cosine, abs=0.001)


@pytest.mark.requirement("M-67")
async def test_without_an_embedder_patterns_strike_and_the_answer_says_what_is_missing(store: Store):
    guard = Guard(store, without_embedder=True)
    await guard.add(meaning=MEANING)
    await guard.add("pills")

    said = await guard.check("Take two of these pills")

    assert [hit.matched_by for hit in said.triggered] == [CensorMatchMethod.PATTERN]
    assert said.degraded == ("embedder",)


async def test_an_embedder_that_comes_back_is_used_for_what_was_meant_before(store: Store):
    guard = Guard(store, near={MEANING: 1.0, "pills": 0.9})
    guard.mind.near.fault = ProviderDown("Nobody answers.")
    await guard.add(meaning=MEANING)

    assert (await guard.check("pills")).degraded == ("embedder",)
    guard.mind.near.fault = None
    guard.watch.forget(MAIN_SPACE)

    assert (await guard.check("pills")).triggered


@pytest.mark.requirement("M-69")
async def test_a_stop_goes_before_warnings_and_all_that_strike_are_told(store: Store):
    guard = Guard(store)
    await guard.add("zebra", reason="No animals.")
    stop = await guard.add("striped", reason="No stripes.", action="block")

    said = await guard.check("a striped zebra")

    assert said.blocked
    assert said.triggered[0].censor.id == stop.id
    assert said.guidance == "No stripes.\nNo animals."
    assert sorted(row["was_blocked"] for row in await triggers(store)) == [False, True]


@pytest.mark.requirement("M-69")
async def test_a_fault_of_ours_lets_the_text_pass_and_is_counted(store: Store):
    guard = Guard(store)
    await guard.add("zebra", action="block")
    guard.watch.deps = replace(guard.mind.deps, store=AWAY)
    before = CENSORS_FAILED._value.get()

    said = await guard.check("a zebra")

    assert (said.triggered, said.blocked, said.degraded) == ((), False, ("censors",))
    assert CENSORS_FAILED._value.get() == before + 1


@pytest.mark.requirement("M-69")
async def test_what_was_found_stands_though_it_cannot_be_written_down(store: Store):
    guard = Guard(store)
    await guard.add("zebra", action="block")
    await guard.check("nothing of the kind")
    guard.watch.deps = replace(guard.mind.deps, store=AWAY)

    said = await guard.check("a zebra")

    assert said.blocked
    assert said.triggered[0].trigger is None
    assert said.degraded == ("censors",)


@pytest.mark.requirement("M-68")
async def test_a_pattern_that_no_longer_compiles_is_skipped_and_shown(store: Store):
    guard = Guard(store)
    broken = await guard.add("zebra")
    await guard.add("lion")
    await run_sql(store, "update censor set pattern = '(?=old)' where id = %(id)s", id=broken.id)
    guard.watch.forget(MAIN_SPACE)

    said = await guard.check("a zebra and a lion")
    shown = await check_censor_patterns(guard.mind.deps, [MAIN_SPACE])

    assert len(said.triggered) == 1
    assert said.degraded == ()
    assert shown.severity is CheckSeverity.WARN
    assert str(broken.id) in shown.message


@pytest.mark.requirement("M-67")
async def test_censors_are_asked_from_memory_until_somebody_changes_one(store: Store):
    guard, other = Guard(store), Guard(store, seed=2)
    assert not (await guard.check("a zebra")).triggered
    await other.add("zebra")

    assert not (await guard.check("a zebra")).triggered
    await guard.watch.changed(CacheChange(what=CacheScope(space=MAIN_SPACE, room=ROOM), version=1))
    assert (await guard.check("a zebra")).triggered


async def test_who_says_it_is_kept_with_the_strike(store: Store):
    guard = Guard(store)
    await guard.add("zebra", on=("input",))

    await guard.check("a zebra", on="input", origin=Origin.PERSON)

    assert [row["origin"] for row in await triggers(store)] == ["person"]
    assert replace(await guard.check("a lion", on="input")).as_json()["blocked"] is False
