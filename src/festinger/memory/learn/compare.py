"""Compares a statement with its candidates, without writing anything.

Exact and near-exact duplicates are found by hash first, without vectors or judges. Other pairs worth judging
go to the judges. Subjects limit the effect: a statement about someone else, or about an unknown subject,
replaces nothing.
If the embedder's profile has a negation direction, judges also get how far the pair differs along it. Vectors
have unit length, so the memory's share along the direction and the cosine suffice, and no vector leaves the
store.
Quarantine covers tool and document texts that give orders or hide characters, statements that would overturn
many well-established memories, and bursts from one cause with little trust. Such a memory is stored, but it
is not recalled, confirms nothing and replaces nothing.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import islice

import numpy as np

from festinger.embedding.opposition import NEAR
from festinger.embedding.profiles import EmbeddingPurpose, Threshold
from festinger.errors import ProviderDown, ProviderRefused
from festinger.ids import AgentId, Cause, MemoryId, Origin, SpaceId
from festinger.judge.model import (
    NOTHING_KNOWN,
    Current,
    Judgement,
    JudgeStatement,
    PairFeatures,
    PairJudgement,
    Relation,
    SimilarityBars,
    Slot,
    StatementPair,
    person_judgement,
)
from festinger.judge.pair_reader import NAME as READER
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import NOTHING_SEEN, LearnCandidate, MemoryHorizon, is_worth_judging
from festinger.memory.learn.decision import JudgedCandidate, Newcomer
from festinger.memory.learn.statement import ParsedStatement
from festinger.memory.model import Kind, Memory, Scope, Status, comparable_kinds, memory_from_row
from festinger.memory.vectors import StatementVectors
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import find_nearest
from festinger.text.hygiene import is_instruction

Q = queries_of("festinger.memory")


async def compute_oppositions(
    deps: MemoryDeps, space: SpaceId, candidates: Sequence[LearnCandidate], vectors: StatementVectors | None
) -> Mapping[MemoryId, float]:
    """Return how far each near candidate differs along the negation direction; empty without one."""
    if vectors is None or vectors.direction is None:
        return {}
    near = {
        each.memory.id: each.similarity
        for each in candidates
        if each.similarity is not None and each.similarity >= NEAR
    }
    if not near:
        return {}
    async with deps.store.transaction() as transaction:
        rows = await find_nearest(transaction, Q["along"], vectors.direction, space=space, memories=list(near))
    new = float(
        np.dot(
            vectors.compare.vector.to_numpy().astype(np.float64), vectors.direction.vector.to_numpy().astype(np.float64)
        )
    )
    return {row["memory_id"]: opposition_cosine(new, row["along"], similarity=near[row["memory_id"]]) for row in rows}


def opposition_cosine(new: float, old: float, *, similarity: float) -> float:
    """Cosine between the difference of two unit vectors and a direction, from their shares along it."""
    apart = math.sqrt(max(0.0, 2.0 - 2.0 * similarity))
    return max(-1.0, min(1.0, (new - old) / apart)) if apart else 0.0


MOST_JUDGED = 50
"""Pairs per statement that rules judge."""
MOST_ASKED = 10
"""Pairs per statement that an LLM is asked about."""

SAME_SUBJECT = {True: True, False: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateComparison:
    """A candidate with its judgement."""

    candidate: LearnCandidate
    opinion: PairJudgement

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def judged(self) -> JudgedCandidate:
        return build_judged_candidate(self.candidate, self.opinion.judgement)


def build_judged_candidate(candidate: LearnCandidate, judgement: Judgement) -> JudgedCandidate:
    memory = candidate.memory
    return JudgedCandidate(
        id=memory.id,
        judgement=judgement,
        trust=memory.trust,
        status=memory.standing,
        immutable=memory.immutable,
        similarity=candidate.similarity,
    )


def build_newcomer(said: ParsedStatement) -> Newcomer:
    return Newcomer(trust=said.trust, origin=said.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """A statement with its candidates."""

    said: ParsedStatement
    candidates: Sequence[LearnCandidate]
    ref: MemoryId
    vectors: StatementVectors | None


async def compare(
    deps: MemoryDeps,
    space: SpaceId,
    said: ParsedStatement,
    candidates: Sequence[LearnCandidate],
    *,
    ref: MemoryId,
    vectors: StatementVectors | None,
) -> list[CandidateComparison]:
    """Judge each pair by people's earlier answers, rules and the small model. Call outside transactions."""
    asked = CompareRequest(said=said, candidates=candidates, ref=ref, vectors=vectors)
    return (await compare_all(deps, space, [asked]))[0]


