"""Finds candidates for a cue by meaning, words and time.

Three queries in one transaction of the request path: the words of the cue and how common they are; the hits
of all arms; and everything known about those, with what the best of them are associated with. If that is too
slow or meets a damaged index, it is retried without vectors, and then by vectors alone; what was left out is
reported. If nothing answers the store is down, which must never look like "nothing known".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any
from uuid import UUID

import numpy as np

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import ProviderDown, ProviderRefused, StoreDown
from festinger.ids import Scope
from festinger.memory.query import find_believed_ids, find_wordings_at
from festinger.observability.metrics import RECALL_ARM_SECONDS
from festinger.retrieval.association import AssociationPath, find_associations, top_associations
from festinger.retrieval.bm25 import TermStatistics, build_pool_tsquery, quote_term, rarest_terms, rrf_score
from festinger.retrieval.candidate import MEMORY, TURN, RecallCandidate, Vector, candidates_from_rows
from festinger.retrieval.deps import CorpusSize, RetrievalDeps
from festinger.retrieval.query import ParsedCue, RecallQuery, cue_hash
from festinger.retrieval.score import TIME_ARM, VECTOR_ARM, WORDS_ARM, ScoringContext
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.connection import DAMAGED, HELD, TOO_SLOW
from festinger.store.pool import PlanMode, Transaction
from festinger.store.queries import format_uuid_array, load_queries
from festinger.store.vectors import READ_WHOLE_BELOW, EmbeddingModelSpec, bind_model, to_halfvec

Q = load_queries("festinger.retrieval")

CANDIDATES, FETCH = (replace(Q[name], packed=True) for name in ("candidates", "fetch"))
EMBEDDER = "embedder"
NAMED, CALLED = "named", "called"
INDEXED = "indexed"
"""Hits of the vector index or of a ranked scan, rather than of reading all visible vectors."""
MAY_GIVE_UP = frozenset({"memories_ranked", "memories_indexed", "memories_counted"})
"""Vector query parts that look at a limited number of vectors."""
MINOR = 10
"""How many times as large a store must be as a space for the plan of an average space not to fit it."""
RANKED_FROM = 1_000
"""Fewer memories are read whole with their visibility, since there is nothing to save."""
NO_MODEL = EmbeddingModelSpec(name="", dims=1)
"""Placeholder where a query names a model and none is searched."""
LOOKED_AT = 200
"""Vectors that the index keeps in view. Measured among 100,000 distributed like those of texts: it finds .91
of the nearest 50 with 100, .954 with 150 and .967 with 200, at less than a millisecond more."""
CLOSE = 200
"""Texts sharing the most telling words that are scored exactly."""
LESSONS = 20
"""Latest outcomes of a memory that are considered."""
MOST_COUNTED = 20_000
COUNTED_FOR = 30.0
"""Seconds for which the size of a space is cached."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CueVector:
    """A cue as a vector of one model."""

    model: EmbeddingModelSpec
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmHits:
    """The hits of each arm, best first or in no order."""

    arms: Mapping[str, Sequence[UUID]]
    types: Mapping[UUID, str]
    named: frozenset[UUID] = frozenset()
    """Texts with an identifier of which the cue names a part."""

    @property
    def turns(self) -> set[int]:
        """The numbers of the turns among them: looking up a UUID takes ten times as long as its number."""
        return {ref.int for ref, source in self.types.items() if source == TURN}


@dataclass(frozen=True, slots=True, kw_only=True)
class CueLookup:
    """What the database says about a cue."""

    asked: ScoringContext
    must: str | None
    open_episode: UUID | None
    has_pieces: bool = True
    """Whether one of its words is part of an identifier."""


def usable_embedder(embedder: Embedder | None) -> Embedder | None:
    """Return the embedder if its cosines are calibrated."""
    if embedder is None or embedder.name == NO_EMBEDDER or not embedder.profile.is_calibrated:
        return None
    return embedder


