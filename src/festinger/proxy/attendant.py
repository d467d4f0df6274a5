"""What does a request bring to mind, and what is learnt from its answer?

Reads the request, recognises its session, asks the mind about what is new in it, and puts the notes into the
newest turn of the user; notes of earlier turns go in again at their places, so that the upstream's prefix stays.
When the answer is over, the new texts of both sides are learnt. Whatever cannot be read is left untouched, with
the reason. It decides nothing about what is worth noting: that is the rooms' below.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from festinger.clock import Clock
from festinger.ids import Origin, SessionId
from festinger.proxy.attending import Attended
from festinger.proxy.ending import Ended
from festinger.proxy.framing import Frame
from festinger.proxy.guard import Visit
from festinger.proxy.headers import MemoryWish, RawHeaders, first
from festinger.proxy.injection.anchors import Standing, carrier, shown_notes, standing_in
from festinger.proxy.injection.block import Block, Line, NoteRef, block, graph_line, mark_of
from festinger.proxy.injection.budget import context_of, fitted, room
from festinger.proxy.injection.corrections import unseen
from festinger.proxy.injection.editing import edited
from festinger.proxy.injection.refusals import why_never
from festinger.proxy.injection.removal import Mark, without_blocks
from festinger.proxy.loops.message import Message, Role
from festinger.proxy.mind import Mind
from festinger.proxy.replies.hearing import ear_for
from festinger.proxy.requests.cleaning import cleaning
from festinger.proxy.requests.kind import Kind, kind_of
from festinger.proxy.requests.reading import read
from festinger.proxy.requests.turn import Request
from festinger.proxy.requests.untouched import Untouched
from festinger.proxy.sessions.chain import Chain, chain_of, content_of_reply
from festinger.proxy.sessions.keeping import Sessions
from festinger.proxy.sessions.naming import named_in
from festinger.proxy.sessions.recognising import recognise
from festinger.proxy.sessions.session import Caller, Reply, Session, latest
from festinger.proxy.sessions.side import is_side
from festinger.proxy.tap import Listener
from festinger.proxy.telling import MemoryResult, MemoryTold
from festinger.settings.tree import ProxySettings
from festinger.text.budget import count_tokens
from festinger.world.recollection import Recollection
from festinger.world.recollector import Place, Said

NewId = Callable[[], UUID]

READS = (MemoryWish.ON, MemoryWish.READ)
WRITES = (MemoryWish.ON, MemoryWish.WRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A request that was understood."""

    request: Request
    chain: Chain
    session: Session
    mark: Mark
    place: Place
    new: tuple[Said, ...]
    """What this session has not said before, the oldest first."""


