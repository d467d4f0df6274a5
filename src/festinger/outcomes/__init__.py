"""Records what use did to memories: what was surfaced, what became of it, and what follows.

Three things are kept apart: surfaced (put before a model), read (fetched by somebody) and outcome (something
was done with it); only the last is evidence. Effects are pure functions of state, outcome, time and settings.
Other packages choose what to recall (`retrieval`), hold edges (`world`), judge (`judge`), supersede
(`memory`) and ask a person (`proposals`). Main entry points: `protocol.ObservationProtocol` (the three
hooks), `report.observe`, `inference.infer_turn`, `capture.infer_from_exchange`, `replay.withdraw_outcomes`,
`stats.outcome_stats` and `surface.forget`.
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
