"""State of a live session, the hash chain of its history, and its stored form.

A request's history replaces the previous one. Requests of a session may run concurrently, so replies and
blocks that another request added meanwhile are kept. Each message is hashed with the hash before it, so two
histories share hashes exactly as far as they are equal. Only stable content is hashed; see
`messages.content_hash`. Blocks are stored as the text that was sent, with the notes of each line, so that a
restored session inserts the same bytes. Reply texts are not stored: hashes of recent contents suffice.

Keeps live sessions in memory, bounded in number, size and idle time.

The least recently used go first. Sessions of different callers never mix. Sessions are immutable values that
are replaced as a whole, so requests of one session may run concurrently.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b, sha256
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from cachetools import LRUCache

from festinger.ids import SessionId, SpaceId
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.protocols.messages import HASH_BYTES, RequestTurn, content_hash
from festinger.services.block import ContextBlock, ContextLine, NoteRef
from festinger.store.repositories.exchanges import StoredNoteBlock, StoredSession

REPLIES = 4
RECENT = 64
"""Assistant and tool messages kept to recognize a shortened history."""
REPLY_TEXT = 2000
"""Characters kept of a reply: as far as quotes of it are searched."""
BLOCK_COST = 200
"""Approximate bytes of a block beside its text."""


class ProxyCaller(NamedTuple):
    """The sender of requests; callers' sessions never mix. A tuple, because it is part of many keys."""

    space: SpaceId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReply:
    text: str
    content: bytes
    """Its hash, as it will appear in a history."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySession:
    """A session as its latest request left it."""

    caller: ProxyCaller
    id: SessionId
    at: datetime
    head: bytes | None = None
    links: tuple[bytes, ...] = ()
    recent: frozenset[bytes] = frozenset()
    """Hashes of recent assistant and tool messages."""
    replies: tuple[SessionReply, ...] = ()
    blocks: Mapping[bytes, ContextBlock] = field(default_factory=dict)
    """Blocks by anchor, oldest first."""
    system_block: ContextBlock | None = None
    """The block in the system text."""
    parent: SessionId | None = None
    asked: bytes | None = None
    """Link of the last turn that memory was asked about; later turns still wait.

    `None` if it is no longer known: then everything that was forwarded counts as asked about.
    """

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        hashes = (len(self.links) + len(self.recent)) * 64
        texts = sum(len(reply.text) for reply in self.replies)
        return hashes + texts + sum(BLOCK_COST + len(block.text) for block in self.blocks.values())


def truncate_last_replies(replies: Iterable[SessionReply]) -> tuple[SessionReply, ...]:
    """Keep the last replies, each truncated to what is needed later."""
    return tuple(replace(reply, text=reply.text[:REPLY_TEXT]) for reply in tuple(replies)[-REPLIES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class HashChain:
    """Hashes of a history, one per turn."""

    links: tuple[bytes, ...]
    """Hash of each turn with all before it; a turn that is only a volatile tail repeats the previous link."""
    contents: tuple[bytes, ...]
    """Hash of each turn alone."""
    first_user: int | None
    """Index of the first user turn."""

    @property
    def head(self) -> bytes | None:
        return None if self.first_user is None else self.links[self.first_user]

    @property
    def end(self) -> bytes:
        return self.links[-1]


START = b"\x00" * HASH_BYTES


def build_hash_chain(turns: Sequence[RequestTurn]) -> HashChain:
    links, here = [], START
    for turn in turns:
        if not turn.transient:
            here = sha256(here + turn.content).digest()[:HASH_BYTES]
        links.append(here)
    first_user = next((at for at, turn in enumerate(turns) if turn.role is ChatRole.USER and not turn.transient), None)
    return HashChain(links=tuple(links), contents=tuple([turn.content for turn in turns]), first_user=first_user)


def reply_content_hash(reply: ChatMessage) -> bytes:
    """The hash that a reply will have when it comes back in a history."""
    return content_hash((reply,))


def advance_session(
    session: ProxySession, current: ProxySession | None, *, turns: Sequence[RequestTurn], chain: HashChain, at: datetime
) -> ProxySession:
    """The session after this request; `current` is its present state in the registry."""
    others = current or session
    return replace(
        session,
        at=at,
        head=chain.head,
        links=chain.links,
        recent=_recent_contents(turns, chain),
        replies=others.replies,
        blocks={**others.blocks, **session.blocks} if others is not session else session.blocks,
    )


def _recent_contents(turns: Sequence[RequestTurn], chain: HashChain) -> frozenset[bytes]:
    backwards = zip(reversed(turns), reversed(chain.contents), strict=True)
    spoken = (content for turn, content in backwards if turn.role is not ChatRole.USER)
    return frozenset(islice(spoken, RECENT))


NAME_CHARS = 120
"""Longer session names are shortened and made unique by a hash."""


def shorten_session_id(session: SessionId) -> SessionId:
    """Session name for rows and events: clients may use longer names than an event may contain."""
    if len(session) <= NAME_CHARS:
        return session
    return SessionId(f"{session[: NAME_CHARS - 20]}…{blake2b(session.encode(), digest_size=8).hexdigest()}")


SYSTEM_ANCHOR = b""
NO_ID = UUID(int=0)


def to_stored_session(
    session: ProxySession,
    *,
    fresh: ContextBlock | None = None,
    anchor: bytes | None = None,
    recollection: str = "",
    rewritten: bool = False,
) -> StoredSession:
    """Build the stored form of a session: with its new block, or with all blocks if they were rewritten."""
    blocks: Iterable[StoredNoteBlock] = ()
    if rewritten:
        blocks = [_stored_block(block, where, NO_ID) for where, block in _all_blocks(session)]
    elif fresh is not None:
        blocks = [_stored_block(fresh, anchor or SYSTEM_ANCHOR, UUID(recollection))]
    return StoredSession(
        caller=session.caller.name,
        session=shorten_session_id(session.id),
        head=session.head,
        links=b"".join(session.links),
        recent=b"".join(sorted({*session.recent, *(reply.content for reply in session.replies)})),
        parent=shorten_session_id(session.parent) if session.parent else None,
        at=session.at,
        blocks=tuple(blocks),
        rewritten=rewritten,
    )


def from_stored_session(kept: StoredSession, caller: ProxyCaller, *, name: SessionId | None = None) -> ProxySession:
    """Rebuild a session from its rows; `name` if the client uses a longer name than the rows do."""
    blocks = {block.anchor: _parse_block(block.text, block.notes) for block in kept.blocks}
    return ProxySession(
        caller=caller,
        id=name or kept.session,
        at=kept.at,
        head=kept.head,
        links=_split_hashes(kept.links),
        recent=frozenset(_split_hashes(kept.recent)),
        system_block=blocks.pop(SYSTEM_ANCHOR, None),
        blocks=blocks,
        parent=kept.parent,
    )


def merge_sessions(known: ProxySession | None, stored: ProxySession) -> ProxySession:
    """Merge what this process and the store know of a session: the later history, and all blocks."""
    if known is None:
        return stored
    later = stored if stored.at > known.at else known
    return replace(
        later, replies=known.replies, recent=known.recent | stored.recent, blocks={**known.blocks, **stored.blocks}
    )


def _all_blocks(session: ProxySession) -> Iterable[tuple[bytes, ContextBlock]]:
    yield from session.blocks.items()
    if session.system_block is not None:
        yield SYSTEM_ANCHOR, session.system_block


def _stored_block(block: ContextBlock, anchor: bytes, recollection: UUID) -> StoredNoteBlock:
    notes = [[[note.kind, note.id, note.version] for note in line.notes] for line in block.lines]
    return StoredNoteBlock(anchor=anchor, id=recollection, text=block.text, notes=notes)


def _parse_block(text: str, notes: Sequence[Sequence[Any]]) -> ContextBlock:
    """Parse the text of a block. Its lines contain no breaks; an optional label precedes them."""
    inner = text.split("\n")[1:-1]
    label = inner[: len(inner) - len(notes)]
    lines = [
        ContextLine(text=line, notes=tuple(NoteRef(kind=kind, id=id_, version=version) for kind, id_, version in shown))
        for line, shown in zip(inner[len(label) :], notes, strict=True)
    ]
    return ContextBlock(label="\n".join(label), lines=tuple(lines))


def _split_hashes(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))


SESSION_BYTES = 256 * 2**10
ALIKE = 32
"""Maximum sessions with the same beginning that are examined, newest first."""

Name = tuple[ProxyCaller, SessionId]
Key = TypeVar("Key")


class SessionRegistry:
    def __init__(self, *, most: int, idle: timedelta, session_bytes: int = SESSION_BYTES) -> None:
        self._most = most
        self._idle = idle
        self._session_bytes = session_bytes
        self._kept: OrderedDict[Name, ProxySession] = OrderedDict()
        self._by_head: dict[tuple[ProxyCaller, bytes], dict[SessionId, None]] = {}
        self._by_word: dict[ProxyCaller, dict[bytes, dict[SessionId, None]]] = {}
        self._by_response: LRUCache[tuple[ProxyCaller, str], SessionId] = LRUCache(most)
        self._by_caller: dict[ProxyCaller, dict[SessionId, None]] = {}
        self._ours: Counter[tuple[ProxyCaller, str]] = Counter()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, caller: ProxyCaller, session: SessionId, *, now: datetime) -> ProxySession | None:
        found = self._kept.get((caller, session))
        return found if found is not None and now - found.at <= self._idle else None

    def alike(self, caller: ProxyCaller, head: bytes | None, *, now: datetime) -> list[ProxySession]:
        """The caller's newest sessions whose head has this hash."""
        if head is None:
            return []
        return self._find_live(caller, self._by_head.get((caller, head), ()), now)

    def find_by_contents(
        self, caller: ProxyCaller, contents: Iterable[bytes], *, now: datetime
    ) -> Iterator[ProxySession]:
        """The caller's sessions with one of these recent contents; computed lazily."""
        words = self._by_word.get(caller, {})
        known = (words[content] for content in contents if content in words)
        yield from self._find_live(caller, dict.fromkeys(chain.from_iterable(known)), now)

    def newest(self, caller: ProxyCaller, *, now: datetime, limit: int) -> list[ProxySession]:
        """The caller's sessions, most recently used first."""
        mine = islice(reversed(self._by_caller.get(caller, {})), limit)
        return [found for name in mine if (found := self.find(caller, name, now=now)) is not None]

    def is_ours(self, caller: ProxyCaller, block: str) -> bool:
        """Whether this text is a block that a live session of the caller was given."""
        return (caller, block) in self._ours

    def find_by_response(self, caller: ProxyCaller, response: str) -> SessionId | None:
        return self._by_response.get((caller, response))

    def remember_response(self, caller: ProxyCaller, response: str, session: SessionId) -> None:
        self._by_response[caller, response] = session

    def put(self, session: ProxySession) -> ProxySession:
        """Store a session, replacing its previous state and trimming it to the size limit."""
        key = (session.caller, session.id)
        kept = _trim_session(session, self._session_bytes)
        self._reindex(self._kept.pop(key, None), kept)
        self._kept[key] = kept
        while len(self._kept) > self._most:
            self._drop(next(iter(self._kept)))
        return kept

    def _find_live(self, caller: ProxyCaller, named: Iterable[SessionId], now: datetime) -> list[ProxySession]:
        newest_first = reversed(list(named))
        found = (self.find(caller, session, now=now) for session in islice(newest_first, ALIKE))
        return [session for session in found if session is not None]

    def _drop(self, key: Name) -> None:
        session = self._kept.pop(key, None)
        if session is not None:
            self._reindex(session, None)

    def _reindex(self, before: ProxySession | None, after: ProxySession | None) -> None:
        """Update the indexes from the previous state of a session to the new one; most entries stay."""
        some = after or before
        if some is None:
            return
        caller, name = some.caller, some.id
        if before is not None and before.head is not None:
            _remove_from_index(self._by_head, (caller, before.head), name)
        if after is not None and after.head is not None:
            # Reinsert each time, to keep sessions with the same beginning in order of use.
            self._by_head.setdefault((caller, after.head), {})[name] = None
        old, new = _content_hashes(before), _content_hashes(after)
        words = self._by_word.setdefault(caller, {})
        for word in old - new:
            _remove_from_index(words, word, name)
        for word in new - old:
            words.setdefault(word, {})[name] = None
        self._emit(caller, _block_counts(before), _block_counts(after))
        mine = self._by_caller.setdefault(caller, {})
        mine.pop(name, None)
        if after is not None:
            mine[name] = None
        elif not mine:
            del self._by_caller[caller], self._by_word[caller]

    def _emit(self, caller: ProxyCaller, old: Counter[str], new: Counter[str]) -> None:
        new.subtract(old)
        for block, times in new.items():
            self._ours[caller, block] += times
            if not self._ours[caller, block]:
                del self._ours[caller, block]


def _remove_from_index(index: dict[Key, dict[SessionId, None]], key: Key, name: SessionId) -> None:
    named = index.get(key, {})
    named.pop(name, None)
    if not named:
        index.pop(key, None)


def _content_hashes(session: ProxySession | None) -> frozenset[bytes]:
    """Hashes by which a session is recognized when its beginning was cut."""
    if session is None:
        return frozenset()
    return session.recent.union([reply.content for reply in session.replies])


def _block_counts(session: ProxySession | None) -> Counter[str]:
    if session is None:
        return Counter()
    above = [session.system_block] if session.system_block is not None else []
    return Counter([block.text for block in (*session.blocks.values(), *above)])


def _trim_session(session: ProxySession, limit: int) -> ProxySession:
    """Trim the oldest parts until the session fits: replies first, then blocks, then hashes."""
    while session.size > limit and session.replies:
        session = replace(session, replies=session.replies[1:])
    blocks = dict(session.blocks)
    while blocks and session.size > limit:
        del blocks[next(iter(blocks))]
        session = replace(session, blocks=dict(blocks))
    if session.size > limit:
        # A history of thousands of messages: without its chain, it is recognized by its contents.
        session = replace(session, links=session.links[:1], recent=frozenset())
    return session
