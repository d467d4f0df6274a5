"""What is on its way to the store, and how does it read as a line of the spool?

Exchanges, states of sessions and lines of the request log, each of one space. What is written as a record reads back
as the same value, also by a later version: unknown fields are a fault, and faulty records are set aside by whoever
reads them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from festinger.errors import BadInput
from festinger.events.event import Happening
from festinger.ids import Origin, SpaceId
from festinger.proxy.capture import Capture, Injected
from festinger.store.repositories.exchanges import StoredBlock, StoredExchange, StoredSession, Words
from festinger.store.repositories.request_log import LoggedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The state of a session."""

    space: SpaceId
    session: StoredSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A line of the request log."""

    space: SpaceId
    request: LoggedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What happened apart from any exchange."""

    space: SpaceId
    happenings: tuple[Happening, ...]


Entry = Capture | Kept | Logged | Happened

KINDS: Mapping[str, type[Entry]] = {
    "exchange": Capture,
    "session": Kept,
    "request": Logged,
    "events": Happened,
}


def record_of(entry: Entry) -> bytes:
    """The entry as one line."""
    kind = next(name for name, known in KINDS.items() if isinstance(entry, known))
    return orjson.dumps({"kind": kind, "entry": entry}, default=_spelt)


def entry_in(record: bytes) -> Entry:
    """The entry of a record; `BadInput` if it holds none."""
    try:
        read = orjson.loads(record)
        return _READ[read["kind"]](read["entry"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"A record of the spool cannot be read: {type(error).__name__}.") from error


def _spelt(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(type(value).__name__)


def _capture(given: dict[str, Any]) -> Capture:
    exchange, injected = given["exchange"], given["injected"]
    return Capture(
        space=given["space"],
        exchange=_exchange(exchange),
        how=given["how"],
        parent=given["parent"],
        injected=Injected(**{**injected, "recollection": UUID(injected["recollection"])})
        if injected
        else None,
        happenings=tuple(Happening(**happening) for happening in given["happenings"]),
    )


def _exchange(given: dict[str, Any]) -> StoredExchange:
    return StoredExchange(
        **{
            **given,
            "id": UUID(given["id"]),
            "at": datetime.fromisoformat(given["at"]),
            "said": tuple(_words(words) for words in given["said"]),
            "reply": _words(given["reply"]) if given["reply"] else None,
            "recollection": UUID(given["recollection"]) if given["recollection"] else None,
        }
    )


def _words(given: dict[str, Any]) -> Words:
    return Words(**{**given, "id": UUID(given["id"]), "origin": Origin(given["origin"])})


def _kept(given: dict[str, Any]) -> Kept:
    session = given["session"]
    blocks = tuple(
        StoredBlock(**{**block, "anchor": bytes.fromhex(block["anchor"]), "id": UUID(block["id"])})
        for block in session["blocks"]
    )
    return Kept(
        space=given["space"],
        session=StoredSession(
            **{
                **session,
                "head": bytes.fromhex(session["head"]) if session["head"] is not None else None,
                "links": bytes.fromhex(session["links"]),
                "recent": bytes.fromhex(session["recent"]),
                "at": datetime.fromisoformat(session["at"]),
                "blocks": blocks,
            }
        ),
    )


def _logged(given: dict[str, Any]) -> Logged:
    request = given["request"]
    return Logged(
        space=given["space"],
        request=LoggedRequest(**{**request, "at": datetime.fromisoformat(request["at"])}),
    )


def _happened(given: dict[str, Any]) -> Happened:
    told = tuple(Happening(**happening) for happening in given["happenings"])
    return Happened(space=given["space"], happenings=told)


_READ: Mapping[str, Callable[[dict[str, Any]], Entry]] = {
    "exchange": _capture,
    "session": _kept,
    "request": _logged,
    "events": _happened,
}
