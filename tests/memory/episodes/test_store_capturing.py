"""How what passes through the proxy becomes an episode."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from tests.jobs.deps import drain
from tests.memory.episodes.talking import kept_episodes, kept_turns
from tests.memory.remembering import Mind

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE, AgentId, Origin, SessionId
from festinger.memory.episodes.store import append_exchanges
from festinger.store.pool import Store, Transaction
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, write_exchanges

NOTE = UUID(int=77)
ORIGINS = {"user": Origin.PERSON, "assistant": Origin.MODEL, "tool": Origin.TOOL, "system": Origin.SYSTEM}


class Tap:
    """A proxy that captures exchanges, and a memory that hears of them."""

    def __init__(self, store: Store) -> None:
        self.mind = Mind(store)
        self.store = store

        async def keep(transaction: Transaction, event: Event) -> None:
            await append_exchanges(self.mind.deps, transaction, [event])

        self.mind.wired.outbox.subscribe("exchange_captured", "keep_episode", keep)

    async def pass_by(
        self, number: int, *said: tuple[str, str], reply: str = "", session: str = "s1", notes: Sequence[str] = ()
    ) -> None:
        """One exchange, captured and told."""
        words = tuple(
            ExchangeMessage(id=UUID(int=number * 100 + at), role=role, origin=ORIGINS[role], text=text)
            for at, (role, text) in enumerate(said)
        )
        answer = ExchangeMessage(id=UUID(int=number * 100 + 99), role="assistant", origin=Origin.MODEL, text=reply)
        exchange = StoredExchange(
            id=UUID(int=number), session=SessionId(session), agent=AgentId("default"), request=f"r{number}",
            at=self.mind.hands.now, said=words, reply=answer if reply else None, tool_calls=[], thinking=None,
            ended="whole", model="m", tokens_read=None, tokens_written=None, recollection=None,
        )  # fmt: skip
        async with self.store.transaction() as transaction:
            await write_exchanges(transaction, MAIN_SPACE, [exchange])
            if notes:
                await self._tell(transaction, session, "recollection_injected", {
                    "recollection": str(NOTE), "session": session, "position": "turn", "anchor": None, "tokens": 3,
                    "notes": [{"kind": "memory", "id": each, "version": 1} for each in notes]
                    + [{"kind": "edge", "id": "5", "version": 1}],
                })  # fmt: skip
            await self._tell(transaction, session, "exchange_captured", {
                "session": session, "reply": str(answer.id) if reply else None, "tool_calls": [], "ended": "whole",
                "messages": [{"id": str(each.id), "role": each.role, "origin": each.origin.value} for each in words],
                "model": "m", "tokens": {}, "recollection": str(NOTE) if notes else None,
            })  # fmt: skip

    async def _tell(self, transaction: Transaction, session: str, name: str, payload: dict[str, object]) -> None:
        await self.mind.wired.outbox.emit(
            transaction, name, space=MAIN_SPACE, subject=f"session:{session}", payload=payload,
            agent=AgentId("default"), session=SessionId(session),
        )  # fmt: skip


@pytest.mark.requirement("M-51", "P-43")
async def test_exchanges_become_the_turns_of_their_sessions_episode_in_their_order(store: Store):
    tap = Tap(store)
    await tap.pass_by(1, ("system", "You are brief."), ("user", "Where is the vault?"), reply="In Oslo.")
    await tap.pass_by(2, ("user", "Elsewhere."), reply="I see.", session="s2")
    await tap.pass_by(3, ("tool", "vault: Oslo"), ("user", "Since when?"), reply="Since May.")

    await drain(tap.mind.wired.jobs, workers=3)

    first, second = await kept_episodes(store)
    said = [(row["episode_id"], row["role"], row["content"]) for row in await kept_turns(store)]
    by_session = {row["session_id"]: row["id"] for row in (first, second)}
    assert [each[1:] for each in said if each[0] == by_session["s1"]] == [
        ("system", "You are brief."), ("user", "Where is the vault?"), ("assistant", "In Oslo."),
        ("tool", "vault: Oslo"), ("user", "Since when?"), ("assistant", "Since May."),
    ]  # fmt: skip
    assert [each[1:] for each in said if each[0] == by_session["s2"]] == [
        ("user", "Elsewhere."), ("assistant", "I see."),
    ]  # fmt: skip


@pytest.mark.requirement("M-51")
async def test_what_was_surfaced_is_kept_with_the_turn_that_was_read_beside_it(store: Store):
    tap = Tap(store)
    await tap.pass_by(1, ("user", "Where is the vault?"), reply="In Oslo.", notes=[str(UUID(int=5)), "no id"])

    await drain(tap.mind.wired.jobs)

    assert [row["surfaced"] for row in await kept_turns(store)] == [[UUID(int=5)], []]


@pytest.mark.requirement("M-51")
async def test_told_twice_nothing_is_kept_twice(store: Store):
    tap = Tap(store)
    await tap.pass_by(1, ("user", "Where is the vault?"), reply="In Oslo.")
    await tap.pass_by(1, ("user", "Where is the vault?"), reply="In Oslo.")

    await drain(tap.mind.wired.jobs)

    assert len(await kept_turns(store)) == 2
    [episode] = await kept_episodes(store)
    assert episode["turns"] == 2


@pytest.mark.requirement("M-52")
async def test_what_was_said_after_a_long_silence_is_another_episode_though_it_comes_at_once(store: Store):
    tap = Tap(store)
    await tap.pass_by(1, ("user", "Where is the vault?"))
    tap.mind.forward(timedelta(hours=2))
    await tap.pass_by(2, ("user", "And now?"))

    await drain(tap.mind.wired.jobs)

    assert [(row["turns"], row["closed_by"]) for row in await kept_episodes(store)] == [(1, "idle"), (1, None)]


async def test_an_exchange_whose_words_were_forgotten_is_passed_over(store: Store):
    tap = Tap(store)
    async with store.transaction() as transaction:
        await tap._tell(transaction, "s1", "exchange_captured", {
            "session": "s1", "reply": str(UUID(int=1)), "tool_calls": [], "ended": "whole", "messages": [],
            "model": "m", "tokens": {}, "recollection": None,
        })  # fmt: skip

    await drain(tap.mind.wired.jobs)

    assert await kept_episodes(store) == []
