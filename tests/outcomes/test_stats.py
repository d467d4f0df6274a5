"""Is the loop closed? The rate, what stands beside it, and what `doctor` says."""

import pytest
from tests.jobs.deps import run_sql
from tests.outcomes.watching import Watched

from festinger.ids import MAIN_SPACE, Origin
from festinger.observability.checks import CheckSeverity
from festinger.outcomes.model import ReportSource
from festinger.outcomes.stats import (
    check_constants,
    check_feedback_loop,
    outcome_stats,
    outcomes_of,
    summarize_counts,
    top_memories,
)
from festinger.outcomes.surface import forget
from festinger.settings.memory_sections import OutcomesSettings
from festinger.store.pool import Store


async def test_the_rate_is_what_came_back_of_all_that_ended(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(4)
    hooks = watched.hooks()
    await hooks.on_surfaced(ids, "recall")
    await hooks.on_context_used([ids[0]], {str(ids[0]): "acted"})
    await watched.hooks(how=ReportSource.INFERRED, origin=Origin.MODEL).on_context_used(
        [ids[1]], {str(ids[1]): "contradicted"}
    )
    await hooks.proposals.expire_stale(0)

    found = await outcome_stats(watched.deps, MAIN_SPACE)

    week = found["7d"]
    assert (week["resolved"], week["rate"], found["pending"]) == (4, 0.5, 0)
    assert week["by_reason"] == {"recall": 0.5}
    assert week["by_door"] == {"library": 0.5}
    assert week["by_agent"] == {"default": 0.5}
    assert (week["outcomes"]["acted"], week["outcomes"]["contradicted"]) == (1, 1)
    assert week["shares"] == {"explicit": 0.5, "self": 0.0, "inferred": 0.5}
    assert week["contradicted_per_100"] == 25.0
    assert week["mean_confidence_change"] == pytest.approx((0.2 - 0.05) / 2)


def test_without_anything_there_is_no_rate() -> None:
    found = summarize_counts([], [])

    assert (found["rate"], found["contradicted_per_100"], found["mean_confidence_change"]) == (None, None, None)


async def surfaced_often(watched: Watched, times: int) -> None:
    one = await watched.memory()
    await watched.hooks().on_surfaced([one], "recall")
    await run_sql(watched.store, "update surfacing set times = %(times)s", times=times)


@pytest.mark.requirement("O-56")
@pytest.mark.parametrize(("times", "severity"), [(101, CheckSeverity.WARN), (100, CheckSeverity.OK)])
async def test_an_open_loop_is_said_with_the_door_that_is_silent(
    store: Store, times: int, severity: CheckSeverity
) -> None:
    watched = Watched(store)
    await surfaced_often(watched, times)

    [check] = await check_feedback_loop(watched.deps, [MAIN_SPACE], watched.terms)

    assert check.severity is severity
    assert ("`library`" in check.message) is (severity is CheckSeverity.WARN)


@pytest.mark.requirement("O-56")
async def test_only_bad_news_is_said_too(store: Store) -> None:
    watched = Watched(store)
    one, two = await watched.memories(2)
    await watched.hooks().on_context_used([one], {str(one): "contradicted"})
    [bad] = await check_feedback_loop(watched.deps, [MAIN_SPACE], watched.terms)
    await watched.hooks().on_context_used([two], {str(two): "acted"})
    [good] = await check_feedback_loop(watched.deps, [MAIN_SPACE], watched.terms)

    assert (bad.severity, good.severity) == (CheckSeverity.WARN, CheckSeverity.OK)
    assert "negative" in bad.message


@pytest.mark.requirement("O-56")
async def test_a_low_rate_is_noted(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(6)
    await watched.hooks().on_surfaced(ids, "recall")
    await run_sql(store, "update surfacing set times = 50")
    await watched.hooks().on_context_used([ids[0]], {str(ids[0]): "acted"})
    await watched.hooks().proposals.expire_stale(0)

    [check] = await check_feedback_loop(watched.deps, [MAIN_SPACE], watched.terms)

    assert (check.name, check.severity) == ("outcomes.rate", CheckSeverity.WARN)


def test_constants_beyond_their_good_range_are_noted() -> None:
    [check] = check_constants(OutcomesSettings(acted_confidence_signal=0.45))

    assert check.details["key"] == "outcomes.acted_confidence_signal"
    assert check_constants(OutcomesSettings()) == []


@pytest.mark.requirement("O-57")
async def test_why_lists_outcomes_and_the_lists_name_memories(store: Store) -> None:
    watched = Watched(store)
    good, bad, idle = await watched.memories(3)
    await watched.hooks().on_context_used([good, bad], {str(good): "acted", str(bad): "contradicted"})
    await watched.hooks().on_surfaced([idle], "recall")
    await run_sql(store, "update surfacing set times = 10")

    [told] = await outcomes_of(watched.deps, MAIN_SPACE, good)
    found = await top_memories(watched.deps, MAIN_SPACE)

    assert (told["outcome"], told["how"], told["q"], told["confidence"]) == ("acted", "explicit", 1.0, [0.5, 0.7])
    assert told["cause"]["session"] == "s1"
    assert {name: [each["memory"] for each in listed] for name, listed in found.items()} == {
        "helpful": [str(good)],
        "misleading": [str(bad)],
        "idle": [str(idle)],
    }


@pytest.mark.requirement("O-60")
async def test_forgetting_erases_what_tells_of_a_memory_and_keeps_the_counts(store: Store) -> None:
    watched = Watched(store)
    gone, stays = await watched.memories(2)
    hooks = watched.hooks()
    for memory in (gone, stays):
        await hooks.on_read(memory)
        await hooks.on_surfaced([memory])
        await hooks.set_rhythm(memory, [("day", 1.0, 0.0)])
        await hooks.record_prediction(memory, {"a": 1})
        await hooks.on_context_used([memory], {str(memory): "used"})
        await hooks.on_surfaced([memory])
        await hooks.on_read(memory)
    await run_sql(store, """update outcome set evidence = '{"words": ["lisgate"]}'""")
    before = (await outcome_stats(watched.deps, MAIN_SPACE))["all"]

    async with store.transaction() as transaction:
        await forget(transaction, MAIN_SPACE, [gone])

    for table in ("surfacing", "staged_read", "rhythm", "cycle", "prediction"):
        assert gone not in await watched.spoken_of(table)
        assert stays in await watched.spoken_of(table)
    assert [row["evidence"] for row in await watched.log(gone)] == [{}]
    assert [row["evidence"] for row in await watched.log(stays)] == [{"words": ["lisgate"]}]
    assert (await outcome_stats(watched.deps, MAIN_SPACE))["all"] == before
