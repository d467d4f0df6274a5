"""Give no credit to a text for repeating the question.

A page that holds the very question matches it better than any answer does, and says nothing by that. The words of the
question are taken off what such a text holds, and its vector counts no more than that of an ordinary candidate. What
says nothing beside the question is no answer to it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from festinger.retrieval.candidate import Candidate
from festinger.retrieval.strangers import is_stem
from festinger.retrieval.words import Held
from festinger.text.hygiene import is_question

LEAST_WORDS = 4
"""Words of a question from which on a text that holds all of them in their order repeats it."""

_WORD = re.compile(r"\w+")


def discount_echoes(candidates: Sequence[Candidate], cue: str) -> list[Candidate]:
    """The candidates, those that repeat the question without what they have from that alone."""
    asked = _WORD.findall(cue.casefold())
    if len(asked) < LEAST_WORDS or not is_question(cue):
        return list(candidates)
    said = f" {' '.join(asked)} "
    rests = {each.ref: _rest(each.content, said) for each in candidates}
    plain = [each.cosine for each in candidates if rests[each.ref] is None and each.cosine is not None]
    usual = median(plain) if plain else None
    kept = []
    for each in candidates:
        rest = rests[each.ref]
        if rest is None:
            kept.append(each)
        elif rest:
            kept.append(_discounted(each, asked, usual))
    return kept


def _rest(content: str, said: str) -> str | None:
    """What a text says beside the question; none if it does not repeat it."""
    text = f" {' '.join(_WORD.findall(content.casefold()))} "
    return text.replace(said, " ").strip() if said in text else None


def _discounted(each: Candidate, asked: Sequence[str], usual: float | None) -> Candidate:
    times = Counter({term: sum(is_stem(term, word) for word in asked) for term in each.held.counts})
    counts = {term: max(0.0, count - times[term]) for term, count in each.held.counts.items()}
    return replace(
        each,
        held=Held(counts=counts, length=each.held.length, beside=each.held.beside),
        cosine=_least(each.cosine, usual),
        best=_least(each.best, usual),
    )


def _least(cosine: float | None, usual: float | None) -> float | None:
    return None if cosine is None or usual is None else min(cosine, usual)
