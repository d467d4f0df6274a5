"""Defines the effects of approvals, one for each type of proposal.

A port: the packages that own what an effect touches provide it at wiring. It previews, applies and undoes,
always within the transaction of the decision, so that an approval takes effect as a whole or not at all. A
type without an effect keeps the app from starting.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from festinger.errors import BadInput, Unwired
from festinger.ids import SpaceId
from festinger.proposals.model import Proposal, ProposalType
from festinger.store.pool import Transaction

ONE_BY_ONE = frozenset(
    {
        ProposalType.IDENTITY_PROMOTION,
        ProposalType.CENSOR_RULE,
        ProposalType.CENSOR_ESCALATION,
        ProposalType.SETTINGS_CHANGE,
        ProposalType.FORGET_REQUEST,
    }
)
"""Types that change behavior or cannot be undone: a person looks at each by itself."""

WORDS_NEEDED = {ProposalType.FORGET_REQUEST: "forget"}
"""Word that a person must write to confirm what cannot be undone."""

Afterwards = Callable[[], Awaitable[None]]


async def null_follow_up() -> None:
    """For an effect after which this process has nothing to refresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectPreview:
    """What an effect finds at its target at this moment."""

    versions: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The version of each thing that it would touch, by name."""
    gone: tuple[str, ...] = ()
    """Targets that no longer exist."""
    is_forgotten: bool = False
    """Whether what is gone was forgotten, so that nothing is left to decide."""
    changed: tuple[str, ...] = ()
    """Targets that exist, but not as the payload says."""
    is_done: bool = False
    """Whether everything is already as proposed."""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The payload as it would be built now."""
    says: str = ""
    """What the effect would do, in one sentence for the person who decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectResult:
    """What an effect did: the state before and after, and the changes in other packages."""

    before: Mapping[str, Any] = field(default_factory=dict, hash=False)
    after: Mapping[str, Any] = field(default_factory=dict, hash=False)
    changes: tuple[str, ...] = ()
    afterwards: Afterwards = null_follow_up
    """Runs after the commit: refreshes what this process holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectContext:
    """The transaction, the proposal and the name of the person for whom an effect runs."""

    transaction: Transaction
    space: SpaceId
    proposal: Proposal
    by: str

    @property
    def payload(self) -> Mapping[str, Any]:
        return self.proposal.payload


class ProposalEffect(Protocol):
    def check(self, payload: Mapping[str, Any]) -> None:
        """Refuse what no approval could do. Raises `BadInput`, `NotProposable`."""
        ...

    async def look(self, operation: EffectContext) -> EffectPreview:
        """Preview the targets as they are now. Changes nothing."""
        ...

    async def apply(self, operation: EffectContext) -> EffectResult: ...

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        """Restore what was there before. Raises `UndoBlocked` if later changes depend on it."""
        ...


Effects = Mapping[ProposalType, ProposalEffect]


def require_all_effects(effects: Effects) -> Effects:
    """Return the effects unchanged. Raises `Unwired` if a type has none."""
    missing = [each.value for each in ProposalType if each not in effects]
    if missing:
        listed = ", ".join(f"`{each}`" for each in missing)
        raise Unwired(f"Nobody carries out proposals of the type {listed}.")
    return effects


def effect_for(effects: Effects, type_: ProposalType) -> ProposalEffect:
    """Return the effect of a type. Raises `Unwired` if there is none."""
    if type_ not in effects:
        raise Unwired(f"Nobody carries out proposals of the type `{type_.value}`.")
    return effects[type_]


def require_text(payload: Mapping[str, Any], name: str) -> str:
    """Return a text that a payload must have. Raises `BadInput`."""
    value = payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"The payload must have a text `{name}`.")
    return value
