"""What was put before a model and waits: renewed, resolved, expired, and late."""

from datetime import timedelta
from uuid import uuid4

import pytest
from tests.memory.remembering import DAY, events
from tests.outcomes.watching import Watched

from festinger.errors import BadInput, BadSetting, NotFound, UnknownSetting
from festinger.ids import MAIN_SPACE
from festinger.outcomes import Defaults, ObservationProtocol, RecallProposal
from festinger.outcomes.protocol import prune_expired_reads
from festinger.outcomes.report import observe_recall
from festinger.outcomes.surface import load_recently_surfaced
from festinger.store.pool import Store

HOUR = timedelta(hours=1)


@pytest.mark.requirement("O-01")
def test_the_hooks_have_the_names_of_the_reference() -> None:
    hooks = ("on_read", "on_surfaced", "on_context_used")

    assert all(callable(getattr(ObservationProtocol, name)) for name in hooks)
    assert all(callable(getattr(RecallProposal, name)) for name in ("get_pending", "expire_stale"))
    assert Defaults().ACTED_CONFIDENCE_SIGNAL == 0.9


async def test_a_read_waits_for_a_day_and_reading_again_renews_it(store: Store) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.on_read(one)
    watched.mind.forward(timedelta(hours=20))
    await hooks.on_read(one)
    watched.mind.forward(timedelta(hours=20))

    pruned = await prune_expired_reads(hooks.deps, MAIN_SPACE)
    seen = await hooks.on_context_used([one], {str(one): "used"})

    assert pruned == 0
    assert seen.effects[str(one)].access == 2
    assert (await watched.held(one))["access_count"] == 2


async def test_a_read_whose_time_is_over_does_not_come_back_with_the_next(store: Store) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.on_read(one)
    watched.mind.forward(DAY + HOUR)
    await hooks.on_read(one)

    seen = await hooks.on_context_used([one], {str(one): "used"})

    assert seen.effects[str(one)].access == 1


@pytest.mark.requirement("O-16")
async def test_a_read_whose_time_is_over_counts_as_discarded(store: Store) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.on_read(one)
    watched.mind.forward(DAY + HOUR)

    seen = await hooks.on_context_used([one], {str(one): "acted"})

    assert seen.effects[str(one)].access == 0
    assert await watched.count("staged_read") == 0


async def test_reading_what_is_not_there_is_passed_over(store: Store) -> None:
    watched = Watched(store)

    await watched.hooks().on_read(uuid4())
    await watched.hooks().on_read("no id")

    assert await watched.count("staged_read") == 0


@pytest.mark.requirement("O-16")
async def test_the_last_times_of_access_are_kept(store: Store) -> None:
    watched = Watched(store, access_log=3)
    one, hooks = await watched.memory(), watched.hooks()
    for _ in range(5):
        watched.mind.forward()
        await hooks.on_read(one)
    last = watched.mind.hands.now
    watched.mind.forward(HOUR)

    await hooks.on_context_used([one], {str(one): "used"})

    memory = await watched.mind.memory(one)
    assert (memory.access_count, len(memory.access_times)) == (5, 3)
    assert (memory.last_accessed, memory.access_times[-1]) == (last, last)


async def test_surfacing_again_while_it_waits_renews_it(store: Store) -> None:
    watched, turn = Watched(store), uuid4()
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.on_surfaced([one], "recall")
    watched.mind.forward(HOUR)
    await hooks.on_surfaced([one], "identity", turn=turn)

    [waiting] = await hooks.proposals.get_pending()

    assert (waiting.times, waiting.reason, waiting.turn_id) == (2, "identity", turn)
    assert waiting.surfaced_at - waiting.first_surfaced_at == HOUR
    assert await hooks.on_surfaced([]) == []
    assert [each["payload"]["reason"] for each in await events(store, "memory_surfaced")] == ["recall", "identity"]


async def test_an_unknown_reason_is_refused(store: Store) -> None:
    watched = Watched(store)

    with pytest.raises(BadInput):
        await watched.hooks().on_surfaced([await watched.memory()], "whim")