async def compare_all(
    deps: MemoryDeps, space: SpaceId, questions: Sequence[CompareRequest]
) -> list[list[CandidateComparison]]:
    """Judge the pairs of many statements; earlier judgements are loaded once for all."""
    paired = [await _build_pairs(deps, space, each) for each in questions]
    judgements = iter(await deps.panel.at_once(space, [pair for pairs in paired for _, pair in pairs]))
    return [
        [
            CandidateComparison(
                candidate=candidate,
                opinion=PairJudgement(
                    pair=pair,
                    judgement=build_correction_judgement(asked.said, pair) or limit_to_subject(pair, judgement),
                ),
            )
            for (candidate, pair), judgement in zip(pairs, islice(judgements, len(pairs)), strict=True)
        ]
        for asked, pairs in zip(questions, paired, strict=True)
    ]


async def _build_pairs(
    deps: MemoryDeps, space: SpaceId, asked: CompareRequest
) -> list[tuple[LearnCandidate, StatementPair]]:
    """Build the pairs of a statement that are worth judging."""
    bars = asked.vectors.bars if asked.vectors else SimilarityBars()
    near = [each for each in asked.candidates if is_worth_judging(asked.said, each, bars.check)][:MOST_JUDGED]
    subjects = await match_subjects(deps, asked.said, near)
    opposed = await compute_oppositions(deps, space, near, asked.vectors)
    return [
        (
            each,
            build_pair(
                asked.said,
                each,
                ref=asked.ref,
                bars=bars,
                same_subject=subjects.get(each.memory.id),
                opposition=opposed.get(each.memory.id),
            ),
        )
        for each in near
    ]


def compare_by_rules(
    deps: MemoryDeps,
    said: ParsedStatement,
    candidates: Sequence[LearnCandidate],
    *,
    ref: MemoryId,
    vectors: StatementVectors | None,
) -> list[CandidateComparison]:
    """Compare by rules alone, for decisions within a transaction."""
    bars = vectors.bars if vectors else SimilarityBars()
    near = [each for each in candidates if is_worth_judging(said, each, bars.check)][:MOST_JUDGED]
    pairs = [
        build_pair(said, each, ref=ref, bars=bars, same_subject=compare_subjects(said, each.memory)) for each in near
    ]
    return [
        CandidateComparison(
            candidate=each,
            opinion=PairJudgement(
                pair=pair,
                judgement=build_correction_judgement(said, pair) or limit_to_subject(pair, deps.panel.by_rules(pair)),
            ),
        )
        for each, pair in zip(near, pairs, strict=True)
    ]


def build_pair(
    said: ParsedStatement,
    candidate: LearnCandidate,
    *,
    ref: MemoryId,
    bars: SimilarityBars,
    same_subject: bool | None,
    opposition: float | None = None,
) -> StatementPair:
    memory = candidate.memory
    return StatementPair(
        old_ref=memory.id,
        new_ref=ref,
        old=build_judge_statement(memory),
        new=replace(said.statement, order=2),
        features=PairFeatures(
            similarity=candidate.similarity, bars=bars, same_subject=same_subject, opposition=opposition
        ),
    )


def build_judge_statement(memory: Memory, *, order: int = 1) -> JudgeStatement:
    """Convert a memory for the judges."""
    slot = None
    if memory.subject_key and memory.attribute_key and memory.value_key:
        slot = Slot(subject=memory.subject_key, attribute=memory.attribute_key, value=memory.value_key)
    return JudgeStatement(
        text=memory.content,
        subject=memory.subject,
        slot=slot,
        event_time=memory.event_time,
        said_at=memory.created_at,
        order=order,
        origin=memory.origin,
    )


