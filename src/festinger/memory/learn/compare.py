"""What do the judges that are at hand say of a statement and its candidates?

Pairs that are worth judging go to the panel; the others are not the same and nothing is asked. Who a statement is
about limits what may follow from a judgement: nothing is replaced because something was said of somebody else, and
where nobody can tell whom it is about, nothing is replaced at all.

Do the vectors of a statement and of a memory differ as a statement and its negation do?

Where the embedder's profile holds a direction of negation, how far the difference points along it goes with the pair
to the judges. Both vectors have length one, so the memory's own share along the direction and the cosine are enough:
no vector leaves the store.

Which statements are locked away until a person has looked?

Those of tools and documents that order the agent about or hide characters, those that at a stroke would overturn
much that is well held, and those that come in a flood from one little trusted cause. Pure; what is locked away is
stored all the same, but is not recalled, confirms nothing and replaces nothing.

What is known of a statement before it is written?

Gathered outside of any transaction: who says it, what it was held against and what was said of each pair, its
vectors, and what this session was reminded of. Pure values, and the one question that can be answered from them
alone: does somebody only repeat us?

Has this been said before, in the same words or almost?

The two cheapest steps of learning: equal words, then equal gist with no guard against it. What is found here needs
no vector and no judge.
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
    """How far each near candidate differs along the profile's direction; nothing where there is none."""
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
    """The cosine between a difference of two unit vectors and a direction, from the share of each along it."""
    apart = math.sqrt(max(0.0, 2.0 - 2.0 * similarity))
    return max(-1.0, min(1.0, (new - old) / apart)) if apart else 0.0


MOST_JUDGED = 50
"""Pairs of one statement that rules look at."""
MOST_ASKED = 10
"""Pairs of one statement that an LLM is asked about."""

SAME_SUBJECT = {True: True, False: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateComparison:
    """A candidate with what was said of it."""

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
    """A statement, and what it may have to do with."""

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
    """What people said before, rules and the small model say of each pair. Not within a transaction."""
    asked = CompareRequest(said=said, candidates=candidates, ref=ref, vectors=vectors)
    return (await compare_all(deps, space, [asked]))[0]


async def compare_all(
    deps: MemoryDeps, space: SpaceId, questions: Sequence[CompareRequest]
) -> list[list[CandidateComparison]]:
    """The same for many statements; what was said before is looked up once for all of them."""
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
    """The pairs of a statement that a judge is asked about."""
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
    """The same by rules alone, for what must be decided within a transaction."""
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
    """A memory as the judges read it."""
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
    """Whether both are about the same, by their names alone; none if one of them names nobody."""
    if said.subject_key is None or memory.subject_key is None:
        return None
    return said.subject_key == memory.subject_key


async def match_subjects(
    deps: MemoryDeps, said: ParsedStatement, candidates: Sequence[LearnCandidate]
) -> Mapping[MemoryId, bool | None]:
    """Whether each is about the same: by name or, where names differ, by how near the names are."""
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
        # Names that differ count as different then: nothing is replaced by a guess.
        return found
    for memory in others:
        nearness = float(np.dot(vectors[said.subject], vectors[memory.subject or ""]))
        found[memory.id] = nearness >= bar
    return found


def build_correction_judgement(said: ParsedStatement, pair: StatementPair) -> Judgement | None:
    """The word of a speaker who takes an earlier statement back; it needs no judge."""
    if said.given.corrects is None or said.given.corrects != pair.old_ref:
        return None
    return person_judgement("speaker", Relation.UPDATE, current=Current.NEW, reasoning="Its speaker corrected it.")


def _numbers(subject: str | None) -> list[str]:
    """The numbers in a name: vectors hardly see them, and yet service 7 is not service 8."""
    return _NUMBER.findall(subject or "")


_NUMBER = re.compile(r"\d+")


def limit_to_subject(pair: StatementPair, judgement: Judgement) -> Judgement:
    """The judgement, unless it would replace or dispute what was said of another; a person and the reader of both
    statements have seen whom they are about."""
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
"""Below it a cause may not overturn much, nor come in floods."""
SPIKE = 3
"""Well held memories that one little trusted statement may not overturn together."""
WELL_TRUSTED = 0.8
WELL_BELIEVED = 0.6


class Suspicion(StrEnum):
    INSTRUCTION = "instruction"
    HIDDEN_TEXT = "hidden_text"
    SPIKE = "contradiction_spike"
    BURST = "burst"


OUTSIDERS = (Origin.TOOL, Origin.DOCUMENT)


def find_suspicions(text: str, *, origin: Origin, hid: bool) -> tuple[str, ...]:
    """What speaks against a text by itself."""
    if origin not in OUTSIDERS:
        return ()
    found = []
    if is_instruction(text):
        found.append(Suspicion.INSTRUCTION.value)
    if hid:
        found.append(Suspicion.HIDDEN_TEXT.value)
    return tuple(found)


def is_spike(trust: float, compared: Sequence[CandidateComparison]) -> bool:
    """Whether a statement would overturn too much for whoever says it."""
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
    """Whether a cause has brought as much as it may in the window already."""
    return trust < LITTLE_TRUST and births >= limit


REPEATERS = (Origin.MODEL, Origin.TOOL)
"""Who sees what we bring to mind, and says it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMemory:
    place: Scope
    said: ParsedStatement
    ref: MemoryId
    """The id that it gets if it becomes a memory of its own."""
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
    """What we brought to mind that a model or a tool only says again, in whatever words."""
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
    """The memory that says the same in the same words or of the same gist."""
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
    """The same for many, in their order."""
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
