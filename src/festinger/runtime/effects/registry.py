"""What does a yes do in the rooms of this house?

Each type of proposal with its effect: the room that owns what it touches does it and takes it back, within the
transaction of the verdict. Left to others: whether a yes counts, and when (`proposals`).
"""

from typing import TYPE_CHECKING

from festinger.proposals.deps import Desk
from festinger.proposals.model import Type
from festinger.proposals.verdicts.effects import Effects, wired
from festinger.proposals.verdicts.tasks import Advice
from festinger.runtime.effects.censors import CensorEscalation, CensorRule
from festinger.runtime.effects.conflicts import DimensionDecomposition
from festinger.runtime.effects.memories import ForgetRequest, IdentityPromotion, MemoryChange
from festinger.runtime.effects.settings import SettingsChange
from festinger.runtime.erasure import forgetting_of

if TYPE_CHECKING:
    from festinger.runtime.app import App


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
