"""Which memories might a new statement be the same as, update or contradict?

The nearest by vector, the newest of the same slot and some of the same subject; without a vector those that share
half of their words. What stands is never hidden behind what waits or is locked away, however much of it there is.
Found by the vectors that search uses, scored by plain cosine of the bare words. Another agent's own memories are never
among them. What the pairs mean is left to the judges.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from festinger.ids import AgentId, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import SOURCE
from festinger.memory.learn.statement import ParsedStatement, content_overlap, content_words
from festinger.memory.model import Kind, Memory, comparable_kinds, memory_from_row
from festinger.memory.vectors import StatementVectors
from festinger.store.pool import PlanMode, Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import READ_WHOLE_BELOW, VectorModel, find_nearest, find_nearest_each
from festinger.world.write import load_concept_rows

Q = queries_of("festinger.memory")

OF_SLOT = 20
"""Newest rows of the same slot."""
BY_WORDS = 20
SHARED_WORDS = 0.5
"""What two statements must share where there is no vector to go by."""
MOST_NEWER = 200
"""Memories of other writers that are looked at between finding candidates and writing."""
KNOWN_FOR = 10.0
"""Seconds for which it is taken for known how a space is searched."""
INDEX = "index_vectors"
"""The job that builds the index of a model."""
FEW = 2_000
"""Vectors of a space that are read in the time in which the index gives twenty of them."""
INDEXED_FROM = FEW // 2
"""Vectors of a space from which the index is asked for: well before anybody searches by it."""
CROWD = 5
"""How many times as much everybody has for the index, which knows no spaces, to lose its way to one of them."""
DIGITS = 3
"""Of a cosine: beyond them lies what `halfvec` rounds away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnCandidate:
    memory: Memory
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHorizon:
    """How far the memories went that were looked at: an agent's own, and the shared ones."""

    own: int = 0
    shared: int = 0


NOTHING_SEEN = MemoryHorizon()


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSearchResult:
    candidates: tuple[LearnCandidate, ...]
    seen: MemoryHorizon


async def resolve_subject_keys(
    transaction: Transaction, space: SpaceId, keys: Sequence[str | None]
) -> list[str | None]:
    """Subjects by the names that the vocabulary has for them."""
    tokens = {key: key.replace(" ", "_") for key in keys if key is not None}
    rows = await load_concept_rows(transaction, space, set(tokens.values())) if tokens else {}
    names = {key: rows[token].token.replace("_", " ") for key, token in tokens.items() if token in rows}
    return [None if key is None else names.get(key, key) for key in keys]


async def find_candidates(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, said: ParsedStatement, vectors: StatementVectors | None
) -> CandidateSearchResult:
    """The candidates of a statement that are worth judging, and how far one has seen."""
    return (await find_candidates_for_all(deps, transaction, space, [(said, vectors)]))[0]


async def find_candidates_for_all(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    statements: Sequence[tuple[ParsedStatement, StatementVectors | None]],
) -> list[CandidateSearchResult]:
    """The same for many, in their order; the store is asked once for all that are alike."""
    owners = dict.fromkeys(said.owner for said, _ in statements)
    seen = {owner: await find_horizon(transaction, space, owner) for owner in owners}
    alike: dict[tuple[Any, ...], dict[int, tuple[ParsedStatement, StatementVectors]]] = {}
    found: dict[int, list[LearnCandidate]] = {}
    for number, (said, vectors) in enumerate(statements):
        if vectors is None:
            found[number] = await _without_vector(deps, transaction, space, said)
        else:
            kind = said.owner, comparable_kinds(said.kind), vectors.model, vectors.bars.check
            alike.setdefault(kind, {})[number] = said, vectors
    for group in alike.values():
        found |= await _with_vectors(deps, transaction, space, group)
    return [
        CandidateSearchResult(candidates=tuple(found.get(number, ())), seen=seen[said.owner])
        for number, (said, _) in enumerate(statements)
    ]


async def find_horizon(transaction: Transaction, space: SpaceId, owner: AgentId | None) -> MemoryHorizon:
    """How far the memories go that an agent sees, or everybody."""
    row = await transaction.one(Q["newest_of_owners"], space=space, owner=owner)
    return MemoryHorizon(own=row["own"], shared=row["shared"])


async def find_newer_candidates(
    transaction: Transaction,
    space: SpaceId,
    said: ParsedStatement,
    *,
    seen: MemoryHorizon,
    vectors: StatementVectors | None,
) -> list[LearnCandidate]:
    """What was stored since; the owner is locked, so nothing more can come."""
    if await find_horizon(transaction, space, said.owner) == seen:
        return []
    window = {"space": space, "owner": said.owner, "kinds": list(comparable_kinds(said.kind)), "limit": MOST_NEWER}
    window |= {"own": seen.own, "shared": seen.shared}
    if vectors is None:
        return candidates_from_rows(await transaction.all(Q["newer_unscored"], **window))
    marks = _marks(said, vectors)
    return candidates_from_rows(await find_nearest(transaction, Q["newer_scored"], vectors.compare, **window, **marks))


