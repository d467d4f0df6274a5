"""What would be held of a memory if some outcomes had never been?

Everything that moved its confidence and weight is in two logs: outcomes with their raw amounts, and changes by
corroboration, merging, people and sleep. Gone through in order they give what is stored, bit for bit; left out of
them, an outcome leaves no trace. Pure; `repairing` reads the logs and keeps the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import Origin
from festinger.memory.confidence import START, Belief
from festinger.memory.corroboration import corroborated
from festinger.memory.memory import belief_columns
from festinger.memory.weight import FRESH, IMMUTABLE, Weight
from festinger.outcomes.effects import Move, State, moved
from festinger.outcomes.outcome import How
from festinger.outcomes.rhythm import Cycle
from festinger.settings.outcomes import OutcomesSettings
from festinger.world.corroboration import Outcome

Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An outcome as the log has it."""

    id: UUID
    at: datetime
    move: Move
    confidence_before: float
    weight_before: Weight
    stands: bool
    """Whether it counted and nothing stands in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Another change of what is held: the columns that it found and left; of a corroboration, whose word it was."""

    id: UUID
    at: datetime
    before: Columns
    after: Columns
    trust: float | None = None
    origin: Origin | None = None
    stands: bool = True


Entry = Told | Changed


def told_of(row: Mapping[str, Any]) -> Told:
    """The entry that a row of the log holds."""
    return Told(
        id=row["id"],
        at=row["at"],
        move=Move(
            outcome=Outcome(row["outcome"]),
            how=How(row["how"]),
            w=row["w"],
            credit=row["credit"],
            signal=row["signal"],
            second_signal=row["second_signal"],
            alpha_gain=row["alpha_gain"],
            beta_gain=row["beta_gain"],
            cycle_factor=row["cycle_factor"],
            prediction_error=row["prediction_error"],
            evidence_cap=row["evidence_cap"],
            passive_span=row["passive_span"],
        ),
        confidence_before=row["confidence_before"],
        weight_before=Weight(alpha=row["alpha_before"], beta=row["beta_before"]),
        stands=row["counted"] and row["replaced_by"] is None,
    )


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.at, entry.id))


def start_of(entries: Sequence[Entry], *, immutable: bool) -> Belief:
    """What was held of a memory before anything moved it: as the first entry found it, whatever became of that."""
    fresh = Belief(confidence=START, weight=IMMUTABLE if immutable else FRESH, immutable=immutable)
    if not entries:
        return fresh
    first = in_order(entries)[0]
    if isinstance(first, Told):
        return replace(fresh, confidence=first.confidence_before, weight=first.weight_before)
    return _with(fresh, first.before)


def replay(start: State, entries: Sequence[Entry], *, terms: OutcomesSettings, cap: float) -> State:
    """The state after all entries that stand. `cap` is the highest confidence of little trusted causes."""
    state = start
    for entry in in_order(entries):
        if not entry.stands:
            continue
        if isinstance(entry, Changed):
            state = replace(state, belief=_changed(state.belief, entry, cap))
        else:
            state = _told(state, entry, terms)
    return state


def _told(state: State, entry: Told, terms: OutcomesSettings) -> State:
    after = moved(state, entry.move, at=entry.at, terms=terms)
    cycles = tuple(_since(old, new, entry.at) for old, new in zip(state.cycles, after.cycles, strict=True))
    declared = state.rhythm.pressure_declared_at
    if declared is not None and entry.at < declared:
        resolved = state.rhythm.pressure_resolved_at
        after = replace(after, rhythm=replace(after.rhythm, pressure_resolved_at=resolved))
    return replace(after, cycles=cycles)


def _since(old: Cycle, new: Cycle, at: datetime) -> Cycle:
    """A cycle that was declared later did not hear of this."""
    return old if old.declared_at is not None and at < old.declared_at else new


def _changed(belief: Belief, entry: Changed, cap: float) -> Belief:
    """The belief after another change: what it left, if it finds what it found; else what it amounts to here."""
    held = belief_columns(belief)
    known = {name: value for name, value in entry.before.items() if name in held}
    if all(held[name] == value for name, value in known.items()):
        return _with(belief, entry.after)
    if entry.trust is not None and entry.origin is not None:
        return corroborated(belief, trust=entry.trust, origin=entry.origin, cap=cap)
    return _with(belief, {name: _shifted(name, held, entry) for name in known})


def _shifted(name: str, held: Columns, entry: Changed) -> Any:
    before, after, now = entry.before[name], entry.after.get(name, entry.before[name]), held[name]
    if before is None or after is None or now is None:
        return after
    moved_to = now + (after - before)
    return min(max(moved_to, 0.0), 1.0) if name == "confidence" else moved_to


def _with(belief: Belief, columns: Columns) -> Belief:
    """The belief with some of its columns set."""
    held = belief_columns(belief)
    held |= {name: value for name, value in columns.items() if name in held}
    weight = Weight(alpha=held.pop("weight_alpha"), beta=held.pop("weight_beta"))
    return replace(belief, weight=weight, **held)
