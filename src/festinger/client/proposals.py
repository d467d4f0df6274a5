"""Proposals on the library's handle: propose, list, and pass on what a person decided.

A proposal waits until it has recurred and lasted. A verdict counts only in the name of a known reviewer.
Every method is a thin call into the package `proposals`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.ids import Origin, Scope, read_id
from festinger.memory.changes import resolve_memory_id
from festinger.proposals.deps import effect_for
from festinger.proposals.inbox import list_proposals, load_card, resolve_proposal_id
from festinger.proposals.model import (
    Author,
    DecideResult,
    IdentityProof,
    Proposal,
    ProposalState,
    ReviewChannel,
    VerdictInput,
    VerdictKind,
    parse_verdict_kind,
)
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.verdicts.decide import decide
from festinger.runtime.effects.memories import build_forget_proposal
from festinger.services.reviews import build_suggestion, parse_proposal_filter

if TYPE_CHECKING:
    from festinger.runtime.app import App


class ProposalMixin:
    """Methods of a handle for proposals; the handle provides the scope."""

    __slots__ = ()

    _app: "App"

    @property
    def _place(self) -> Scope:
        raise NotImplementedError

    async def propose(
        self,
        what: str,
        *,
        category: str,
        scope: str,
        type: str = "advice",  # noqa: A002 - what a proposal is called by everywhere
        why: str = "",
        how: str = "",
        payload: Mapping[str, Any] | None = None,
    ) -> Proposal:
        """Propose a change. It is shown to a person once it has recurred and lasted.

        Raises `BadInput`, `ProposalRefused`, `NotProposable`, `StoreDown`.
        """
        return await self._propose(
            {"what": what, "category": category, "scope": scope, "type": type, "why": why, "how": how}
            | {"payload": dict(payload or {})}
        )

    async def request_forget(self, memory: str | UUID, *, reason: str) -> Proposal:
        """Propose to forget a memory; only a person may do it. Like every proposal it waits for its turn.

        Raises `NotFound`, `BadInput`, `StoreDown`.
        """
        deps, place = self._app.memory.deps, self._place
        named = await resolve_memory_id(deps, place.space, memory)
        return await self._propose(await build_forget_proposal(deps, place, named, reason=reason))

    async def _propose(self, fields: Mapping[str, Any]) -> Proposal:
        app, place = self._app, self._place
        now = app.tools.clock()
        said = build_suggestion(fields, cause=place.cause(Origin.MODEL, now), at=now, source=str(app.tools.new_id()))
        effect_for(app.deciding.office.effects, said.type).check(said.payload)
        sighted = await record_sighting(app.inbox.deps, place.space, said)
        assert sighted.proposal is not None, "what is refused raises"
        return (await load_card(app.inbox.deps, place.space, sighted.proposal)).proposal

    async def inbox(self, *, state: str | ProposalState = ProposalState.PROMOTED, limit: int = 50) -> list[Proposal]:
        """List proposals in a state, latest seen first; by default those that wait for a person."""
        return await list_proposals(
            self._app.inbox.deps, self._place.space, parse_proposal_filter({"state": state}, limit=limit)
        )

    async def decide(
        self,
        proposal: str | UUID,
        verdict: str | VerdictKind,
        *,
        by: str,
        note: str = "",
        of: str | UUID | None = None,
        until: datetime | None = None,
        edits: Mapping[str, Any] | None = None,
        word: str = "",
        ref: str | None = None,
    ) -> DecideResult:
        """Pass on a reviewer's verdict on a proposal; the same `ref` again counts once.

        Raises `NotFound`, `NotAuthorised` for a name that is no reviewer's, `BadInput`, `AlreadyDecided`,
        `Stale`, `TooDeep`, `Replayed`, `EffectFailed`, `StoreDown`.
        """
        app, place = self._app, self._place
        said = VerdictInput(
            proposal=await resolve_proposal_id(app.inbox.deps, place.space, str(proposal)),
            kind=parse_verdict_kind(verdict),
            author=Author(name=by, proof=IdentityProof.NAMED),
            channel=ReviewChannel.LIBRARY,
            ref=ref or str(app.tools.new_id()),
            note=note,
            of=read_id(str(of)) if of else None,
            until=until,
            edits=edits or {},
            word=word,
            session=place.session or None,
        )
        return await decide(app.deciding.office, place.space, said)