async def embed_cue(embedder: Embedder | None, cue: ParsedCue) -> CueVector | None:
    """Embed the cue; none if that fails. Call outside a transaction."""
    if embedder is None:
        return None
    try:
        [vector] = await embedder.embed([cue.text], EmbeddingPurpose.QUERY)
    except (ProviderDown, ProviderRefused):
        return None
    model = EmbeddingModelSpec(name=embedder.name, dims=embedder.dimensions)
    return CueVector(model=model, vector=np.asarray(vector, dtype=np.float32))


def is_plain(query: RecallQuery, cue: ParsedCue) -> bool:
    """Whether a search has neither filters nor a time. Leaving out a few memories changes no plan."""
    return not (query.has_filters or cue.phrases or cue.without or cue.span)


def choose_plan(query: RecallQuery, cue: ParsedCue, size: CorpusSize | None, *, few: int) -> PlanMode:
    """Keep one plan for plain searches. The best plan for others, in a space that is small beside the rest of the store,
    and where most vectors belong to other agents, depends on what is asked."""
    if not is_plain(query, cue):
        return PlanMode.ANEW
    is_minor = size is not None and size.memories * MINOR < size.stored
    is_crowded = size is not None and size.vectors >= RANKED_FROM and size.seen <= few and not is_mostly_visible(size)
    return PlanMode.ANEW if is_minor or is_crowded else PlanMode.KEPT


async def look_up_cue(
    deps: RetrievalDeps,
    transaction: Transaction,
    scope: Scope,
    cue: ParsedCue,
    *,
    probe: CueVector | None,
    plan: PlanMode = PlanMode.ANEW,
) -> CueLookup:
    """Read what the database knows of a cue; what follows is planned as `plan` says."""
    rows = await transaction.all(
        Q["read_cue"],
        space=scope.space,
        agent=scope.agent,
        session=scope.session,
        cue=cue.text,
        phrases=list(cue.phrases),
        without=list(cue.without),
        # Saying so here saves a round trip.
        then=plan,
        looked_at=str(LOOKED_AT),
    )
    terms = [row for row in rows if row["term"] is not None]
    first = rows[0]
    statistics = {
        source: TermStatistics(
            docs=first[f"{source}_docs"] or 0,
            total_len=first[f"{source}_len"] or 0,
            df={row["term"]: row[f"{source}_df"] for row in terms},
        )
        for source in (MEMORY, TURN)
    }
    asked = ScoringContext(
        cue=cue,
        terms=tuple(row["term"] for row in terms),
        statistics=statistics,
        has_vector=probe is not None,
        now=deps.clock(),
    )
    return CueLookup(
        asked=asked, must=first["must"], open_episode=first["open_episode"], has_pieces=first["has_pieces"]
    )


async def search_arms(
    transaction: Transaction,
    scope: Scope,
    query: RecallQuery,
    *,
    read: CueLookup,
    probe: CueVector | None,
    size: CorpusSize | None,
    settings: RetrievalSettings,
    few: int = READ_WHOLE_BELOW,
) -> ArmHits:
    """Return the best of each arm. Up to `few` vectors are read whole, more by their index."""
    chosen = choose_query_parts(query, read, size if probe else None, few=few)
    parameters = _search_parameters(scope, query, read=read, probe=probe, settings=settings)
    statement = bind_model(CANDIDATES, probe.model if probe else NO_MODEL, near=settings.arm_size)
    with RECALL_ARM_SECONDS.labels(arm_label(read, probe)).time():
        rows = await transaction.all(statement.only(chosen), **parameters, few=few)
        if is_incomplete_search(rows, chosen, near=settings.arm_size):
            chosen = chosen - MAY_GIVE_UP | {"memories_whole"}
            await transaction.plan(PlanMode.ANEW)
            rows = await transaction.all(statement.only(chosen), **parameters, few=few)
    rows = [row for row in rows if row["ref"] is not None]
    types = {row["ref"]: row["type"] for row in rows}
    arms: dict[str, list[UUID]] = {}
    for row in rows:
        arms.setdefault(VECTOR_ARM if row["arm"] == INDEXED else row["arm"], []).append(row["ref"])
    named, called = arms.pop(NAMED, []), arms.pop(CALLED, [])
    if named or called:
        arms[WORDS_ARM] = list(dict.fromkeys([*arms.get(WORDS_ARM, ()), *named, *called]))
    return ArmHits(arms={arm: refs for arm, refs in arms.items() if refs}, types=types, named=frozenset(named))


