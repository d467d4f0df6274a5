"""Leave out of captured exchanges what people asked to forget since it was said.

An exchange waits in the spool, for a moment or as long as the store is away, and what was said in it may be forgotten
meanwhile. Before it is written its sentences are compared with the marks of what was forgotten after it was said.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from festinger.ids import SpaceId
from festinger.memory.erasure.erase import has_bans_since, without_forgotten
from festinger.proxy.capture import Capture
from festinger.proxy.entries import Entry
from festinger.runtime.app import App
from festinger.runtime.erasure import ledger_of
from festinger.store.repositories.exchanges import Words


async def as_remembered(app: App, entries: Sequence[Entry]) -> list[Entry]:
    """The entries without what was forgotten after it was said; only exchanges hold words."""
    oldest: dict[SpaceId, datetime] = {}
    for entry in entries:
        if isinstance(entry, Capture):
            oldest[entry.space] = min(oldest.get(entry.space, entry.exchange.at), entry.exchange.at)
    banned = {space for space, at in oldest.items() if await has_bans_since(app.store, space, at)}
    return [
        await _as_remembered(app, entry) if isinstance(entry, Capture) and entry.space in banned else entry
        for entry in entries
    ]


async def _as_remembered(app: App, entry: Capture) -> Capture:
    exchange = entry.exchange
    words = [*exchange.said, *([exchange.reply] if exchange.reply else [])]
    async with app.store.transaction() as transaction:
        left = await without_forgotten(
            transaction, ledger_of(app), entry.space, [each.text for each in words], since=exchange.at
        )
    clean = [_with(each, text) for each, text in zip(words, left, strict=True)]
    said = tuple(clean[: len(exchange.said)])
    return replace(entry, exchange=replace(exchange, said=said, reply=clean[-1] if exchange.reply else None))


def _with(words: Words, text: str) -> Words:
    return words if words.text == text else replace(words, text=text)
