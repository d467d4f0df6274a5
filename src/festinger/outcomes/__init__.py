"""What use did to a memory: what was brought to mind, what became of it, and what follows.

Keeps surfacings, staged reads, rhythms, predictions and the log of outcomes. Decides effects by pure functions of
state, outcome, time and settings. Three things are kept apart: surfaced (put before a model), read (fetched by
somebody) and outcome (something was done with it); only the last is evidence. Left to others: what to bring to mind
(`retrieval`), edges (`world`), judging (`judge`), replacing (`memory`), asking a person (`proposals`).

What other rooms call, each taking a `desk.Desk` and a `desk.Reporter`:

    protocol.ObservationProtocol(desk, reporter)     the three hooks, rhythms and predictions, bound to a handle
    reads.stage, surfacing.surface                   the first two hooks, within a transaction of the caller's
    report.observe(desk, reporter, report_of(…))     the third hook: a batch, all or nothing
    surfacing.expire / pending / surfaced_lately     what waits, and what a session was shown lately
    inference.infer(turn)                            outcomes read from what was said; pure
    overhearing.observe_reply, overhear              the same as deeds, for the library and for the proxy
    rhythms.top_by_strength, effects.moved           strength, and the arithmetic itself
    repairing.take_back / verify                     outcomes that count no more, and whether logs and store agree
    journal.outcomes_of, journal.page                what was done with a memory
    tally.tally, health.check_outcomes               is the loop closed?
    forgetting.forget                                within the transaction that forgets memories
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from festinger.outcomes.model import Defaults as Defaults
    from festinger.outcomes.protocol import ObservationProtocol as ObservationProtocol
    from festinger.outcomes.protocol import RecallProposal as RecallProposal

__all__ = ["Defaults", "ObservationProtocol", "RecallProposal"]

_HOMES = {"Defaults": "model", "ObservationProtocol": "protocol", "RecallProposal": "protocol"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `festinger.outcomes` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(f"festinger.outcomes.{_HOMES[name]}"), name)
