"""What of a statement is learnt, and what is refused?

The first steps of learning: bad input is an error, our own blocks, hidden characters and secrets are taken out, and
what nobody asked to learn must be worth keeping. Sources are looked up here, because a derived memory is trusted no
more than they are. A refusal is kept with its reason; nothing is dropped in silence.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from festinger.errors import NotFound
from festinger.ids import DEFAULT_AGENT, AgentId
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.given import Cleaned, Given, Said, checked, cleaned, marked
from festinger.memory.hygiene import unworthy
from festinger.memory.learned import Learned, sentence
from festinger.memory.links import derivation
from festinger.memory.memory import Place
from festinger.memory.quarantine import suspicions
from festinger.memory.states import find_all
from festinger.memory.trust import trust_in
from festinger.observability.metrics import MEMORY_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.overlap import without_copies
from festinger.text.secrets import MARK

Q = queries_of("festinger.memory")

ONLY_SECRETS = "secret"
EMPTY = "empty"
FORGOTTEN = "forgotten"

LONGEST_REFUSED = 2_000

_MARK = MARK.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    reason: str
    detail: str = ""


async def take_in(
    desk: Desk,
    transaction: Transaction,
    place: Place,
    given: Given,
    *,
    shown: frozenset[tuple[str, ...]] = frozenset(),
) -> Said | Refusal:
    """What is learnt of a statement, or why nothing is. Bad input raises.

    `shown` are the shingles of what was brought to mind in the session: a client may have taken our tags off.
    """
    terms = desk.terms(place.space)
    given = checked(given, redact=terms.redact)
    desk.step("checked")
    clean = without_shown(cleaned(given.text, desk.without_blocks, redact=terms.redact), shown)
    desk.step("cleaned")
    if (reason := unfit(given, clean)) is not None:
        return reason
    now = desk.clock()
    trusts = await _trusts(transaction, place, given)
    trust = trust_in(given.origin, terms.trusts, sources=trusts, by_model=given.worded_by_model)
    suspected = suspicions(clean.text, origin=given.origin, hid=clean.hid) if terms.memory.quarantine else ()
    return marked(given, clean, owner=owner_of(place, given), trust=trust, at=now, suspicions=suspected)


def without_shown(clean: Cleaned, shown: frozenset[tuple[str, ...]]) -> Cleaned:
    """The text without sentences that we brought to mind ourselves. What is nothing else is left as it is: whether it
    is an echo or a person's word for a memory is decided where memories are known."""
    return replace(clean, text=without_copies(clean.text, shown) or clean.text)


def owner_of(place: Place, given: Given) -> AgentId | None:
    """Whose memory it becomes: the agent's own unless it is shared; without an agent everybody's."""
    shared = place.agent == DEFAULT_AGENT if given.shared is None else given.shared
    return None if shared else place.agent


def unfit(given: Given, clean: Cleaned) -> Refusal | None:
    """Why a statement is not learnt; none if it is."""
    left = clean.text
    for kind in clean.redactions:
        left = left.replace(f"{_MARK}{kind}]", "")
    if clean.redactions and not any(char.isalnum() for char in left):
        return Refusal(reason=ONLY_SECRETS, detail=", ".join(clean.redactions))
    if not left.strip():
        return Refusal(reason=EMPTY, detail="nothing is left without our own notes")
    if not given.asked and (found := unworthy(clean.text)) is not None:
        return Refusal(reason=found.value)
    return None


async def _trusts(transaction: Transaction, place: Place, given: Given) -> list[float]:
    """How far everything is trusted that a statement derives from, however far back."""
    trusts = [turn.trust for turn in given.turns]
    if not given.derived_from:
        return trusts
    found = await find_all(transaction, place.space, given.derived_from)
    hidden = [memory.id for memory in found.values() if memory.agent_id not in (None, place.agent)]
    if missing := [memory for memory in given.derived_from if memory not in found or memory in hidden]:
        raise NotFound(f"There is no memory `{missing[0]}` to derive from.")
    line = await derivation(transaction, place.space, given.derived_from)
    trusts += [memory.trust for memory in found.values()]
    return trusts + [each.trust for each in line if each.trust is not None]


async def refuse(
    desk: Desk, transaction: Transaction, place: Place, given: Given, refusal: Refusal, *, at: datetime
) -> Learned:
    """Keep what was not learnt, and say so."""
    id_, cause = desk.new_uuid(), place.cause(given.origin, at)
    redacted = desk.terms(place.space).redact(given.text)
    await transaction.run(
        Q["refuse"],
        space=place.space,
        id=id_,
        reason=refusal.reason,
        detail=refusal.detail[:200],
        text=redacted.text[:LONGEST_REFUSED],
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
        at=at,
    )
    await desk.outbox.emit(
        transaction,
        "learn_refused",
        space=place.space,
        subject=f"refusal:{id_}",
        payload={"refusal": str(id_), "reason": refusal.reason},
        agent=place.agent,
        session=place.session or None,
    )
    MEMORY_REFUSED.labels(refusal.reason).inc()
    reasons = (refusal.reason,)
    return Learned(
        memory=None,
        action=Action.REFUSED,
        reasons=reasons,
        redactions=redacted.kinds,
        said=sentence(Action.REFUSED, reasons=reasons),
        refusal=id_,
    )
