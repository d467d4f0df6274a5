"""What speaks for a hit beside its match?

That it is fresh, deeply held, a person's own word, said by the very one who is asked about, inside the time that the
cue names, or that it helped with such a question before; and against it that it tells little, or misled. The match
decides first: all of this only orders what matches about equally well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from festinger.settings.retrieval import RetrievalSettings

DAY_SECONDS = 86_400.0
LN_2 = 0.693
"""As the formula has it: half of it is left after one half-life, to three digits."""
RECENCY_SHARE, CENTER_SHARE = 0.6, 0.4
TIME_BONUS = 0.15
TRUSTED = 0.9
"""What derives from a person's word counts as one from this trust on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What became of a memory for some question, and how like the present one that was."""

    reward: float
    weight: float
    likeness: float
    cue: str
    """A mark of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """All that speaks for or against a hit, but its match."""

    recency: float
    center: float
    person: float = 0.0
    speaker: float = 0.0
    time: float = 0.0
    helped: float = 0.0
    substance: float = 0.0
    confidence: float = 0.5

    @property
    def belief(self) -> float:
        """The factor that lets what misled sink, and what is merely unproven not."""
        return min(1.0, 0.5 + self.confidence)


def recency(age_seconds: float, *, half_life_days: float) -> float:
    return math.exp(-LN_2 * max(0.0, age_seconds) / (half_life_days * DAY_SECONDS))


def weighted(match: float, prior: Prior, *, prior_share: float) -> float:
    fresh = RECENCY_SHARE * prior.recency + CENTER_SHARE * prior.center
    bonus = prior.person + prior.speaker + prior.time + prior.helped + prior.substance
    return ((1.0 - prior_share) * match + prior_share * fresh + bonus) * prior.belief


def person_bonus(origin: str, trust: float, *, settings: RetrievalSettings, asks_model: bool) -> float:
    """A person's word before a model's, unless the model's own words are asked for."""
    if asks_model:
        return 0.0
    is_persons = origin == "person" or (origin == "job" and trust >= TRUSTED)
    return settings.person_bonus if is_persons else 0.0


def telling(lessons: Sequence[Lesson], *, bar: float | None) -> list[Lesson]:
    """Those of questions that are the present one: in the same words or, from `bar` on, in the same sense."""
    return [each for each in lessons if each.likeness >= (1.0 if bar is None else bar)]


def helped(lessons: Sequence[Lesson], *, most: float) -> float:
    """What is added for a memory that helped with such a question, or taken if it misled; never more than `most`."""
    if not lessons:
        return 0.0
    gained = sum(each.reward * each.weight * each.likeness for each in lessons)
    known = sum(each.weight * each.likeness for each in lessons)
    return max(-most, min(most, most * gained / (1.0 + known)))
