"""Orders hits: by score, then later first, then by id, the same on every machine.

Among neighbors about the same thing the newer or more trusted comes first; duplicates are folded into the
better hit and summaries into what they summarize. Turns have no slot, and their vectors contain their
neighbors' words, so closeness says little. Two turns with the same words of a question but different amounts,
days or hours restate each other: the weekly target was 1,200 words, then 1,350. Which of the two holds is not
decided here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np

from festinger.memory.model import Kind
from festinger.retrieval.candidate import CueOutcome, Prior, RecallCandidate

MOSTLY = 0.7
"""Share of the cue's information in either turn that both must hold. Tuned on the development half: from 0.5
to 0.7 the newer comes first as often, and the less is shared the more often it precedes what answers
better."""

_AMOUNT = re.compile(r"\d(?:[\d,.:]*\d)?")


def differs_only_in_numbers(one: RecallCandidate, other: RecallCandidate, *, worth: Callable[[str], float]) -> bool:
    """Whether both say the same with different numbers; `worth` is how much a word of the cue says."""
    mine, yours = one.held.inside, other.held.inside
    shared = sum(map(worth, sorted(mine & yours)))
    if shared <= 0.0 or shared < MOSTLY * sum(map(worth, sorted(mine | yours))):
        return False
    amounts, said_again = _amounts(one), _amounts(other)
    return bool(amounts and said_again) and amounts != said_again


def _amounts(each: RecallCandidate) -> set[str]:
    return set(_AMOUNT.findall(each.content))


FIRST_LOOKED_AT = 20
"""Best hits among which newer ones move up."""
TURNS_LOOKED_AT = 10
"""The same for turns, more of which touch on everything. Measured on the development half: with the first 20,
recall@10 on BEAM falls from .61 to .56, and the newer comes first no more often."""
TRUSTED_MORE = 0.3
"""Trust lead needed to rank before another: a person before a model, a model before an unknown source."""
RETOLD = (Kind.INSIGHT, Kind.NARRATIVE)
"""Kinds that say again what their sources say; a tension says what none of them does."""
TWINS_AMONG = 60
"""Best hits among which duplicates are searched; what lies behind is hardly shown."""


@dataclass(slots=True, kw_only=True, eq=False)
class RecallHit:
    candidate: RecallCandidate
    score: float
    match: float
    rrf: float
    bm25: float
    coverage: float
    evidence: float
    prior: Prior
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Its rank in each arm that found it."""
    called: tuple[str, ...] = ()
    """Names by which the cue calls it."""
    reranked: float | None = None
    also: tuple[UUID, ...] = ()
    moved: bool = False
    """Whether it was reordered against its neighbors by time or trust."""
    is_dormant: bool = False
    lessons: tuple[CueOutcome, ...] = ()
    """Its earlier outcomes for such a cue."""
    company: float = 0.0
    """How strongly what is in mind leads to it."""
    hops: tuple[str, ...] = ()
    """The memories on the path to it, the one in mind first."""


def sort_hits(hits: Sequence[RecallHit]) -> list[RecallHit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.candidate.happened.timestamp(), hit.candidate.ref))


def vector_similarity(one: RecallCandidate, other: RecallCandidate) -> float | None:
    if one.vector is None or other.vector is None:
        return None
    return float(one.vector @ other.vector)


