"""What is a hit, and in which order do hits come?

A candidate with its score and all that led to it. The order is the same on every machine: by score, then the later
one, then by id. Among neighbours that tell of the same thing the newer comes first, a twin of a better hit goes into
that one, and a summary into what it sums up.

Does one turn say again, with other numbers, what another said?

What was said has no slot that it fills, and its vector holds its neighbours' words: that two turns are near says little
of what they tell. Two that hold the same words of a question, and each an amount, a day or an hour, but not the same
ones, answer it twice: the weekly target was 1,200 words, then 1,350. Which of the two holds is not decided here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np

from festinger.retrieval.candidate import CueOutcome, Prior, RecallCandidate

MOSTLY = 0.7
"""Share of what either holds of a cue that both must hold, by what the words say. Chosen on the developers' half: from
0.5 to 0.7 the newer comes first as often, and the less is shared the more often it stands before what answers better."""

_AMOUNT = re.compile(r"\d(?:[\d,.:]*\d)?")


def is_restatement(one: RecallCandidate, other: RecallCandidate, *, worth: Callable[[str], float]) -> bool:
    """Whether both tell of the same with different numbers; `worth` is how much a word of the cue says."""
    mine, yours = one.held.inside, other.held.inside
    shared = sum(map(worth, sorted(mine & yours)))
    if shared <= 0.0 or shared < MOSTLY * sum(map(worth, sorted(mine | yours))):
        return False
    said, said_again = _amounts(one), _amounts(other)
    return bool(said and said_again) and said != said_again


def _amounts(each: RecallCandidate) -> set[str]:
    return set(_AMOUNT.findall(each.content))


FIRST_LOOKED_AT = 20
"""Best hits among which newer ones go first."""
TURNS_LOOKED_AT = 10
"""The same of turns, of which more tell a little of everything. Measured on the developers' half: among the first 20
recall@10 of BEAM falls from .61 to .56, and the newer comes first no more often."""
TRUSTED_MORE = 0.3
"""How much more one must be trusted than another to come before it: a person than a model, a model than nobody."""
TWINS_AMONG = 60
"""Best hits among which twins are looked for; what lies behind them is hardly shown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecallHit:
    candidate: RecallCandidate
    score: float
    match: float
    rrf: float
    bm25: float
    coverage: float
    evidence: float
    prior: Prior
    places: Mapping[str, int] = field(default_factory=dict)
    """Its place in each way of searching that found it."""
    called: tuple[str, ...] = ()
    """Names by which the cue calls it."""
    reranked: float | None = None
    also: tuple[UUID, ...] = ()
    moved: bool = False
    """Whether it stands where it does because it is newer or older than its neighbour."""
    is_dormant: bool = False
    lessons: tuple[CueOutcome, ...] = ()
    """What became of it for such a cue before."""
    company: float = 0.0
    """How strongly what is in mind leads to it."""
    hops: tuple[str, ...] = ()
    """Over which memories, the one in mind first."""
    blend: dict[str, Any] = field(default_factory=dict)


def sort_hits(hits: Sequence[RecallHit]) -> list[RecallHit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.candidate.happened.timestamp(), hit.candidate.ref))


def vector_similarity(one: RecallCandidate, other: RecallCandidate) -> float | None:
    if one.vector is None or other.vector is None:
        return None
    return float(one.vector @ other.vector)


def prefer_newer(
    hits: Sequence[RecallHit], *, window: float, bar: float | None, worth: Callable[[str], float]
) -> list[RecallHit]:
    """Hits of one speaker about one thing, and about as good, share their places newest first.

    Of two that are disputed the newer always comes first. `window` is how far below the better one's score the other may lie, `bar` how near memories must be in meaning
    where they fill no common slot, `worth` how much a word of the cue says, by which turns are known to tell the same.
    """
    best, rest = list(hits[:FIRST_LOOKED_AT]), list(hits[FIRST_LOOKED_AT:])
    taken: set[int] = set()
    for place, hit in enumerate(best):
        if place in taken:
            continue
        group = [place] + [
            other
            for other in range(place + 1, len(best))
            if other not in taken
            and (
                has_open_dispute(hit.candidate, best[other].candidate)
                or (
                    best[other].score >= (1.0 - window) * hit.score
                    and (best[other].candidate.is_memory or other < TURNS_LOOKED_AT)
                    and _is_same_topic(hit.candidate, best[other].candidate, bar=bar, worth=worth)
                )
            )
        ]
        taken.update(group)
        newest = sorted((best[at] for at in group), key=lambda each: each.candidate.when, reverse=True)
        for at, each in zip(group, newest, strict=True):
            best[at] = each if each is best[at] else replace(each, moved=True)
    return best + rest


def has_open_dispute(one: RecallCandidate, other: RecallCandidate) -> bool:
    """Whether it is undecided which of the two holds."""
    return other.ref in one.disputes or one.ref in other.disputes


