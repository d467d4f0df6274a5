"""What did a run of the gate find, and how is that kept?

Every run leaves a row with its numbers, the bars that were in force, and what was missing to the first proposals; a
trial leaves one too, and changes nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.inbox import Fullness
from festinger.proposals.selection import Fate, Read
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

MOST_READINGS = 200
"""Readings that are kept with a run and shown; the numbers count all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """One run: how many proposals there were of each fate, and what the gate read of the first of them."""

    id: UUID
    at: datetime
    dry_run: bool
    considered: int
    promoted: int
    too_few: int
    too_new: int
    held: int
    over_cap: int
    excluded: int
    paused_because: str | None
    warning: str | None
    bars: Mapping[str, Any] = field(hash=False)
    readings: tuple[Mapping[str, Any], ...] = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "run": str(self.id),
            "at": iso(self.at),
            "dry_run": self.dry_run,
            **self.counts,
            "paused_because": self.paused_because,
            "warning": self.warning,
            "bars": dict(self.bars),
            "readings": [dict(each) for each in self.readings],
        }

    @property
    def counts(self) -> dict[str, int]:
        return {
            "considered": self.considered,
            "promoted": self.promoted,
            "too_few": self.too_few,
            "too_new": self.too_new,
            "held": self.held,
            "over_cap": self.over_cap,
            "excluded": self.excluded,
        }


def run_of(
    reads: Sequence[Read],
    settings: ProposalsSettings,
    *,
    id_: UUID,
    at: datetime,
    inbox: Fullness,
    dry_run: bool,
    texts: Mapping[UUID, str],
) -> Promoted:
    """The run that found this."""
    number = {fate: sum(each.fate is fate for each in reads) for fate in Fate}
    return Promoted(
        id=id_,
        at=at,
        dry_run=dry_run,
        considered=len(reads),
        promoted=number[Fate.PROMOTED],
        too_few=number[Fate.TOO_FEW],
        too_new=number[Fate.TOO_NEW],
        held=number[Fate.HELD],
        over_cap=number[Fate.OVER_CAP],
        excluded=number[Fate.EXCLUDED],
        paused_because=inbox.paused_because,
        warning=inbox.warning,
        bars=_bars(settings),
        readings=tuple(_reading(each, texts) for each in reads[:MOST_READINGS]),
    )


async def keep_run(desk: Desk, transaction: Transaction, space: SpaceId, run: Promoted) -> None:
    """Write a run down; one that was no trial is told of."""
    await transaction.run(
        Q["write_run"],
        space=space,
        id=run.id,
        at=run.at,
        dry_run=run.dry_run,
        **run.counts,
        paused_because=run.paused_because,
        bars=json.dumps(dict(run.bars)),
        # The words stay where they can be forgotten.
        readings=json.dumps([{**each, "what": ""} for each in run.readings]),
    )
    if not run.dry_run:
        told = {name: run.counts[name] for name in ("considered", "promoted", "too_few", "too_new")}
        await desk.outbox.emit(
            transaction,
            "promotion_run_finished",
            space=space,
            subject="promotion",
            payload={"run": str(run.id), **told, "paused_because": run.paused_because},
        )


def _bars(settings: ProposalsSettings) -> dict[str, Any]:
    return {
        "min_seen_count": settings.min_seen_count,
        "min_age_days": settings.min_age_days,
        "min_days_seen": settings.min_days_seen,
        "scopes": list(settings.scopes),
    }


def _reading(each: Read, texts: Mapping[UUID, str]) -> dict[str, Any]:
    return {
        "proposal": str(each.candidate.id),
        "what": texts.get(each.candidate.id, ""),
        "fate": each.fate.value,
        "missing": each.missing,
        "seen_count": each.candidate.seen.causes,
        "age_days": each.age_days,
        "rank": each.rank,
    }