@pytest.mark.requirement("O-07")
async def test_what_nobody_tells_of_in_time_expires_and_lets_its_reads_go(store: Store) -> None:
    watched = Watched(store)
    old, new = await watched.memories(2)
    hooks = watched.hooks()
    await hooks.on_read(old)
    await hooks.record_prediction(old, {"a": 1})
    await hooks.on_surfaced([old])
    before = await watched.held(old)
    watched.mind.forward(timedelta(seconds=3601))
    await hooks.on_surfaced([new])

    ended = await hooks.proposals.expire_stale()

    assert RecallProposal.DEFAULT_TTL == 3600
    assert [(each.memory_id, each.outcome, each.how) for each in ended] == [(old, "deferred", "expired")]
    assert [each.memory_id for each in await hooks.proposals.get_pending()] == [new]
    assert await watched.held(old) == before
    assert await watched.count("staged_read") == 0
    assert await hooks.prediction_errors() == []
    assert await hooks.proposals.expire_stale() == []


@pytest.mark.parametrize(("late", "how"), [(23, "explicit"), (25, "expired")])
async def test_a_late_report_is_taken_within_a_day(store: Store, late: int, how: str) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.on_surfaced([one], recall=uuid4())
    watched.mind.forward(2 * HOUR)
    [ended] = await hooks.proposals.expire_stale()
    watched.mind.forward(late * HOUR)

    await hooks.on_context_used([one], {str(one): "acted"})

    [kept] = await watched.surfacings()
    assert (kept["id"], kept["how"]) == (ended.id, how)
    assert (await watched.held(one))["evidence_count"] == 1


@pytest.mark.requirement("O-01")
@pytest.mark.requirement("O-04")
async def test_the_short_form_speaks_of_all_that_a_recall_surfaced(store: Store) -> None:
    watched, recall = Watched(store), uuid4()
    one, two = await watched.memories(2)
    await watched.hooks().on_surfaced([one, two], "recall", recall=recall)

    seen = await observe_recall(watched.deps, watched.reporter(), {str(one): "acted"}, recall=recall)

    assert {id_: each.outcome for id_, each in seen.effects.items()} == {str(one): "acted", str(two): "deferred"}
    with pytest.raises(NotFound):
        await observe_recall(watched.deps, watched.reporter(), {}, recall=uuid4())