def is_incomplete_search(rows: Sequence[Mapping[str, Any]], chosen: frozenset[str], *, near: int) -> bool:
    """Whether a vector search ended before it met enough visible memories.

    It looks at a limited number, whoever owns them, so those of one agent among many may lie beyond.
    """
    if not chosen & MAY_GIVE_UP:
        return False
    found = [row["arm"] for row in rows if row["type"] == MEMORY]
    return VECTOR_ARM not in found and found.count(INDEXED) < near


def arm_label(read: CueLookup, probe: CueVector | None) -> str:
    """Name the arms that a cue uses; they run in one statement and share one time."""
    gone = {VECTOR_ARM: probe is not None, WORDS_ARM: bool(read.asked.terms), TIME_ARM: read.asked.cue.span is not None}
    return "+".join(arm for arm, is_gone in gone.items() if is_gone) or "none"


def choose_query_parts(query: RecallQuery, read: CueLookup, size: CorpusSize | None, *, few: int) -> frozenset[str]:
    """Choose the parts of `candidates` that a cue needs; without a size, none by meaning."""
    is_narrowed = query.has_filters or read.must is not None

    def by_meaning(number: int) -> str:
        return "whole" if number <= few else "counted" if is_narrowed else "indexed"

    of_memories = by_meaning(size.seen) if size else ""
    if size and of_memories == "whole" and not is_narrowed and is_mostly_visible(size):
        of_memories = "ranked"
    chosen = {
        "narrowed": not is_plain(query, read.asked.cue),
        "excluding": bool(query.exclude),
        f"memories_{of_memories}": query.with_memories and size is not None,
        f"turns_{by_meaning(size.parts) if size else ''}": query.with_turns and size is not None,
        "memory_words": query.with_memories and bool(read.asked.terms),
        "turn_words": query.with_turns and bool(read.asked.terms),
        "memories_dated": query.with_memories and read.asked.cue.span is not None,
        "turns_dated": query.with_turns and read.asked.cue.span is not None,
        "memories_called": query.with_memories and bool(read.asked.terms),
        "memories_named": query.with_memories and bool(read.asked.terms) and read.has_pieces,
        "turns_named": query.with_turns and bool(read.asked.terms) and read.has_pieces,
    }
    return frozenset(part for part, is_needed in chosen.items() if is_needed)


def is_mostly_visible(size: CorpusSize) -> bool:
    """Whether most of many vectors are visible to the agent, so that the nearest are found quickly."""
    return size.seen >= RANKED_FROM and 2 * size.seen > size.vectors


def _search_parameters(
    scope: Scope, query: RecallQuery, *, read: CueLookup, probe: CueVector | None, settings: RetrievalSettings
) -> dict[str, Any]:
    terms, statistics, span = read.asked.terms, read.asked.statistics, read.asked.cue.span
    chosen = rarest_terms(terms, statistics[MEMORY]) if len(terms) > 1 else list(terms)
    pools = {
        source: build_pool_tsquery(terms, statistics[source], pool=settings.words_pool) for source in (MEMORY, TURN)
    }
    return {
        **query.parameters(),
        "space": scope.space,
        "agent": scope.agent,
        "open_episode": read.open_episode,
        "must": read.must,
        "then": PlanMode.KEPT,
        "probe": to_halfvec(probe.vector) if probe else None,
        "memory_pool": pools[MEMORY],
        "turn_pool": pools[TURN],
        "terms": list(terms),
        "called": " | ".join(map(quote_term, chosen)),
        "queries": [quote_term(term) for term in chosen],
        "memory_idf": [statistics[MEMORY].idf(term) for term in chosen],
        "turn_idf": [statistics[TURN].idf(term) for term in chosen],
        "memory_idfs": [statistics[MEMORY].idf(term) for term in terms],
        "turn_idfs": [statistics[TURN].idf(term) for term in terms],
        "memory_average": statistics[MEMORY].average,
        "turn_average": statistics[TURN].average,
        "k1": settings.bm25_k1,
        "b": settings.bm25_b,
        "beside": settings.context_weight,
        "close": CLOSE,
        "arm": settings.arm_size,
        "from": span.start if span else None,
        "to": span.end if span else None,
    }


