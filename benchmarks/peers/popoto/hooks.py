"""What do the hooks of the reference package do to a memory?

Runs in an environment of its own and knows nothing of ours. Reads sequences of steps from standard input, as JSON, and
writes what is held of the memory after each step to standard output. Redis is found by `REDIS_URL`.
"""

import json
import sys
from typing import Any

from popoto import Model, ObservationProtocol, RecallProposal, StringField, UniqueKeyField
from popoto.fields.access_tracker import AccessTrackerMixin
from popoto.fields.confidence_field import ConfidenceField
from popoto.fields.cyclic_decay_field import CyclicDecayField
from popoto.fields.prediction_ledger import PredictionLedgerMixin

YEAR = 31_536_000
AMPLITUDE = 5.0


class Note(AccessTrackerMixin, PredictionLedgerMixin, Model):
    name = UniqueKeyField()
    text = StringField()
    certainty = ConfidenceField(initial_confidence=0.5)
    relevance = CyclicDecayField(decay_rate=0.1, cycles=[(YEAR, AMPLITUDE, 0)], pressure_rate=0.1)


def take(step: str, note: Any) -> None:
    """One step of a sequence: a read, a surfacing, a prediction, or an outcome by its name."""
    if step == "read":
        ObservationProtocol.on_read(note)
    elif step == "surface":
        ObservationProtocol.on_surfaced([note])
    elif step == "predict":
        PredictionLedgerMixin.record_prediction(note, {"opens": 730})
    else:
        ObservationProtocol.on_context_used([note], {note.db_key.redis_key: step})


def held(note: Any) -> dict[str, Any]:
    """What the package holds of a memory now."""
    rhythm = CyclicDecayField.export_state(note, "relevance", None)
    prediction = PredictionLedgerMixin.get_prediction_data(note) or {}
    waiting = {key for key, _ in RecallProposal.get_pending(Note)}
    return {
        **ConfidenceField.export_state(note, "certainty", None),
        "amplitude": rhythm["cycles"][0][1],
        "relieved_at": rhythm["pressure"]["last_resolved"],
        "access_count": note.access_count,
        "resolved": bool(prediction.get("resolved")),
        "error": prediction.get("prediction_error"),
        "waits": note.db_key.redis_key in waiting,
    }


def gone_through(number: int, steps: list[str]) -> list[dict[str, Any]]:
    note = Note.create(name=f"note {number}", text="The harbour office of Lisgate opens at 0730.")
    states = []
    for step in steps:
        before = held(note)["relieved_at"]
        take(step, note)
        after = held(note)
        relieved_at = after.pop("relieved_at")
        states.append({**after, "relieved": relieved_at != before})
    return states


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump([gone_through(number, steps) for number, steps in enumerate(asked)], sys.stdout)
