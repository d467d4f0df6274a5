"""Parses a request, finds its session and determines which of its turns are new.

A request that cannot be parsed, or that is a side request of the client (titles, tags), is left alone and
gets a `SkipReason`. `find_skip_reason` decides which requests never get a block.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from festinger.clock import Clock, Stopwatch, system_stopwatch
from festinger.ids import Scope, SessionId
from festinger.proxy.auth import AuthorizedRequest
from festinger.proxy.context.block import build_mark
from festinger.proxy.headers import MemoryMode, RawHeaders, first_header
from festinger.proxy.protocols.messages import (
    ChatRequest,
    RequestKind,
    SkipReason,
    TurnCache,
    build_cleaning_rules,
    request_kind,
)
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.sessions.match import (
    SessionMatchKind,
    is_side_request,
    match_session,
    parse_session_hints,
    quotes_a_reply,
)
from festinger.proxy.sessions.registry import SessionRegistry
from festinger.proxy.sessions.session import START, HashChain, ProxyCaller, ProxySession, build_chain
from festinger.proxy.transport.body import decode_body
from festinger.settings.tree import ProxySettings
from festinger.text.blocks import BlockMarker
from festinger.world.recall import SourceText

CLOUD_ENDINGS = (":cloud", "-cloud")

_GIVEN = (
    ("raw", SkipReason.RAW),
    ("suffix", SkipReason.SUFFIX),
    ("template", SkipReason.TEMPLATE),
    ("context", SkipReason.CONTEXT),
    ("_debug_render_only", SkipReason.DEBUG),
)
"""Fields with which a client writes the prompt itself, so that nothing may be added."""


def find_skip_reason(
    request: ChatRequest,
    *,
    cloud_allowed: bool = False,
    opted_out: bool = False,
    side: bool = False,
    breaker_open: bool = False,
) -> SkipReason | None:
    """The first reason not to put a block into this request, if any."""
    if request.kind is RequestKind.TEXT:
        return SkipReason.ROUTE
    if opted_out:
        return SkipReason.ASKED
    if not any(turn.text or turn.others for turn in request.turns) and not _has_conversation(request):
        return SkipReason.EMPTY
    if request.kind.is_native and (given := _find_raw_prompt_reason(request)) is not None:
        return given
    if side:
        return SkipReason.SIDE
    if breaker_open:
        return SkipReason.BREAKER
    if request.model.endswith(CLOUD_ENDINGS) and not cloud_allowed:
        return SkipReason.CLOUD
    return SkipReason.NO_USER if request.newest_user is None else None


def _has_conversation(request: ChatRequest) -> bool:
    return bool(request.tree.get("messages") or request.tree.get("prompt") or request.tree.get("input"))


def _find_raw_prompt_reason(request: ChatRequest) -> SkipReason | None:
    return next((why for key, why in _GIVEN if request.tree.get(key)), None)


NewId = Callable[[], UUID]

READS = (MemoryMode.ON, MemoryMode.READ)
WRITES = (MemoryMode.ON, MemoryMode.WRITE)
ASKED_CHARS = 65_536
"""Maximum characters passed to memory; it decides itself how much of them it reads."""
QUOTABLE = 8
"""A side request follows right after a reply, so only this many of the newest sessions can be quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """A request that was parsed and matched to a session."""

    authorized: AuthorizedRequest
    kind: RequestKind
    request: ChatRequest
    chain: HashChain
    session: ProxySession
    how: SessionMatchKind
    mark: BlockMarker
    place: Scope
    began: float
    """Stopwatch reading when parsing began."""
    came: bytes
    """The body as received; `request.body` is decompressed."""
    never: SkipReason | None
    """Why no note may be added, if so."""

    @property
    def is_learnt(self) -> bool:
        return self.authorized.wishes.memory in WRITES

    @property
    def new(self) -> tuple[SourceText, ...]:
        """Texts that this session has not contained before, oldest first."""
        known = {*self.session.links, *(reply.content for reply in self.session.replies)}
        indexes = (
            at for at, link in enumerate(self.chain.links)
            if link not in known and self.chain.contents[at] not in known
        )  # fmt: skip
        return tuple(said for at in indexes for said in self._said(at))

    @property
    def unasked(self) -> tuple[SourceText, ...]:
        """Texts that memory was not asked about yet, newest first, up to `ASKED_CHARS`."""
        found: list[SourceText] = []
        chars = 0
        for at in self._since_asked():
            for said in reversed([*self._said(at)]):
                found.append(said)
                chars += len(said.text)
            if chars >= ASKED_CHARS:
                break
        return tuple(found)

    def _since_asked(self) -> Iterator[int]:
        """Turns after the last one asked about, backwards. A rewritten history ends at a known turn."""
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

    def _said(self, at: int) -> Iterable[SourceText]:
        """The texts of a turn, each with its own id."""
        turn, link = self.request.turns[at], self.chain.links[at].hex()
        for number, saying in enumerate(() if turn.transient else turn.sayings):
            message = f"{self.session.id}:{link}:{number}"
            yield SourceText(text=saying.text, origin=saying.origin, message=message)


