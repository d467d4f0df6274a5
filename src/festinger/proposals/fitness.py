"""Can this be a proposal?

What is no text, or names a category or scope that there cannot be, is bad input and a fault of the caller. Text that
says nothing, or too much, is refused: it is kept, but it stands for no proposal. Pure.
"""

import re
from collections.abc import Collection

from festinger.errors import BadInput
from festinger.proposals.sighting import API, CONSOLIDATION, PERSON, REFLECTION, Suggestion
from festinger.settings.proposals import SLUG

LONGEST_WHAT = 500
LONGEST_REASON = 4000
LONGEST_SOURCE = 200

PRODUCERS = frozenset({REFLECTION, CONSOLIDATION, PERSON, API})
_DETECTOR = re.compile(r"detector:[a-z][a-z0-9_]{0,39}")


def require_fit(suggestion: Suggestion, *, categories: Collection[str]) -> None:
    """Refuse what cannot be understood."""
    for name in ("category", "scope", "what", "why", "how", "producer", "source"):
        if not isinstance(getattr(suggestion, name), str):
            raise BadInput(f"`{name}` must be text.")
    if suggestion.category not in categories:
        raise BadInput(
            f"`{suggestion.category[:40]}` is no category.", hint=f"There are {', '.join(categories)}."
        )
    if not SLUG.fullmatch(suggestion.scope):
        raise BadInput(
            f"`{suggestion.scope[:40]}` is no scope.",
            hint="A scope begins with a small letter and has at most 40 small letters, digits, `_` and `-`.",
        )
    if suggestion.producer not in PRODUCERS and not _DETECTOR.fullmatch(suggestion.producer):
        raise BadInput(f"`{suggestion.producer[:40]}` is no producer.")
    if not 1 <= len(suggestion.source) <= LONGEST_SOURCE:
        raise BadInput("A sighting must say which event or call it comes from.")


def refusal(*, what: str, why: str, how: str, normalised: str) -> str:
    """Why this text is no proposal; empty if it is one."""
    if len(what) > LONGEST_WHAT:
        return f"`what` has more than {LONGEST_WHAT} characters"
    for name, text in (("why", why), ("how", how)):
        if len(text) > LONGEST_REASON:
            return f"`{name}` has more than {LONGEST_REASON:,} characters"
    return "" if normalised else "nothing is left of `what` but small words"
