"""Which censors does a text set off?

By pattern, or because it means what a censor means: a plain cosine at or above the threshold of the embedder. A
censor strikes only where it applies, for whom it applies, and in its domain. Pure; what a strike does is left to
`checking`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from festinger.ids import AgentId
from festinger.memory.censors.censor import Censor, Force, MatchedBy, Where
from festinger.memory.censors.watch import InForce, Matrix
from festinger.text.regex import Strike
from festinger.text.secrets import Redact, redact

LONGEST_EXCERPT = 200
BEFORE = 60
"""Characters of an excerpt that stand before the strike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Whose text it is, where it stands and what it is about."""

    where: Where
    agent: AgentId
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A censor that a text sets off."""

    censor: Censor
    matched_by: MatchedBy
    similarity: float | None = None


def applies(censor: Censor, aim: Aim) -> bool:
    return (
        censor.active
        and aim.where in censor.applies_to
        and censor.agent_id in (None, aim.agent)
        and censor.domain in (None, aim.domain)
    )


def wants_meaning(in_force: InForce, aim: Aim) -> bool:
    """Whether any censor must know what the text means."""
    return any(each.meaning and applies(each, aim) for each in in_force.censors.values())


def matches(in_force: InForce, text: str, aim: Aim, *, vector: Matrix | None) -> list[Match]:
    """The censors that a text sets off, stops first; `text` is as patterns read it."""
    struck = in_force.patterns.strikes(text)
    near = _near(in_force, vector)
    found = []
    for id_, censor in in_force.censors.items():
        if not applies(censor, aim):
            continue
        if id_ in struck:
            found.append(Match(censor=censor, matched_by=MatchedBy.PATTERN))
        elif id_ in near:
            found.append(Match(censor=censor, matched_by=MatchedBy.MEANING, similarity=near[id_]))
    return sorted(found, key=lambda match: (match.censor.action is not Force.BLOCK, match.censor.seq))


def _near(in_force: InForce, vector: Matrix | None) -> dict[UUID, float]:
    if vector is None or in_force.meanings is None or in_force.threshold is None:
        return {}
    cosines = [rounded(cosine) for cosine in in_force.meanings @ vector]
    pairs = zip(in_force.meant, cosines, strict=True)
    return {id_: cosine for id_, cosine in pairs if cosine >= in_force.threshold}


def rounded(cosine: float) -> float:
    """A cosine as it is held against a threshold: what stands at the bar must not fail by a digit of float32."""
    return round(float(cosine), 6)


def excerpts(
    in_force: InForce, text: str, found: Iterable[Match], *, redact: Redact = redact
) -> dict[UUID, str]:
    """What of a text each strike is remembered by, without secrets."""
    # Redacted as a whole: half a secret at the edge of an excerpt would not be known for one.
    clean = redact(text).text
    struck = in_force.patterns.strikes(clean)
    return {match.censor.id: _around(clean, struck.get(match.censor.id)) for match in found}


def _around(text: str, strike: Strike | None) -> str:
    start = max(0, strike.start - BEFORE) if strike else 0
    return text[start : start + LONGEST_EXCERPT]
