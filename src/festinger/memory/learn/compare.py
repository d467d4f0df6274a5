"""Compares a statement with its candidates, without writing anything.

Exact and near-exact duplicates are found by hash first, without vectors or judges. Other pairs worth judging
go to the judges. Subjects limit the effect: a statement about someone else, or about an unknown subject,
replaces nothing.
Quarantine covers tool and document texts that give orders or hide characters, statements that would overturn
many well-established memories, and bursts from one cause with little trust. Such a memory is stored, but it
is not recalled, confirms nothing and replaces nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from itertools import islice

import numpy as np

from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.errors import ProviderDown, ProviderRefused
from festinger.ids import AgentId, MemoryId, Origin, SpaceId
from festinger.judge.model import (
    NOTHING_KNOWN,
    WRITTEN,
    CurrentSide,
    GuardKind,
    Judgement,
    JudgeStatement,
    PairFeatures,
    PairJudgement,
    Relation,
    SimilarityThresholds,
    Slot,
    StatementPair,
    person_judgement,
)
from festinger.judge.pair_reader import MOST_READ, NEAR_ENOUGH, is_long_statement
from festinger.judge.pair_reader import NAME as READER
from festinger.judge.records import LLM
from festinger.judge.rules.subjects import unstated_subject
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import (
    DIGITS,
    CandidateComparison,
    LearnCandidate,
    PendingMemory,
    are_different_episodes,
    is_worth_judging,
)
from festinger.memory.learn.statement import LearnRequest, Statement, has_hidden_text
from festinger.memory.model import Kind, Memory, Status, memory_from_row
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.hygiene import is_instruction

Q = load_queries("festinger.memory")


MOST_JUDGED = 50
"""Pairs per statement that rules judge."""
MOST_ASKED = 10
"""Pairs per statement that an LLM is asked about."""
MOST_WORDINGS = 4
"""Memories per statement that are compared with the one it replaces."""


async def compare(deps: MemoryDeps, space: SpaceId, pending: Sequence[PendingMemory]) -> list[PendingMemory]:
    """Judge statements against their candidates by people's earlier answers, rules and the reader.

    Earlier judgements are loaded once for all. Call outside transactions.
    """
    paired = [await _build_pairs(deps, each) for each in pending]
    judgements = iter(await deps.panel.at_once(space, [pair for pairs in paired for _, pair in pairs]))
    compared = [
        [
            _build_comparison(each.statement, candidate, pair, judgement)
            for (candidate, pair), judgement in zip(pairs, islice(judgements, len(pairs)), strict=True)
        ]
        for each, pairs in zip(pending, paired, strict=True)
    ]
    return [
        replace(each, compared=tuple(await _add_other_wordings(deps, space, found, bars=each.bars)))
        for each, found in zip(pending, compared, strict=True)
    ]


async def _add_other_wordings(
    deps: MemoryDeps, space: SpaceId, compared: list[CandidateComparison], *, bars: SimilarityThresholds
) -> list[CandidateComparison]:
    """Let news replace also what says the same as the memory it replaces, in other words."""
    replaced = next((each for each in compared if _is_replaced(each)), None)
    others = [each for each in compared if _may_be_other_wording(each)][:MOST_WORDINGS]
    embedder = deps.embedder()
    if replaced is None or not others or embedder is None:
        return compared
    texts = [each.memory.content for each in (replaced, *others)]
    try:
        first, *vectors = await embedder.embed(texts, EmbeddingPurpose.COMPARE)
    except (ProviderDown, ProviderRefused):
        return compared
    pairs = [
        StatementPair(
            old_ref=replaced.memory.id,
            new_ref=each.memory.id,
            # Texts that nobody said in person are read here as well: the news is somebody's word.
            old=replace(build_judge_statement(replaced.memory), origin=Origin.PERSON),
            new=replace(build_judge_statement(each.memory), origin=Origin.PERSON),
            features=PairFeatures(similarity=round(float(np.dot(first, vector)), DIGITS), bars=bars),
        )
        for each, vector in zip(others, vectors, strict=True)
    ]
    judged = await deps.panel.at_once(space, pairs)
    same = {each.memory.id for each, said in zip(others, judged, strict=True) if _is_other_wording(each, said)}
    return [_replace_too(each, replaced) if each.memory.id in same else each for each in compared]


def _is_replaced(compared: CandidateComparison) -> bool:
    said = compared.judgement
    return said.final and said.relation is Relation.UPDATE and said.current is CurrentSide.NEW


def _may_be_other_wording(compared: CandidateComparison) -> bool:
    said = compared.judgement
    is_settled = said.relation in (Relation.SAME, Relation.UPDATE, Relation.CONTRADICTS)
    return compared.memory.status is Status.ACTIVE and not said.by_person and not is_settled


def _is_other_wording(compared: CandidateComparison, said: Judgement) -> bool:
    """Whether it says the same as what is replaced; where only the form of a number or the order keeps both apart, the
    news must read as news of it, too."""
    is_news_of_it = compared.judgement.leaning is Relation.UPDATE
    is_kept_apart = bool(said.guards) and GuardKind.NAME not in said.guards
    return said.relation is Relation.SAME or (said.leaning is Relation.SAME and is_kept_apart and is_news_of_it)


def _replace_too(compared: CandidateComparison, replaced: CandidateComparison) -> CandidateComparison:
    judgement = replace(replaced.judgement, reasoning="It says the same as what is replaced.")
    return replace(compared, opinion=replace(compared.opinion, judgement=judgement))


async def _build_pairs(deps: MemoryDeps, pending: PendingMemory) -> list[tuple[LearnCandidate, StatementPair]]:
    """Build the pairs of a statement that are worth judging."""
    near = _filter_worth_judging(pending, pending.candidates)
    near += _filter_worth_reading(pending, near)
    subjects = await match_subjects(deps, pending.statement, near)
    return [(each, build_pair(pending, each, same_subject=subjects.get(each.memory.id))) for each in near]


def compare_by_rules(
    deps: MemoryDeps, pending: PendingMemory, candidates: Sequence[LearnCandidate]
) -> list[CandidateComparison]:
    """Compare by rules alone, for decisions within a transaction."""
    found = []
    for each in _filter_worth_judging(pending, candidates):
        pair = build_pair(pending, each, same_subject=has_same_subject(pending.statement, each.memory))
        found.append(_build_comparison(pending.statement, each, pair, deps.panel.by_rules(pair)))
    return found


def _filter_worth_judging(pending: PendingMemory, candidates: Sequence[LearnCandidate]) -> list[LearnCandidate]:
    check = pending.bars.check
    return [each for each in candidates if is_worth_judging(pending.statement, each, check)][:MOST_JUDGED]


def _filter_worth_reading(pending: PendingMemory, near: Sequence[LearnCandidate]) -> list[LearnCandidate]:
    """Find what is left of the closest few to what a person said. The words of news can be far from what they
    replace: `we switched to Flux`, and Argo is gone."""
    statement = pending.statement
    if statement.request.origin in WRITTEN or pending.bars.check is None or is_long_statement(statement.text):
        return []
    scored = [each for each in pending.candidates if (each.similarity or 0.0) >= NEAR_ENOUGH]
    closest = sorted(scored, key=lambda each: -(each.similarity or 0.0))[:MOST_READ]
    known = {each.memory.id for each in near}
    return [
        each
        for each in closest
        if each.memory.id not in known
        and not is_long_statement(each.memory.content)
        and not are_different_episodes(statement, each.memory)
    ]


def _build_comparison(
    statement: Statement, candidate: LearnCandidate, pair: StatementPair, judgement: Judgement
) -> CandidateComparison:
    final = build_correction_judgement(statement, pair) or drop_cross_subject_judgement(pair, judgement)
    return CandidateComparison(
        memory=candidate.memory, similarity=candidate.similarity, opinion=PairJudgement(pair=pair, judgement=final)
    )


CLOCK_SKEW = timedelta(hours=1)
"""How far the clocks of two writers may differ."""


def build_pair(pending: PendingMemory, candidate: LearnCandidate, *, same_subject: bool | None) -> StatementPair:
    # What was said before the memory and is heard only now, in an imported conversation, is the older of the two.
    was_said_before = pending.statement.at < candidate.memory.created_at - CLOCK_SKEW
    return StatementPair(
        old_ref=candidate.memory.id,
        new_ref=pending.ref,
        old=build_judge_statement(candidate.memory),
        new=replace(pending.statement.judge_statement, order=0 if was_said_before else 2),
        features=PairFeatures(similarity=candidate.similarity, bars=pending.bars, same_subject=same_subject),
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
        unstated=unstated_subject(memory.content, memory.subject),
    )


def has_same_subject(statement: Statement, memory: Memory) -> bool | None:
    """Whether both have the same subject by name; None if one has none."""
    if statement.subject_key is None or memory.subject_key is None:
        return None
    return statement.subject_key == memory.subject_key


async def match_subjects(
    deps: MemoryDeps, statement: Statement, candidates: Sequence[LearnCandidate]
) -> Mapping[MemoryId, bool | None]:
    """Whether subjects match by name or, where names differ, by the similarity of the names."""
    found = {each.memory.id: has_same_subject(statement, each.memory) for each in candidates}
    others = [
        each.memory
        for each in candidates
        if found[each.memory.id] is False and _numbers(statement.subject_key) == _numbers(each.memory.subject_key)
    ]
    embedder = deps.embedder()
    bar = embedder.profile.threshold(ThresholdName.SUBJECT) if embedder else None
    if not others or embedder is None or bar is None or not statement.subject:
        return found
    names = list(dict.fromkeys([statement.subject, *(memory.subject or "" for memory in others)]))
    try:
        vectors = dict(zip(names, await embedder.embed(names, EmbeddingPurpose.COMPARE), strict=True))
    except (ProviderDown, ProviderRefused):
        # Different names then count as different subjects: nothing is replaced on a guess.
        return found
    for memory in others:
        nearness = float(np.dot(vectors[statement.subject], vectors[memory.subject or ""]))
        found[memory.id] = nearness >= bar
    return found


def build_correction_judgement(statement: Statement, pair: StatementPair) -> Judgement | None:
    """Return the judgement of a speaker who corrects their own statement; it needs no judge."""
    if statement.request.corrects is None or statement.request.corrects != pair.old_ref:
        return None
    return person_judgement("speaker", Relation.UPDATE, current=CurrentSide.NEW, reasoning="Its speaker corrected it.")


def _numbers(subject: str | None) -> list[str]:
    """Return the numbers in a name: vectors barely see them, yet service 7 is not service 8."""
    return _NUMBER.findall(subject or "")


_NUMBER = re.compile(r"\d+")


def drop_cross_subject_judgement(pair: StatementPair, judgement: Judgement) -> Judgement:
    """Drop what was judged across subjects, unless a person judged it. What reads both statements may know better than
    names that were read from them, but not than a caller who names the subject and leaves it out of the text."""
    same = pair.features.same_subject
    is_read = judgement.judge == READER or (judgement.judge.startswith(LLM) and same is None)
    is_named = bool(pair.new.unstated or pair.old.unstated) and not _mentions_subject(pair)
    if judgement.by_person or (is_read and not (same is not True and is_named)):
        return judgement
    if is_read and judgement.relation is not Relation.UNRELATED:
        return replace(judgement, relation=Relation.UNRELATED, reasoning="It is said of another subject.", final=True)
    is_update = judgement.relation is Relation.UPDATE
    if (is_update and same is not True) or (judgement.relation is Relation.CONTRADICTS and same is False):
        who = "of another subject" if same is False else "of a subject that nobody can tell"
        return replace(judgement, relation=Relation.UNRELATED, reasoning=f"It is said {who}.", final=True)
    return judgement


def _mentions_subject(pair: StatementPair) -> bool:
    """Whether one side's words hold the subject that the other leaves out."""
    sides = ((pair.old, pair.new), (pair.new, pair.old))
    return any(one.unstated and not unstated_subject(other.text, one.unstated) for one, other in sides)


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


