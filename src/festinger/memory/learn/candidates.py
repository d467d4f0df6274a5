"""Finds the memories that a new statement may be the same as, update or contradict.

These are the nearest by vector, the newest of the same slot and some of the same subject; without a vector,
those that share half of their words. Inactive memories never crowd out active ones. The search uses stored
vectors, the score is the plain cosine of the bare texts. Private memories of other agents are never included.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from festinger.ids import AgentId, Cause, MemoryId, Scope, SpaceId
from festinger.judge.model import Judgement, PairJudgement, SimilarityThresholds
from festinger.judge.pair_reader import NEAR_ENOUGH
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import SOURCE
from festinger.memory.jobs import INDEX
from festinger.memory.learn.decision import JudgedCandidate
from festinger.memory.learn.statement import LearnRequest, Statement, content_overlap, content_words
from festinger.memory.model import Kind, Memory, memory_from_row
from festinger.memory.vectors import StatementVectors
from festinger.store.pool import PlanMode, Transaction
from festinger.store.queries import load_queries
from festinger.store.vectors import READ_WHOLE_BELOW, EmbeddingModelSpec, find_nearest, find_nearest_each
from festinger.world.write import load_concept_rows

Q = load_queries("festinger.memory")

OF_SLOT = 20
"""Newest rows of the same slot."""
BY_WORDS = 20
SHARED_WORDS = 0.5
"""Word overlap required where there is no vector."""
MOST_NEWER = 200
"""Memories of other writers checked between the search and the write."""
KNOWN_FOR = 10.0
"""Seconds for which the choice of search method is cached."""
FEW = 2_000
"""A full scan of this many vectors takes as long as the index needs for twenty."""
INDEXED_FROM = FEW // 2
"""Vectors of a space from which the index is requested, well before it is used."""
CROWD = 5
"""How many times larger the whole table is before the index, which ignores spaces, misses a space's rows."""
DIGITS = 3
"""Digits of a cosine; `halfvec` rounds away the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnCandidate:
    memory: Memory
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateComparison(LearnCandidate):
    """A candidate with its judgement."""

    opinion: PairJudgement

    @property
    def judgement(self) -> Judgement:
        return self.opinion.judgement

    @property
    def judged(self) -> JudgedCandidate:
        return JudgedCandidate(
            id=self.memory.id,
            judgement=self.judgement,
            trust=self.memory.trust,
            status=self.memory.status,
            immutable=self.memory.immutable,
            similarity=self.similarity,
        )


MemoryHorizon = tuple[int, int]
"""The newest memories seen by a search: the agent's own and the shared ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMemory:
    """A statement on its way into memory; each step of learning fills in more."""

    scope: Scope
    statement: Statement
    ref: MemoryId
    """The id it gets if it becomes a new memory."""
    duplicate: CandidateComparison | None = None
    """The memory that says the same, found by hash."""
    vectors: StatementVectors | None = None
    seen: MemoryHorizon = (0, 0)
    candidates: tuple[LearnCandidate, ...] = ()
    compared: tuple[CandidateComparison, ...] = ()
    surfaced: Collection[MemoryId] = ()
    by: str = ""

    @property
    def request(self) -> LearnRequest:
        return self.statement.request

    @property
    def who(self) -> str:
        return self.by or self.statement.origin.value

    @property
    def cause(self) -> Cause:
        return self.scope.cause(self.statement.origin, self.statement.at)

    @property
    def bars(self) -> SimilarityThresholds:
        return self.vectors.bars if self.vectors else SimilarityThresholds()


async def resolve_subject_keys(
    transaction: Transaction, space: SpaceId, keys: Sequence[str | None]
) -> list[str | None]:
    """Map subjects to the canonical names of the vocabulary."""
    tokens = {key: key.replace(" ", "_") for key in keys if key is not None}
    rows = await load_concept_rows(transaction, space, set(tokens.values())) if tokens else {}
    names = {key: rows[token].token.replace("_", " ") for key, token in tokens.items() if token in rows}
    return [None if key is None else names.get(key, key) for key in keys]


