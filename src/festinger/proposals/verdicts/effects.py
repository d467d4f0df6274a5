"""What can a yes do?

A port: each type of proposal has an effect, which the rooms that own what it touches give at wiring. It looks at what
it would touch, does it and takes it back, always within the transaction of whoever decides; so a yes is whole or not
at all. A type without an effect keeps the app from starting.
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
"""They change behaviour, or cannot be undone: a person looks at each by itself."""

WORDS_NEEDED = {ProposalType.FORGET_REQUEST: "forget"}
"""What a person must write out before something that cannot be undone."""

Afterwards = Callable[[], Awaitable[None]]


async def null_follow_up() -> None:
    """For an effect after which this process has nothing to look at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectPreview:
    """What an effect finds where it would act, at this moment."""

    versions: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it would touch, each by its name, with its version."""
    gone: tuple[str, ...] = ()
    """What it would touch and is not there."""
    is_forgotten: bool = False
    """Whether what is gone was forgotten, so that nothing is left to decide."""
    changed: tuple[str, ...] = ()
    """What is there, but not as the payload says."""
    is_done: bool = False
    """Whether everything is so already."""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The payload as it would be made now."""
    says: str = ""
    """What the effect would do, in one sentence for the person who decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectResult:
    """What an effect did: what was there before, what is there now, and the changes of other rooms."""

    before: Mapping[str, Any] = field(default_factory=dict, hash=False)
    after: Mapping[str, Any] = field(default_factory=dict, hash=False)
    changes: tuple[str, ...] = ()
    afterwards: Afterwards = null_follow_up
    """Done once the transaction is in force: what this process holds in memory is brought up to date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectContext:
    """Within which transaction something is done, for which proposal, and in whose name."""

    transaction: Transaction
    space: SpaceId
    proposal: Proposal
    by: str

    @property
    def payload(self) -> Mapping[str, Any]:
        return self.proposal.payload


class ProposalEffect(Protocol):
    def check(self, payload: Mapping[str, Any]) -> None:
        """Refuse what no approval could do: `BadInput`, `NotProposable`."""
        ...

    async def look(self, deed: EffectContext) -> EffectPreview:
        """What is there now of what it would touch. Changes nothing."""
        ...

    async def apply(self, deed: EffectContext) -> EffectResult: ...

    async def undo(self, deed: EffectContext, applied: EffectResult) -> Afterwards:
        """Put back what was there before. What later changes stand on is `UndoBlocked`."""
        ...


Effects = Mapping[ProposalType, ProposalEffect]


def require_all_effects(effects: Effects) -> Effects:
    """The same effects, if every type has one."""
    missing = [each.value for each in ProposalType if each not in effects]
    if missing:
        listed = ", ".join(f"`{each}`" for each in missing)
        raise Unwired(f"Nobody carries out proposals of the type {listed}.")
    return effects


def effect_for(effects: Effects, type_: ProposalType) -> ProposalEffect:
    """The effect of a type; none is `Unwired`."""
    if type_ not in effects:
        raise Unwired(f"Nobody carries out proposals of the type `{type_.value}`.")
    return effects[type_]


def require_text(payload: Mapping[str, Any], name: str) -> str:
    """A text that a payload must have."""
    value = payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"The payload must have a text `{name}`.")
    return value
