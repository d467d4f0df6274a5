"""Counts how often each word is encountered, and writes the counts to the database.

A request repeats its whole history, so only texts new to the session are counted, each word once per text;
system text counts once per space. Counting never waits for the database: counts gather in memory and are
added periodically in one statement per space, so that several processes add up. A crash loses only the counts
since the last write; if the database is down they wait. A newly salient concept is announced to the processes
that recollect, and goes to the write job, or is marked as wanted if no model can explain it.
"""

import hashlib
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from festinger.errors import StoreDown
from festinger.events.catalogue import NewEvent
from festinger.ids import Origin, SessionId, SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.graph import World
from festinger.world.model import SoasRow, WorldDeps
from festinger.world.recollection import RecollectionHistory
from festinger.world.write import WorldChangeKind, open_change

MOST_SESSIONS = 2_000
MOST_TEXTS = 50_000
"""Texts of one session whose hashes are kept."""
MOST_SYSTEM_TEXTS = 10_000
MOST_WORDS = 20_000
"""Words of one session whose first sight is kept."""

SENTENCES_FROM = 4
"""The encounter from which the sentences of a word are kept."""
SENTENCES_KEPT = 5

TRUSTED = (Origin.PERSON, Origin.MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSentence:
    text: str
    origin: Origin
    session: SessionId
    message: str | None


@dataclass(slots=True, kw_only=True)
class CountDelta:
    """The encounters of one word since the last write."""

    count: int = 0
    seen: datetime
    trusted: bool = False
    sentences: list[SampleSentence] = field(default_factory=list)

    def add(self, other: "CountDelta") -> None:
        self.count += other.count
        self.seen = max(self.seen, other.seen)
        self.trusted = self.trusted or other.trusted
        self.sentences = (self.sentences + other.sentences)[-SENTENCES_KEPT:]


class _RecentSet(OrderedDict[Hashable, None]):
    """A set that evicts its oldest members."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def admit(self, member: Hashable) -> bool:
        """Add a member; false if present."""
        if member in self:
            return False
        self[member] = None
        if len(self) > self._most:
            self.popitem(last=False)
        return True


class _SessionEncounters:
    """What one session has shown."""

    __slots__ = ("first_seen", "noted", "texts")

    def __init__(self) -> None:
        self.texts = _RecentSet(MOST_TEXTS)
        self.first_seen: dict[str, datetime] = {}
        self.noted: set[str] = set()


def text_hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def hash_ignoring_numbers(text: str) -> str:
    """Identify a text ignoring its numbers, which change in tool output."""
    return text_hash(_NUMBERS.sub("0", text))


_NUMBERS = re.compile(r"[0-9]+")


class EncounterBuffer:
    """The unwritten counts of one process, and what its sessions have seen."""

    def __init__(self) -> None:
        self._deltas: defaultdict[SpaceId, dict[str, CountDelta]] = defaultdict(dict)
        self._sessions: OrderedDict[tuple[SpaceId, SessionId], _SessionEncounters] = OrderedDict()
        self._system: defaultdict[SpaceId, _RecentSet] = defaultdict(lambda: _RecentSet(MOST_SYSTEM_TEXTS))

    def admit(self, space: SpaceId, session: SessionId, text: str, *, origin: Origin) -> bool:
        """Mark a text as seen; false if it was."""
        return self._texts(space, session, origin).admit(text_hash(text))

    def past(self, space: SpaceId, session: SessionId) -> RecollectionHistory:
        """Return what a recollection needs to know about the session."""
        seen = self._session(space, session)
        return RecollectionHistory(first_seen=seen.first_seen, noted=seen.noted)

    def record_noted_names(self, space: SpaceId, session: SessionId, tokens: Iterable[str]) -> None:
        """Record that the session was told about these unknown names."""
        self._session(space, session).noted.update(tokens)

    def see(self, space: SpaceId, session: SessionId, words: Iterable[str], *, now: datetime) -> None:
        """Record when the session first saw these words."""
        first_seen = self._session(space, session).first_seen
        for word in words:
            if len(first_seen) < MOST_WORDS:
                first_seen.setdefault(word, now)

    def count(self, space: SpaceId, word: str, *, origin: Origin, now: datetime) -> int:
        """Count a word; returns its encounters since the last write."""
        deltas = self._deltas[space]
        delta = deltas.setdefault(word, CountDelta(seen=now))
        delta.add(CountDelta(count=1, seen=now, trusted=origin in TRUSTED))
        return delta.count

    def add_sample_sentence(self, space: SpaceId, word: str, sentence: SampleSentence) -> None:
        delta = self._deltas[space][word]
        delta.sentences = [*delta.sentences, sentence][-SENTENCES_KEPT:]

    def spaces(self) -> list[SpaceId]:
        """Return the spaces with unwritten counts."""
        return [space for space, deltas in self._deltas.items() if deltas]

    def waiting(self, space: SpaceId) -> dict[str, int]:
        """Return the unwritten counts of a space."""
        return {word: delta.count for word, delta in self._deltas[space].items()}

    def take(self, space: SpaceId) -> dict[str, CountDelta]:
        """Remove and return the counts of a space, to write them."""
        return self._deltas.pop(space, {})

    def give_back(self, space: SpaceId, deltas: dict[str, CountDelta]) -> None:
        """Restore counts that could not be written."""
        present = self._deltas[space]
        for word, delta in deltas.items():
            if word in present:
                delta.add(present[word])
            present[word] = delta

    def forget(self, space: SpaceId, session: SessionId) -> None:
        """Drop all state of a session."""
        self._sessions.pop((space, session), None)
        for delta in self._deltas[space].values():
            delta.sentences = [each for each in delta.sentences if each.session != session]

    def _texts(self, space: SpaceId, session: SessionId, origin: Origin) -> _RecentSet:
        if origin is Origin.SYSTEM:
            return self._system[space]
        return self._session(space, session).texts

    def _session(self, space: SpaceId, session: SessionId) -> _SessionEncounters:
        key = space, session
        found = self._sessions.setdefault(key, _SessionEncounters())
        self._sessions.move_to_end(key)
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found


log = structlog.get_logger(room="world")

Q = load_queries("festinger.world")

ASKED_AGAIN_AFTER = timedelta(days=7)

Find = Callable[[SpaceId], World | None]
"""Returns the world of a space, if it is in memory."""


async def flush_counts(deps: WorldDeps, encounters: EncounterBuffer, space: SpaceId, *, world: World | None) -> int:
    """Write the counts of a space; returns how many words. On failure they are kept and it raises."""
    deltas = encounters.take(space)
    if not deltas:
        return 0
    try:
        async with deps.store.transaction() as transaction:
            rows = await _add(transaction, space, deltas)
            await _save_sentences(deps, transaction, space, deltas=deltas, rows=rows)
            await _request_explanations(deps, transaction, space, rows=rows)
    except BaseException:
        # Whatever ended it, cancellation included, must not lose counts; nothing is swallowed.
        encounters.give_back(space, deltas)
        raise
    if world is not None:
        for row in rows:
            world.put_row(row)
    await _log_newly_salient(deps, space, [row for row in rows if _has_become_salient(deps, space, row, deltas)])
    return len(rows)


def _has_become_salient(deps: WorldDeps, space: SpaceId, row: SoasRow, deltas: Mapping[str, CountDelta]) -> bool:
    before = row.encounter_count - deltas[row.token].count
    return row.saliency >= deps.terms(space).saliency_read_threshold > (math.log10(before) if before > 1 else 0)


async def _log_newly_salient(deps: WorldDeps, space: SpaceId, rows: Sequence[SoasRow]) -> None:
    """Have other processes read the counts of words that surface from now on; other counts matter to nobody."""
    if rows:
        async with open_change(deps, space, by="counts") as change:
            for row in rows:
                change.log(WorldChangeKind.CONCEPT, row.id)


async def flush_all_counts(deps: WorldDeps, encounters: EncounterBuffer, find: Find) -> int:
    """Write the counts of every space; if the database is down they wait."""
    written = 0
    for space in encounters.spaces():
        try:
            written += await flush_counts(deps, encounters, space, world=find(space))
        except StoreDown as error:
            log.warning("counts not written", space=space, error=error.message)
    return written


async def _add(transaction: Transaction, space: SpaceId, deltas: Mapping[str, CountDelta]) -> list[SoasRow]:
    # Always in the same order, or two processes could deadlock on each other's rows.
    tokens = sorted(deltas)
    rows = await transaction.all(
        Q["add_encounters"],
        space=space,
        tokens=tokens,
        counts=[deltas[token].count for token in tokens],
        seen=[deltas[token].seen for token in tokens],
        trusted=[deltas[token].trusted for token in tokens],
    )
    return [SoasRow(**row) for row in rows]


async def _save_sentences(
    deps: WorldDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    deltas: Mapping[str, CountDelta],
    rows: Sequence[SoasRow],
) -> None:
    sentences = [(token, each) for token, delta in deltas.items() for each in delta.sentences]
    if not sentences:
        return
    await transaction.run(
        Q["keep_sentences"],
        space=space,
        tokens=[token for token, _ in sentences],
        texts=[each.text for _, each in sentences],
        origins=[each.origin.value for _, each in sentences],
        sessions=[each.session for _, each in sentences],
        messages=[each.message for _, each in sentences],
        at=deps.clock(),
    )
    spoken = [row.id for row in rows if deltas[row.token].sentences]
    await transaction.run(Q["trim_sentences"], space=space, concepts=spoken, keep=SENTENCES_KEPT)


async def _request_explanations(
    deps: WorldDeps, transaction: Transaction, space: SpaceId, *, rows: Sequence[SoasRow]
) -> None:
    threshold = deps.terms(space).saliency_write_threshold
    salient = [row.id for row in rows if row.saliency >= threshold and row.trusted_seen]
    if not salient:
        return
    now = deps.clock()
    if not deps.has_writer(space):
        await _mark_unexplained(deps, transaction, space, salient, now=now)
        return
    due = await transaction.all(
        Q["claim_writing"], space=space, concepts=salient, threshold=threshold, now=now, before=now - ASKED_AGAIN_AFTER
    )
    for row in due:
        await deps.ask_to_write(transaction, space, row["id"])


async def _mark_unexplained(
    deps: WorldDeps, transaction: Transaction, space: SpaceId, concepts: Sequence[int], *, now: datetime
) -> None:
    """Mark names that nobody can explain; without a model, a job for each would only find that out again."""
    rows = await transaction.all(Q["want_concepts"], space=space, concepts=concepts, now=now)
    events = [
        NewEvent(
            name="concept_wanted",
            subject=f"concept:{row['id']}",
            payload={"concept_id": row["id"], "token": row["token"], "encounters": row["encounter_count"]},
        )
        for row in rows
    ]
    await deps.outbox.emit_all(transaction, events, space=space)
