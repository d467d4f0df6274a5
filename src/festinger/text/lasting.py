"""Does a statement that nobody asked to keep say something that lasts?

In talk most statements do not: they hold today, tell what somebody is about to do, where somebody is just now or how
the thing at hand looks, or they are supposed, told of a story, or put into somebody's mouth. Known by the form of the
sentence and short lists. Pure; what a person asks to be kept is kept, whatever this says.
"""

import re
from functools import cache

from festinger.text.asserted import SUPPOSING
from festinger.text.fold import fold
from festinger.text.words import LISTS, words

_WORD = re.compile(r"[a-z']+")
_QUOTATION = re.compile(r"""["«][^"«»\s]*+(?:\s[^"«»\s]*+){2,}+["»]""")
"""Three words or more between marks: not a title or a name, but what somebody said."""
_IN_A_WHILE = re.compile(
    r"\b(?:in|for|within) (?:a|an|one|two|three|five|ten|twenty|\d+) (?:few )?(?:second|minute|hour)s?\b|\bnow$"
)
_ABOUT_TO = re.compile(
    r"^(?:i|we)(?:'ll| will| am going to|'m going to| are going to|'re going to| am about to|'m just|'m off)\b"
)
_WHEREABOUTS = re.compile(r"^(?:i|we)(?: am|'m| are|'re) (?:in|at|on|near|inside|outside|back|here|there)\b")
_AT_HAND = re.compile(
    r"^(?:it|this|that|these|those|there)\b|^the (?:other|first|second|third|last|next|previous|old|new) "
    r"|\b(?:looks?|sounds?|seems?|feels?|reads?) (?!like a\b|after\b)\w+"
)
_OPINION = re.compile(
    r"^(?:sorry|hmm|well|oh|ha)?[, ]*i(?:'m| am)? (?:think|guess|hope|mean|meant|wonder|suppose|believe|doubt|wish)\b"
)


def is_lasting(text: str) -> bool:
    """Whether it is said as a fact, and of more than the moment."""
    plain = fold(text)
    return not (_is_of_the_moment(plain) or _is_not_said(plain))


def _is_of_the_moment(plain: str) -> bool:
    forms = (_IN_A_WHILE, _ABOUT_TO, _WHEREABOUTS, _AT_HAND, _OPINION)
    return _moments().search(plain) is not None or any(form.search(plain) for form in forms)


def _is_not_said(plain: str) -> bool:
    said = set(_WORD.findall(plain))
    return bool(
        said & SUPPOSING
        or _QUOTATION.search(plain)
        or _hearsay().search(plain)
        or _fiction().search(plain)
        or plain.startswith(">")
    )


@cache
def _moments() -> re.Pattern[str]:
    lines = (LISTS / "moments.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, listed)) + r")\b")


@cache
def _hearsay() -> re.Pattern[str]:
    """Somebody else says it: `my neighbour claims that …`, but not what the speaker told or decided."""
    verbs = "|".join(sorted(words("sayings")))
    return re.compile(rf"^(?!i\b|we\b)(?:[^\s,]+ ){{1,5}}(?:{verbs})(?: that\b|:)")


@cache
def _fiction() -> re.Pattern[str]:
    works = "|".join(sorted(words("fictions")))
    return re.compile(
        rf"\bin (?:the|this|that|a|an|my|his|her|our|their|your) (?:\w+ )?(?:{works})\b|^the (?:{works}) (?:says|tells|is about)\b"
    )