async def test_what_a_session_was_shown_lately_is_known_to_it_alone(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(4)
    for memory in ids:
        watched.mind.forward()
        await watched.hooks("s1").on_surfaced([memory], "recall", recall=uuid4())
    place, other = watched.reporter("s1").scope, watched.reporter("s2").scope

    assert await load_recently_surfaced(watched.deps, place, 50) == set(ids)
    assert await load_recently_surfaced(watched.deps, place, 2) == set(ids[2:])
    assert await load_recently_surfaced(watched.deps, place, 0) == frozenset()
    assert await load_recently_surfaced(watched.deps, other, 50) == frozenset()


def test_constants_of_a_handle_have_the_bounds_of_the_settings() -> None:
    constants = Defaults()
    constants.ACTED_CONFIDENCE_SIGNAL = 0.45

    with pytest.raises(BadSetting):
        constants.ACTED_CYCLE_STRENGTHEN_FACTOR = 0.8
    with pytest.raises(UnknownSetting):
        constants.NOTHING = 1

    assert (constants.ACTED_CONFIDENCE_SIGNAL, constants.ACTED_CYCLE_STRENGTHEN_FACTOR) == (0.45, 1.2)


def test_constants_set_on_the_class_are_refused_and_the_error_says_where_they_go() -> None:
    with pytest.raises(BadSetting) as refused:
        Defaults.ACTED_CONFIDENCE_SIGNAL = 0.45
    with pytest.raises(UnknownSetting):
        Defaults.NOTHING = 1

    assert "memory.observation.defaults.ACTED_CONFIDENCE_SIGNAL = 0.45" in str(refused.value.hint)
    assert "`outcomes.acted_confidence_signal`" in str(refused.value.hint)
    assert Defaults().ACTED_CONFIDENCE_SIGNAL == 0.9


async def test_a_handle_works_with_its_own_constants(store: Store) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    hooks.defaults.ACTED_CONFIDENCE_SIGNAL = 1.0

    seen = await hooks.on_context_used([one], {str(one): "acted"})

    assert seen.effects[str(one)].confidence == (0.5, 0.75)
    assert watched.deps.terms(MAIN_SPACE).acted_confidence_signal == 0.9


@pytest.mark.requirement("O-13")
@pytest.mark.requirement("O-14")
async def test_an_unchanged_declaration_keeps_what_was_learnt_and_an_edited_one_wins(store: Store) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    start = watched.mind.hands.now
    await hooks.set_rhythm(one, [("week", 5.0, 0.0)], pressure_rate=0.5)
    await hooks.on_context_used([one], {str(one): "acted"})
    watched.mind.forward(DAY)

    same = await hooks.set_rhythm(one, [("week", 5.0, 0.0)], pressure_rate=0.5)
    edited = await hooks.set_rhythm(one, [("week", 4.0, 0.0)], pressure_rate=0.25)

    assert (same.cycles[0].amplitude, same.rhythm.pressure_resolved_at) == (6.0, start)
    assert (edited.cycles[0].amplitude, edited.rhythm.pressure_resolved_at) == (4.0, start + DAY)
    for wrong in ([("fortnight", 1.0, 0.0)], [(0.0, 1.0, 0.0)], [(float("nan"), 1.0, 0.0)]):
        with pytest.raises(BadInput):
            await hooks.set_rhythm(one, wrong)


@pytest.mark.requirement("O-15")
async def test_the_strongest_come_first_and_ties_by_id(store: Store) -> None:
    watched = Watched(store)
    ids = await watched.memories(4)
    hooks = watched.hooks()
    await hooks.set_rhythm(ids[2], pressure_rate=0.5)
    watched.mind.forward(30 * DAY)

    found = await hooks.top_by_strength(3)

    assert [each.memory.id for each in found] == [ids[2], *sorted([ids[0], ids[1], ids[3]])[:2]]
    assert found[0].strength == pytest.approx(0.7116851017915987 + 15.0)


@pytest.mark.requirement("O-19")
@pytest.mark.parametrize(
    ("predicted", "actual", "error"),
    [(0.9, True, 0.1), (0.9, False, 0.9), (True, 1, 0.0), (True, False, 1.0), (True, "yes", 1.0), ("1", 1, 1.0)],
)
async def test_a_yes_or_no_is_the_number_1_or_0_in_a_prediction_and_never_a_word(
    store: Store, predicted: object, actual: object, error: float
) -> None:
    watched = Watched(store)
    one, hooks = await watched.memory(), watched.hooks()
    await hooks.record_prediction(one, {"passes": predicted})

    assert await hooks.resolve_prediction(one, {"passes": actual}) == pytest.approx(error)


@pytest.mark.requirement("O-19")
async def test_a_prediction_is_resolved_once_and_a_far_miss_lowers_confidence(store: Store) -> None:
    watched = Watched(store)
    near, far = await watched.memories(2)
    hooks = watched.hooks()
    await hooks.record_prediction(near, {"r": 0.9})
    await hooks.record_prediction(far, {"old": 1})
    await hooks.record_prediction(far, {"a": "x"})

    assert await hooks.resolve_prediction(near, {"r": 0.3}) == pytest.approx(0.6)
    assert await hooks.resolve_prediction(far, {"a": "y"}) == 1.0
    assert await hooks.resolve_prediction(far, {"a": "x"}) is None
    assert [each.memory for each in await hooks.prediction_errors()] == [far, near]
    assert (await watched.held(near))["confidence"] == 0.5
    assert (await watched.held(far))["confidence"] == pytest.approx(0.35)
    with pytest.raises(ValueError, match="nothing"):
        await hooks.record_prediction(near, None)
