"""What outcomes teach the mind of an agent."""

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller
from tests.retrieval.test_agent_blend_helping import Taught

from festinger.errors import NotFound, Refused
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE
from festinger.retrieval.agent_blend import apply_outcomes, learn_blends, list_blend_updates, revert_blend_update
from festinger.retrieval.agent_weights import COMPONENTS, NO_SHIFT, apply_shifts
from festinger.settings.retrieval import RetrievalSettings
from festinger.store.pool import Store

BASE = RetrievalSettings().alpha_cold


@pytest.mark.requirement("R-53")
def test_what_led_to_something_useful_counts_more_and_what_misled_less():
    acted = apply_shifts(BASE, apply_outcomes(BASE, NO_SHIFT, [("acted", "semantic", 1.0)]))
    used = apply_shifts(BASE, apply_outcomes(BASE, NO_SHIFT, [("used", "semantic", 0.25)]))
    misled = apply_shifts(BASE, apply_outcomes(BASE, NO_SHIFT, [("contradicted", "semantic", 1.0)]))

    assert BASE[0] < used[0] < acted[0]
    assert misled[0] < BASE[0]
    assert acted[0] / acted[4] == pytest.approx((BASE[0] + 0.1) / BASE[4])


@pytest.mark.requirement("R-53")
async def test_a_night_teaches_once_is_told_and_can_be_taken_back(store: Store):
    mind = Recaller(store, without_embedder=True)
    [note] = await mind.put("The lift needs a new cable.")
    somebody = Taught(mind)
    await somebody.tell("lift cable", note, "acted", blend="mind", seed=3)
    mind.forward(DAY)
    await somebody.tell("lift cable", note, "acted")

    [night] = await learn_blends(mind.searching, MAIN_SPACE)
    assert await learn_blends(mind.searching, MAIN_SPACE) == []

    [kept] = await rows(store, "select shifts, version from blend")
    [told] = await rows(store, "select payload from event where name = 'blend_changed'")
    assert night.outcomes == 1
    assert tuple(kept["shifts"]) == night.after
    assert night.after != NO_SHIFT
    assert told["payload"]["from"] == dict.fromkeys(COMPONENTS, 0.0)
    again = await mind.recall("lift cable", blend="mind", seed=3, explain=True)
    assert again.items[0].why is not None
    assert tuple(again.items[0].why["blend"]["alphas"].values()) == pytest.approx(
        apply_shifts(BASE, night.after), abs=1e-5
    )

    await revert_blend_update(mind.searching, MAIN_SPACE, night.id)
    [kept] = await rows(store, "select shifts from blend")
    assert tuple(kept["shifts"]) == NO_SHIFT
    assert await learn_blends(mind.searching, MAIN_SPACE) == []
    assert [each.undone_at for each in await list_blend_updates(mind.searching, MAIN_SPACE, DEFAULT_AGENT)] == [
        mind.hands.now
    ]
    with pytest.raises(Refused):
        await revert_blend_update(mind.searching, MAIN_SPACE, night.id)
    with pytest.raises(NotFound):
        await revert_blend_update(mind.searching, MAIN_SPACE, note)
    mind.forget_unwritten()
