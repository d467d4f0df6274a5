"""Parses and formats a fact written in one line.

    X -isa Y [in context of Z]
    X -ispart Y [in context of Z]

An operand is one concept, however many words it has. Parsing a formatted fact returns the same fact.
"""

import re
from dataclasses import dataclass

from festinger.errors import BadFact
from festinger.text.operands import MEMBERSHIP, TYPE
from festinger.text.tokens import tokenize

LONGEST = 500
"""Maximum characters of a fact."""

GRAMMAR = "Write it as `X -isa Y [in context of Z]` or `X -ispart Y [in context of Z]`."

_FLAG = re.compile(r"(?<!\S)-(isa|ispart)(?!\S)", re.IGNORECASE)
_CONTEXT = re.compile(r"(?<!\s)\s++in\s++context\s++of(?!\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTriple:
    """A triple that somebody states explicitly."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool


def parse_fact(line: str) -> FactTriple:
    if len(line) > LONGEST:
        raise BadFact(f"A fact has at most {LONGEST} characters; this one has {len(line)}.", hint=GRAMMAR)
    flags = list(_FLAG.finditer(line))
    if len(flags) != 1:
        raise BadFact(_flag_count_error(len(flags)), hint=GRAMMAR)
    parent, *contexts = _CONTEXT.split(line[flags[0].end() :])
    if len(contexts) > 1:
        raise BadFact("A fact has one context at most.", hint=GRAMMAR)
    is_isa = flags[0].group(1).lower() == "isa"
    return FactTriple(
        concept=_parse_operand(line[: flags[0].start()], "before the flag"),
        parent=_parse_operand(parent, "after the flag"),
        dimension=_parse_operand(contexts[0], "after `in context of`") if contexts else _default_dimension(is_isa),
        is_isa=is_isa,
    )


def format_fact(fact: FactTriple) -> str:
    line = f"{fact.concept} {'-isa' if fact.is_isa else '-ispart'} {fact.parent}"
    if fact.dimension == _default_dimension(fact.is_isa):
        return line
    return f"{line} in context of {fact.dimension}"


def _default_dimension(is_isa: bool) -> str:
    return TYPE if is_isa else MEMBERSHIP


def _parse_operand(written: str, where: str) -> str:
    """Join all words into one concept; a word of a script without spaces is kept whole."""
    name = "_".join(token.text for token in tokenize(written, known=lambda _: True))
    if not name:
        raise BadFact(f"There is no concept {where}.", hint=GRAMMAR)
    return name


def _flag_count_error(count: int) -> str:
    return "A fact needs `-isa` or `-ispart`." if count == 0 else "A fact has one flag, `-isa` or `-ispart`."
