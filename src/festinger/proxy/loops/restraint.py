"""When must a repetition be left alone, or borne for longer?

Code, tables and data repeat by nature, a person may have asked for copies, and encoded bytes hold long runs of
one character. A reply that is cut for any of these was cut wrongly, so the bar is higher there.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from festinger.proxy.loops.finding import Severity, StreamRule

PATIENCE = 10
"""Repeats that are borne in code and data, and beyond a number that was asked for."""
READ = 4_000
"""Characters at both ends of a person's message in which a wish for repetition is looked for."""
BINARY = 64
MIXED = 10

FENCES = ("```", "~~~")
DATA_MARKS = ("|", "{", "}", "[", "]", '"', "<")
"""How a line of a table, of JSON or of markup begins."""

_ASKED = re.compile(
    r"\b(\d{1,6})\b[^.\n]{0,30}?\b(?:times|copies|rows|lines|repetitions|repeats)\b"
    r"|\brepeat\w*\b[^.\n]{0,60}?\b(\d{1,6})\b",
    re.IGNORECASE,
)
_ENCODED = re.compile(r"[A-Za-z0-9+/=\r\n]*")
_HEX = frozenset("0123456789abcdefABCDEF\r\n")


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What the request itself says about repetition in its reply."""

    structured: bool = False
    """A schema or a format is enforced."""
    wish: str = ""
    """What the person said; it is read when a reply has begun to repeat itself, and few ever do."""

    @cached_property
    def asked(self) -> int:
        """So many repeats were asked for."""
        return asked_for(self.wish)


def asked_for(message: str) -> int:
    """The largest number of repeats that a person's message asks for; 0 if it asks for none."""
    ends = message if len(message) <= 2 * READ else f"{message[:READ]}\n{message[-READ:]}"
    return max((int(before or after) for before, after in _ASKED.findall(ends)), default=0)


def permitted(
    rule: StreamRule, severity: Severity, *, count: int, in_data: bool, allowance: Allowance
) -> Severity | None:
    """How severe a finding may be where it was made; `None` if it is no finding there."""
    if allowance.asked and count < allowance.asked + PATIENCE:
        return None
    if severity is Severity.CUT and (in_data or allowance.structured) and rule is not StreamRule.BLANK:
        counts_on = rule in (StreamRule.COUNTER, StreamRule.SHAPE)
        return Severity.NOTICE if counts_on or count < PATIENCE else Severity.CUT
    return severity


def is_encoded(text: str, repeated: int) -> bool:
    """Whether the end of a text is base64 or hex that had begun before its last `repeated` characters did."""
    run = _ENCODED.match(text[::-1])
    before = run.group()[repeated:] if run else ""
    if len(before) < BINARY:
        return False
    kinds = (str.isupper, str.islower, str.isdigit)
    of_hex = len(set(before)) >= MIXED and _HEX.issuperset(before)
    return of_hex or all(any(map(kind, before)) for kind in kinds)
