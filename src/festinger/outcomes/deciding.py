"""What does a report do to each memory it speaks of?

Pure: from what is known of the memories and what was told, to the new states, in one pass. Credit is shared over the
memories that were acted on and count.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from festinger.ids import MemoryId
from festinger.outcomes.counting import Uncounted, uncounted
from festinger.outcomes.credit import shares
from festinger.outcomes.desk import Reporter
from festinger.outcomes.effects import Move, State, move, moved, weight_of
from festinger.outcomes.gathering import Known
from festinger.outcomes.observed import Effected, Report
from festinger.settings.outcomes import OutcomesSettings
from festinger.world.corroboration import Outcome

CONFIRMING = (Outcome.ACTED, Outcome.USED)
"""Outcomes that let staged reads count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a report does to one memory."""

    known: Known
    move: Move
    after: State
    q: float
    because: Uncounted | None = None
    accesses: tuple[datetime, ...] = ()

    @property
    def id(self) -> MemoryId:
        return self.known.memory.id

    @property
    def outcome(self) -> Outcome:
        return self.move.outcome

    @property
    def effected(self) -> Effected:
        before, after = self.known.stored.belief, self.after.belief
        return Effected(
            outcome=self.outcome,
            confidence=(before.confidence, after.confidence),
            weight=(before.weight.center, after.weight.center),
            access=len(self.accesses),
            counted=self.because is None,
        )


def decide(
    reporter: Reporter,
    report: Report,
    known: Mapping[MemoryId, Known],
    *,
    terms: OutcomesSettings,
    at: datetime,
    beside: Collection[str] = (),
) -> tuple[list[Decided], dict[str, float]]:
    """What becomes of each memory, in the order of their ids, and who gets which share of the credit.

    `beside` are other notes of the same report, which have their share in it.
    """
    why = {id_: _because(reporter, report, each, terms) for id_, each in known.items()}
    counting = [str(id_) for id_ in known if why[id_] is None]
    acted = [id_ for id_ in (*counting, *beside) if report.outcome_of(id_) is Outcome.ACTED]
    credit = shares(acted, report.credit)
    decided = [
        _decided(reporter, report, known[id_], why[id_], credit=credit, terms=terms, at=at)
        for id_ in sorted(known)
    ]
    return decided, credit


def _because(reporter: Reporter, report: Report, known: Known, terms: OutcomesSettings) -> Uncounted | None:
    return uncounted(
        report.outcome_of(str(known.memory.id)),
        reporter.how,
        counted=known.counted,
        most=terms.max_per_cause,
        immutable=known.memory.immutable,
        is_reviewer=reporter.is_reviewer,
    )


def _decided(
    reporter: Reporter,
    report: Report,
    known: Known,
    because: Uncounted | None,
    *,
    credit: Mapping[str, float],
    terms: OutcomesSettings,
    at: datetime,
) -> Decided:
    id_ = str(known.memory.id)
    outcome, q = report.outcome_of(id_), report.q.get(id_, 1.0)
    is_open = known.prediction is not None and not known.prediction.resolved
    what = move(
        outcome,
        terms,
        how=reporter.how,
        w=weight_of(reporter.how, q, terms),
        credit=credit.get(id_, 1.0),
        predicts=is_open and because is None,
    )
    after = moved(known.state, what, at=at, terms=terms) if because is None else known.state
    accesses = known.staged if outcome in CONFIRMING else ()
    return Decided(known=known, move=what, after=after, q=q, because=because, accesses=accesses)


def effects_by_id(decided: Sequence[Decided]) -> dict[str, Effected]:
    return {str(each.id): each.effected for each in decided}