async def fetch_candidates(
    deps: RetrievalDeps,
    transaction: Transaction,
    scope: Scope,
    query: RecallQuery,
    *,
    read: CueLookup,
    found: ArmHits,
    probe: CueVector | None,
    settings: RetrievalSettings,
    seeds: Sequence[UUID] = (),
) -> list[RecallCandidate]:
    """Load everything known about the hits, and about what the seeds among them lead to."""
    refs = {ref.int: ref for each in found.arms.values() for ref in each}
    said = found.turns
    turns = [ref for number, ref in refs.items() if number in said]
    needed = {
        "turns": bool(turns),
        "named": bool(found.named),
        "narrowed": not is_plain(query, read.asked.cue),
        "excluding": bool(query.exclude),
    }
    rows = await transaction.all(
        bind_model(FETCH, probe.model if probe else NO_MODEL).only(
            frozenset(part for part, is_needed in needed.items() if is_needed)
        ),
        space=scope.space,
        memories=format_uuid_array([ref for number, ref in refs.items() if number not in said]),
        turns=format_uuid_array(turns),
        terms=list(read.asked.terms),
        probe=to_halfvec(probe.vector) if probe else None,
        must=read.must,
        at=read.asked.now,
        cue_hash=cue_hash(query.cue),
        lessons=LESSONS,
        named=list(found.named),
        seeds=list(seeds),
        hops=query.hops,
        partners=settings.partners_top,
        full=settings.co_access_full,
        half_life=settings.co_access_half_life_days,
        agent=scope.agent,
        **query.parameters(),
    )
    kept = await _filter_believed_rows(deps, transaction, scope, query, rows)
    return candidates_from_rows(
        kept, probe=probe.vector if probe else None, now=read.asked.now, context_weight=settings.context_weight
    )


async def _filter_believed_rows(
    deps: RetrievalDeps, transaction: Transaction, scope: Scope, query: RecallQuery, rows: Sequence[dict[str, Any]]
) -> Sequence[dict[str, Any]]:
    """Keep only what was believed, or valid, at the moments asked for, in the words of then."""
    if query.as_of is None and query.valid_at is None:
        return rows
    ids = [row["ref"] for row in rows if row["type"] == MEMORY]
    stood = await find_believed_ids(
        deps.memory, transaction, scope.space, ids, as_of=query.as_of, valid_at=query.valid_at
    )
    kept = [row for row in rows if row["type"] != MEMORY or row["ref"] in stood]
    if query.as_of is None:
        return kept
    words = await find_wordings_at(transaction, scope.space, stood, query.as_of)
    unmade = {"context": None, "compressed": None}
    return [{**row, **words[row["ref"]], **unmade} if row["ref"] in words else row for row in kept]


async def load_corpus_size(
    deps: RetrievalDeps, transaction: Transaction, scope: Scope, model: EmbeddingModelSpec
) -> CorpusSize:
    """Return how much there is to search; cached for a while."""
    key, now = (scope.space, scope.agent, model.name), deps.stopwatch()
    known = deps.sizes.get(key)
    if known is not None and now - known.at < COUNTED_FOR:
        return known
    # Spaces differ in size by orders of magnitude: a plan for any of them would read the largest for the smallest.
    await transaction.plan(PlanMode.ANEW)
    row = await transaction.one(
        Q["count_searchable"],
        space=scope.space,
        agent=scope.agent,
        model=model.name,
        limit=max(MOST_COUNTED, deps.few + 1),
    )
    deps.sizes[key] = CorpusSize(**row, at=now)
    return deps.sizes[key]


def describe_missing_vectors(size: CorpusSize | None) -> list[str]:
    """Name what cannot be found by meaning for lack of vectors."""
    if size is None:
        return []
    notes = []
    if size.vectors < size.memories:
        notes.append(f"vectors {size.memories - size.vectors:,} of {size.memories:,} missing")
    if missing := max(size.turns - size.parts, size.bare):
        notes.append(f"turn_vectors {missing:,} of {size.turns:,} missing")
    return notes


