"""Have people asked to forget these words?

What was forgotten does not come back by itself: not from a replay, an import, sleep or a model. It is known again by
keyed marks of its words and of its gist, never by the words; the key stands in the ledger outside of the database.
A person who says it anew lifts the ban.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from festinger.ids import Origin, SpaceId
from festinger.memory.desk import IsForgotten
from festinger.memory.gist import fold_mark, gist_mark
from festinger.memory.given import Said
from festinger.store.erasure import Forgotten, Ledger, append
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import Cut, cuts
from festinger.text.words import sentences_in

Q = queries_of("festinger.memory")

MEMORY = "memory"
"""An erased memory, with the mark of its words."""
GIST = "gist"
"""The mark of the gist of something erased."""
LIFTED = "lifted"
"""A mark that counts no more."""


def marks_of(ledger: Ledger, fold: bytes, gist: bytes) -> list[str]:
    return [ledger.mark(f"fold {fold.hex()}"), ledger.mark(f"gist {gist.hex()}")]


def entries(
    ledger: Ledger, space: SpaceId, memory: UUID, wordings: Iterable[str], *, at: datetime
) -> list[Forgotten]:
    """What the ledger keeps of one erased memory: its id, and how each of its wordings is known again."""
    made: dict[str, Forgotten] = {}
    for wording in dict.fromkeys(wordings):
        fold, gist = marks_of(ledger, fold_mark(wording), gist_mark(wording))
        for kind, mark in ((MEMORY, fold), (GIST, gist)):
            made[mark] = Forgotten(space=space, kind=kind, id=str(memory), mark=mark, at=at)
    return list(made.values())


async def write(transaction: Transaction, ledger: Ledger, made: Sequence[Forgotten]) -> None:
    """Ban what the entries mark, on disk before the caller's transaction is."""
    await asyncio.to_thread(append, ledger, made)
    await ban(transaction, made)


async def ban(transaction: Transaction, made: Iterable[Forgotten]) -> None:
    """Put the marks of a ledger into the database, in the order in which they were written."""
    for entry in made:
        query = Q["lift_ban" if entry.kind == LIFTED else "put_ban"]
        await transaction.run(query, space=entry.space, mark=entry.mark, at=entry.at)


def is_forgotten_by(ledger: Ledger) -> IsForgotten:
    """The port by which learning asks."""

    async def is_forgotten(transaction: Transaction, space: SpaceId, said: Sequence[Said]) -> list[bool]:
        marks = [frozenset(marks_of(ledger, each.fold, each.gist)) for each in said]
        rows = await transaction.all(Q["find_bans"], space=space, marks=sorted(frozenset().union(*marks)))
        banned = {row["mark"] for row in rows}
        anew = [own & banned for own, each in zip(marks, said, strict=True) if is_said_anew(each)]
        if lifted := frozenset().union(*anew):
            at = max(each.at for each in said)
            made = [Forgotten(space=space, kind=LIFTED, id="", mark=mark, at=at) for mark in sorted(lifted)]
            await write(transaction, ledger, made)
        return [
            not own.isdisjoint(banned) and not is_said_anew(each)
            for own, each in zip(marks, said, strict=True)
        ]

    return is_forgotten


def is_said_anew(said: Said) -> bool:
    """Whether a person says something and wants it learnt, which lifts a ban."""
    return said.origin is Origin.PERSON and said.given.asked


async def has_bans_since(store: Store, space: SpaceId, since: datetime) -> bool:
    """Whether anything was forgotten after a moment."""
    return bool(await store.value(Q["has_bans_since"], space=space, since=since))


async def without_forgotten(
    transaction: Transaction, ledger: Ledger, space: SpaceId, texts: Sequence[str], *, since: datetime
) -> list[str]:
    """Texts that come late, without the sentences that were forgotten after they were said."""
    marks = {
        sentence: frozenset(marks_of(ledger, fold_mark(sentence), gist_mark(sentence)))
        for text in texts
        for sentence in sentences_in(text)
    }
    asked = sorted(frozenset().union(*marks.values()))
    rows = await transaction.all(Q["find_later_bans"], space=space, marks=asked, since=since) if asked else []
    banned = {row["mark"] for row in rows}
    patterns = list(cuts(sentence for sentence, own in marks.items() if not own.isdisjoint(banned)))
    return [_cut(text, patterns) for text in texts]


def _cut(text: str, patterns: Iterable[Cut]) -> str:
    for cut in patterns:
        text = cut.out_of(text)
    return text