def find_suspicions(request: LearnRequest, cleaned: str, without_blocks: Callable[[str], str]) -> tuple[str, ...]:
    """Return what makes a text suspicious by itself, given what cleaning left of it."""
    if request.origin not in OUTSIDERS:
        return ()
    found = []
    if is_instruction(cleaned):
        found.append(Suspicion.INSTRUCTION.value)
    if has_hidden_text(without_blocks(request.text)):
        found.append(Suspicion.HIDDEN_TEXT.value)
    return tuple(found)


def is_contradiction_spike(trust: float, compared: Sequence[CandidateComparison]) -> bool:
    """Whether a statement would overturn too much for its trust."""
    if trust >= LITTLE_TRUST:
        return False
    against = [each for each in compared if is_update_or_contradiction(each) and is_well_established(each.memory)]
    return len(against) >= SPIKE


def is_update_or_contradiction(compared: CandidateComparison) -> bool:
    return compared.judgement.relation in (Relation.UPDATE, Relation.CONTRADICTS)


def is_well_established(memory: Memory) -> bool:
    is_held = memory.trust >= WELL_TRUSTED or memory.confidence >= WELL_BELIEVED
    return memory.status is Status.ACTIVE and is_held


def is_burst(trust: float, *, births: int, limit: int) -> bool:
    """Whether a cause has used up its allowance within the window."""
    return trust < LITTLE_TRUST and births >= limit