async def attach_candidates(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, pending: Sequence[PendingMemory]
) -> list[PendingMemory]:
    """Find candidates worth judging for many statements, with one query per group of similar ones."""
    owners = dict.fromkeys(each.statement.owner for each in pending)
    seen = {owner: await load_newest_seqs(transaction, space, owner) for owner in owners}
    alike: dict[tuple[Any, ...], dict[int, tuple[Statement, StatementVectors]]] = {}
    found: dict[int, list[LearnCandidate]] = {}
    for number, each in enumerate(pending):
        statement, vectors = each.statement, each.vectors
        if vectors is None:
            found[number] = await _find_without_vector(deps, transaction, space, statement)
        else:
            kind = statement.owner, statement.comparable_kinds, vectors.model, vectors.bars.check
            alike.setdefault(kind, {})[number] = statement, vectors
    for group in alike.values():
        found |= await _find_by_vector(deps, transaction, space, group)
    return [
        replace(each, candidates=_drop_own_sources(each, found.get(number, ())), seen=seen[each.statement.owner])
        for number, each in enumerate(pending)
    ]


def _drop_own_sources(pending: PendingMemory, found: Iterable[LearnCandidate]) -> tuple[LearnCandidate, ...]:
    """Drop what a statement derives from: it neither repeats nor disputes its own sources."""
    return tuple(each for each in found if each.memory.id not in pending.request.derived_from)


async def load_newest_seqs(transaction: Transaction, space: SpaceId, owner: AgentId | None) -> MemoryHorizon:
    """Return the newest memories visible to an owner."""
    row = await transaction.one(Q["newest_of_owners"], space=space, owner=owner)
    return row["own"], row["shared"]


async def find_newer_candidates(
    transaction: Transaction, space: SpaceId, pending: PendingMemory
) -> list[LearnCandidate]:
    """Find what was stored since the search; the owner is locked, so nothing more can come."""
    statement, vectors = pending.statement, pending.vectors
    if await load_newest_seqs(transaction, space, statement.owner) == pending.seen:
        return []
    own, shared = pending.seen
    window: dict[str, Any] = {"space": space, "owner": statement.owner, "own": own, "shared": shared}
    window |= {"kinds": list(statement.comparable_kinds), "limit": MOST_NEWER}
    if vectors is None:
        rows = await transaction.all(Q["newer_unscored"], **window)
    else:
        marks = _marks(statement, vectors)
        rows = await find_nearest(transaction, Q["newer_scored"], vectors.compare, **window, **marks)
    return list(_drop_own_sources(pending, candidates_from_rows(rows)))


async def _find_by_vector(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, group: Mapping[int, tuple[Statement, StatementVectors]]
) -> dict[int, list[LearnCandidate]]:
    """Find the candidates of statements with the same owner, kind and model."""
    statement, vectors = next(iter(group.values()))
    whole, is_minor = await _choose_scan(deps, transaction, space, vectors.model)
    if is_minor:
        # The plan that is kept is one for an average space.
        await transaction.plan(PlanMode.ANEW)
    rows = await find_nearest_each(
        transaction,
        Q["candidates_of_each"].only(frozenset({"whole"} if whole else ())),
        probes={
            "probes": [vectors.store for _, vectors in group.values()],
            "bare": [vectors.compare for _, vectors in group.values()],
        },
        space=space,
        owner=statement.owner,
        kinds=list(statement.comparable_kinds),
        numbers=list(group),
        folds=[statement.fold for statement, _ in group.values()],
        gists=[statement.gist for statement, _ in group.values()],
        subjects=[statement.subject_key for statement, _ in group.values()],
        attributes=[statement.slot.attribute if statement.slot else None for statement, _ in group.values()],
        check=_check(vectors),
        near=deps.terms(space).memory.candidates,
        limit=deps.terms(space).memory.candidates,
        of_slot=OF_SLOT,
        of_subject=deps.terms(space).memory.subject_candidates,
    )
    found: dict[int, list[LearnCandidate]] = {}
    for row, candidate in zip(rows, candidates_from_rows(rows), strict=True):
        found.setdefault(row["number"], []).append(candidate)
    return found


async def _find_without_vector(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, statement: Statement
) -> list[LearnCandidate]:
    ids = dict.fromkeys(await _find_related_ids(deps, transaction, space, statement))
    ids |= dict.fromkeys(await _by_words(transaction, space, statement))
    return candidates_from_rows(await transaction.all(Q["unscored"], space=space, memories=list(ids))) if ids else []


