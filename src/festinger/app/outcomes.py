"""How are outcomes joined to the rest of the house?

Builds what the room needs, reads captured exchanges for what became of their notes, ends what nobody told of in time
and lets go what was forgotten. The memory asks this room what a session was shown lately, and what was done with a
memory.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog

from festinger.errors import FestingerError
from festinger.events.event import Event
from festinger.ids import MemoryId, Origin, SessionId, SpaceId
from festinger.jobs.model import Queue, Run
from festinger.memory.erasure.repair import TakenBack
from festinger.memory.erasure.selector import Selector
from festinger.memory.model import Place
from festinger.observability.metrics import OUTCOMES_FAULTS, OUTCOMES_SKIPPED
from festinger.outcomes.capture import CAPTURED, overhear
from festinger.outcomes.corrections import CORRECT, take_to_judges
from festinger.outcomes.model import Desk, Reporter
from festinger.outcomes.protocol import ObservationProtocol, prune_reads, stage
from festinger.outcomes.replay import give_back, take_back
from festinger.outcomes.report import prune_batches
from festinger.outcomes.stats import outcomes_of
from festinger.outcomes.surface import MOST_EXPIRED, expire, surface, surfaced_lately
from festinger.settings.outcomes import OutcomesSettings
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.app.wiring import App

log = structlog.get_logger(room="outcomes")

EXPIRE = "expire_surfacings"
TEND = "tend_outcomes"
OVERHEAR = "infer_outcomes"

EACH_MINUTE = "* * * * *"
NIGHTLY = "47 3 * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomesRoom:
    """What becomes of memories, as this process opens it."""

    desk: Desk

    async def surfaced(self, place: Place, turns: int) -> frozenset[MemoryId]:
        """What the last turns of a session were shown."""
        return await surfaced_lately(self.desk, place, turns)

    async def outcomes_of(self, space: SpaceId, memory: MemoryId) -> tuple[Any, ...]:
        return await outcomes_of(self.desk, space, memory)

    async def on_read(self, transaction: Transaction, place: Place, memories: Sequence[UUID]) -> int:
        """Note that memories were read, within the transaction of whoever brought them."""
        return await stage(self.desk, transaction, self._reporter(place), memories)

    async def note_reads(self, place: Place, memories: Sequence[UUID]) -> None:
        """Note in a transaction of its own that memories were read. What fails here fails nobody's reading."""
        try:
            async with self.desk.store.transaction() as transaction:
                await self.on_read(transaction, place, memories)
        except FestingerError as error:
            OUTCOMES_SKIPPED.labels("unwritten").inc(len(memories))
            log.warning("reads not noted", memories=len(memories), why=error.message)

    async def on_surfaced(
        self, transaction: Transaction, place: Place, memories: Sequence[UUID], *, recall: UUID, reason: str
    ) -> None:
        """Note that a recall put memories before a model, within the transaction of whoever did."""
        await surface(self.desk, transaction, self._reporter(place), memories, reason=reason, recall=recall)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: Selector, _bad: Collection[MemoryId]
    ) -> TakenBack:
        """Take back what a source reported, within the transaction that repairs."""
        done = await take_back(self.desk, transaction, space, selector)
        kept = {"outcomes": [str(each) for each in done.outcomes]}
        return TakenBack(rows=len(done.memories), kept=kept)

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Let what was taken back count again, within the transaction that undoes the repair."""
        await give_back(self.desk, transaction, space, [UUID(each) for each in kept["outcomes"]])

    def protocol(self, reporter: Reporter) -> ObservationProtocol:
        return ObservationProtocol(self.desk, reporter)

    def _reporter(self, place: Place) -> Reporter:
        return Reporter(place=place, name="recall", door="recall", origin=Origin.SYSTEM)


def build_outcomes(app: "App") -> OutcomesRoom:
    """The room, with everything that it takes from the house."""

    def terms(space: SpaceId) -> OutcomesSettings:
        return app.settings.for_space(space).outcomes

    desk = Desk(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        terms=terms,
        memory=app.memory.desk,
        world=app.world.desk,
    )
    return OutcomesRoom(desk=desk)


def register_outcomes(app: "App", room: OutcomesRoom) -> None:
    """Make the room's jobs and subscribers known."""
    desk = room.desk

    async def expire_everywhere(run: Run) -> None:
        ended = 0
        for space in app.directory.ids():
            while found := await expire(desk, space):
                ended += len(found)
                await run.report(ended, note="surfacings expired")
                if len(found) < MOST_EXPIRED:
                    break

    async def tend(_run: Run) -> None:
        for space in app.directory.ids():
            await prune_reads(desk, space)
            await prune_batches(desk, space)

    async def infer(transaction: Transaction, event: Event) -> None:
        try:
            async with transaction.savepoint():
                await overhear(desk, transaction, event)
        except (FestingerError, ValueError, KeyError, TypeError) as error:
            # What cannot be read is told and passed over: the surfacing then expires by itself.
            OUTCOMES_FAULTS.inc()
            log.warning("outcomes not inferred", session=event.session, error=type(error).__name__)
            if isinstance(error, FestingerError) and error.http == 503:
                raise

    async def correct(_run: Run, *, space: str, memory: str, session: str) -> None:
        await take_to_judges(desk, SpaceId(space), UUID(memory), session=SessionId(session))

    app.jobs.register(CORRECT, correct, queue=Queue.JUDGE)
    app.jobs.register(EXPIRE, expire_everywhere, queue=Queue.SLEEP, schedule=EACH_MINUTE)
    app.jobs.register(TEND, tend, queue=Queue.SLEEP, schedule=NIGHTLY)
    app.outbox.subscribe(CAPTURED, OVERHEAR, infer)
