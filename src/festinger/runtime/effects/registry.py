"""Maps each type of proposal to its effect.

The package that owns what an effect touches applies and undoes it, within the transaction of the verdict;
`proposals` decides whether and when an approval counts.
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
    """Build every effect; a type without one keeps the app from starting."""
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
