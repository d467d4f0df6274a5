"""What happened to a request, afterwards?

The log of the requests that memory served: by the id that their answers carried, kept for some days. It holds no
word of a request unless somebody has set so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from festinger.errors import NotFound
from festinger.ids import AgentId, SessionId, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    id: str
    at: datetime
    agent: AgentId
    session: SessionId | None
    route: str
    model: str
    status: int | None
    """What the client was sent; none if it left before."""
    memory: str
    reason: str
    ended: str | None
    before_ms: float
    after_ms: float
    details: Mapping[str, Any] = field(default_factory=dict)


async def log_requests(transaction: Transaction, space: SpaceId, requests: Sequence[LoggedRequest]) -> None:
    latest = {each.id: asdict(each) for each in requests}
    # In one order everywhere, or two processes would wait for each other's rows.
    rows = json.dumps([latest[key] for key in sorted(latest)], default=str)
    await transaction.run(Q["log_requests"], space=space, rows=rows)


async def find_request(store: Store, space: SpaceId, request: str) -> LoggedRequest:
    row = await store.maybe(Q["find_request"], space=space, id=request)
    if row is None:
        raise NotFound(
            f"There is no request `{request[:80]}` in the log.",
            hint="Requests on chat routes are kept for `proxy.request_log_days`.",
        )
    return _request(row)


async def list_requests(
    store: Store,
    space: SpaceId,
    *,
    session: SessionId | None = None,
    before: datetime | None = None,
    limit: int = 100,
) -> list[LoggedRequest]:
    """The newest first."""
    rows = await store.all(Q["list_requests"], space=space, session=session, before=before, limit=limit)
    return [_request(row) for row in rows]


async def count_requests(store: Store, *, since: datetime) -> dict[tuple[str, str], int]:
    """How many requests of all spaces there were, by what memory did for them and why."""
    rows = await store.all(Q["count_requests"], since=since)
    return {(row["memory"], row["reason"]): row["requests"] for row in rows}


async def prune_requests(store: Store, *, before: datetime) -> int:
    """Remove what is older, batch by batch; how many lines."""
    removed = 0
    while batch := await store.run(Q["prune_requests"], before=before, limit=BATCH):
        removed += batch
    return removed


def _request(row: Mapping[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        id=row["id"],
        at=row["at"],
        agent=row["agent_id"],
        session=row["session_id"],
        route=row["route"],
        model=row["model"],
        status=row["status"],
        memory=row["memory"],
        reason=row["reason"],
        ended=row["ended"],
        before_ms=row["before_ms"],
        after_ms=row["after_ms"],
        details=row["details"],
    )
