"""Nights for the interfaces: list, read, start and undo them."""

from collections.abc import Sequence
from uuid import UUID

from festinger.consolidation.apply import undo_night as take_back
from festinger.consolidation.night import SHARED, Night, NightStep, Q, begin_night, load_night_report, night_from_row
from festinger.consolidation.run import Report
from festinger.consolidation.run import run_night as run_to_end
from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.runtime.app import App
from festinger.runtime.consolidation import start_night


async def list_nights(app: App, *, space: SpaceId, limit: int = 50, cursor: UUID | None = None) -> Sequence[Night]:
    """List nights without their items, newest first; `cursor` is the last one of the page before."""
    rows = await app.store.all(Q["nights"], space=space, before=cursor, limit=limit)
    return [night_from_row(row) for row in rows]


async def get_night(app: App, *, space: SpaceId, id: UUID) -> Night:  # noqa: A002
    """Return a night with its items and its lines. Raises `NotFound`."""
    return await load_night_report(app.nights, space, id)


async def undo_night(app: App, *, space: SpaceId, id: UUID, by: str, item: UUID | None = None) -> int:  # noqa: A002
    """Take a night back, or one item of it; return how many items. Raises `NotFound` and `UndoBlocked`."""
    return await take_back(app.nights, space, id, by=by, item=item)


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
    owner, deps = agent or SHARED, app.nights
    if report is None:
        return await start_night(app, space, agent=owner, dry_run=dry_run, only_step=step)
    async with app.store.transaction() as transaction:
        night = await begin_night(deps, transaction, space, agent=owner, dry_run=dry_run, only_step=step)
    try:
        await run_to_end(deps, space, night, report=report)
    finally:  # Somebody may have stopped it, and no job will go on with it.
        await app.store.run(Q["end_lost_nights"], space=space, id=night, at=app.tools.clock())
    return night
