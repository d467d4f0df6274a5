"""What does a house do about vectors that another model made?

When it opens with workers it counts the memories of each space that the present embedder has not embedded: those of
another model, of other words, or without a vector. If there are some it warns, tells so and asks for the job that
makes them. How that job goes about it is told in `memory.reembedding`.
"""

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from festinger.ids import SpaceId
from festinger.memory.reembed import REEMBED, Progress, models_of, progress

if TYPE_CHECKING:
    from festinger.app.wiring import App

log = structlog.get_logger(room="app")

SAME_START = timedelta(minutes=10)
"""Processes that start together count the same; one of them tells."""


async def notice_other_model(app: "App") -> None:
    """Count what waits for the present embedder, and have it made."""
    for space in app.directory.ids():
        found = await progress(app.memory.desk, space)
        if found.left:
            log.warning(
                "memories wait to be embedded again; until then they are found by words",
                space=space,
                left=found.left,
                total=found.total,
            )
            await _tell(app, space, found)
            await ask_to_reembed(app, space)


async def ask_to_reembed(app: "App", space: SpaceId) -> int:
    """Have the vectors of another model made again, in a job; how many memories wait for that."""
    left = (await progress(app.memory.desk, space)).left
    if left:
        name = f"{REEMBED}:{space}"
        async with app.store.transaction() as transaction:
            await app.jobs.defer(transaction, REEMBED, lock=name, queueing_lock=name, space=space)
    return left


async def _tell(app: "App", space: SpaceId, found: Progress) -> None:
    present = app.embedder.name if app.embedder else ""
    others = {
        name: count for name, count in (await models_of(app.memory.desk, space)).items() if name != present
    }
    former = max(others, key=lambda name: (others[name], name), default=None)
    async with app.store.transaction() as transaction:
        await app.outbox.emit_unless_told(
            transaction,
            "embedder_changed",
            space=space,
            subject="embedder",
            payload={"from": former, "to": present, "vectors_left": found.left},
            within=SAME_START,
        )
