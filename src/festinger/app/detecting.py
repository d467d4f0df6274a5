"""How are the detectors joined to the rest of the house?

Each hears of the events after which it may fire; names that nobody knows are looked at each hour. What it finds is
sighted in the transaction of its delivery, so that it is found once. All of this is background work: a fault in it
delays nobody.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.events.outbox import Wants, everything
from festinger.ids import SpaceId
from festinger.jobs.model import Queue, Run
from festinger.memory.censors.escalation import AUTO, is_warning
from festinger.proposals.deps import Desk
from festinger.proposals.detectors import patterns, tool_failure
from festinger.proposals.detectors.detector import Detector, Firing, suggestion
from festinger.proposals.sightings.intake import sight_in
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.app.wiring import App

Look = Callable[[Desk, Transaction, Event], Awaitable[list[Firing]]]

DETECT = "detect_{}"
"""How the subscriber of a detector is called."""
UNKNOWN_NAMES = "detect_unknown_names"
EACH_HOUR = "23 * * * *"


def register_detectors(app: "App", desk: Desk) -> None:
    """Let each detector hear of what it looks at."""

    def asks_a_person(event: Event) -> bool:
        return is_warning(event) and app.settings.for_space(event.space).memory.censor_escalation != AUTO

    listen = _listener(app, desk)
    listen("episode_closed", Detector.TOOL_FAILURE, tool_failure.look)
    listen("loop_detected", Detector.LOOP, patterns.find_loops)
    listen("censor_triggered", Detector.CENSOR_HITS, patterns.find_censor_hits, asks_a_person)
    listen("conflict_opened", Detector.CONFLICT_CHURN, patterns.find_conflict_churn, patterns.is_of_the_world)
    listen("outcome_recorded", Detector.MISLEADING, patterns.find_misleading, patterns.is_contradicted)
    listen("concept_wanted", Detector.ZERO_HIT, _unknown)

    async def unknown_names(run: Run) -> int:
        found = 0
        for space in app.directory.ids():
            async with desk.store.transaction() as transaction:
                found += await say(desk, transaction, space, await _looked_at(desk, transaction, space))
            await run.report(found, note="unknown names sighted")
        return found

    app.jobs.register(UNKNOWN_NAMES, unknown_names, queue=Queue.SLEEP, schedule=EACH_HOUR, low_value=True)


def _listener(app: "App", desk: Desk) -> Callable[..., None]:
    def listen(event: str, name: Detector, look: Look, wants: Wants = everything) -> None:
        async def hear(transaction: Transaction, told: Event) -> None:
            if not is_on(desk, told.space, name):
                return
            try:
                found = await look(desk, transaction, told)
            except NotFound:  # forgotten meanwhile
                return
            await say(desk, transaction, told.space, found)

        app.outbox.subscribe(event, DETECT.format(name), hear, queue=Queue.SLEEP, wants=wants)

    return listen


def is_on(desk: Desk, space: SpaceId, name: Detector) -> bool:
    """Whether a detector looks at a space."""
    return bool(getattr(desk.terms(space).detectors, name.value).enabled)


async def say(desk: Desk, transaction: Transaction, space: SpaceId, found: Sequence[Firing]) -> int:
    """Sight what a detector found; how many findings there were."""
    for each in found:
        await sight_in(desk, transaction, space, suggestion(each))
    return len(found)


async def _unknown(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    return await patterns.find_unknown_names(desk, transaction, event.space)


async def _looked_at(desk: Desk, transaction: Transaction, space: SpaceId) -> list[Firing]:
    if not is_on(desk, space, Detector.ZERO_HIT):
        return []
    return await patterns.find_unknown_names(desk, transaction, space)
