"""Whose verdict counts?

Reviewers, each with the ways in which a channel knows that person: a login, the id of a key, a user of this machine,
the name in a signed message. A channel that has proved somebody's right to decide makes a reviewer of them on their
first verdict; a mere name is believed only of a reviewer who is there. One-time codes let a person sign a file; they
are shown once and kept as hashes.
"""

import hashlib
import json
from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotAuthorised, NotFound
from festinger.ids import SpaceId
from festinger.proposals.deps import ProposalDeps, ReviewDeps
from festinger.proposals.model import Author, IdentityProof, to_json_value
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

ENROLLED = frozenset({IdentityProof.LOGIN, IdentityProof.KEY, IdentityProof.UID})
"""Proofs that come with the right to decide, so that whoever has one is a reviewer."""

KNOWN_BY_NAME = frozenset({IdentityProof.WEBHOOK, IdentityProof.NAMED})

CODES = 10
CODE_BYTES = 10
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    id: UUID
    name: str
    identities: Mapping[str, Sequence[str]] = field(hash=False)
    codes: tuple[str, ...] = field(repr=False)
    active: bool
    at: datetime

    def is_known_as(self, author: Author) -> bool:
        if author.proof in KNOWN_BY_NAME and author.identity == self.name:
            return True
        return author.identity in self.identities.get(author.proof.value, ())

    def as_json(self) -> dict[str, Any]:
        """As every door shows it: codes are only counted."""
        plain = {each.name: to_json_value(getattr(self, each.name)) for each in fields(self)}
        return plain | {"codes": len(self.codes)}


_NAMES = tuple(each.name for each in fields(Reviewer))


def reviewer_of(row: Mapping[str, Any]) -> Reviewer:
    """The reviewer that a row holds."""
    return Reviewer(**{name: row[name] for name in _NAMES} | {"codes": tuple(row["codes"])})


async def list_reviewers(deps: ProposalDeps, space: SpaceId) -> list[Reviewer]:
    """Everybody whose verdict counts or counted, by name."""
    return [reviewer_of(row) for row in await deps.store.all(Q["reviewers"], space=space)]


async def add_reviewer(deps: ProposalDeps, space: SpaceId, name: str, **identities: Iterable[str]) -> Reviewer:
    """Make a reviewer, or let one who was sent away decide again; what they are known by is added."""
    unknown = sorted(set(identities) - {each.value for each in IdentityProof})
    if unknown:
        raise BadInput(f"Nobody is known by a `{unknown[0][:40]}`.")
    async with deps.store.transaction() as transaction:
        found = await _find_by_name(transaction, space, validate_name(name))
        known = dict(found.identities) if found else {}
        for proof, given in identities.items():
            known[proof] = list(dict.fromkeys([*known.get(proof, ()), *given]))
        return await _save_reviewer(deps, transaction, space, validate_name(name), known, found=found, active=True)


async def deactivate_reviewer(deps: ProposalDeps, space: SpaceId, name: str) -> Reviewer:
    """Let somebody's verdict count no more; what they decided stands."""
    async with deps.store.transaction() as transaction:
        found = await _require_by_name(transaction, space, name)
        known = dict(found.identities)
        return await _save_reviewer(deps, transaction, space, found.name, known, found=found, active=False)


async def issue_codes(office: ReviewDeps, space: SpaceId, name: str) -> list[str]:
    """Ten one-time codes for a reviewer, in place of those that were left."""
    codes = [format_code(office.entropy(CODE_BYTES)) for _ in range(CODES)]
    async with office.deps.store.transaction() as transaction:
        found = await _require_by_name(transaction, space, name)
        hashes = [hash_code(code) for code in codes]
        await transaction.run(Q["set_codes"], space=space, id=found.id, codes=hashes)
    return codes


async def find_verified_reviewer(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, author: Author
) -> Reviewer | None:
    """The active reviewer that an author was proved to be; somebody with the right to decide becomes one."""
    if author.proof is IdentityProof.NONE:
        return None
    found = next((each for each in await _load_reviewers(transaction, space) if each.is_known_as(author)), None)
    if found is None and author.proof in ENROLLED:
        found = await _enroll(deps, transaction, space, author)
    return found if found is not None and found.active else None


async def require_reviewer(deps: ProposalDeps, space: SpaceId, author: Author) -> Reviewer:
    """The same for deeds that are no verdict: whoever is not a reviewer is `NotAuthorised`."""
    async with deps.store.transaction() as transaction:
        found = await find_verified_reviewer(deps, transaction, space, author)
    if found is None:
        raise build_not_authorised(author)
    return found


async def redeem_code(transaction: Transaction, space: SpaceId, reviewer: Reviewer, code: str) -> bool:
    """Whether a code was one of the reviewer's; it is good for nothing from then on."""
    if not code.strip():
        return False
    return bool(await transaction.run(Q["burn_code"], space=space, id=reviewer.id, code=hash_code(code)))


def build_not_authorised(author: Author) -> NotAuthorised:
    return NotAuthorised(
        f"`{author.name[:80]}` is not known as somebody who decides here.",
        hint="Log in, use a key of role `reviewer`, or have yourself added with `festinger reviewer add`.",
    )


def format_code(chance: bytes) -> str:
    """A code that a person can copy by hand."""
    text = b32encode(chance).decode().rstrip("=")
    return "-".join(text[place : place + 4] for place in range(0, len(text), 4))


def hash_code(code: str) -> str:
    """How a code is kept: 80 bits of chance need no salt."""
    plain = "".join(char for char in code.upper() if char.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()


def validate_name(name: str) -> str:
    plain = " ".join(name.split())
    if not 1 <= len(plain) <= LONGEST_NAME:
        raise BadInput(f"A reviewer has a name of 1 to {LONGEST_NAME} characters.")
    return plain


async def _load_reviewers(transaction: Transaction, space: SpaceId) -> list[Reviewer]:
    return [reviewer_of(row) for row in await transaction.all(Q["reviewers"], space=space)]


async def _find_by_name(transaction: Transaction, space: SpaceId, name: str) -> Reviewer | None:
    row = await transaction.maybe(Q["hold_reviewer"], space=space, name=name)
    return reviewer_of(row) if row else None


async def _require_by_name(transaction: Transaction, space: SpaceId, name: str) -> Reviewer:
    found = await _find_by_name(transaction, space, validate_name(name))
    if found is None:
        raise NotFound(f"There is no reviewer `{name[:80]}`.")
    return found


async def _enroll(deps: ProposalDeps, transaction: Transaction, space: SpaceId, author: Author) -> Reviewer:
    """A reviewer of that name gains a way to be known, unless another person is known so; else a new one begins."""
    name = validate_name(author.name)[:LONGEST_NAME]
    found = await _find_by_name(transaction, space, name)
    if found is not None and found.identities.get(author.proof.value):
        name, found = _distinct_name(name, author), None
    known = dict(found.identities) if found else {}
    known[author.proof.value] = [author.identity]
    active = found.active if found else True
    return await _save_reviewer(deps, transaction, space, name, known, found=found, active=active)


def _distinct_name(name: str, author: Author) -> str:
    """A name of their own for somebody who is called like another: two keys may have one name."""
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
