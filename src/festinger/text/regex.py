"""Matches user-written patterns in time linear in the text.

Patterns run on RE2, which does not backtrack, so no text can make one hang. Constructs that it does not
support are rejected with their position. Many patterns are matched in one pass over the text, ignoring case.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import re2

from festinger.errors import BadInput
from festinger.text.normalize import normalize_text

LONGEST_PATTERN = 1_000
LARGEST_COMPILED = 2**20
LONGEST_READ = 10_000
"""Characters of a text that patterns are matched against."""

_TOGETHER_BYTES = 64 * 2**20
"""Memory limit for all patterns of a set together."""

_NAMES = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "an atomic group",
    "(?(": "a condition",
    "(?R": "recursion",
}
_UNKNOWN = re.compile(r"\(\?(?:<?[=!]|>|\(|R)|\\(?:[1-9]|k[<{'])")
_OPERATOR = re.compile(r"[\\^$*+()\[\]{}|]|[.?](?=\S)")
"""What makes a text a pattern rather than prose; a full stop or question mark that ends a word does not."""

FEWEST_WORDS = 4
"""Words from which a text without operators is prose."""

K = TypeVar("K", bound=Hashable)


def is_prose(rule: str) -> bool:
    """Return whether a rule is a sentence for people rather than a pattern."""
    return len(rule.split()) >= FEWEST_WORDS and _OPERATOR.search(rule) is None


def escape_pattern(text: str) -> str:
    return str(re2.escape(text))


def to_searchable(text: str) -> str:
    """Return the text as patterns see it: its normalized beginning, without hidden characters."""
    # Hidden characters must not push visible ones beyond the limit, so more is read.
    return normalize_text(text[: 4 * LONGEST_READ])[:LONGEST_READ]


def check_pattern(pattern: str) -> str:
    """Return the pattern if it is usable; otherwise raise `BadInput` with the construct and its position."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadInput(
            f"A pattern has at most {LONGEST_PATTERN:,} characters; this one has {len(pattern):,}.",
            hint="Split it into several.",
        )
    try:
        _compiled(pattern, most_bytes=LARGEST_COMPILED)
    except re2.error as error:
        raise _refusal(pattern, error) from error
    return pattern


def is_valid_pattern(pattern: str) -> bool:
    """Return whether a stored pattern is still usable."""
    try:
        check_pattern(pattern)
    except BadInput:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch:
    """Where a pattern matched, as offsets in the searchable text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSet(Generic[K]):
    """Patterns by key, matched together."""

    keys: tuple[K, ...]
    broken: tuple[K, ...]
    """Keys of unusable patterns."""
    _each: tuple["re2._Regexp", ...] = field(repr=False, compare=False)
    _together: "re2.Set | None" = field(repr=False, compare=False)

    def strikes(self, text: str) -> dict[K, PatternMatch]:
        if not self.keys:
            return {}
        data = text.encode("utf-8", "replace")
        if self._together is None:
            struck: Sequence[int] = range(len(self.keys))
        else:
            struck = self._together.Match(data) or ()
        found: dict[K, PatternMatch] = {}
        for place in sorted(struck):
            match = self._each[place].search(data)
            if match is not None:
                start, end = match.span()
                found[self.keys[place]] = PatternMatch(
                    start=len(data[:start].decode("utf-8", "replace")), end=len(data[:end].decode("utf-8", "replace"))
                )
        return found


def build_pattern_set(patterns: Mapping[K, str]) -> PatternSet[K]:
    """Build a set of the usable patterns; the others are listed by key."""
    good = {key: pattern for key, pattern in patterns.items() if is_valid_pattern(pattern)}
    together = re2.Set.SearchSet(_options(_TOGETHER_BYTES))
    try:
        for pattern in good.values():
            together.Add(pattern.encode())
        together.Compile()
    except re2.error:
        # Too much for one pass: each is then matched by itself, which is slower but finds the same.
        together = None
    return PatternSet(
        keys=tuple(good),
        broken=tuple(key for key in patterns if key not in good),
        _each=tuple(_compiled(pattern) for pattern in good.values()),
        _together=together if good else None,
    )


def _options(most_bytes: int) -> "re2.Options":
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = most_bytes
    return options


def _compiled(pattern: str, *, most_bytes: int = 8 * 2**20) -> "re2._Regexp":
    try:
        return re2.compile(pattern.encode(), options=_options(most_bytes))
    except UnicodeEncodeError as error:
        raise re2.error("half a character") from error


def _refusal(pattern: str, error: "re2.error") -> BadInput:
    why = _said(error)
    found = _UNKNOWN.search(pattern)
    if found is not None:
        construct = found.group()
        name = next((name for start, name in _NAMES.items() if construct.startswith(start)), "a back-reference")
        said = f"The pattern uses {name} (`{construct}`) at character {found.start() + 1}."
        hint = "Patterns run in linear time and cannot look around or back. Write it without."
        return BadInput(said, hint=hint, construct=construct, place=found.start() + 1)
    fragment = why.partition(": ")[2]
    place = pattern.find(fragment) + 1 if fragment and fragment in pattern else 1
    hint = "Test it with `festinger censor check`, or say what is meant in plain words."
    return BadInput(
        f"The pattern cannot be read at character {place}: {why}.", hint=hint, construct=fragment, place=place
    )


def _said(error: "re2.error") -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
