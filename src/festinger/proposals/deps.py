"""Defines the dependencies of proposals and of reviewing them.

Ports to other packages are passed in at wiring. `ReviewDeps` adds what deciding needs: the effects of
approvals, a model that reconsiders proposals, and related knowledge.

Defines the effects of approvals, one for each type of proposal.

A port: the packages that own what an effect touches provide it at wiring. It previews, applies and undoes,
always within the transaction of the decision, so that an approval takes effect as a whole or not at all. A
type without an effect keeps the app from starting.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from festinger.clock import Clock
from festinger.embedding.embedder import Embedder
from festinger.errors import BadInput, Unwired
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.judge.model import Judgement, StatementPair
from festinger.llm.model import Model
from festinger.proposals.model import Proposal, ProposalType
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store, Transaction

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


Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: enqueue a durable job within the transaction."""

Key = tuple[str, str]
"""Producer and category of a proposal."""

Values = Callable[[Transaction, SpaceId], Awaitable[Mapping[Key, float]]]
"""The value of each producer and category of a space, from -1 to 1."""

MutedUntil = Callable[[Transaction, SpaceId, Key], Awaitable[datetime | None]]
"""Until when new proposals of a producer and category are held; None if they are not."""


class ProposalJudge(Protocol):
    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge pairs with the whole cascade, including an LLM; do not call within a transaction."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], ProposalsSettings]
    ask: Ask
    values: Values
    muted_until: MutedUntil
    judges: ProposalJudge
    embedder: Callable[[], Embedder | None]


Thinker = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that reconsiders proposals, if a space has one."""

Related = Callable[[Transaction, SpaceId, Proposal], Awaitable[Mapping[str, Any]]]
"""What other packages know about a proposal: memories and conflicts that it concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDeps:
    deps: ProposalDeps
    effects: Effects = field(hash=False)
    thinker: Thinker
    related: Related
