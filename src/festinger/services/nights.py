"""Nights for the interfaces: list, read, start and undo them."""

from collections.abc import Sequence
from uuid import UUID

from festinger.consolidation.apply import undo_night as take_back
from festinger.consolidation.night import SHARED, NightStep, NightTrigger, begin_night, find_night, page_nights
from festinger.consolidation.report import NightReport, report_night, summarize_night
from festinger.consolidation.run import Report
from festinger.consolidation.run import run_night as run_to_end
from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.runtime.app import App
from festinger.runtime.consolidation import start_night


async def list_nights(
    app: App, *, space: SpaceId, limit: int = 50, cursor: UUID | None = None
) -> Sequence[NightReport]:
    """List nights without their items, newest first; `cursor` is the last one of the page before."""
    found = await page_nights(app.nights.deps, space, limit=limit, before=cursor)
    return [summarize_night(each) for each in found]


async def get_night(app: App, *, space: SpaceId, id: UUID) -> NightReport:  # noqa: A002
    """Return a night with its items and its lines. Raises `NotFound`."""
    return await report_night(app.nights.deps, space, id)


async def undo_night(app: App, *, space: SpaceId, id: UUID, by: str, item: UUID | None = None) -> int:  # noqa: A002
    """Take a night back, or one item of it; return how many items. Raises `NotFound` and `UndoBlocked`."""
    await find_night(app.nights.deps, space, id)
    return await take_back(app.nights.deps, space, id, by=by, item=item)


async def run_night(
    app: App,
    *,
    space: SpaceId,
    agent: str | None = None,
    dry_run: bool = False,
    step: str = "",
    report: Report | None = None,
) -> UUID:
    """Start a night of an agent, or of the shared memories; return its id. Raises `AlreadyRunning`.

    A worker runs it; with `report` it is run here, to its end.
    """
    if step and step not in list(NightStep):
        raise BadInput(f"`{step[:40]}` is no step of a night.", hint=f"Say {', '.join(NightStep)}.")
    if report is None:
        return await start_night(app, space, agent=agent or SHARED, dry_run=dry_run, only_step=step)
    deps = app.nights.deps
    async with app.store.transaction() as transaction:
        night = await begin_night(
            deps,
            transaction,
            space,
            agent=agent or SHARED,
            trigger=NightTrigger.PERSON,
            dry_run=dry_run,
            only_step=step,
        )
    await run_to_end(deps, space, night, report=report)
    return night
