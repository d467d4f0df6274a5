"""The context of one request, which every step of the proxy reads and fills in.

`app` creates it, `auth` admits it, `pipeline` lists the steps until it is forwarded and after its response.
A field without a default is set by the step that its section names, and is not read before. What the steps
use is imported for its types only, so that the proxy answers before the rest of the program is loaded.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from festinger.ids import AgentId, SpaceId
from festinger.proxy.errors import LocalResponse
from festinger.proxy.headers import (
    NO_OPTIONS,
    LoopStatus,
    MemoryMode,
    MemoryStatus,
    RawHeaders,
    RequestOptions,
    SessionStatus,
)
from festinger.proxy.routes import ProxyRoute
from festinger.proxy.transport.body import Receive
from festinger.proxy.transport.server import ResponseControl
from festinger.settings.tree import Settings
from festinger.store.repositories.auth import ApiKey

if TYPE_CHECKING:
    from festinger.events.catalogue import NewEvent
    from festinger.proxy.context.place import PrefixChange
    from festinger.proxy.loops.guard import LoopGuard
    from festinger.proxy.loops.judge import LoopJudgment, LoopKey, LoopState
    from festinger.proxy.protocols.messages import ChatRequest, SkipReason
    from festinger.proxy.protocols.replies import ReplyContent
    from festinger.proxy.sessions.match import SessionMatchKind
    from festinger.proxy.sessions.session import HashChain, ProxySession
    from festinger.proxy.statements import LearnStatus
    from festinger.proxy.transport.streams import ReplyListener, StreamEndReason
    from festinger.services.block import ContextBlock, ContextLine
    from festinger.text.blocks import BlockMarker

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Body = bytes | AsyncIterator[bytes] | None

WRITES = (MemoryMode.ON, MemoryMode.WRITE)


@dataclass(slots=True, kw_only=True, repr=False, eq=False)
class RequestContext:
    # Received.
    request_id: str
    method: str
    version: str
    headers: RawHeaders
    receive: Receive
    send: Send
    connection: ResponseControl
    client: str | None
    """Address of the caller; `None` for a Unix socket of this machine."""
    server_address: str = ""
    """Local address that the connection came in on."""
    settings: Settings
    began: float

    # Admitted.
    route: ProxyRoute = field(init=False)
    target: bytes = field(init=False)
    """What is forwarded, without the `/@space/agent` prefix."""
    path: str = field(init=False)
    space: SpaceId = field(init=False)
    agent: AgentId = field(init=False)
    key: ApiKey | None = None
    options: RequestOptions = NO_OPTIONS

    # Parsed.
    received: Body = None
    """The body as it came; `chat.body` is decompressed."""
    parse_began: float = field(init=False)
    chat: "ChatRequest" = field(init=False)
    chain: "HashChain" = field(init=False)
    session: "ProxySession" = field(init=False)
    """Its session before this request; injection adds blocks to it."""
    match: "SessionMatchKind" = field(init=False)
    """How the session was recognized."""
    mark: "BlockMarker" = field(init=False)
    skip: "SkipReason | None" = None
    """Why no note may be added, if so."""

    # Checked for loops.
    guard: "LoopGuard | None" = None
    """Set if the request is watched."""
    loop_key: "LoopKey" = field(init=False)
    loop_before: "LoopState" = field(init=False)
    judgment: "LoopJudgment" = field(init=False)
    mitigations: tuple[str, ...] = ()

    # Injected.
    block: "ContextBlock | None" = None
    """The block that is new in this request."""
    anchor: bytes | None = None
    """Anchor of the new block; `None` for the system text."""
    prefix_change: "PrefixChange | None" = None
    dropped_lines: "tuple[ContextLine, ...]" = ()
    """Lines that did not fit."""
    late: tuple[str, ...] = ()
    """Sources that were late or failed: the world, the memory."""
    recall: str = ""
    """Recall id under which the reasons can be looked up."""

    # Ready to forward.
    body: Body = None
    fallback: Body = None
    """Sent instead if the upstream rejects `body`."""
    local_response: LocalResponse | None = None
    """If set, nothing is forwarded."""
    listener: "ReplyListener | None" = None
    learning: "Callable[[], Awaitable[LearnStatus]] | None" = None
    """Waits for the result of learning what a person explicitly asked to remember; told to the client."""

    # Told to the client.
    status: int | None = None
    """Status sent to the client; `None` until then."""
    memory_status: MemoryStatus | None = None
    session_status: SessionStatus | None = None
    loop_status: LoopStatus | None = None
    learn_status: "LearnStatus | None" = None
    phase: str = "upload"
    """Used to count client disconnects."""
    before: float = 0.0
    """Seconds from the request's first byte until it was forwarded."""
    after: float = 0.0
    """Seconds from the upstream's first byte until the first write to the client."""

    # Answered.
    reply: "ReplyContent" = field(init=False)
    ended: "StreamEndReason | None" = None
    events: "tuple[NewEvent, ...]" = ()
    """Further events to emit with the exchange."""
    log_details: dict[str, Any] = field(default_factory=dict)
    """What the request log shows of a request that was forwarded by the pipeline; empty for others."""

    @property
    def may_be_learned(self) -> bool:
        return self.options.memory in WRITES

    def forward_as_received(self) -> None:
        """Forward the request as it came, with no part of the pipeline attached."""
        self.body, self.fallback, self.local_response = self.received, None, None
        self.guard = self.listener = self.learning = None
        self.session_status = self.loop_status = None