REPEATERS = (Origin.MODEL, Origin.TOOL)
"""Origins that see surfaced memories and repeat them."""


def find_echo(prepared: PendingMemory, compared: Sequence[CandidateComparison]) -> CandidateComparison | None:
    """Find the surfaced memory that a model or tool merely repeats, in whatever words."""
    if prepared.statement.origin not in REPEATERS or not prepared.surfaced:
        return None
    for each in compared:
        judgement = each.judgement
        says_again = judgement.relation is Relation.SAME or (
            judgement.relation in (Relation.UNSURE, Relation.REFINES) and not judgement.guards
        )
        if each.memory.id in prepared.surfaced and says_again:
            return each
    return None


MOST_TWINS = 10

SAME_WORDS = Judgement(relation=Relation.SAME, confidence=1.0, judge="rules", reasoning="Both are the same words.")


async def find_duplicates(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    statements: Sequence[Statement],
    *,
    other_than: MemoryId | None = None,
) -> list[CandidateComparison | None]:
    """Find for each statement the memory with the same words or the same gist."""
    groups: dict[tuple[AgentId | None, tuple[Kind, ...]], list[int]] = {}
    for number, each in enumerate(statements):
        groups.setdefault((each.owner, each.comparable_kinds), []).append(number)
    found: dict[int, list[Memory]] = {}
    for (owner, kinds), numbers in groups.items():
        asked = [statements[number] for number in numbers]
        rows = await transaction.all(
            Q["twins_of_each"],
            **{"except": other_than},
            space=space,
            owner=owner,
            kinds=list(kinds),
            numbers=numbers,
            folds=[each.fold for each in asked],
            gists=[each.gist for each in asked],
            days=[each.request.event_time.date() if each.request.event_time else None for each in asked],
            limit=MOST_TWINS,
        )
        for row in rows:
            found.setdefault(row["number"], []).append(memory_from_row(row))
    return [_find_first_same(deps, each, found.get(number, ())) for number, each in enumerate(statements)]


def _find_first_same(deps: MemoryDeps, statement: Statement, memories: Iterable[Memory]) -> CandidateComparison | None:
    for memory in memories:
        pair = StatementPair(
            old_ref=memory.id,
            new_ref=memory.id,
            old=build_judge_statement(memory),
            new=statement.judge_statement,
            features=NOTHING_KNOWN,
        )
        judgement = SAME_WORDS if memory.fold == statement.fold else deps.panel.by_rules(pair)
        if judgement.relation is Relation.SAME:
            opinion = PairJudgement(pair=pair, judgement=judgement)
            return CandidateComparison(memory=memory, similarity=None, opinion=opinion)
    return None
