"""Infers outcomes of injected notes from captured conversations and from replies.

After each captured exchange the current turn is read, and once a person speaks again, the previous turn a
second and final time. A turn is everything from one message of a person to the next, so that what a tool loop
does with a note counts for it. Runs outside the conversation, in the transaction that marks the exchange as
processed, so that every exchange is read once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.events.catalogue import Event, NewEvent
from festinger.events.outbox import event_history
from festinger.ids import AgentId, MemoryId, Origin, Scope, SessionId, SpaceId, TraceId
from festinger.memory.changes import load_existing_memories
from festinger.memory.model import Memory
from festinger.observability.metrics import OUTCOMES_UNREADABLE
from festinger.outcomes.corrections import CORRECT
from festinger.outcomes.effects import outcome_weight, parse_edge_id
from festinger.outcomes.inference import (
    InferredOutcome,
    TurnInferenceInput,
    TurnInferenceResult,
    TurnNote,
    infer_turn_outcomes,
)
from festinger.outcomes.model import ObserveResult, OutcomeDeps, OutcomeReport, Reporter, ReportSource, parse_memory_id
from festinger.outcomes.report import observe, observe_in_transaction
from festinger.outcomes.surface import record_surfacings, require_surfacings_of_recall
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.store.repositories.exchanges import (
    PastExchange,
    StoredMessage,
    recent_exchanges,
    session_messages,
    sessions_with_notes,
)

Q = load_queries("festinger.outcomes")

CAPTURED = "exchange_captured"
INJECTED = "recollection_injected"
INFERRED = "outcome_inferred"
MOST_EXCHANGES = 60
"""Number of exchanges of a session to look back over."""
MOST_REQUEST_CHARS = 400_000
EVIDENCE_CHARS = 160
REPORTER = "inference"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTurn:
    exchanges: tuple[PastExchange, ...]
    text: str
    """The person's message that began it."""

    @property
    def id(self) -> UUID:
        return self.exchanges[0].id


async def select_events_with_notes(transaction: Transaction, events: Sequence[Event]) -> list[Event]:
    """Return the events of sessions that were given notes; in the others there is nothing to infer."""
    if not events:
        return []
    sessions = {event.payload["session"] for event in events}
    given = await sessions_with_notes(transaction, events[0].space, sessions)
    return [event for event in events if event.payload["session"] in given]


async def infer_and_report_exchange(deps: OutcomeDeps, transaction: Transaction, event: Event) -> None:
    """Infer outcomes for the notes of an exchange's turn, and of the previous turn."""
    session = SessionId(event.payload["session"])
    if not deps.terms(event.space).infer:
        return
    exchanges = await recent_exchanges(transaction, event.space, session, limit=MOST_EXCHANGES)
    upto = [at for at, each in enumerate(exchanges) if each.request == event.trace]
    exchanges = exchanges[: upto[-1] + 1] if upto else exchanges
    if not any(each.recollection for each in exchanges):
        return
    messages = await session_messages(transaction, event.space, session)
    turns = group_exchanges_by_turn(exchanges, messages)
    scope = Scope(space=event.space, agent=event.agent or AgentId("default"), session=session)
    reporter = Reporter(scope=scope, name=REPORTER, door="proxy", how=ReportSource.INFERRED, origin=Origin.MODEL)
    if len(turns) > 1 and len(turns[-1].exchanges) == 1 and turns[-1].text:
        ttl = timedelta(seconds=deps.terms(event.space).proposal_ttl_s)
        if turns[-1].exchanges[0].at - turns[-2].exchanges[-1].at <= ttl:
            await _infer_and_report_turn(deps, transaction, reporter, turns[-2], messages, next_message=turns[-1].text)
    if turns:
        await _infer_and_report_turn(deps, transaction, reporter, turns[-1], messages)


def group_exchanges_by_turn(exchanges: Sequence[PastExchange], messages: Sequence[StoredMessage]) -> list[CapturedTurn]:
    """Group the exchanges of a session into turns: each begins where a person spoke."""
    spoken: dict[UUID, list[str]] = {}
    for message in messages:
        if message.origin is Origin.PERSON and message.role == "user":
            spoken.setdefault(message.exchange, []).append(message.text)
    turns: list[CapturedTurn] = []
    for each in exchanges:
        words = "\n".join(spoken.get(each.id, ()))
        if words or not turns:
            turns.append(CapturedTurn(exchanges=(each,), text=words))
        else:
            turns[-1] = CapturedTurn(exchanges=(*turns[-1].exchanges, each), text=turns[-1].text)
    return turns


