"""What do the judges that are at hand say of a statement and its candidates?

Pairs that are worth judging go to the panel; the others are not the same and nothing is asked. Who a statement is
about limits what may follow from a judgement: nothing is replaced because something was said of somebody else, and
where nobody can tell whom it is about, nothing is replaced at all.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from festinger.embedding.profiles import Purpose, Threshold
from festinger.errors import ProviderDown, ProviderRefused
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import (
    Bars,
    Current,
    Features,
    Judgement,
    Opinion,
    Pair,
    Relation,
    Slot,
    Statement,
    by_person,
)
from festinger.judge.pair_reader import NAME as READER
from festinger.memory.candidates import Candidate, worth_judging
from festinger.memory.decision import Judged, Newcomer
from festinger.memory.desk import Desk
from festinger.memory.given import Said
from festinger.memory.memory import Memory
from festinger.memory.opposition import oppositions
from festinger.memory.vectors import Embedded

MOST_JUDGED = 50
"""Pairs of one statement that rules look at."""
MOST_ASKED = 10
"""Pairs of one statement that an LLM is asked about."""

SAME_SUBJECT = {True: True, False: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A candidate with what was said of it."""

    candidate: Candidate
    opinion: Opinion

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def judged(self) -> Judged:
        return judged(self.candidate, self.opinion.judgement)


def judged(candidate: Candidate, judgement: Judgement) -> Judged:
    memory = candidate.memory
    return Judged(
        id=memory.id,
        judgement=judgement,
        trust=memory.trust,
        status=memory.standing,
        immutable=memory.immutable,
        similarity=candidate.similarity,
    )


def newcomer(said: Said) -> Newcomer:
    return Newcomer(trust=said.trust, origin=said.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A statement, and what it may have to do with."""

    said: Said
    candidates: Sequence[Candidate]
    ref: MemoryId
    vectors: Embedded | None


async def compare(
    desk: Desk,
    space: SpaceId,
    said: Said,
    candidates: Sequence[Candidate],
    *,
    ref: MemoryId,
    vectors: Embedded | None,
) -> list[Compared]:
    """What people said before, rules and the small model say of each pair. Not within a transaction."""
    asked = Question(said=said, candidates=candidates, ref=ref, vectors=vectors)
    return (await compare_all(desk, space, [asked]))[0]


async def compare_all(desk: Desk, space: SpaceId, questions: Sequence[Question]) -> list[list[Compared]]:
    """The same for many statements; what was said before is looked up once for all of them."""
    paired = [await _paired(desk, space, each) for each in questions]
    judgements = iter(await desk.panel.at_once(space, [pair for pairs in paired for _, pair in pairs]))
    return [
        [
            Compared(
                candidate=candidate,
                opinion=Opinion(
                    pair=pair, judgement=corrected(asked.said, pair) or within_subject(pair, judgement)
                ),
            )
            for (candidate, pair), judgement in zip(pairs, islice(judgements, len(pairs)), strict=True)
        ]
        for asked, pairs in zip(questions, paired, strict=True)
    ]


async def _paired(desk: Desk, space: SpaceId, asked: Question) -> list[tuple[Candidate, Pair]]:
    """The pairs of a statement that a judge is asked about."""
    bars = asked.vectors.bars if asked.vectors else Bars()
    near = [each for each in asked.candidates if worth_judging(asked.said, each, bars.check)][:MOST_JUDGED]
    subjects = await same_subjects(desk, asked.said, near)
    opposed = await oppositions(desk, space, near, asked.vectors)
    return [
        (
            each,
            pair_of(
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
    desk: Desk, said: Said, candidates: Sequence[Candidate], *, ref: MemoryId, vectors: Embedded | None
) -> list[Compared]:
    """The same by rules alone, for what must be decided within a transaction."""
    bars = vectors.bars if vectors else Bars()
    near = [each for each in candidates if worth_judging(said, each, bars.check)][:MOST_JUDGED]
    pairs = [
        pair_of(said, each, ref=ref, bars=bars, same_subject=known_subjects(said, each.memory))
        for each in near
    ]
    return [
        Compared(
            candidate=each,
            opinion=Opinion(
                pair=pair, judgement=corrected(said, pair) or within_subject(pair, desk.panel.by_rules(pair))
            ),
        )
        for each, pair in zip(near, pairs, strict=True)
    ]


def pair_of(
    said: Said,
    candidate: Candidate,
    *,
    ref: MemoryId,
    bars: Bars,
    same_subject: bool | None,
    opposition: float | None = None,
) -> Pair:
    memory = candidate.memory
    return Pair(
        old_ref=memory.id,
        new_ref=ref,
        old=statement_of(memory),
        new=replace(said.statement, order=2),
        features=Features(
            similarity=candidate.similarity, bars=bars, same_subject=same_subject, opposition=opposition
        ),
    )


def statement_of(memory: Memory, *, order: int = 1) -> Statement:
    """A memory as the judges read it."""
    slot = None
    if memory.subject_key and memory.attribute_key and memory.value_key:
        slot = Slot(subject=memory.subject_key, attribute=memory.attribute_key, value=memory.value_key)
    return Statement(
        text=memory.content,
        subject=memory.subject,
        slot=slot,
        event_time=memory.event_time,
        said_at=memory.created_at,
        order=order,
        origin=memory.origin,
    )


def known_subjects(said: Said, memory: Memory) -> bool | None:
    """Whether both are about the same, by their names alone; none if one of them names nobody."""
    if said.subject_key is None or memory.subject_key is None:
        return None
    return said.subject_key == memory.subject_key


async def same_subjects(
    desk: Desk, said: Said, candidates: Sequence[Candidate]
) -> Mapping[MemoryId, bool | None]:
    """Whether each is about the same: by name or, where names differ, by how near the names are."""
    found = {each.memory.id: known_subjects(said, each.memory) for each in candidates}
    others = [
        each.memory
        for each in candidates
        if found[each.memory.id] is False and _numbers(said.subject_key) == _numbers(each.memory.subject_key)
    ]
    embedder = desk.embedder()
    bar = embedder.profile.threshold(Threshold.SUBJECT) if embedder else None
    if not others or embedder is None or bar is None or not said.subject:
        return found
    names = list(dict.fromkeys([said.subject, *(memory.subject or "" for memory in others)]))
    try:
        vectors = dict(zip(names, await embedder.embed(names, Purpose.COMPARE), strict=True))
    except (ProviderDown, ProviderRefused):
        # Names that differ count as different then: nothing is replaced by a guess.
        return found
    for memory in others:
        nearness = float(np.dot(vectors[said.subject], vectors[memory.subject or ""]))
        found[memory.id] = nearness >= bar
    return found


def corrected(said: Said, pair: Pair) -> Judgement | None:
    """The word of a speaker who takes an earlier statement back; it needs no judge."""
    if said.given.corrects is None or said.given.corrects != pair.old_ref:
        return None
    return by_person("speaker", Relation.UPDATE, current=Current.NEW, reasoning="Its speaker corrected it.")


def _numbers(subject: str | None) -> list[str]:
    """The numbers in a name: vectors hardly see them, and yet service 7 is not service 8."""
    return _NUMBER.findall(subject or "")


_NUMBER = re.compile(r"\d+")


def within_subject(pair: Pair, judgement: Judgement) -> Judgement:
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
