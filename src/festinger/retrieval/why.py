"""Why did this come to mind?

Every hit can say it: its place in each arm, the words that matched, what spoke for it, how good the evidence is, where
it comes from, and one plain sentence. What does not apply is left out: nothing that is told is null. Nothing is decided
here.
"""

from datetime import datetime
from typing import Any

from festinger.clock import iso
from festinger.retrieval.activation import activation, base_level, spreading
from festinger.retrieval.candidate import Candidate
from festinger.retrieval.gate import Bar
from festinger.retrieval.hit import Hit
from festinger.settings.retrieval import RetrievalSettings

DIGITS = 6


def why(hit: Hit, *, bar: Bar, now: datetime, settings: RetrievalSettings) -> dict[str, Any]:
    each, prior = hit.candidate, hit.prior
    terms = sorted(term for term, count in each.held.counts.items() if count)
    told: dict[str, Any] = {
        "arms": dict(hit.places),
        "cosine": _short(each.cosine),
        "bm25": _short(hit.bm25),
        "terms": terms,
        "called": list(hit.called),
        "rrf": _short(hit.rrf),
        "match": _short(hit.match),
        "recency": _short(prior.recency),
        "weight": {
            "alpha": each.weight.alpha,
            "beta": each.weight.beta,
            "center": _short(each.weight.center),
            "effective": _short(each.effective.center),
        },
        "person": prior.person,
        "speaker": prior.speaker,
        "substance": _short(prior.substance),
        "time": prior.time,
        "helped": _short(prior.helped),
        "helped_by": sorted({lesson.cue for lesson in hit.lessons}),
        "confidence_factor": _short(prior.belief),
        "rerank": _short(hit.reranked),
        "blend": hit.blend,
        "evidence": _short(hit.evidence),
        "threshold": bar.threshold,
        "coverage": _short(hit.coverage),
        "hops": list(hit.hops),
        "company": _short(hit.company),
        "activation": activity(each, now=now, settings=settings),
        "newer_first": hit.moved,
        "origin": each.origin,
        "source": each.source,
        "causes": each.causes,
        "said_at": iso(each.said_at),
        "event_time": iso(each.event_time) if each.event_time else None,
        "version": each.version,
    }
    known = {name: value for name, value in told.items() if value is not None}
    return {**known, "sentence": sentence(hit, terms, bar=bar)}


def activity(each: Candidate, *, now: datetime, settings: RetrievalSettings) -> dict[str, float | None]:
    """How active it is at a moment, without chance. It is told, and orders nothing.

    What it tells of is the first time that it was met; reads that were used are the others.
    """
    met = [(now - each.happened).total_seconds(), *(age for age in each.ages if age >= 0)]
    base, near = base_level(met, decay=settings.actr_decay), spreading(each.cosine)
    return {
        "base": _short(base),
        "spreading": _short(near),
        "total": _short(activation(base, near, 0.0, 0.0)),
    }


def sentence(hit: Hit, terms: list[str], *, bar: Bar) -> str:
    each = hit.candidate
    by = []
    if terms:
        by.append("shares " + ", ".join(f"`{term}`" for term in terms[:5]))
    if hit.called:
        by.append("is called " + ", ".join(f"`{name}`" for name in hit.called[:5]))
    if each.cosine is not None:
        by.append(f"is {each.cosine:.2f} near in meaning")
    if hit.moved:
        by.append("was set in order of time with what tells of the same")
    if hit.hops:
        by.append("came to mind with " + ", ".join(hit.hops))
    enough = "enough" if hit.evidence >= bar.threshold else "weak"
    reasons = ", ".join(by) or "lies in the time that the cue names"
    what = "This was said" if not each.is_memory else f"This {each.kind} was learnt"
    return f"{what} by a {each.origin} on {each.happened.date().isoformat()}; it {reasons}; the evidence is {enough}."


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS)
