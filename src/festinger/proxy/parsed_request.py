"""What does a request say, in which session, and what of it is new?

Reads the body, tells the client's own side requests apart, and recognises the session among those of this door.
Whatever cannot be read is left untouched, with the reason. What is done with a request that was understood is
others' business.

Which requests never get a block, whatever is remembered?
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from festinger.clock import Clock, Stopwatch, system_stopwatch
from festinger.ids import SessionId
from festinger.proxy.auth import Visit
from festinger.proxy.context.block import mark_of
from festinger.proxy.headers import MemoryWish, RawHeaders, first
from festinger.proxy.protocols.messages import Kind, Memo, Request, Untouched, cleaning, kind_of
from festinger.proxy.protocols.parse import read
from festinger.proxy.sessions.match import How, is_side, named_in, quotes_a_reply, recognise
from festinger.proxy.sessions.registry import Sessions
from festinger.proxy.sessions.session import START, Caller, Chain, Session, chain_of
from festinger.proxy.transport.body import decoded
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import Mark
from festinger.world.recall import Place, Said

CLOUD_ENDINGS = (":cloud", "-cloud")

_GIVEN = (
    ("raw", Untouched.RAW),
    ("suffix", Untouched.SUFFIX),
    ("template", Untouched.TEMPLATE),
    ("context", Untouched.CONTEXT),
    ("_debug_render_only", Untouched.DEBUG),
)
"""Fields with which a client writes the prompt itself, so that nothing may be added to it."""


def why_never(
    request: Request,
    *,
    cloud_allowed: bool = False,
    opted_out: bool = False,
    side: bool = False,
    breaker_open: bool = False,
) -> Untouched | None:
    """The first reason against a block in this request, if there is one."""
    if request.kind is Kind.TEXT:
        return Untouched.ROUTE
    if opted_out:
        return Untouched.ASKED
    if not any(turn.text or turn.others for turn in request.turns) and not _has_conversation(request):
        return Untouched.EMPTY
    if request.kind.is_native and (given := _given(request)) is not None:
        return given
    if side:
        return Untouched.SIDE
    if breaker_open:
        return Untouched.BREAKER
    if request.model.endswith(CLOUD_ENDINGS) and not cloud_allowed:
        return Untouched.CLOUD
    return Untouched.NO_USER if request.newest_user is None else None


def _has_conversation(request: Request) -> bool:
    return bool(request.tree.get("messages") or request.tree.get("prompt") or request.tree.get("input"))


def _given(request: Request) -> Untouched | None:
    return next((why for key, why in _GIVEN if request.tree.get(key)), None)


NewId = Callable[[], UUID]

READS = (MemoryWish.ON, MemoryWish.READ)
WRITES = (MemoryWish.ON, MemoryWish.WRITE)
ASKED_CHARS = 65_536
"""Text that memory is asked about at most; what it reads of it, it decides itself."""
QUOTABLE = 8
"""A side request is sent right after a reply, so only so many of the newest sessions can be quoted."""


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
    began: float
    """When its reading began, by the stopwatch."""
    came: bytes
    """The body as it came; `request.body` is what it says where it was compressed."""
    never: Untouched | None
    """Why no note may be put in, if none may."""

    @property
    def is_learnt(self) -> bool:
        return self.visit.wishes.memory in WRITES

    @property
    def new(self) -> tuple[Said, ...]:
        """What this session has not said before, the oldest first."""
        known = {*self.session.links, *(reply.content for reply in self.session.replies)}
        indexes = (
            at for at, link in enumerate(self.chain.links)
            if link not in known and self.chain.contents[at] not in known
        )  # fmt: skip
        return tuple(said for at in indexes for said in self._said(at))

    @property
    def unasked(self) -> tuple[Said, ...]:
        """What memory was not asked about yet, the newest first, as much as it is asked at once."""
        found: list[Said] = []
        chars = 0
        for at in self._since_asked():
            for said in reversed([*self._said(at)]):
                found.append(said)
                chars += len(said.text)
            if chars >= ASKED_CHARS:
                break
        return tuple(found)

    def _since_asked(self) -> Iterator[int]:
        """The turns after the one that was asked about last, backwards. A retold history ends at what is known."""
        links, contents = self.chain.links, self.chain.contents
        replies = {reply.content for reply in self.session.replies}
        asked = {self.session.asked}
        if self.session.asked != START and self.session.asked not in links:
            asked.update(self.session.links)
        for at in reversed(range(len(links))):
            if links[at] in asked:
                return
            if contents[at] not in replies:
                yield at

    def _said(self, at: int) -> Iterable[Said]:
        """What was said in a turn, each stretch with an id of its own."""
        turn, link = self.request.turns[at], self.chain.links[at].hex()
        for number, saying in enumerate(() if turn.transient else turn.sayings):
            message = f"{self.session.id}:{link}:{number}"
            yield Said(text=saying.text, origin=saying.origin, message=message)


class Understanding:
    """Reads requests and knows the sessions of this door."""

    def __init__(
        self, sessions: Sessions, *, clock: Clock, new_id: NewId, stopwatch: Stopwatch = system_stopwatch
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._new_id = new_id
        self._stopwatch = stopwatch
        self._markers: tuple[str, ...] = ()
        self._memo = Memo()

    def understand(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Understood | Untouched:
        began, kind, caller = self._stopwatch(), kind_of(visit.route), _caller(visit)
        if kind is None:
            return Untouched.ROUTE
        plain = decoded(body, first(headers, b"content-encoding") or b"")
        if plain is None:
            return Untouched.ENCODED
        mark = mark_of(settings.label, lambda text: self._sessions.is_ours(caller, text))
        rules = cleaning(mark, settings.volatile_markers, memo=self._memo_of(settings.volatile_markers))
        request = read(plain, kind, rules=rules, limit=settings.edit_max_bytes)
        if isinstance(request, Untouched):
            return request
        side = is_side(request, settings.side_patterns)
        wish = visit.wishes.memory
        never = why_never(
            request, cloud_allowed=settings.inject_cloud_models, opted_out=wish not in READS, side=side
        )
        is_wanted = never is None or wish in WRITES or visit.wishes.watch_loops
        if side or not is_wanted or not request.turns:
            return never or Untouched.EMPTY
        chain = chain_of(request.turns)
        session, how = self._session(request, chain, headers, caller=caller)
        if how is How.NEW and self._quotes(request, caller):
            return Untouched.SIDE
        return Understood(
            visit=visit,
            kind=kind,
            request=request,
            chain=chain,
            session=session,
            how=how,
            mark=mark,
            place=Place(space=visit.space, agent=visit.agent, session=session.id),
            began=began,
            came=body,
            never=never,
        )

    def _memo_of(self, markers: tuple[str, ...]) -> Memo:
        """What was read before by the present rules."""
        if markers != self._markers:
            self._markers, self._memo = markers, Memo()
        return self._memo

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
        fresh = Session(caller=caller, id=name, at=now, head=chain.head, parent=parent, asked=START)
        return known or fresh, how

    def _quotes(self, request: Request, caller: Caller) -> bool:
        now = self._clock()
        return quotes_a_reply(request, self._sessions.newest(caller, now=now, limit=QUOTABLE), now=now)


def _caller(visit: Visit) -> Caller:
    who = str(visit.key.id) if visit.key else "local"
    return Caller(space=visit.space, name=f"{who}/{visit.agent}")