class Attendant:
    """Keeps the sessions of this door and attends to their requests."""

    def __init__(self, mind: Mind, *, clock: Clock, new_id: NewId, settings: ProxySettings) -> None:
        self._mind = mind
        self._clock = clock
        self._new_id = new_id
        self._sessions = Sessions(most=settings.sessions_max, idle=timedelta(seconds=settings.session_idle))

    def attend(self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings) -> Attended:
        """The request with what it brings to mind; the original bytes where nothing is to be added."""
        kind = kind_of(visit.route)
        if kind is None:
            return _untouched(body, Untouched.ROUTE)
        if first(headers, b"content-encoding") not in (None, b"identity"):
            return _untouched(body, Untouched.ENCODED)
        caller = _caller(visit)
        mark = mark_of(settings.label, lambda text: self._sessions.is_ours(caller, text))
        request = read(
            body, kind, rules=cleaning(mark, settings.volatile_markers), limit=settings.edit_max_bytes
        )
        if isinstance(request, Untouched):
            return _untouched(body, request)
        wish = visit.wishes.memory
        side = is_side(request, settings.side_patterns)
        never = why_never(
            request, cloud_allowed=settings.inject_cloud_models, opted_out=wish not in READS, side=side
        )
        if side or (never is not None and wish not in WRITES) or not request.turns:
            return _untouched(body, never or Untouched.EMPTY)
        reading = self._reading(request, visit, headers, caller=caller, mark=mark)
        if never is None:
            attended = self._noted(reading, settings)
        else:
            self._keep(reading, reading.session.blocks)
            attended = _untouched(body, never)
        return replace(attended, listener=self._listener(reading, kind) if wish in WRITES else None)

    def _reading(
        self, request: Request, visit: Visit, headers: RawHeaders, *, caller: Caller, mark: Mark
    ) -> _Reading:
        chain = chain_of(request.turns)
        session = self._session(request, chain, headers, caller=caller)
        place = Place(space=visit.space, agent=visit.agent, session=session.id)
        new = tuple(_new(request, chain, session))
        return _Reading(request=request, chain=chain, session=session, mark=mark, place=place, new=new)

    def _session(self, request: Request, chain: Chain, headers: RawHeaders, *, caller: Caller) -> Session:
        now, named = self._clock(), named_in(headers, request.tree)
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
            name, parent = found.session, parent or found.parent
        name = name or SessionId(str(self._new_id()))
        known = self._sessions.find(caller, name, now=now)
        return known or Session(caller=caller, id=name, at=now, head=chain.head, parent=parent)

    def _noted(self, reading: _Reading, settings: ProxySettings) -> Attended:
        """The request with the notes of its history and, where there is something new to say, one new block."""
        request, session, links = reading.request, reading.session, reading.chain.links
        standing = [*standing_in(request, links, session.blocks)]
        blocks = dict(session.blocks)
        spot = carrier(
            request, links, forwarded=set(session.links), tools_may_carry=settings.inject_into_tool_messages
        )
        found = self._mind.recollect(reading.place, reading.new[::-1])
        fresh = None
        if found and not isinstance(spot, Untouched):
            fresh = _fresh(found, request, [each.block for each in standing], settings)
        if fresh is not None and not isinstance(spot, Untouched):
            standing.append(Standing(turn=spot[0], anchor=spot[1], block=fresh))
            blocks[spot[1]] = fresh
        result = edited(request, standing, mark=reading.mark)
        self._keep(reading, blocks if result.is_certain else session.blocks)
        return Attended(body=result.body, told=_told(found, fresh, placed=result.placed))

    def _keep(self, reading: _Reading, blocks: Mapping[bytes, Block]) -> None:
        recent = frozenset(
            content
            for turn, content in zip(reading.request.turns, reading.chain.contents, strict=True)
            if turn.role is not Role.USER
        )
        self._sessions.keep(
            replace(
                reading.session,
                at=self._clock(),
                head=reading.chain.head,
                links=reading.chain.links,
                recent=recent,
                blocks=blocks,
            )
        )

    def _listener(self, reading: _Reading, kind: Kind) -> Listener:
        return _Learner(self, reading, kind)

    def learnt(self, reading: _Reading, text: str, *, response: str) -> None:
        """The answer is over: keep what it said for the session, and have both sides learnt."""
        caller, now = reading.session.caller, self._clock()
        own = without_blocks(text, reading.mark)
        message = Message(role=Role.ASSISTANT, text=own)
        reply = Reply(text=own, content=content_of_reply(message), at=now)
        session = self._sessions.find(caller, reading.session.id, now=now) or reading.session
        self._sessions.keep(replace(session, at=now, replies=latest((*session.replies, reply))))
        if response:
            self._sessions.remember_response(caller, response, session.id)
        said = Said(text=own, origin=Origin.MODEL, message=f"{session.id}:{reply.content.hex()}")
        self._mind.learn(reading.place, [*reading.new, *([said] if own.strip() else [])])


class _Learner:
    """Listens to one answer and has the exchange learnt when it is over."""

    def __init__(self, attendant: Attendant, reading: _Reading, kind: Kind) -> None:
        self._attendant = attendant
        self._reading = reading
        self._ear = ear_for(kind)

    def hear(self, frame: Frame) -> None:
        self._ear.hear(frame)

    def ended(self, how: Ended, *, unreadable: int) -> None:
        if how is Ended.ERROR:
            return
        heard = self._ear.heard()
        self._attendant.learnt(self._reading, heard.text, response=heard.id)


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


def _fresh(
    found: Recollection, request: Request, standing: Sequence[Block], settings: ProxySettings
) -> Block | None:
    """A block of what no visible block tells yet, as large as there is room for."""
    lines = unseen(_lines(found), shown_notes(standing))
    made = block(settings.label, graph=lines, unknown=[graph_line(text) for text in found.zero_hit_lines])
    if made is None:
        return None
    return fitted(made, room(settings, context=context_of(request), standing=standing))


def _lines(found: Recollection) -> Iterator[Line]:
    """Each line of the world with the edges that it shows."""
    by_concept = groupby(found.notes, key=lambda note: note.concept)
    for text, (_, notes) in zip(found.lines, by_concept, strict=True):
        refs = [
            NoteRef(kind="edge", id=f"{note.concept}/{note.dimension}/{note.parent}", version=note.version)
            for note in notes
        ]
        yield graph_line(text, refs)


def _told(found: Recollection | None, fresh: Block | None, *, placed: int) -> MemoryTold:
    if fresh is not None and placed:
        return MemoryTold(
            result=MemoryResult.INJECTED, notes=len(fresh.lines), tokens=count_tokens(fresh.text)
        )
    if placed:
        return MemoryTold(result=MemoryResult.REUSED)
    return MemoryTold(result=MemoryResult.NOT_READY if found is None else MemoryResult.EMPTY)


def _untouched(body: bytes, why: Untouched) -> Attended:
    return Attended(body=body, told=MemoryTold(result=MemoryResult.OFF, reason=why))
