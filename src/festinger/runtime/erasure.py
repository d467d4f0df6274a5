"""Wires forgetting, repair and upkeep into the app.

Gives the packages the erasure ledger in the home; registers the jobs that finish a forgetting (the world's
part, texts that are reworded, disk space reclaimed) and those that keep a space within its size and its
vectors of one model; and collects what other packages withdraw with a repair.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.jobs.model import JobRun, Queue
from festinger.llm.model import ModelPurpose
from festinger.memory.deps import GiveBack, IsForgotten
from festinger.memory.erasure.erase import (
    ErasureDeps,
    ErasureReport,
    LetGoCited,
    build_forgotten_check,
    forget,
    reword_from_sources,
)
from festinger.memory.erasure.repair import RepairMode, RepairReport, TakeBack, repair
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.health import archive_excess
from festinger.memory.jobs import FORGET_SAID, REEMBED, REMAKE, VACUUM
from festinger.memory.learn.refusals import prune_refusals
from festinger.memory.reembed import reembed
from festinger.outcomes.surface import forget as forget_outcomes
from festinger.proposals.erase import forget as forget_proposals
from festinger.retrieval.maintenance import erase_recall_data as forget_recalls
from festinger.store.erasure import ErasureLedger, open_erasure_ledger, vacuum
from festinger.store.paths import HomeLayout
from festinger.store.pool import Transaction
from festinger.store.repositories.request_log import erase_words_in_spool
from festinger.text.blocks import ErasurePattern
from festinger.world.erase import forget_message
from festinger.world.model import Follow, null_follow

if TYPE_CHECKING:
    from festinger.runtime.app import App
    from festinger.runtime.proposals import InboxService
    from festinger.runtime.retrieval import OutcomesService
    from festinger.runtime.world import WorldService

TIDY = "tidy_memory"
NIGHTLY = "33 3 * * *"
EMBEDDING_LIMIT = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureService:
    """Forgetting and repair, as the interfaces ask for them."""

    eraser: ErasureDeps
    others: Mapping[str, TakeBack] = field(default_factory=dict)
    """What every other package withdraws of the same source, by its name."""
    follow: Follow = null_follow
    """Brings this process up to date with what a repair did to the world."""

    async def forget(
        self, space: SpaceId, selector: ErasureSelector, *, reason: str, by: str, dry_run: bool = False
    ) -> ErasureReport:
        return await forget(self.eraser, space, selector, reason=reason, by=by, dry_run=dry_run)

    async def repair(
        self,
        space: SpaceId,
        selector: ErasureSelector,
        *,
        by: str,
        mode: RepairMode = RepairMode.QUARANTINE,
        dry_run: bool = False,
    ) -> RepairReport:
        done = await repair(self.eraser, space, selector, by=by, mode=mode, dry_run=dry_run, others=self.others)
        await self.follow(space)
        return done


def open_ledger_of_app(app: "App") -> ErasureLedger:
    return open_erasure_ledger(HomeLayout(home=app.home).forgotten)


def build_is_forgotten(app: "App") -> IsForgotten:
    """Build the port by which learning asks what was forgotten."""
    return build_forgotten_check(open_ledger_of_app(app))


def repairable_services(app: "App") -> dict[str, "WorldService | OutcomesService | InboxService"]:
    """Return the open services that withdraw and reinstate what a source brought them."""
    named = {name: getattr(app, name, None) for name in ("world", "outcomes", "inbox")}
    return {name: room for name, room in named.items() if room is not None}


def build_reinstate(app: "App") -> GiveBack:
    """Build the port by which an undone repair reinstates what the other packages withdrew."""

    async def give_back(transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        rooms = repairable_services(app)
        for name, taken in kept.items():
            await rooms[name].give_back(transaction, space, taken)

    return give_back


def build_erasure_service(app: "App") -> ErasureService:
    others = {name: room.take_back for name, room in repairable_services(app).items()}
    folder = HomeLayout(home=app.home).spool

    async def outside(cuts: Sequence[ErasurePattern]) -> int:
        return await asyncio.to_thread(erase_words_in_spool, folder, cuts)

    eraser = ErasureDeps(
        deps=app.memory.deps,
        ledger=open_ledger_of_app(app),
        rooms=(forget_recalls, forget_outcomes),
        citing=_build_citation_erasers(app),
        outside=outside,
    )
    return ErasureService(eraser=eraser, others=others, follow=app.world.deps.follow)


def _build_citation_erasers(app: "App") -> dict[str, LetGoCited]:
    """Return the open packages that cite memories, turns and episodes."""
    inbox = getattr(app, "inbox", None)
    return {"proposal_sighting": partial(forget_proposals, inbox.deps)} if inbox is not None else {}


def register_erasure_jobs(app: "App") -> None:
    """Register the jobs that finish a forgetting and keep the memory clean."""
    deps = app.memory.deps

    async def forget_said(_run: JobRun, *, space: str, message: str) -> None:
        await forget_message(app.world.deps, SpaceId(space), message, by="job:forget")

    async def make_again(_run: JobRun, *, space: str, memory: str) -> bool:
        return await reword_from_sources(
            deps, SpaceId(space), UUID(memory), model_for=app.model_for(ModelPurpose.WRITE)
        )

    async def give_room_back(_run: JobRun, **_ids: Any) -> None:
        await vacuum(app.store)

    async def embed_again(run: JobRun, *, space: str) -> int:
        async def report(done: int, total: int) -> None:
            await run.report(done, total, note="memories re-embedded")

        return await reembed(deps, SpaceId(space), report=report)

    async def tidy(_run: JobRun) -> None:
        for space in app.directory.ids():
            await prune_refusals(deps, space)
            await archive_excess(deps, space)

    app.jobs.register(FORGET_SAID, forget_said)
    app.jobs.register(REMAKE, make_again, queue=Queue.JUDGE)
    app.jobs.register(VACUUM, give_room_back, queue=Queue.INDEX, limit=timedelta(hours=6))
    app.jobs.register(REEMBED, embed_again, queue=Queue.SLEEP, limit=EMBEDDING_LIMIT)
    app.jobs.register(TIDY, tidy, queue=Queue.SLEEP, schedule=NIGHTLY)
