"""Learns what a person's turn states, as soon as it is said.

Every statement goes through `learn`. A correction that refers back (`actually it moved to 5434`) is reworded
as the statement it corrects and replaces it. Idempotency keys made from the turn let it be read twice, by the
proxy at once and by a job after a crash, without learning anything twice.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from festinger.errors import Refused, Replayed
from festinger.ids import Origin, Scope
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import supersede
from festinger.memory.extract.corrections import Correction, find_corrections, may_correct
from festinger.memory.extract.statements import (
    ExtractedStatement,
    classify_kind,
    extract_statements,
    may_hold_statements,
)
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest, TurnWithTrust
from festinger.memory.model import LearnAction, Memory, Status, memory_from_row
from festinger.memory.undo import SPEAKER
from festinger.store.queries import load_queries
from festinger.store.repositories.exchanges import load_notes_of_sessions
from festinger.text.overlap import remove_echoes

Q = load_queries("festinger.memory")

RECENT = 12
"""Statements of a session that a correction may refer to."""
SOURCE = SPEAKER
LONGEST_CHECKED = 1_000
"""Characters of a turn that `may_teach` reads; a longer one may teach something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonTurn:
    """A message by a person."""

    id: UUID
    text: str


def may_teach(deps: MemoryDeps, text: str) -> bool:
    """Whether `learn_turn` might learn anything from a text. Takes a fraction of a millisecond."""
    said = deps.without_blocks(text) if len(text) <= LONGEST_CHECKED else text
    return len(said) > LONGEST_CHECKED or may_hold_statements(said) or may_correct(said)


async def learn_turn(deps: MemoryDeps, scope: Scope, turn: PersonTurn) -> list[Learned]:
    """Learn what a turn states, in order. Raises `StoreDown`."""
    said = deps.without_blocks(turn.text)
    statements = await extract_statements(said, encoder=deps.encoder())
    if not statements and not may_correct(said):
        return []
    text = await _strip_own_notes(deps, scope, said)
    if text != said:
        statements = await extract_statements(text, encoder=deps.encoder())
    here, elsewhere = await _load_earlier_statements(deps, scope, turn) if may_correct(text) else ([], [])
    earlier = [*here, *elsewhere]
    corrections = find_corrections(text, [memory.content for memory in earlier], here=len(here))
    corrected = {each.clause for each in corrections}
    requests = [
        _build_turn_request(deps, scope, turn, f"{number}", statement)
        for number, statement in enumerate(statements)
        if statement.clause not in corrected
    ]
    learned = [done for each in requests if (done := await _learn(deps, scope, each)) is not None]
    for number, correction in enumerate(corrections):
        old = earlier[correction.corrects]
        learned += await _correct(deps, scope, turn, number, correction, old=old)
    return learned


async def _strip_own_notes(deps: MemoryDeps, scope: Scope, text: str) -> str:
    """Strip our own notes from a text from which a client removed their tags."""
    notes = (await load_notes_of_sessions(deps.store, scope.space, [scope.session]))[scope.session]
    return remove_echoes(text, notes) if notes else text


async def _learn(deps: MemoryDeps, scope: Scope, request: LearnRequest) -> Learned | None:
    try:
        done = await learn(deps, scope, request)
    except Replayed:
        # The turn was read before, by an earlier version of the rules.
        return None
    return None if request.only_as_news and done.action is LearnAction.REFUSED else done


async def _correct(
    deps: MemoryDeps, scope: Scope, turn: PersonTurn, number: int, correction: Correction, *, old: Memory
) -> Sequence[Learned]:
    """Learn a corrected statement in place of the old one."""
    statement = ExtractedStatement(text=correction.text, clause=correction.clause, kind=classify_kind(correction.text))
    request = _build_turn_request(deps, scope, turn, f"c{number}", statement, corrects=old.id)
    done = await _learn(deps, scope, request)
    if done is None:
        return ()
    new = done.memory
    if (
        new is not None
        and new.id != old.id
        and new.status is Status.ACTIVE
        and done.action is not LearnAction.SUPERSEDED
    ):
        with suppress(Refused):  # one of the two changed in the meantime: keep both
            await supersede(deps, scope.space, old.id, new.id, by=SOURCE, reason="A person corrected it.")
    return (done,)


def _build_turn_request(
    deps: MemoryDeps,
    scope: Scope,
    turn: PersonTurn,
    name: str,
    statement: ExtractedStatement,
    *,
    corrects: UUID | None = None,
) -> LearnRequest:
    trust = deps.terms(scope.space).trusts[Origin.PERSON]
    return LearnRequest(
        text=statement.text,
        kind=statement.kind,
        origin=Origin.PERSON,
        source=SOURCE,
        turns=(TurnWithTrust(id=turn.id, trust=trust),),
        by_model=False,
        tags=statement.tags,
        turn_id=turn.id,
        key=f"turn:{turn.id}:{name}",
        corrects=corrects,
        only_as_news=statement.only_as_news,
    )


async def load_last_stated(deps: MemoryDeps, scope: Scope) -> list[Memory]:
    """What the last message of a session that taught something taught."""
    rows = await deps.store.all(
        Q["statements_of_session"], space=scope.space, session=scope.session, turn=None, limit=RECENT
    )
    found = [memory_from_row(row) for row in rows]
    return [memory for memory in found if memory.turn_id == found[0].turn_id]


async def _load_earlier_statements(
    deps: MemoryDeps, scope: Scope, turn: PersonTurn
) -> tuple[list[Memory], list[Memory]]:
    """Return earlier statements, from this conversation and from others, newest first."""
    here = await deps.store.all(
        Q["statements_of_session"], space=scope.space, session=scope.session, turn=turn.id, limit=RECENT
    )
    elsewhere = await deps.store.all(
        Q["newest_statements"], space=scope.space, agent=scope.agent, turn=turn.id, limit=RECENT
    )
    found = [memory_from_row(row) for row in here]
    known = {memory.id for memory in found}
    return found, [memory for memory in map(memory_from_row, elsewhere) if memory.id not in known]
