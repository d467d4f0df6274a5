"""Computes what a memory holds after a stream of statements, by the decisions that learning uses.

An in-memory list replaces the store: candidates are found as learning finds them (nearest by cosine, the
newest of the same slot, some of the same subject), the rules judge each, and `decide` says what becomes of
the statement. The baseline `nearest_wins` replaces whatever is nearest. Only texts and their order are seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from benchmarks.judging import JudgingTexts
from festinger.ids import Origin
from festinger.judge.cascade import accept_if_sure
from festinger.judge.model import ACCEPT, JudgeStatement
from festinger.judge.rules.decide import judge
from festinger.judge.rules.parse import parse_statement
from festinger.memory.learn.decision import JudgedCandidate, LearnDecision, LearnLimits, decide
from festinger.memory.model import Action, Status

CANDIDATES = 20
OF_SUBJECT = 10
TRUST: Mapping[Origin, float] = {Origin.PERSON: 1.0, Origin.DOCUMENT: 0.4}


@dataclass(slots=True)
class StreamResult:
    """What became of the statements, by their position in the stream."""

    standing: dict[int, Status] = field(default_factory=dict)
    """Those that are active or held."""
    superseded_by: dict[int, int] = field(default_factory=dict)
    merged_into: dict[int, int] = field(default_factory=dict)
    conflicts: dict[int, set[int]] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)
    why: dict[int, str] = field(default_factory=dict)

    def active(self) -> list[int]:
        return [place for place, standing in self.standing.items() if standing is Status.ACTIVE]


Learner = Callable[[JudgingTexts, Sequence[str], Origin], StreamResult]


def learnt(texts: JudgingTexts, stream: Sequence[str], origin: Origin) -> StreamResult:
    """What the product holds after the stream."""
    held = StreamResult()
    for place in range(len(stream)):
        judged = [
            _judged(texts, stream, old=old, new=place, origin=origin, standing=held.standing[old])
            for old in _candidates(texts, stream, held, place)
        ]
        _carry_out(held, place, decide(judged, LearnLimits(), trust=TRUST[origin], origin=origin))
    return held


def _candidates(texts: JudgingTexts, stream: Sequence[str], held: StreamResult, new: int) -> list[int]:
    known = list(held.standing)
    if not known:
        return []
    cosines = np.stack([texts.vectors[stream[old]] for old in known]) @ texts.vectors[stream[new]]
    nearest = [known[place] for place in np.argsort(-cosines, kind="stable")[:CANDIDATES]]
    mine = parse_statement(stream[new]).slots
    places, subjects = {slot.place for slot in mine}, {slot.subject for slot in mine}
    slots = {old: parse_statement(stream[old]).slots for old in known} if mine else {}
    of_slot = [old for old in known if any(slot.place in places for slot in slots.get(old, ()))]
    of_subject = [old for old in known if any(slot.subject in subjects for slot in slots.get(old, ()))]
    return list(dict.fromkeys([*nearest, *of_slot[-CANDIDATES:], *of_subject[-OF_SUBJECT:]]))


def _judged(
    texts: JudgingTexts, stream: Sequence[str], *, old: int, new: int, origin: Origin, standing: Status
) -> JudgedCandidate:
    verdict = judge(
        JudgeStatement(text=stream[old], order=old, origin=origin),
        JudgeStatement(text=stream[new], order=new, origin=origin),
        texts.features(stream[old], stream[new]),
    )
    return JudgedCandidate(
        id=UUID(int=old), judgement=accept_if_sure(verdict, accept=ACCEPT), trust=TRUST[origin], status=standing
    )


def _carry_out(held: StreamResult, place: int, decided: LearnDecision) -> None:
    held.why[place] = decided.why
    if decided.confirms is not None:
        held.merged_into[place] = decided.confirms.int
        return
    for old in decided.supersedes:
        held.superseded_by[old.int] = place
        del held.standing[old.int]
    if decided.superseded_by is not None:
        held.superseded_by[place] = decided.superseded_by.int
        return
    held.standing[place] = Status.HELD if decided.action is Action.CONFLICTED else Status.ACTIVE
    held.conflicts[place] = {old.int for old in decided.conflicts}
    if decided.waits_for:
        held.pending.add(place)


def nearest_wins(threshold: float) -> Learner:
    """Replace the nearest live statement above a cosine; identical words are one statement."""

    def learner(texts: JudgingTexts, stream: Sequence[str], _origin: Origin) -> StreamResult:
        held = StreamResult()
        for place, text in enumerate(stream):
            known = list(held.standing)
            if known:
                cosines = np.stack([texts.vectors[stream[old]] for old in known]) @ texts.vectors[text]
                best = int(np.argmax(cosines))
                if stream[known[best]] == text:
                    held.merged_into[place] = known[best]
                    continue
                if cosines[best] >= threshold:
                    held.superseded_by[known[best]] = place
                    del held.standing[known[best]]
            held.standing[place] = Status.ACTIVE
        return held

    return learner
