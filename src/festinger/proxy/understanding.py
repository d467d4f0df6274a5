"""What does a request say, in which session, and what of it is new?

Reads the body, tells the client's own side requests apart, and recognises the session among those of this door.
Whatever cannot be read is left untouched, with the reason. What is done with a request that was understood is
others' business.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from festinger.clock import Clock
from festinger.ids import SessionId
from festinger.proxy.guard import Visit
from festinger.proxy.headers import MemoryWish, RawHeaders, first
from festinger.proxy.injection.block import mark_of
from festinger.proxy.injection.refusals import why_never
from festinger.proxy.injection.removal import Mark
from festinger.proxy.requests.cleaning import cleaning
from festinger.proxy.requests.kind import Kind, kind_of
from festinger.proxy.requests.reading import read
from festinger.proxy.requests.turn import Request
from festinger.proxy.requests.untouched import Untouched
from festinger.proxy.sessions.chain import Chain, chain_of
from festinger.proxy.sessions.keeping import Sessions
from festinger.proxy.sessions.naming import named_in
from festinger.proxy.sessions.recognising import How, recognise
from festinger.proxy.sessions.session import Caller, Session
from festinger.proxy.sessions.side import is_side
from festinger.settings.tree import ProxySettings
from festinger.world.recollector import Place, Said

NewId = Callable[[], UUID]

READS = (MemoryWish.ON, MemoryWish.READ)
WRITES = (MemoryWish.ON, MemoryWish.WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """A request that was understood."""

    visit: Visit
    kind: Kind
    request: Request
    chain: Chain
    session: Session
    how: How
    mark: Mark
    place: Place
    new: tuple[Said, ...]
    """What this session has not said before, the oldest first."""
    never: Untouched | None
    """Why no note may be put in, if none may."""

    @property
    def is_learnt(self) -> bool:
        return self.visit.wishes.memory in WRITES


class Understanding:
    """Reads requests and knows the sessions of this door."""

    def __init__(self, sessions: Sessions, *, clock: Clock, new_id: NewId) -> None:
        self._sessions = sessions
        self._clock = clock
        self._new_id = new_id

    def understand(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Understood | Untouched:
        kind = kind_of(visit.route)
        if kind is None:
            return Untouched.ROUTE
        if first(headers, b"content-encoding") not in (None, b"identity"):
            return Untouched.ENCODED
        caller = _caller(visit)
        mark = mark_of(settings.label, lambda text: self._sessions.is_ours(caller, text))
        request = read(
            body, kind, rules=cleaning(mark, settings.volatile_markers), limit=settings.edit_max_bytes
        )
        if isinstance(request, Untouched):
            return request
        side = is_side(request, settings.side_patterns)
        wish = visit.wishes.memory
        never = why_never(
            request, cloud_allowed=settings.inject_cloud_models, opted_out=wish not in READS, side=side
        )
        if side or (never is not None and wish not in WRITES) or not request.turns:
            return never or Untouched.EMPTY
        chain = chain_of(request.turns)
        session, how = self._session(request, chain, headers, caller=caller)
        return Understood(
            visit=visit,
            kind=kind,
            request=request,
            chain=chain,
            session=session,
            how=how,
            mark=mark,
            place=Place(space=visit.space, agent=visit.agent, session=session.id),
            new=tuple(_new(request, chain, session)),
            never=never,
        )

    def _session(
        self, request: Request, chain: Chain, headers: RawHeaders, *, caller: Caller
    ) -> tuple[Session, How]:
        now, named, how = self._clock(), named_in(headers, request.tree), How.HEADER
        name = SessionId(named.session) if named.session else None
        if name is None and named.continues:
            name = self._sessions.of_response(caller, named.continues)
        parent = SessionId(named.parent) if named.parent else None
        if name is None:
            found = recognise(
                chain,
                request.turns,
                live=self._sessions.alike(caller, chain.head, now=now),
                others=self._sessions.that_said(caller, chain.contents, now=now),
                now=now,
            )
            name, parent, how = found.session, parent or found.parent, found.how
        name = name or SessionId(str(self._new_id()))
        known = self._sessions.find(caller, name, now=now)
        return known or Session(caller=caller, id=name, at=now, head=chain.head, parent=parent), how


def _caller(visit: Visit) -> Caller:
    who = str(visit.key.id) if visit.key else "local"
    return Caller(space=visit.space, name=f"{who}/{visit.agent}")


def _new(request: Request, chain: Chain, session: Session) -> Iterator[Said]:
    """What the session has not said before, the oldest first, each stretch with an id of its own."""
    known = {*session.links, *(reply.content for reply in session.replies)}
    for turn, link, content in zip(request.turns, chain.links, chain.contents, strict=True):
        if link in known or content in known or turn.transient:
            continue
        for number, saying in enumerate(turn.sayings):
            yield Said(text=saying.text, origin=saying.origin, message=f"{session.id}:{link.hex()}:{number}")
