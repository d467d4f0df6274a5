"""Does a tool fail in the same way over and over?

When an episode has ended, the results of its tools are read. A tool that failed alike often enough in it is something
to handle. Which tool gave a result is told by the exchanges: results answer the calls of the exchange before, in their
order. A result whose tool nobody knows is left aside.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from festinger.events.event import Event
from festinger.ids import SpaceId
from festinger.memory.episodes.episode import Episode, Role, Turn
from festinger.memory.episodes.store import find_in, turns_of
from festinger.proposals.desk import Desk
from festinger.proposals.detectors.failure import Failure, failure_of
from festinger.proposals.detectors.firing import Detector, Firing, scope_of
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import Message, PastExchange, messages, recent_exchanges

MOST_EXCHANGES = 1_000
"""Exchanges of a session in which a call is looked for."""
MOST_CITED = 20

_NAME = re.compile(r"[A-Za-z][\w.-]{0,59}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a tool answered."""

    turn: UUID
    tool: str
    text: str
    at: datetime


async def look(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    """What failed often in the episode that an event says has ended; nothing of one that is forgotten meanwhile."""
    episode = await find_in(transaction, event.space, UUID(event.payload["episode"]))
    turns = [
        each
        for each in await turns_of(transaction, event.space, episode.id)
        if each.role is Role.TOOL and failure_of(each.content) is not None
    ]
    threshold = desk.terms(event.space).detectors.tool_failure.threshold
    if len(turns) < threshold:
        return []
    tools = await _tools(transaction, event.space, episode, turns)
    results = [
        Result(turn=each.turn_id, tool=tools[each.turn_id], text=each.content, at=each.at)
        for each in turns
        if each.turn_id in tools
    ]
    return list(failing(episode, results, threshold=threshold))


def failing(episode: Episode, results: Sequence[Result], *, threshold: int) -> Iterator[Firing]:
    """What each tool that failed alike often enough makes one say."""
    alike: defaultdict[tuple[str, Failure], list[Result]] = defaultdict(list)
    for each in results:
        failure = failure_of(each.text)
        if failure is not None and _NAME.fullmatch(each.tool):
            alike[each.tool, failure].append(each)
    for (tool, failure), seen in alike.items():
        if len(seen) >= threshold:
            yield _firing(episode, tool, failure.kind, seen)


def tools_of(
    results: Mapping[UUID, Message], exchanges: Sequence[PastExchange], order: Sequence[UUID]
) -> dict[UUID, str]:
    """By which tool each result was given, the exchanges being in their order.

    Where there are as many results as calls each answers the call in its place; else it is told only if all calls
    were of one tool.
    """
    before = {after.id: call for call, after in pairwise(exchanges)}
    brought: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for id_ in order:
        if id_ in results:
            brought[results[id_].exchange].append(id_)
    found: dict[UUID, str] = {}
    for exchange, ids in brought.items():
        calls = before[exchange].tool_calls if exchange in before else ()
        names = [str(call.get("name", "")) for call in calls]
        if len(names) == len(ids):
            found |= dict(zip(ids, names, strict=True))
        elif len(set(names)) == 1:
            found |= dict.fromkeys(ids, names[0])
    return found


async def _tools(
    transaction: Transaction, space: SpaceId, episode: Episode, failed: Sequence[Turn]
) -> dict[UUID, str]:
    every = [each for each in await turns_of(transaction, space, episode.id) if each.role is Role.TOOL]
    said = await messages(transaction, space, [each.turn_id for each in every])
    past = await recent_exchanges(transaction, space, episode.session_id, limit=MOST_EXCHANGES)
    known = tools_of(said, past, [each.turn_id for each in every])
    return {each.turn_id: known[each.turn_id] for each in failed if each.turn_id in known}


def _firing(episode: Episode, tool: str, kind: str, seen: Sequence[Result]) -> Firing:
    return Firing(
        by=Detector.TOOL_FAILURE,
        category="reliability",
        scope=scope_of(tool, otherwise="tools"),
        what=f"Handle {kind} of {tool}",
        why=f"It failed so {len(seen)} times in one episode.",
        at=max(each.at for each in seen),
        agent=episode.agent_id,
        session=episode.session_id,
        source=f"{episode.source}:{tool}:{kind}"[:200],
        evidence={"episodes": [str(episode.id)], "turns": [str(each.turn) for each in seen[:MOST_CITED]]},
    )