async def _infer_and_report_turn(
    deps: OutcomeDeps,
    transaction: Transaction,
    reporter: Reporter,
    turn: CapturedTurn,
    messages: Sequence[StoredMessage],
    *,
    next_message: str = "",
) -> None:
    shown = await _load_injected_notes(transaction, reporter.scope, turn)
    if not shown:
        return
    ids = [note for notes in shown.values() for note in notes]
    memories = [found for note in ids if (found := parse_memory_id(note)) is not None]
    known = await load_existing_memories(transaction, reporter.scope.space, memories)
    if not next_message:
        await _record_injected(deps, transaction, reporter, shown, known, turn)
    read = infer_turn_outcomes(_build_turn(turn, ids, known, messages, next_message=next_message))
    if not next_message:
        OUTCOMES_UNREADABLE.inc(len(read.unreadable))
    await _report_inferred(deps, transaction, reporter, read, turn=turn, shown=shown)


async def _load_injected_notes(transaction: Transaction, scope: Scope, turn: CapturedTurn) -> dict[UUID, list[str]]:
    """Return the ids of the notes injected into a turn, by recollection."""
    shown: dict[UUID, list[str]] = {}
    for each in turn.exchanges:
        if each.recollection is None:
            continue
        events = await event_history(transaction, space=scope.space, trace=each.request, names=[INJECTED], limit=1)
        shown |= {each.recollection: [note["id"] for event in events for note in event.payload["notes"]]}
    return {recollection: notes for recollection, notes in shown.items() if notes}


async def _record_injected(
    deps: OutcomeDeps,
    transaction: Transaction,
    reporter: Reporter,
    shown: Mapping[UUID, Sequence[str]],
    known: Mapping[MemoryId, Memory],
    turn: CapturedTurn,
) -> None:
    """Record what was surfaced, the first time that its turn is read."""
    rows = await transaction.all(Q["surfaced_by_any"], space=reporter.scope.space, recalls=sorted(shown))
    before = {row["recall_id"] for row in rows}
    for recollection, notes in shown.items():
        ids = [found for note in notes if (found := parse_memory_id(note)) in known]
        if ids and recollection not in before:
            await record_surfacings(
                deps,
                transaction,
                reporter,
                [UUID(int=each.int) for each in ids if each is not None],
                reason="recollection",
                turn=turn.id,
                recall=recollection,
            )


def _build_turn(
    turn: CapturedTurn,
    ids: Sequence[str],
    known: Mapping[MemoryId, Memory],
    messages: Sequence[StoredMessage],
    *,
    next_message: str,
) -> TurnInferenceInput:
    mine = {each.id for each in turn.exchanges}
    replies = {each.reply for each in turn.exchanges}
    first = turn.exchanges[0].at
    request = [each.text for each in messages if each.id not in replies and (each.exchange in mine or each.at <= first)]
    reply = [each.text for each in messages if each.id in replies]
    calls = [str(call.get("arguments", "")) for each in turn.exchanges for call in each.tool_calls]
    return TurnInferenceInput(
        notes=tuple(found for id_ in dict.fromkeys(ids) if (found := build_note(id_, known)) is not None),
        request="\n".join(request)[-MOST_REQUEST_CHARS:],
        reply="\n".join(reply),
        arguments=tuple(calls),
        reasoning="\n".join(each.thinking or "" for each in turn.exchanges),
        next_message=next_message,
    )


def build_note(id_: str, known: Mapping[MemoryId, Memory]) -> TurnNote | None:
    """Build a note from a memory or an edge of the world; None if it is neither."""
    if (edge := parse_edge_id(id_)) is not None:
        return TurnNote(id=id_, text=edge.sentence, subject=edge.concept.replace("_", " "), edge=edge)
    found = parse_memory_id(id_)
    memory = known.get(found) if found is not None else None
    return TurnNote(id=id_, text=memory.content, subject=memory.subject or "") if memory else None