def prefer_newer(
    hits: Sequence[RecallHit], *, window: float, bar: float | None, worth: Callable[[str], float]
) -> list[RecallHit]:
    """Reorder similarly scored hits of one speaker about one thing, newest first.

    Of two that are disputed the newer always comes first. `window` is how far below the better score the
    other may be, `bar` how close memories must be in meaning if they share no slot, and `worth` how much a
    word of the cue says, to recognize restating turns.
    """
    best, rest = list(hits[:FIRST_LOOKED_AT]), list(hits[FIRST_LOOKED_AT:])
    is_disputed = any(hit.candidate.disputes for hit in best)
    taken: set[int] = set()
    for place, hit in enumerate(best):
        if place in taken:
            continue
        close = (1.0 - window) * hit.score
        group = [place] + [
            other
            for other in range(place + 1, len(best))
            if other not in taken
            and (
                (is_disputed and has_open_dispute(hit.candidate, best[other].candidate))
                or (
                    best[other].score >= close
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
    if one.origin != other.origin or one.owner != other.owner:
        return False
    if one.slot is not None and other.slot is not None:
        if one.slot == other.slot:
            return True
        if one.slot[0] != other.slot[0]:
            return False
    if one.type != other.type or one.speaker != other.speaker:
        return False
    if not one.is_memory:
        return differs_only_in_numbers(one, other, worth=worth)
    near = vector_similarity(one, other)
    return near is not None and bar is not None and near >= bar


def prefer_trusted(hits: Sequence[RecallHit], *, window: float, bar: float | None) -> list[RecallHit]:
    """Rank trusted speakers before pages and tools that are about the same and match about as well.

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
    if other.trust - one.trust < TRUSTED_MORE or not (one.is_memory and other.is_memory):
        return False
    if lower.score < (1.0 - window) * upper.score:
        return False
    near = vector_similarity(one, other)
    is_near = near is not None and bar is not None and near >= bar
    return is_near or has_open_dispute(one, other) or (one.slot is not None and one.slot == other.slot)


def fold_duplicates(hits: Sequence[RecallHit], *, bar: float | None) -> list[RecallHit]:
    """Fold hits that only repeat a better one into it; looks at the best ones only."""
    near, rest = list(hits[:TWINS_AMONG]), list(hits[TWINS_AMONG:])
    alike = _find_duplicates([hit.candidate for hit in near], bar=bar)
    also: dict[int, list[UUID]] = {}
    for place, hit in enumerate(near):
        duplicate = next((at for at in alike[place] if at in also), None) if alike[place] else None
        if duplicate is None:
            also[place] = []
        else:
            also[duplicate].append(hit.candidate.ref)
    return [
        replace(near[place], also=tuple(folded)) if folded else near[place] for place, folded in also.items()
    ] + rest


def _find_duplicates(candidates: Sequence[RecallCandidate], *, bar: float | None) -> list[list[int]]:
    """Return for each candidate the earlier ones that say the same, by words or by vectors."""
    sizes = [each.vector.size for each in candidates if each.vector is not None]
    blank = np.zeros(max(sizes, default=1), dtype=np.float32)
    vectors = np.stack([blank if each.vector is None else each.vector for each in candidates] or [blank])
    numbers = {text: number for number, text in enumerate(dict.fromkeys(each.content for each in candidates))}
    words = np.array([numbers[each.content] for each in candidates])
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
    """Merge a summary with the best turn that it summarizes: at the better rank, in the words of the turn.

    People want what was said, and the gist only if that was not found. A summary is close to every question
    about its conversation, so that one beside each answer would displace other answers. The better evidence
    counts.
    """
    kept = dict(enumerate(hits))
    places = {hit.candidate.ref: place for place, hit in kept.items() if not hit.candidate.is_memory}
    for place, hit in enumerate(hits if places else ()):
        if not hit.candidate.sums_up:
            continue
        found = [places[ref] for ref in hit.candidate.derives_from if ref in places]
        if not found:
            continue
        del kept[place]
        turn = kept.pop(min(found))
        better = min(place, *found)
        kept[better] = replace(
            turn,
            score=max(turn.score, hit.score),
            evidence=max(turn.evidence, hit.evidence),
            also=(*turn.also, hit.candidate.ref),
        )
        places[turn.candidate.ref] = better
    return [kept[place] for place in sorted(kept)]


def drop_retold_hits(hits: Sequence[RecallHit]) -> list[RecallHit]:
    """Drop turns from which a better hit was learned verbatim, and insights and narratives that a better hit is a source
    of: they would repeat it."""
    sources: set[UUID] = set()
    kept: list[RecallHit] = []
    for hit in hits:
        one = hit.candidate
        if one.is_memory and one.derives_from and not one.sums_up:
            sources |= one.derives_from
        is_retold = one.kind in RETOLD and any(each.candidate.ref in one.derives_from for each in kept)
        if not is_retold and (one.is_memory or one.ref not in sources):
            kept.append(hit)
    return kept