def compare_subjects(said: ParsedStatement, memory: Memory) -> bool | None:
    """Whether both have the same subject by name; None if one has none."""
    if said.subject_key is None or memory.subject_key is None:
        return None
    return said.subject_key == memory.subject_key


async def match_subjects(
    deps: MemoryDeps, said: ParsedStatement, candidates: Sequence[LearnCandidate]
) -> Mapping[MemoryId, bool | None]:
    """Whether subjects match by name or, where names differ, by the similarity of the names."""
    found = {each.memory.id: compare_subjects(said, each.memory) for each in candidates}
    others = [
        each.memory
        for each in candidates
        if found[each.memory.id] is False and _numbers(said.subject_key) == _numbers(each.memory.subject_key)
    ]
    embedder = deps.embedder()
    bar = embedder.profile.threshold(Threshold.SUBJECT) if embedder else None
    if not others or embedder is None or bar is None or not said.subject:
        return found
    names = list(dict.fromkeys([said.subject, *(memory.subject or "" for memory in others)]))
    try:
        vectors = dict(zip(names, await embedder.embed(names, EmbeddingPurpose.COMPARE), strict=True))
    except (ProviderDown, ProviderRefused):
        # Different names then count as different subjects: nothing is replaced on a guess.
        return found
    for memory in others:
        nearness = float(np.dot(vectors[said.subject], vectors[memory.subject or ""]))
        found[memory.id] = nearness >= bar
    return found


def build_correction_judgement(said: ParsedStatement, pair: StatementPair) -> Judgement | None:
    """Return the judgement of a speaker who corrects their own statement; it needs no judge."""
    if said.given.corrects is None or said.given.corrects != pair.old_ref:
        return None
    return person_judgement("speaker", Relation.UPDATE, current=Current.NEW, reasoning="Its speaker corrected it.")


def _numbers(subject: str | None) -> list[str]:
    """Return the numbers in a name: vectors barely see them, yet service 7 is not service 8."""
    return _NUMBER.findall(subject or "")


_NUMBER = re.compile(r"\d+")


def limit_to_subject(pair: StatementPair, judgement: Judgement) -> Judgement:
    """Drop updates and contradictions across subjects, unless a person or the pair reader judged it."""
    if judgement.by_person or judgement.judge == READER:
        return judgement
    same = pair.features.same_subject
    is_update = judgement.relation is Relation.UPDATE
    if (is_update and same is not True) or (judgement.relation is Relation.CONTRADICTS and same is False):
        who = "of another subject" if same is False else "of a subject that nobody can tell"
        return replace(judgement, relation=Relation.UNRELATED, reasoning=f"It is said {who}.", final=True)
    return judgement


BURST_WINDOW = timedelta(minutes=10)
LITTLE_TRUST = 0.7
"""Causes with less trust may not overturn much or come in bursts."""
SPIKE = 3
"""Well-established memories that one statement with little trust may not overturn together."""
WELL_TRUSTED = 0.8
WELL_BELIEVED = 0.6


class Suspicion(StrEnum):
    INSTRUCTION = "instruction"
    HIDDEN_TEXT = "hidden_text"
    SPIKE = "contradiction_spike"
    BURST = "burst"


OUTSIDERS = (Origin.TOOL, Origin.DOCUMENT)


def find_suspicions(text: str, *, origin: Origin, hid: bool) -> tuple[str, ...]:
    """Return what makes a text suspicious by itself."""
    if origin not in OUTSIDERS:
        return ()
    found = []
    if is_instruction(text):
        found.append(Suspicion.INSTRUCTION.value)
    if hid:
        found.append(Suspicion.HIDDEN_TEXT.value)
    return tuple(found)


def is_spike(trust: float, compared: Sequence[CandidateComparison]) -> bool:
    """Whether a statement would overturn too much for its trust."""
    if trust >= LITTLE_TRUST:
        return False
    against = [each for each in compared if is_against(each) and is_well_established(each.memory)]
    return len(against) >= SPIKE


def is_against(compared: CandidateComparison) -> bool:
    return compared.opinion.judgement.relation in (Relation.UPDATE, Relation.CONTRADICTS)


