"""What of an exchange that comes late did people ask to forget since?

While the store was away an exchange waited in the spool, and what was said in it may have been forgotten meanwhile.
Before it is written its sentences are held against the marks of what was forgotten after it was said.
"""

from dataclasses import replace

from festinger.app.forgetting import ledger_of
from festinger.app.wiring import App
from festinger.memory.ban import without_forgotten
from festinger.proxy.capture import Capture
from festinger.proxy.entries import Entry
from festinger.store.exchanges import Words


async def as_remembered(app: App, entry: Entry) -> Entry:
    """The entry without what was forgotten after it was said; only exchanges hold words."""
    if not isinstance(entry, Capture):
        return entry
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