async def _with_vectors(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    group: Mapping[int, tuple[ParsedStatement, StatementVectors]],
) -> dict[int, list[LearnCandidate]]:
    """The candidates of statements of one owner and one kind, with vectors of one model."""
    said, vectors = next(iter(group.values()))
    whole = await _is_scanned_whole(deps, transaction, space, vectors.model)
    # Planning for what is asked would take as long as finding it, and find it in the same way.
    await transaction.plan(PlanMode.KEPT)
    rows = await find_nearest_each(
        transaction,
        Q["candidates_of_each"].only(frozenset({"whole"} if whole else ())),
        probes={
            "probes": [vectors.store for _, vectors in group.values()],
            "bare": [vectors.compare for _, vectors in group.values()],
        },
        space=space,
        owner=said.owner,
        kinds=list(comparable_kinds(said.kind)),
        numbers=list(group),
        folds=[said.fold for said, _ in group.values()],
        gists=[said.gist for said, _ in group.values()],
        subjects=[said.subject_key for said, _ in group.values()],
        attributes=[said.slot.attribute if said.slot else None for said, _ in group.values()],
        check=_check(vectors),
        limit=deps.terms(space).memory.candidates,
        of_slot=OF_SLOT,
        of_subject=deps.terms(space).memory.subject_candidates,
    )
    found: dict[int, list[LearnCandidate]] = {}
    for row, candidate in zip(rows, candidates_from_rows(rows), strict=True):
        found.setdefault(row["number"], []).append(candidate)
    return found


async def _without_vector(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, said: ParsedStatement
) -> list[LearnCandidate]:
    ids = dict.fromkeys(await _related(deps, transaction, space, said))
    ids |= dict.fromkeys(await _by_words(transaction, space, said))
    return candidates_from_rows(await transaction.all(Q["unscored"], space=space, memories=list(ids))) if ids else []


def _marks(said: ParsedStatement, vectors: StatementVectors) -> dict[str, Any]:
    """By what the store sees that a judge would be asked about a pair; `is_worth_judging` has the last word."""
    return {
        "check": _check(vectors),
        "fold": said.fold,
        "gist": said.gist,
        "subject": said.subject_key,
        "attribute": said.slot.attribute if said.slot else None,
    }


def _check(vectors: StatementVectors) -> float | None:
    """The bar as the store holds it: what is rounded up to it here must come back from there."""
    check = vectors.bars.check
    return None if check is None else check - 10**-DIGITS


def candidates_from_rows(rows: Iterable[dict[str, Any]]) -> list[LearnCandidate]:
    return [
        LearnCandidate(
            memory=memory_from_row(row),
            similarity=None if row["similarity"] is None else round(float(row["similarity"]), DIGITS),
        )
        for row in rows
    ]


def is_worth_judging(said: ParsedStatement, candidate: LearnCandidate, check: float | None) -> bool:
    """Whether a judge is asked of a pair at all: it is near enough, or both fill the same slot."""
    memory = candidate.memory
    if said.fold == memory.fold or said.gist == memory.gist:
        return True
    if are_different_episodes(said, memory):
        return False
    if has_same_slot(said, memory):
        return True
    if candidate.similarity is not None and check is not None:
        return candidate.similarity >= check
    return content_overlap(said.text, memory.content) >= SHARED_WORDS


def are_different_episodes(said: ParsedStatement, memory: Memory) -> bool:
    """Whether both are records of what was talked about, at two different times: however alike they are told, neither
    is the other, nor takes its place."""
    sources = said.given.source or "", memory.source or ""
    return (
        said.kind is memory.kind is Kind.EPISODIC
        and all(source.startswith(SOURCE) for source in sources)
        and sources[0] != sources[1]
    )


def has_same_slot(said: ParsedStatement, memory: Memory) -> bool:
    return (
        said.slot is not None
        and memory.attribute_key == said.slot.attribute
        and memory.subject_key is not None
        and memory.subject_key == said.subject_key
    )


def is_scanned_whole(own: int, *, everybody: float) -> bool:
    """Whether the neighbours of a statement are found by reading all vectors of its space. It is always right, but at
    ten thousand it takes ten times as long as the index, which is as right where a space has much of what there is."""
    return own < FEW or (own < READ_WHOLE_BELOW and own * CROWD < everybody)


async def _is_scanned_whole(deps: MemoryDeps, transaction: Transaction, space: SpaceId, model: VectorModel) -> bool:
    key, now = (space, model.name), deps.stopwatch()
    known = deps.read_whole.get(key)
    if known is not None and now - known[1] < KNOWN_FOR:
        return known[0]
    own = await transaction.value(Q["count_vectors"], space=space, model=model.name, limit=READ_WHOLE_BELOW)
    if own >= INDEXED_FROM:
        await deps.ask(transaction, INDEX, model=model.name, dims=model.dims)
    whole = is_scanned_whole(own, everybody=await transaction.value(Q["believed_size"]))
    deps.read_whole[key] = whole, now
    return whole


async def _related(deps: MemoryDeps, transaction: Transaction, space: SpaceId, said: ParsedStatement) -> list[Any]:
    if said.subject_key is None:
        return []
    rows = await transaction.all(
        Q["related"],
        space=space,
        owner=said.owner,
        kinds=list(comparable_kinds(said.kind)),
        subject=said.subject_key,
        attribute=said.slot.attribute if said.slot else None,
        of_slot=OF_SLOT if said.slot else 0,
        of_subject=deps.terms(space).memory.subject_candidates,
    )
    return [row["id"] for row in rows]


async def _by_words(transaction: Transaction, space: SpaceId, said: ParsedStatement) -> list[Any]:
    words = sorted(word for word in content_words(said.text) if word.isalnum())
    if not words:
        return []
    rows = await transaction.all(
        Q["by_words"],
        space=space,
        owner=said.owner,
        kinds=list(comparable_kinds(said.kind)),
        words=" | ".join(words),
        limit=BY_WORDS,
    )
    return [row["id"] for row in rows]
