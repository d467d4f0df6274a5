"""Tells from a request which repetition in its reply was asked for."""

import re
from dataclasses import dataclass
from functools import cached_property

READ = 4_000
"""Characters at both ends of a person's message in which a wish for repetition is looked for."""

_ASKED = re.compile(
    r"\b\d{1,6}\b[^.\n]{0,30}?\b(?:times|copies|rows|lines|repetitions|repeats)\b"
    r"|\brepeat\w*\b[^.\n]{0,60}?\b\d{1,6}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What the request itself says about repetition in its reply."""

    structured: bool = False
    """A schema or a format is enforced."""
    wish: str = ""
    """What the person said; it is read when a reply has begun to repeat itself, and few ever do."""

    @cached_property
    def is_asked(self) -> bool:
        """Whether the person asked for repetition."""
        return asks_to_repeat(self.wish)


def asks_to_repeat(message: str) -> bool:
    """Whether a message asks for something a number of times."""
    ends = message if len(message) <= 2 * READ else f"{message[:READ]}\n{message[-READ:]}"
    return _ASKED.search(ends) is not None