def _marks(statement: Statement, vectors: StatementVectors) -> dict[str, Any]:
    """Parameters by which the store preselects pairs; `is_worth_judging` makes the final choice."""
    return {
        "check": _check(vectors),
        "fold": statement.fold,
        "gist": statement.gist,
        "subject": statement.subject_key,
        "attribute": statement.slot.attribute if statement.slot else None,
    }


def _check(vectors: StatementVectors) -> float | None:
    """The threshold for the store: what rules judge or the reader reads, and what is rounded up to it here."""
    check = vectors.bars.check
    return None if check is None else min(check, NEAR_ENOUGH) - 10**-DIGITS


def candidates_from_rows(rows: Iterable[dict[str, Any]]) -> list[LearnCandidate]:
    return [
        LearnCandidate(
            memory=memory_from_row(row),
            similarity=None if row["similarity"] is None else round(float(row["similarity"]), DIGITS),
        )
        for row in rows
    ]


def is_worth_judging(statement: Statement, candidate: LearnCandidate, check: float | None) -> bool:
    """Whether a pair is judged at all: it is near enough, or both fill the same slot."""
    memory = candidate.memory
    if statement.fold == memory.fold or statement.gist == memory.gist:
        return True
    if are_different_episodes(statement, memory):
        return False
    if has_same_slot(statement, memory):
        return True
    if candidate.similarity is not None and check is not None:
        return candidate.similarity >= check
    return content_overlap(statement.text, memory.content) >= SHARED_WORDS


def are_different_episodes(statement: Statement, memory: Memory) -> bool:
    """Whether both record different conversations, or tell what else they are about: however alike, neither replaces
    the other."""
    if statement.kind in (Kind.NARRATIVE, Kind.TENSION):
        return True
    sources = statement.request.source or "", memory.source or ""
    return (
        statement.kind is memory.kind is Kind.EPISODIC
        and all(source.startswith(SOURCE) for source in sources)
        and sources[0] != sources[1]
    )


def has_same_slot(statement: Statement, memory: Memory) -> bool:
    return (
        statement.slot is not None
        and memory.attribute_key == statement.slot.attribute
        and memory.subject_key is not None
        and memory.subject_key == statement.subject_key
    )


def should_scan_all(own: int, *, everybody: float) -> bool:
    """Whether to scan all vectors of a space instead of using the index.

    At 10,000 vectors the exact scan is ten times slower; the index is as exact where a space dominates the
    table.
    """
    return own < FEW or (own < READ_WHOLE_BELOW and own * CROWD < everybody)


async def _choose_scan(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, model: EmbeddingModelSpec
) -> tuple[bool, bool]:
    """Return whether to scan all vectors of a space, and whether it is small beside the rest of the store."""
    key, now = (space, model.name), deps.stopwatch()
    known = deps.read_whole.get(key)
    if known is not None and now - known[1] < KNOWN_FOR:
        return known[0]
    own = await transaction.value(Q["count_vectors"], space=space, model=model.name, limit=READ_WHOLE_BELOW)
    if own >= INDEXED_FROM:
        await deps.ask(transaction, INDEX, model=model.name, dims=model.dims)
    everybody = await transaction.value(Q["believed_size"])
    chosen = should_scan_all(own, everybody=everybody), own * CROWD < everybody
    deps.read_whole[key] = chosen, now
    return chosen


async def _find_related_ids(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, statement: Statement
) -> list[Any]:
    if statement.subject_key is None:
        return []
    rows = await transaction.all(
        Q["related"],
        space=space,
        owner=statement.owner,
        kinds=list(statement.comparable_kinds),
        subject=statement.subject_key,
        attribute=statement.slot.attribute if statement.slot else None,
        of_slot=OF_SLOT if statement.slot else 0,
        of_subject=deps.terms(space).memory.subject_candidates,
    )
    return [row["id"] for row in rows]


async def _by_words(transaction: Transaction, space: SpaceId, statement: Statement) -> list[Any]:
    words = sorted(word for word in content_words(statement.text) if word.isalnum())
    if not words:
        return []
    rows = await transaction.all(
        Q["by_words"],
        space=space,
        owner=statement.owner,
        kinds=list(statement.comparable_kinds),
        words=" | ".join(words),
        limit=BY_WORDS,
    )
    return [row["id"] for row in rows]
