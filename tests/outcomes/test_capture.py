"""Outcomes of a conversation that nobody reports on: read after each exchange, and once more when a person speaks."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import events
from tests.outcomes.watching import Watched

from festinger.events.catalogue import Event, NewEvent
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, EventId, MemoryId, Origin, SessionId, TraceId
from festinger.outcomes.capture import (
    CAPTURED,
    ReplyInput,
    infer_and_report_exchange,
    load_inferred_edge_outcomes,
    observe_reply,
)
from festinger.store.pool import Store
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, write_exchanges


class Chat:
    """A conversation as the proxy captures it."""

    def __init__(self, watched: Watched, session: str = "chat") -> None:
        self.watched, self.session, self.number = watched, SessionId(session), 0

    async def exchange(
        self,
        reply: str,
        *,
        person: str | None = None,
        notes: Sequence[MemoryId | str] = (),
        calls: Sequence[dict[str, Any]] = (),
    ) -> None:
        """One exchange, captured and heard of."""
        self.number += 1
        now = self.watched.mind.forward()
        request, recollection = f"req {self.session} {self.number}", uuid4() if notes else None
        said = self._words("user", Origin.PERSON, person) if person else self._words("tool", Origin.TOOL, "ok")
        exchange = StoredExchange(
            id=uuid4(),
            session=self.session,
            agent=AgentId(DEFAULT_AGENT),
            request=request,
            at=now,
            said=(said,),
            reply=self._words("assistant", Origin.MODEL, reply) if reply else None,
            tool_calls=list(calls),
            thinking=None,
            ended="whole",
            model="m",
            tokens_read=None,
            tokens_written=None,
            recollection=recollection,
        )
        deps = self.watched.deps
        async with deps.store.transaction() as transaction:
            await write_exchanges(transaction, MAIN_SPACE, [exchange])
            if recollection is not None:
                await deps.outbox.emit_all(
                    transaction, [self._injected(recollection, request, notes)], space=MAIN_SPACE
                )
        async with deps.store.transaction() as transaction:
            await infer_and_report_exchange(deps, transaction, self._captured(request))

    def _words(self, role: str, origin: Origin, text: str) -> ExchangeMessage:
        return ExchangeMessage(id=uuid4(), role=role, origin=origin, text=text)

    def _injected(self, recollection: UUID, request: str, notes: Sequence[MemoryId | str]) -> NewEvent:
        listed = [
            {"kind": "memory" if isinstance(note, UUID) else "edge", "id": str(note), "version": 1} for note in notes
        ]
        return NewEvent(
            name="recollection_injected",
            subject=f"session:{self.session}",
            payload={
                "recollection": str(recollection),
                "session": self.session,
                "position": "turn",
                "anchor": None,
                "notes": listed,
                "tokens": 9,
            },
            session=self.session,
            trace=TraceId(request),
        )

    def _captured(self, request: str) -> Event:
        return Event(
            id=EventId(uuid4()),
            seq=0,
            name=CAPTURED,
            version=1,
            space=MAIN_SPACE,
            subject=f"session:{self.session}",
            agent=AgentId(DEFAULT_AGENT),
            session=self.session,
            trace=TraceId(request),
            caused_by=None,
            payload={"session": self.session, "messages": [], "reply": None, "recollection": None},
            at=self.watched.mind.hands.now,
        )

    async def outcomes(self, memory: UUID) -> list[tuple[str, str, bool]]:
        log = await self.watched.log(memory)
        return [(row["outcome"], row["how"], row["replaced_by"] is None) for row in log]


@pytest.mark.requirement("O-47")
@pytest.mark.requirement("O-38")
async def test_what_a_reply_takes_from_a_note_is_inferred_and_weighs_little(store: Store) -> None:
    watched = Watched(store)
    used, idle = await watched.memories(2)
    chat = Chat(watched)

    await chat.exchange("The harbour office of Lisgate opens at 0730.", person="When can I come?", notes=[used, idle])

    assert await chat.outcomes(used) == [("acted", "inferred", True)]
    assert await chat.outcomes(idle) == []
    assert 0.5 < (await watched.held(used))["confidence"] <= 0.6
    [told] = await events(store, "outcome_inferred")
    assert (told["payload"]["note"], told["payload"]["weight"]) == (str(used), 0.25)
    waiting = await watched.hooks().proposals.get_pending()
    assert [(each.memory_id, each.reason) for each in waiting] == [(idle, "recollection")]


@pytest.mark.requirement("O-49")
async def test_a_person_who_corrects_replaces_the_first_look(store: Store) -> None:
    watched = Watched(store)
    stale, duplicate = await watched.memory("Rana's favourite colour is teal."), await watched.memory()
    chat = Chat(watched)
    await chat.exchange("Rana's favourite colour is teal.", person="Which paint?", notes=[stale])

    await chat.exchange("I see.", person="No, it is crimson.")

    assert await chat.outcomes(stale) == [("acted", "inferred", False), ("contradicted", "inferred", True)]
    held = await watched.held(stale)
    assert 0.4 <= held["confidence"] < 0.5
    assert held["confidence_ceiling"] is None
    assert (await watched.held(duplicate))["confidence"] == 0.5
    assert (await watched.mind.memory(stale)).status.value == "active"


@pytest.mark.requirement("O-49")
async def test_after_the_second_look_a_turn_is_final(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory("Rana's favourite colour is teal.")
    chat = Chat(watched)
    await chat.exchange("Rana's favourite colour is teal.", person="Which paint?", notes=[one])
    await chat.exchange("Good.", person="Thanks.")

    await chat.exchange("Oh.", person="No, it is crimson.")

    assert await chat.outcomes(one) == [("acted", "inferred", True)]


@pytest.mark.requirement("O-45")
async def test_what_a_tool_loop_does_with_a_note_belongs_to_its_turn(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    chat = Chat(watched)
    await chat.exchange("", person="Book it.", notes=[one], calls=[{"name": "look", "arguments": "{}"}])
    assert await chat.outcomes(one) == []

    await chat.exchange("The Lisgate harbour office opens at 0730.")

    assert await chat.outcomes(one) == [("acted", "inferred", True)]


@pytest.mark.requirement("O-21")
async def test_an_edge_that_was_shown_is_read_too(store: Store) -> None:
    watched = Watched(store)
    chat = Chat(watched)

    await chat.exchange("gnommoweb is a repo of theirs.", person="What is it?", notes=["gnommoweb [type] repo"])

    [told] = await events(store, "outcome_inferred")
    assert (told["payload"]["note"], told["payload"]["outcome"]) == ("gnommoweb [type] repo", "acted")


@pytest.mark.requirement("O-45")
async def test_switched_off_nothing_is_inferred(store: Store) -> None:
    watched = Watched(store, infer=False)
    one = await watched.memory()

    await Chat(watched).exchange("Lisgate opens at 0730.", person="When?", notes=[one])

    assert await watched.count("outcome") == 0


@pytest.mark.requirement("O-45")
async def test_a_program_hands_in_its_own_reply(store: Store) -> None:
    watched, recall = Watched(store), uuid4()
    one, two = await watched.memories(2)
    await watched.hooks().on_surfaced([one, two], "recall", recall=recall)

    seen = await observe_reply(
        watched.deps,
        watched.inferring(),
        recall,
        ReplyInput(text="Lisgate's harbour office opens at 0730.", request="When?"),
    )

    assert {id_: each.outcome for id_, each in seen.effects.items()} == {str(one): "acted"}
    found = await rows(store, "select memory_id, how from surfacing where outcome is not null")
    assert [(row["memory_id"], row["how"]) for row in found] == [(one, "inferred")]


@pytest.mark.requirement("P-45")
async def test_an_edge_has_one_outcome_a_turn_and_the_second_look_stands_in_its_place(store: Store) -> None:
    watched = Watched(store)
    chat = Chat(watched)
    await chat.exchange("A repo.", person="What is gnommoweb?", notes=["gnommoweb [type] repo"])
    await chat.exchange("It is a repo, as I said.")

    await chat.exchange("I see.", person="No, gnommoweb is a wiki.")

    told = [each["payload"]["outcome"] for each in await events(store, "outcome_inferred")]
    assert told == ["acted", "contradicted"]
    requests = await rows(store, "select trace_id from event where name = 'outcome_inferred'")
    assert {row["trace_id"] for row in requests} == {"req chat 1"}
    assert await load_inferred_edge_outcomes(store, MAIN_SPACE, "req chat 1") == {
        "gnommoweb [type] repo": "contradicted"
    }


@pytest.mark.requirement("P-46")
async def test_a_memory_and_an_edge_share_what_both_could_have_brought(store: Store) -> None:
    watched, call = Watched(store), [{"name": "ssh", "arguments": "ramanujan"}]
    alone = await watched.memory("dobby lives on ramanujan.")
    shared = await watched.memory("The machine that hums is ramanujan.")
    await Chat(watched, "one").exchange("", person="Go there.", notes=[alone], calls=call)

    await Chat(watched, "two").exchange(
        "", person="Go there.", notes=[shared, "gnommoweb [host] ramanujan"], calls=call
    )

    [whole] = await watched.log(alone)
    [half] = await watched.log(shared)
    assert (whole["outcome"], half["outcome"]) == ("acted", "acted")
    assert (whole["credit"], half["credit"]) == (1.0, 0.5)


@pytest.mark.requirement("P-46")
async def test_what_is_told_outright_of_the_same_turn_stands_in_the_place_of_what_was_read(store: Store) -> None:
    watched = Watched(store)
    one = await watched.memory()
    chat = Chat(watched)
    await chat.exchange("Lisgate's harbour office opens at 0730.", person="When?", notes=[one])
    read = (await watched.held(one))["confidence"]
    [found] = await rows(store, "select turn_id from surfacing where memory_id = %(one)s", one=one)

    await watched.hooks().on_context_used([one], {one: "contradicted"}, turn=found["turn_id"])

    assert read > 0.5 > (await watched.held(one))["confidence"]
    assert await chat.outcomes(one) == [("acted", "inferred", False), ("contradicted", "explicit", True)]