def _is_same_topic(
    one: RecallCandidate, other: RecallCandidate, *, bar: float | None, worth: Callable[[str], float]
) -> bool:
    if (one.origin, one.owner) != (other.origin, other.owner):
        return False
    if one.slot is not None and other.slot is not None:
        if one.slot == other.slot:
            return True
        if one.slot[0] != other.slot[0]:
            return False
    if one.type != other.type or one.speaker != other.speaker:
        return False
    if not one.is_memory:
        return is_restatement(one, other, worth=worth)
    near = vector_similarity(one, other)
    return near is not None and bar is not None and near >= bar


def prefer_trusted(hits: Sequence[RecallHit], *, window: float, bar: float | None) -> list[RecallHit]:
    """Put what somebody well trusted said before what a page or a tool says of the same, where both match about as well.

    `window` and `bar` are those of `prefer_newer`.
    """
    best, rest = list(hits[:FIRST_LOOKED_AT]), list(hits[FIRST_LOOKED_AT:])
    for place, hit in enumerate(best):
        before = next(
            (at for at, other in enumerate(best[:place]) if _yields_to_trusted(other, hit, window=window, bar=bar)),
            None,
        )
        if before is not None:
            best.insert(before, replace(best.pop(place), moved=True))
    return best + rest


def _yields_to_trusted(upper: RecallHit, lower: RecallHit, *, window: float, bar: float | None) -> bool:
    one, other = upper.candidate, lower.candidate
    if not (one.is_memory and other.is_memory) or other.trust - one.trust < TRUSTED_MORE:
        return False
    if lower.score < (1.0 - window) * upper.score:
        return False
    near = vector_similarity(one, other)
    is_near = near is not None and bar is not None and near >= bar
    return is_near or has_open_dispute(one, other) or (one.slot is not None and one.slot == other.slot)


def fold_duplicates(hits: Sequence[RecallHit], *, bar: float | None) -> list[RecallHit]:
    """Hits that say nothing that a better one does not say, folded into that one. Looks at the best ones only."""
    near, rest = list(hits[:TWINS_AMONG]), list(hits[TWINS_AMONG:])
    alike = _find_duplicates([hit.candidate for hit in near], bar=bar)
    also: dict[int, list[UUID]] = {}
    for place, hit in enumerate(near):
        twin = next((at for at in alike[place] if at in also), None) if alike[place] else None
        if twin is None:
            also[place] = []
        else:
            also[twin].append(hit.candidate.ref)
    return [
        replace(near[place], also=tuple(folded)) if folded else near[place] for place, folded in also.items()
    ] + rest


def _find_duplicates(candidates: Sequence[RecallCandidate], *, bar: float | None) -> list[list[int]]:
    """Of each the places of those before it that say the same, by their words or by their vectors."""
    sizes = [each.vector.size for each in candidates if each.vector is not None]
    blank = np.zeros(max(sizes, default=1), dtype=np.float32)
    vectors = np.stack([blank if each.vector is None else each.vector for each in candidates] or [blank])
    said = {text: number for number, text in enumerate(dict.fromkeys(each.content for each in candidates))}
    words = np.array([said[each.content] for each in candidates])
    same = words[:, None] == words[None, :]
    if bar is not None:
        same |= vectors @ vectors.T >= bar
    found: list[list[int]] = [[] for _ in candidates]
    for place, other in zip(*map(np.ndarray.tolist, np.nonzero(np.tril(same, -1))), strict=True):
        mine, yours = candidates[place], candidates[other]
        if mine.owner == yours.owner and mine.type == yours.type:
            found[place].append(other)
    return found


def prefer_verbatim(hits: Sequence[RecallHit]) -> list[RecallHit]:
    """A summary and the best of the turns that it sums up are one hit: at the better place, in the words of the turn.

    Whoever asks wants what was said, and the gist where nothing of that was found. A summary is near to every question
    about its talk, so that one beside each answer would take the places of other answers. The evidence is that of both.
    """
    told = dict(enumerate(hits))
    places = {hit.candidate.ref: place for place, hit in told.items() if not hit.candidate.is_memory}
    for place, hit in enumerate(hits):
        found = [places[ref] for ref in hit.candidate.derives_from if ref in places]
        if not (hit.candidate.sums_up and found):
            continue
        del told[place]
        turn = told.pop(min(found))
        better = min(place, *found)
        told[better] = replace(
            turn,
            score=max(turn.score, hit.score),
            evidence=max(turn.evidence, hit.evidence),
            also=(*turn.also, hit.candidate.ref),
        )
        places[turn.candidate.ref] = better
    return [told[place] for place in sorted(told)]


def drop_sources(hits: Sequence[RecallHit]) -> list[RecallHit]:
    """Without the turns that a better hit was learnt from, word by word: they would say it a second time."""
    told: set[UUID] = set()
    kept = []
    for hit in hits:
        if hit.candidate.is_memory and not hit.candidate.sums_up:
            told |= hit.candidate.derives_from
        if hit.candidate.is_memory or hit.candidate.ref not in told:
            kept.append(hit)
    return kept
