"""What does a yes do in the rooms of this house?

Each type of proposal with its effect: the room that owns what it touches does it and takes it back, within the
transaction of the verdict. Left to others: whether a yes counts, and when (`proposals`).
"""

from typing import TYPE_CHECKING

from festinger.proposals.deps import ProposalDeps
from festinger.proposals.model import ProposalType
from festinger.proposals.verdicts.effects import Effects, require_all_effects
from festinger.proposals.verdicts.tasks import AdviceEffect
from festinger.runtime.effects.censors import CensorEscalationEffect, CensorRuleEffect
from festinger.runtime.effects.conflicts import DecompositionEffect
from festinger.runtime.effects.memories import ForgetEffect, IdentityPromotionEffect, MemoryChangeEffect
from festinger.runtime.effects.settings import SettingsChangeEffect
from festinger.runtime.erasure import build_erasure

if TYPE_CHECKING:
    from festinger.runtime.app import App


def build_effects(app: "App", deps: ProposalDeps) -> Effects:
    """Every effect; a type that has none keeps the app from starting."""
    return require_all_effects(
        {
            ProposalType.MEMORY_CHANGE: MemoryChangeEffect(app.memory.deps),
            ProposalType.IDENTITY_PROMOTION: IdentityPromotionEffect(app.memory.deps),
            ProposalType.CENSOR_RULE: CensorRuleEffect(app.memory.watch),
            ProposalType.CENSOR_ESCALATION: CensorEscalationEffect(app.memory.watch),
            ProposalType.DIMENSION_DECOMPOSITION: DecompositionEffect(app.world.deps),
            ProposalType.SETTINGS_CHANGE: SettingsChangeEffect(app),
            ProposalType.FORGET_REQUEST: ForgetEffect(build_erasure(app).eraser),
            ProposalType.ADVICE: AdviceEffect(deps),
        }
    )
