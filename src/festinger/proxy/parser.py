"""Parses a request, finds its session and determines which of its turns are new.

A request that cannot be parsed, or that is a side request of the client (titles, tags), is left alone and
gets a `SkipReason`. `find_skip_reason` decides which requests never get a block.
"""

from collections.abc import Iterable, Iterator

from festinger.clock import Clock
from festinger.ids import NewId, Scope, SessionId
from festinger.proxy.context.edit import build_block_marker
from festinger.proxy.headers import MemoryMode, first_header
from festinger.proxy.protocols.messages import (
    ChatRequest,
    RequestKind,
    SkipReason,
    TurnCache,
    build_cleaning_rules,
    request_kind,
)
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.match import (
    SessionMatchKind,
    is_side_request,
    match_session,
    parse_session_hints,
    quotes_a_reply,
)
from festinger.proxy.sessions.session import START, ProxyCaller, ProxySession, SessionRegistry, build_hash_chain
from festinger.proxy.transport.body import decode_body
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
    tree = request.tree
    has_conversation = tree.get("messages") or tree.get("prompt") or tree.get("input")
    if not has_conversation and not any(turn.text or turn.others for turn in request.turns):
        return SkipReason.EMPTY
    if request.kind.is_native and (given := next((why for key, why in _GIVEN if tree.get(key)), None)) is not None:
        return given
    if side:
        return SkipReason.SIDE
    if breaker_open:
        return SkipReason.BREAKER
    if request.model.endswith(CLOUD_ENDINGS) and not cloud_allowed:
        return SkipReason.CLOUD
    return SkipReason.NO_USER if request.newest_user_turn is None else None


READS = (MemoryMode.ON, MemoryMode.READ)
ASKED_CHARS = 65_536
"""Maximum characters passed to memory; it decides itself how much of them it reads."""
QUOTABLE = 8
"""A side request follows right after a reply, so only this many of the newest sessions can be quoted."""


def new_texts(ctx: RequestContext) -> tuple[SourceText, ...]:
    """Texts that this session has not contained before, oldest first."""
    known = {*ctx.session.links, *(reply.content for reply in ctx.session.replies)}
    indexes = (
        at for at, link in enumerate(ctx.chain.links)
        if link not in known and ctx.chain.contents[at] not in known
    )  # fmt: skip
    return tuple(text for at in indexes for text in _turn_texts(ctx, at))


def select_unqueried_texts(ctx: RequestContext) -> tuple[SourceText, ...]:
    """Texts that memory was not asked about yet, newest first, up to `ASKED_CHARS`."""
    found: list[SourceText] = []
    chars = 0
    for at in _turns_since_asked(ctx):
        for text in reversed([*_turn_texts(ctx, at)]):
            found.append(text)
            chars += len(text.text)
        if chars >= ASKED_CHARS:
            break
    return tuple(found)


def _turns_since_asked(ctx: RequestContext) -> Iterator[int]:
    """Turns after the last one asked about, backwards. A rewritten history ends at a known turn."""
    links, contents = ctx.chain.links, ctx.chain.contents
    replies = {reply.content for reply in ctx.session.replies}
    asked = {ctx.session.asked}
    if ctx.session.asked != START and ctx.session.asked not in links:
        asked.update(ctx.session.links)
    for at in reversed(range(len(links))):
        if links[at] in asked:
            return
        if contents[at] not in replies:
            yield at


def _turn_texts(ctx: RequestContext, at: int) -> Iterable[SourceText]:
    turn, link = ctx.chat.turns[at], ctx.chain.links[at].hex()
    for number, saying in enumerate(() if turn.transient else turn.sayings):
        message = f"{ctx.session.id}:{link}:{number}"
        yield SourceText(text=saying.text, origin=saying.origin, message=message)


def build_request_scope(ctx: RequestContext) -> Scope:
    return Scope(space=ctx.space, agent=ctx.agent, session=ctx.session.id)


class RequestParser:
    """Parses requests and matches them to the sessions of this proxy."""

    def __init__(self, sessions: SessionRegistry, *, clock: Clock, new_id: NewId) -> None:
        self._sessions = sessions
        self._clock = clock
        self._new_id = new_id
        self._markers: tuple[str, ...] = ()
        self._memo = TurnCache()

    def parse(self, ctx: RequestContext) -> SkipReason | None:
        """Fill in what the request says and its session, or return why it is left alone."""
        kind, settings, caller = request_kind(ctx.route), ctx.settings.proxy, _build_caller(ctx)
        if kind is None:
            return SkipReason.ROUTE
        assert isinstance(ctx.received, bytes)
        plain = decode_body(ctx.received, first_header(ctx.headers, b"content-encoding") or b"")
        if plain is None:
            return SkipReason.ENCODED
        ctx.mark = build_block_marker(settings.label, lambda text: self._sessions.is_ours(caller, text))
        rules = build_cleaning_rules(
            ctx.mark, settings.volatile_markers, memo=self._turn_cache_for(settings.volatile_markers)
        )
        chat = parse_request(plain, kind, rules=rules, limit=settings.edit_max_bytes)
        if isinstance(chat, SkipReason):
            return chat
        ctx.chat = chat
        side = is_side_request(chat, settings.side_patterns)
        ctx.skip = find_skip_reason(
            chat, cloud_allowed=settings.inject_cloud_models, opted_out=ctx.options.memory not in READS, side=side
        )
        is_wanted = ctx.skip is None or ctx.may_be_learned or ctx.options.watch_loops
        if side or not is_wanted or not chat.turns:
            return ctx.skip or SkipReason.EMPTY
        ctx.chain = build_hash_chain(chat.turns)
        ctx.session, ctx.match = self._find_session(ctx, caller)
        if ctx.match is SessionMatchKind.NEW:
            now = self._clock()
            if quotes_a_reply(chat, self._sessions.newest(caller, now=now, limit=QUOTABLE), now=now):
                return SkipReason.SIDE
        return None

    def _turn_cache_for(self, markers: tuple[str, ...]) -> TurnCache:
        """The cache of turns that were read by the present rules."""
        if markers != self._markers:
            self._markers, self._memo = markers, TurnCache()
        return self._memo

    def _find_session(self, ctx: RequestContext, caller: ProxyCaller) -> tuple[ProxySession, SessionMatchKind]:
        now, chain, how = self._clock(), ctx.chain, SessionMatchKind.HEADER
        named = parse_session_hints(ctx.headers, ctx.chat.tree)
        name = SessionId(named.session) if named.session else None
        if name is None and named.continues:
            name = self._sessions.find_by_response(caller, named.continues)
        parent = SessionId(named.parent) if named.parent else None
        if name is None:
            found = match_session(
                chain,
                ctx.chat.turns,
                live=self._sessions.alike(caller, chain.head, now=now),
                others=self._sessions.find_by_contents(caller, chain.contents, now=now),
                now=now,
            )
            name, parent, how = found.session, parent or found.parent, found.how
        name = name or SessionId(str(self._new_id()))
        known = self._sessions.find(caller, name, now=now)
        fresh = ProxySession(caller=caller, id=name, at=now, head=chain.head, parent=parent, asked=START)
        return known or fresh, how


def _build_caller(ctx: RequestContext) -> ProxyCaller:
    who = str(ctx.key.id) if ctx.key else "local"
    return ProxyCaller(space=ctx.space, name=f"{who}/{ctx.agent}")
