"""Paginates lists: query parameters `limit` and `cursor` in, `{items, next}` out.

A cursor is opaque to the caller: it is the last item's number or id as text, with its time where the list is
ordered by that.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from starlette.requests import Request

from festinger.errors import BadInput
from festinger.ids import read_id

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def parse_limit(request: Request) -> int:
    return _whole(request, "limit", default=DEFAULT_LIMIT, most=MAX_LIMIT)


def parse_cursor(request: Request) -> int | None:
    """The cursor of the page; `after` means the same."""
    name = "cursor" if "cursor" in request.query_params else "after"
    return _whole(request, name, default=0, most=2**63 - 1) or None


def build_page(items: Sequence[Any], *, limit: int, last: int | None) -> dict[str, Any]:
    """A page; `last` is the cursor of its last item."""
    return {"items": items, "next": str(last) if last is not None and len(items) == limit else None}


def format_time_cursor(at: datetime, id_: UUID) -> str:
    """A cursor for a list that is ordered by time and id."""
    return f"{(at - EPOCH) // MICROSECOND}.{id_}"


def parse_time_cursor(cursor: str | None) -> tuple[datetime, UUID] | None:
    """The time and id of such a cursor."""
    if cursor is None:
        return None
    at, _, last = cursor.partition(".")
    if not at.isascii() or not at.isdigit() or len(at) > 17:
        raise BadInput("This cursor leads nowhere.", hint="Send `next` of the page before as it came.")
    return EPOCH + int(at) * MICROSECOND, read_id(last)


def _whole(request: Request, name: str, *, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise BadInput(f"`{name}` must be a whole number from 1 to {most}.")
    return int(text)
