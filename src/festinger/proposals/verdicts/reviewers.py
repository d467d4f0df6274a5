"""Manages reviewers, the people whose verdicts count.

Channels identify a reviewer by a login, a key id, a user of this machine or the name in a signed message. A
channel that proves the right to decide enrolls a person on the first verdict; a bare name is accepted only
for an existing reviewer.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.ids import SpaceId
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.model import Author, IdentityProof
from festinger.records import record_json, row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")

ENROLLED = frozenset({IdentityProof.LOGIN, IdentityProof.KEY, IdentityProof.UID})
"""Proofs that carry the right to decide, so that whoever has one is enrolled."""

KNOWN_BY_NAME = frozenset({IdentityProof.WEBHOOK, IdentityProof.NAMED})

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    id: UUID
    name: str
    identities: Mapping[str, Sequence[str]] = field(hash=False)
    active: bool
    at: datetime

    def is_known_as(self, author: Author) -> bool:
        if author.proof in KNOWN_BY_NAME and author.identity == self.name:
            return True
        return author.identity in self.identities.get(author.proof.value, ())

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


reviewer_of = row_mapper(Reviewer)


async def list_reviewers(deps: ProposalDeps, space: SpaceId) -> list[Reviewer]:
    """List active and former reviewers, by name."""
    return [reviewer_of(row) for row in await deps.store.all(Q["reviewers"], space=space)]


async def add_reviewer(deps: ProposalDeps, space: SpaceId, name: str, **identities: Iterable[str]) -> Reviewer:
    """Add a reviewer or reactivate one; the given identities are added."""
    unknown = sorted(set(identities) - {each.value for each in IdentityProof})
    if unknown:
        raise BadInput(f"Nobody is known by a `{unknown[0][:40]}`.")
    async with deps.store.transaction() as transaction:
        found = await _find_by_name(transaction, space, validate_name(name))
        known = dict(found.identities) if found else {}
        for proof, names in identities.items():
            known[proof] = list(dict.fromkeys([*known.get(proof, ()), *names]))
        return await _save_reviewer(deps, transaction, space, validate_name(name), known, found=found, active=True)


async def deactivate_reviewer(deps: ProposalDeps, space: SpaceId, name: str) -> Reviewer:
    """Stop counting a reviewer's verdicts; past decisions stand."""
    async with deps.store.transaction() as transaction:
        found = await _require_by_name(transaction, space, name)
        known = dict(found.identities)
        return await _save_reviewer(deps, transaction, space, found.name, known, found=found, active=False)


async def find_or_enroll_reviewer(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, author: Author
) -> Reviewer | None:
    """Return the active reviewer that an author is proved to be; a new one with the right is enrolled."""
    if author.proof is IdentityProof.NONE:
        return None
    reviewers = map(reviewer_of, await transaction.all(Q["reviewers"], space=space))
    found = next((each for each in reviewers if each.is_known_as(author)), None)
    if found is None and author.proof in ENROLLED:
        found = await _enroll(deps, transaction, space, author)
    return found if found is not None and found.active else None


async def require_reviewer(deps: ProposalDeps, space: SpaceId, author: Author) -> Reviewer:
    """Return the reviewer for operations other than verdicts. Raises `NotAuthorised`."""
    async with deps.store.transaction() as transaction:
        found = await find_or_enroll_reviewer(deps, transaction, space, author)
    if found is None:
        raise build_not_authorised(author)
    return found


def build_not_authorised(author: Author) -> NotAuthorised:
    return NotAuthorised(
        f"`{author.name[:80]}` is not known as somebody who decides here.",
        hint="Log in, use a key of role `reviewer`, or have yourself added with `festinger reviewer add`.",
    )


def validate_name(name: str) -> str:
    plain = " ".join(name.split())
    if not 1 <= len(plain) <= LONGEST_NAME:
        raise BadInput(f"A reviewer has a name of 1 to {LONGEST_NAME} characters.")
    return plain


async def _find_by_name(transaction: Transaction, space: SpaceId, name: str) -> Reviewer | None:
    row = await transaction.maybe(Q["hold_reviewer"], space=space, name=name)
    return reviewer_of(row) if row else None


async def _require_by_name(transaction: Transaction, space: SpaceId, name: str) -> Reviewer:
    found = await _find_by_name(transaction, space, validate_name(name))
    if found is None:
        raise NotFound(f"There is no reviewer `{name[:80]}`.")
    return found


async def _enroll(deps: ProposalDeps, transaction: Transaction, space: SpaceId, author: Author) -> Reviewer:
    """Add an identity to the reviewer of that name, unless it has one of that kind; else add a new one."""
    name = validate_name(author.name)[:LONGEST_NAME]
    found = await _find_by_name(transaction, space, name)
    if found is not None and found.identities.get(author.proof.value):
        name, found = _distinct_name(name, author), None
    known = dict(found.identities) if found else {}
    known[author.proof.value] = [author.identity]
    active = found.active if found else True
    return await _save_reviewer(deps, transaction, space, name, known, found=found, active=active)


def _distinct_name(name: str, author: Author) -> str:
    """Return a distinct name for an author who shares one with another: two keys may have one name."""
    mark = hashlib.sha256(f"{author.proof}:{author.identity}".encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(mark) - 1]} {mark}"


async def _save_reviewer(
    deps: ProposalDeps,
    transaction: Transaction,
    space: SpaceId,
    name: str,
    identities: Mapping[str, Sequence[str]],
    *,
    found: Reviewer | None,
    active: bool,
) -> Reviewer:
    row = await transaction.one(
        Q["put_reviewer"],
        space=space,
        id=found.id if found else deps.new_id(),
        name=name,
        identities=json.dumps({proof: list(each) for proof, each in identities.items()}),
        active=active,
        at=deps.clock(),
    )
    return reviewer_of(row)
