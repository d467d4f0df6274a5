"""Re-embeds memories after the embedding model changed.

Vectors of the former model stay but are compared with nothing. Until a memory has a vector of the current
model and wording, it is left out of vector search and found by words. A job makes them, newest and heaviest
first, a hundred at a time, and can be stopped and resumed. Each memory is then compared with all others by
the new model's thresholds.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.memory.late_judgements import embed_missing_memories, recheck_memory
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

Report = Callable[[int, int], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedProgress:
    """How many memories of a space have a vector of the current model and wording."""

    done: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.done

    def __str__(self) -> str:
        return f"re-embedded {self.done:,} of {self.total:,}"


async def measure_progress(deps: MemoryDeps, space: SpaceId, *, model: str | None = None) -> ReembedProgress:
    """Measure progress for the embedder of this process, or for `model` where none is open."""
    embedder = deps.embedder()
    name = embedder.name if embedder is not None else model
    if name is None or name == NO_EMBEDDER:
        return ReembedProgress(done=0, total=0)
    row = await deps.store.one(Q["count_embedded"], space=space, model=name)
    return ReembedProgress(done=row["done"], total=row["total"])


async def check_current_vectors(deps: MemoryDeps, spaces: Sequence[SpaceId]) -> Check:
    """Check that every live memory has vectors of its present words by the present model."""
    found = [await measure_progress(deps, space) for space in spaces]
    left, total = sum(each.left for each in found), sum(each.total for each in found)
    said = f"{total - left:,} of {total:,} memories have vectors of their present words."
    wait = "A job makes the others while a worker runs; or run `festinger reembed`."
    return warning_check("memory.embedded", said, wait, left=left) if left else ok_check("memory.embedded", said)


async def reembed(deps: MemoryDeps, space: SpaceId, *, report: Report) -> int:
    """Make every missing or outdated vector; return how many."""
    start = await measure_progress(deps, space)

    async def tell(done: int) -> None:
        await report(start.done + done, start.total)

    made = await embed_missing_memories(deps, space, report=tell) if start.left else 0
    if made and not (await measure_progress(deps, space)).left:
        await _recheck_newer(deps, space)
        await _emit_finished(deps, space, made)
    return made


async def _recheck_newer(deps: MemoryDeps, space: SpaceId) -> None:
    """Recheck what was learned in the meantime, which could not be compared with the others then."""
    embedder = deps.embedder()
    if embedder is not None:
        for row in await deps.store.all(Q["learnt_meanwhile"], space=space, model=embedder.name):
            await recheck_memory(deps, space, row["id"])


async def _emit_finished(deps: MemoryDeps, space: SpaceId, made: int) -> None:
    embedder = deps.embedder()
    async with deps.store.transaction() as transaction:
        await deps.outbox.emit(
            transaction,
            "reembedding_finished",
            space=space,
            subject="embedder",
            payload={"model": embedder.name if embedder else NO_EMBEDDER, "count": made},
        )


async def drop_vectors(deps: MemoryDeps, space: SpaceId, model: str) -> int:
    """Delete the vectors of a former model; return how many. Raises `BadInput` for the current one."""
    embedder = deps.embedder()
    if embedder is not None and embedder.name == model:
        raise BadInput(f"`{model}` is the model that embeds now.", hint="Choose another one first.")
    return await deps.store.run(Q["drop_vectors"], space=space, model=model)


async def count_memories_by_model(deps: MemoryDeps, space: SpaceId) -> dict[str, int]:
    """Count the memories with vectors of each model."""
    rows = await deps.store.all(Q["vector_models"], space=space)
    return {row["model"]: row["memories"] for row in rows}