MOST_SEEDS = 5
"""Best memories whose associations are followed."""
PARTIAL = (TOO_SLOW, HELD, DAMAGED)
"""Store failures that another arm may not meet."""
WITHOUT: tuple[tuple[str, ...], ...] = ((), (VECTOR_ARM,), (WORDS_ARM, TIME_ARM))
"""Arms left out in each try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    candidates: list[RecallCandidate]
    read: CueLookup
    found: ArmHits
    reached: Mapping[UUID, AssociationPath]
    size: CorpusSize | None
    probe: CueVector | None
    without: tuple[str, ...] = ()
    """Arms that failed."""


async def search(
    deps: RetrievalDeps,
    scope: Scope,
    query: RecallQuery,
    *,
    cue: ParsedCue,
    probe: CueVector | None,
    settings: RetrievalSettings,
) -> SearchResult:
    """Find candidates by every arm that works. Raises `StoreDown`."""
    trouble: StoreDown | None = None
    for without in WITHOUT:
        if without == (WORDS_ARM, TIME_ARM) and probe is None:
            break
        try:
            return await _search_without(deps, scope, query, cue=cue, probe=probe, settings=settings, without=without)
        except StoreDown as error:
            if error.details.get("kind") not in PARTIAL:
                raise
            trouble = trouble or error
    assert trouble is not None
    raise trouble


async def _search_without(
    deps: RetrievalDeps,
    scope: Scope,
    query: RecallQuery,
    *,
    cue: ParsedCue,
    probe: CueVector | None,
    settings: RetrievalSettings,
    without: tuple[str, ...],
) -> SearchResult:
    probe = None if VECTOR_ARM in without else probe
    async with deps.store.transaction(hot=True, plan=PlanMode.KEPT) as transaction:
        size = await load_corpus_size(deps, transaction, scope, probe.model) if probe else None
        plan = choose_plan(query, cue, size, few=deps.few)
        read = await look_up_cue(deps, transaction, scope, cue, probe=probe, plan=plan)
        if query.as_of is not None:
            read = replace(read, asked=replace(read.asked, now=query.as_of))
        if WORDS_ARM in without:
            read = replace(read, asked=replace(read.asked, terms=(), cue=replace(cue, span=None)))
        found = await search_arms(
            transaction, scope, query, read=read, probe=probe, size=size, settings=settings, few=deps.few
        )
        seeds = select_seeds(found, query, k=settings.rrf_k)
        candidates = await fetch_candidates(
            deps, transaction, scope, query, read=read, found=found, probe=probe, settings=settings, seeds=list(seeds)
        )
    reached = find_associations(
        seeds,
        {each.ref: each.partners for each in candidates if each.partners},
        hops=query.hops,
        top=settings.partners_top,
    )
    kept = _drop_weak_associations(candidates, found, reached, query)
    return SearchResult(
        candidates=kept, read=read, found=found, reached=reached, size=size, probe=probe, without=without
    )


def select_seeds(found: ArmHits, query: RecallQuery, *, k: int) -> dict[UUID, float]:
    """Return what is in mind: what the caller names, and the best memories found, weighted by rank."""
    places: dict[int, list[int]] = {}
    turns = found.turns
    for refs in found.arms.values():
        for place, number in enumerate((ref.int for ref in refs if ref.int not in turns), 1):
            places.setdefault(number, []).append(place)
    scored = ((-rrf_score(stood, arms=len(found.arms), k=k), number) for number, stood in places.items())
    best = {UUID(int=number): -score for score, number in nsmallest(MOST_SEEDS, scored)}
    return {**best, **dict.fromkeys(query.active, 1.0)}


def _drop_weak_associations(
    candidates: list[RecallCandidate], found: ArmHits, reached: Mapping[UUID, AssociationPath], query: RecallQuery
) -> list[RecallCandidate]:
    """Drop what was only passed on the way and is too weakly associated."""
    searched_for = {ref.int for refs in found.arms.values() for ref in refs}
    only_reached = {ref: way for ref, way in reached.items() if ref.int not in searched_for}
    kept = top_associations(only_reached)
    return [each for each in candidates if each.ref.int in searched_for or each.ref in kept]