def is_well_established(memory: Memory) -> bool:
    is_held = memory.trust >= WELL_TRUSTED or memory.confidence >= WELL_BELIEVED
    return memory.status is Status.ACTIVE and is_held


def is_burst(trust: float, *, births: int, limit: int) -> bool:
    """Whether a cause has used up its allowance within the window."""
    return trust < LITTLE_TRUST and births >= limit


REPEATERS = (Origin.MODEL, Origin.TOOL)
"""Origins that see surfaced memories and repeat them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMemory:
    place: Scope
    said: ParsedStatement
    ref: MemoryId
    """The id it gets if it becomes a new memory."""
    seen: MemoryHorizon = NOTHING_SEEN
    compared: tuple[CandidateComparison, ...] = ()
    vectors: StatementVectors | None = None
    surfaced: Collection[MemoryId] = ()
    by: str = ""

    @property
    def who(self) -> str:
        return self.by or self.said.origin.value

    @property
    def cause(self) -> Cause:
        return self.place.cause(self.said.origin, self.said.at)


def find_echo(prepared: PendingMemory, compared: Sequence[CandidateComparison]) -> CandidateComparison | None:
    """Find the surfaced memory that a model or tool merely repeats, in whatever words."""
    if prepared.said.origin not in REPEATERS or not prepared.surfaced:
        return None
    for each in compared:
        judgement = each.opinion.judgement
        says_again = judgement.relation is Relation.SAME or (
            judgement.relation in (Relation.UNSURE, Relation.REFINES) and not judgement.guards
        )
        if each.memory.id in prepared.surfaced and says_again:
            return each
    return None


MOST_TWINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateMatch:
    memory: Memory
    judgement: Judgement


async def find_duplicate(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    said: ParsedStatement,
    *,
    other_than: MemoryId | None = None,
) -> DuplicateMatch | None:
    """Find the memory with the same words or the same gist."""
    rows = await transaction.all(
        Q["twins"],
        **{"except": other_than},
        space=space,
        owner=said.owner,
        kinds=list(comparable_kinds(said.kind)),
        fold=said.fold,
        gist=said.gist,
        day=said.given.event_time.date() if said.given.event_time else None,
        limit=MOST_TWINS,
    )
    return _find_first_same(deps, said, map(memory_from_row, rows))


async def find_duplicates(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, said: Sequence[ParsedStatement]
) -> list[DuplicateMatch | None]:
    """Find duplicates for many statements, in order."""
    groups: dict[tuple[AgentId | None, tuple[Kind, ...]], list[int]] = {}
    for number, each in enumerate(said):
        groups.setdefault((each.owner, tuple(comparable_kinds(each.kind))), []).append(number)
    found: dict[int, list[Memory]] = {}
    for (owner, kinds), numbers in groups.items():
        asked = [said[number] for number in numbers]
        rows = await transaction.all(
            Q["twins_of_each"],
            space=space,
            owner=owner,
            kinds=list(kinds),
            numbers=numbers,
            folds=[each.fold for each in asked],
            gists=[each.gist for each in asked],
            days=[each.given.event_time.date() if each.given.event_time else None for each in asked],
            limit=MOST_TWINS,
        )
        for row in rows:
            found.setdefault(row["number"], []).append(memory_from_row(row))
    return [_find_first_same(deps, each, found.get(number, ())) for number, each in enumerate(said)]


def _find_first_same(deps: MemoryDeps, said: ParsedStatement, memories: Iterable[Memory]) -> DuplicateMatch | None:
    for memory in memories:
        judgement = _judge_duplicate(deps, said, memory)
        if judgement.relation is Relation.SAME:
            return DuplicateMatch(memory=memory, judgement=judgement)
    return None


def _judge_duplicate(deps: MemoryDeps, said: ParsedStatement, memory: Memory) -> Judgement:
    if memory.fold == said.fold:
        return Judgement(relation=Relation.SAME, confidence=1.0, judge="rules", reasoning="Both are the same words.")
    pair = StatementPair(
        old_ref=memory.id,
        new_ref=memory.id,
        old=build_judge_statement(memory),
        new=said.statement,
        features=NOTHING_KNOWN,
    )
    return deps.panel.by_rules(pair)