class RequestParser:
    """Parses requests and matches them to the sessions of this proxy."""

    def __init__(
        self, sessions: SessionRegistry, *, clock: Clock, new_id: NewId, stopwatch: Stopwatch = system_stopwatch
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._new_id = new_id
        self._stopwatch = stopwatch
        self._markers: tuple[str, ...] = ()
        self._memo = TurnCache()

    def understand(
        self, authorized: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> ParsedRequest | SkipReason:
        began, kind, caller = self._stopwatch(), request_kind(authorized.route), _build_caller(authorized)
        if kind is None:
            return SkipReason.ROUTE
        plain = decode_body(body, first_header(headers, b"content-encoding") or b"")
        if plain is None:
            return SkipReason.ENCODED
        mark = build_mark(settings.label, lambda text: self._sessions.is_ours(caller, text))
        rules = build_cleaning_rules(mark, settings.volatile_markers, memo=self._memo_of(settings.volatile_markers))
        request = parse_request(plain, kind, rules=rules, limit=settings.edit_max_bytes)
        if isinstance(request, SkipReason):
            return request
        side = is_side_request(request, settings.side_patterns)
        query = authorized.wishes.memory
        never = find_skip_reason(
            request, cloud_allowed=settings.inject_cloud_models, opted_out=query not in READS, side=side
        )
        is_wanted = never is None or query in WRITES or authorized.wishes.watch_loops
        if side or not is_wanted or not request.turns:
            return never or SkipReason.EMPTY
        chain = build_chain(request.turns)
        session, how = self._session(request, chain, headers, caller=caller)
        if how is SessionMatchKind.NEW and self._quotes(request, caller):
            return SkipReason.SIDE
        return ParsedRequest(
            authorized=authorized,
            kind=kind,
            request=request,
            chain=chain,
            session=session,
            how=how,
            mark=mark,
            place=Scope(space=authorized.space, agent=authorized.agent, session=session.id),
            began=began,
            came=body,
            never=never,
        )

    def _memo_of(self, markers: tuple[str, ...]) -> TurnCache:
        """The cache of turns that were read by the present rules."""
        if markers != self._markers:
            self._markers, self._memo = markers, TurnCache()
        return self._memo

    def _session(
        self, request: ChatRequest, chain: HashChain, headers: RawHeaders, *, caller: ProxyCaller
    ) -> tuple[ProxySession, SessionMatchKind]:
        now, named, how = self._clock(), parse_session_hints(headers, request.tree), SessionMatchKind.HEADER
        name = SessionId(named.session) if named.session else None
        if name is None and named.continues:
            name = self._sessions.of_response(caller, named.continues)
        parent = SessionId(named.parent) if named.parent else None
        if name is None:
            found = match_session(
                chain,
                request.turns,
                live=self._sessions.alike(caller, chain.head, now=now),
                others=self._sessions.that_said(caller, chain.contents, now=now),
                now=now,
            )
            name, parent, how = found.session, parent or found.parent, found.how
        name = name or SessionId(str(self._new_id()))
        known = self._sessions.find(caller, name, now=now)
        fresh = ProxySession(caller=caller, id=name, at=now, head=chain.head, parent=parent, asked=START)
        return known or fresh, how

    def _quotes(self, request: ChatRequest, caller: ProxyCaller) -> bool:
        now = self._clock()
        return quotes_a_reply(request, self._sessions.newest(caller, now=now, limit=QUOTABLE), now=now)


def _build_caller(authorized: AuthorizedRequest) -> ProxyCaller:
    who = str(authorized.key.id) if authorized.key else "local"
    return ProxyCaller(space=authorized.space, name=f"{who}/{authorized.agent}")
