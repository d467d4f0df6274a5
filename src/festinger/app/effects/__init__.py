"""What does a yes do in the rooms of this house?

Each type of proposal with its effect: the room that owns what it touches does it and takes it back, within the
transaction of the verdict. Left to others: whether a yes counts, and when (`proposals`).
"""

from typing import TYPE_CHECKING

from festinger.app.effects.censors import CensorEscalation, CensorRule
from festinger.app.effects.conflicts import DimensionDecomposition
from festinger.app.effects.erasing import ForgetRequest
from festinger.app.effects.memories import IdentityPromotion, MemoryChange
from festinger.app.effects.settings import SettingsChange
from festinger.app.forgetting import forgetting_of
from festinger.proposals.deps import Desk
from festinger.proposals.model import Type
from festinger.proposals.verdicts.effects import Effects, wired
from festinger.proposals.verdicts.tasks import Advice

if TYPE_CHECKING:
    from festinger.app.wiring import App


def effects_of(app: "App", desk: Desk) -> Effects:
    """Every effect; a type that has none keeps the app from starting."""
    return wired(
        {
            Type.MEMORY_CHANGE: MemoryChange(app.memory.desk),
            Type.IDENTITY_PROMOTION: IdentityPromotion(app.memory.desk),
            Type.CENSOR_RULE: CensorRule(app.memory.watch),
            Type.CENSOR_ESCALATION: CensorEscalation(app.memory.watch),
            Type.DIMENSION_DECOMPOSITION: DimensionDecomposition(app.world.desk),
            Type.SETTINGS_CHANGE: SettingsChange(app),
            Type.FORGET_REQUEST: ForgetRequest(forgetting_of(app).eraser),
            Type.ADVICE: Advice(desk),
        }
    )