async def _report_inferred(
    deps: OutcomeDeps,
    transaction: Transaction,
    reporter: Reporter,
    read: TurnInferenceResult,
    *,
    turn: CapturedTurn,
    shown: Mapping[UUID, Sequence[str]],
) -> None:
    """Report the inferred outcomes that are not known yet."""
    before = await _load_known_outcomes(transaction, reporter.scope.space, turn)
    fresh = [each for each in read.outcomes if before.get(each.note) != each.outcome.value]
    if not fresh:
        return
    await observe_in_transaction(deps, transaction, reporter, _build_report(fresh, read, turn=turn.id))
    await _enqueue_corrections(deps, transaction, reporter.scope, read)
    terms = deps.terms(reporter.scope.space)
    by_note = {note: recollection for recollection, notes in shown.items() for note in notes}
    requests = {each.recollection: each.request for each in turn.exchanges}
    events = [
        NewEvent(
            name=INFERRED,
            subject=f"session:{reporter.scope.session}",
            payload={
                "recollection": str(by_note[each.note]),
                "note": each.note[:200],
                "outcome": each.outcome.value,
                "weight": outcome_weight(ReportSource.INFERRED, each.q, terms),
                "evidence": str(each.evidence.get("rule", ""))[:EVIDENCE_CHARS],
            },
            agent=reporter.scope.agent,
            session=reporter.scope.session,
            trace=TraceId(requests[by_note[each.note]]),
        )
        for each in fresh
    ]
    await deps.outbox.emit_all(transaction, events, space=reporter.scope.space)


async def _enqueue_corrections(
    deps: OutcomeDeps, transaction: Transaction, scope: Scope, read: TurnInferenceResult
) -> None:
    """Enqueue learning of what a person said in place of a memory, so that the judges compare both."""
    for each in read.outcomes:
        if "said" in each.evidence and (memory := parse_memory_id(each.note)) is not None:
            await deps.memory.ask(transaction, CORRECT, space=scope.space, memory=str(memory), session=scope.session)


def _build_report(
    found: Sequence[InferredOutcome], read: TurnInferenceResult, *, turn: UUID | None = None, recall: UUID | None = None
) -> OutcomeReport:
    return OutcomeReport(
        memories=tuple(each.note for each in found),
        outcomes={each.note: each.outcome for each in found},
        credit=dict(read.credit),
        q={each.note: each.q for each in found},
        evidence={each.note: each.evidence for each in found},
        turn=turn,
        recall=recall,
    )


async def _load_known_outcomes(transaction: Transaction, space: SpaceId, turn: CapturedTurn) -> dict[str, str]:
    """Return the outcomes inferred before for a turn that still stand. Those of edges are only in events."""
    rows = await transaction.all(Q["inferred_of_turn"], space=space, turn=turn.id)
    known = {str(row["memory_id"]): row["outcome"] for row in rows}
    for each in turn.exchanges:
        if each.recollection is not None:
            known = await load_inferred_edge_outcomes(transaction, space, each.request) | known
    return known


async def load_inferred_edge_outcomes(store: Store | Transaction, space: SpaceId, request: str) -> dict[str, str]:
    """Return the last outcome inferred for each edge given to a request."""
    events = await event_history(store, space=space, trace=request, names=[INFERRED], limit=MOST_EXCHANGES)
    found = {event.payload["note"]: event.payload["outcome"] for event in reversed(events)}
    return {note: outcome for note, outcome in found.items() if parse_memory_id(note) is None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyInput:
    """What a program knows of a reply: its text, and optional context."""

    text: str
    request: str = ""
    tool_calls: Sequence[Any] = ()
    reasoning: str | None = None
    next_message: str | None = None


async def observe_reply(deps: OutcomeDeps, reporter: Reporter, recall: UUID, reply: ReplyInput) -> ObserveResult:
    """Infer outcomes of what a recall surfaced from a reply, and report them. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        shown = await require_surfacings_of_recall(transaction, reporter.scope.space, recall)
        known = await load_existing_memories(transaction, reporter.scope.space, [each.memory_id for each in shown])
    notes = [build_note(str(each.memory_id), known) for each in shown]
    read = infer_turn_outcomes(
        TurnInferenceInput(
            notes=tuple(note for note in notes if note is not None),
            request=reply.request,
            reply=reply.text,
            arguments=tuple(map(str, reply.tool_calls)),
            reasoning=reply.reasoning or "",
            next_message=reply.next_message or "",
        )
    )
    OUTCOMES_UNREADABLE.inc(len(read.unreadable))
    observed = await observe(deps, reporter, _build_report(read.outcomes, read, recall=recall))
    async with deps.store.transaction() as transaction:
        await _enqueue_corrections(deps, transaction, reporter.scope, read)
    return observed
