"""How does somebody make a censor, and see at once whether it is any good?

A rule is a pattern; plain prose is taken for what is meant, and the answer says so. The answer also counts which of
the last turns the rule would have struck: one that can never strike, or always does, shows at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.embedding.profiles import Threshold
from festinger.errors import BadInput, NotFound
from festinger.ids import DEFAULT_AGENT, Origin, SpaceId
from festinger.memory.censors.censor import (
    Censor,
    Force,
    Trigger,
    Where,
    censor_of,
    force_of,
    trigger_of,
    where_of,
)
from festinger.memory.censors.changing import (
    Changed,
    Note,
    Op,
    columns_of,
    log_change,
    needs_person,
    pattern_of,
    tell_changed,
    threshold_of,
    words_of,
)
from festinger.memory.censors.matching import rounded
from festinger.memory.censors.watch import Watch, embedder_of, vectors_of
from festinger.memory.desk import Desk
from festinger.memory.memory import Place
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.regex import escaped, is_prose, patterns_of, readable

Q = queries_of("festinger.memory")

TURNS = 1_000
"""Turns that a new rule is held against. A meaning has each of them embedded, which takes seconds, once."""

SPOKEN_AT = {Where.INPUT: "user", Where.OUTPUT: "assistant", Where.TOOL: "tool"}
"""Whose turns a place stands for; what is learnt may come from anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A censor as somebody asks for it."""

    rule: str = ""
    meaning: str | None = None
    reason: str = ""
    domain: str | None = None
    on: tuple[str, ...] = (Where.OUTPUT, Where.TOOL)
    action: str = Force.WARN
    literal: bool = False
    threshold: int | None = None
    origin: Origin = Origin.PERSON
    shared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a rule says: a pattern, a meaning, or both."""

    pattern: str | None
    meaning: str | None
    said: str


async def add(watch: Watch, place: Place, rule: Rule, *, by: str = "owner") -> Censor:
    """Make a censor. Raises `BadInput` with construct and place, and `Refused` for a stop that no person asks for."""
    read = read_rule(rule)
    desk = watch.desk
    async with desk.store.transaction() as transaction:
        made = (await add_in(desk, transaction, place, rule, by=by)).censor
    watch.forget(place.space)
    hits, looked_at = await would_have_hit(desk, made)
    return replace(made, would_have_hit=hits, looked_at=looked_at, said=read.said)


async def add_in(desk: Desk, transaction: Transaction, place: Place, rule: Rule, *, by: str) -> Changed:
    """The same within a transaction of the caller's, who lets this process load the censors again afterwards."""
    read = read_rule(rule)
    needs_person(force_of(rule.action), rule.origin)
    shared = place.agent == DEFAULT_AGENT if rule.shared is None else rule.shared
    default = desk.terms(place.space).memory.censor_threshold
    row = await transaction.one(
        Q["add_censor"],
        space=place.space,
        id=desk.new_uuid(),
        agent=None if shared else place.agent,
        reason=words_of(rule.reason) or "",
        pattern=read.pattern,
        meaning=read.meaning,
        domain=words_of(rule.domain),
        applies_to=[where.value for where in where_of(rule.on)],
        action=force_of(rule.action).value,
        origin=rule.origin.value,
        threshold=default if rule.threshold is None else threshold_of(rule.threshold),
        at=desk.clock(),
    )
    made = censor_of(row)
    note = Note(op=Op.ADD, by=by)
    after = columns_of(made, ["active", "action"])
    change = await log_change(desk, transaction, made, before={}, after=after, note=note)
    await tell_changed(desk, transaction, made, was=None, note=note)
    return Changed(censor=made, change=change)


async def same_rule(desk: Desk, space: SpaceId, rule: Rule) -> Censor | None:
    """The censor in force that says the same in the same places, if there is one."""
    read, places = read_rule(rule), set(where_of(rule.on))
    rows = await desk.store.all(Q["censors_in_force"], space=space)
    return next(
        (
            each
            for each in map(censor_of, rows)
            if (each.pattern, each.meaning) == (read.pattern, read.meaning) and places <= set(each.applies_to)
        ),
        None,
    )


async def would_have_hit(desk: Desk, censor: Censor) -> tuple[int, int]:
    """How many of the last turns a censor would have struck, and how many were looked at."""
    roles = sorted(SPOKEN_AT[where] for where in censor.applies_to if where in SPOKEN_AT)
    rows = await desk.store.all(
        Q["latest_turns"],
        space=censor.space_id,
        roles=None if Where.LEARN in censor.applies_to else roles,
        limit=TURNS,
    )
    texts = [readable(row["content"]) for row in rows]
    struck = set(_by_pattern(censor, texts)) | set(await _by_meaning(desk, censor, texts))
    return len(struck), len(texts)


async def find(desk: Desk, space: SpaceId, censor: UUID) -> Censor:
    """One censor. Raises `NotFound`."""
    row = await desk.store.maybe(Q["find_censor"], space=space, id=censor)
    if row is None:
        raise NotFound(f"There is no censor `{censor}`.")
    return censor_of(row)


async def page(
    desk: Desk, space: SpaceId, *, active: bool | None = None, before: int | None = None, limit: int = 50
) -> list[Censor]:
    """Censors, the newest first; `before` is the `seq` of the last one that was shown."""
    rows = await desk.store.all(Q["censors"], space=space, active=active, before=before, limit=limit)
    return [censor_of(row) for row in rows]


async def strikes(
    desk: Desk, space: SpaceId, censor: UUID, *, before: int | None = None, limit: int = 50
) -> list[Trigger]:
    """When and where a censor struck, the newest first."""
    rows = await desk.store.all(Q["triggers_of"], space=space, censor=censor, before=before, limit=limit)
    return [trigger_of(row) for row in rows]


def read_rule(rule: Rule) -> Read:
    """What a rule says; plain prose is taken for what is meant."""
    text, meaning = rule.rule.strip(), words_of(rule.meaning)
    if not text and meaning is None:
        raise BadInput("A censor needs a rule or a meaning.", hint="Give a pattern, or say what is meant.")
    if text and not rule.literal and meaning is None and is_prose(text):
        said = "This is taken for what is meant, not for a pattern; `literal` takes it word for word."
        return Read(pattern=None, meaning=words_of(text), said=said)
    pattern = pattern_of(escaped(text) if rule.literal else text)
    return Read(pattern=pattern, meaning=meaning, said="")


def _by_pattern(censor: Censor, texts: Sequence[str]) -> list[int]:
    patterns = patterns_of({censor.id: censor.pattern} if censor.pattern else {})
    return [place for place, text in enumerate(texts) if patterns.strikes(text)]


async def _by_meaning(desk: Desk, censor: Censor, texts: Sequence[str]) -> list[int]:
    embedder = embedder_of(desk)
    threshold = embedder.profile.threshold(Threshold.CENSOR) if embedder else None
    if not censor.meaning or threshold is None or not texts:
        return []
    vectors = await vectors_of(desk, [censor.meaning, *texts])
    if vectors is None:
        return []
    cosines = vectors[1:] @ vectors[0]
    return [place for place, cosine in enumerate(cosines) if rounded(cosine) >= threshold]
