"""Conversations for tests of episodes: who says what, and a memory that listens."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tests.jobs.deps import rows
from tests.memory.remembering import Mind

from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.llm.model import Model
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import ORIGINS, Episode, EpisodeTurn, TurnRole
from festinger.memory.episodes.store import append_turn, close_episode
from festinger.memory.episodes.summary import EpisodeFact, EpisodeSummaryAnswer
from festinger.settings.memory_sections import EpisodesSettings
from festinger.store.pool import Store

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)

PLAN = (
    ("user", "We must move the billing service to another database before the end of March."),
    (
        "assistant",
        "The billing service uses MySQL today. Moving it means a dump, a load into the new cluster, and a switch of"
        " the connection strings in the deploy configuration. It would take about two evenings of work, and the"
        " invoices of that day would have to wait until the next morning. I would try it on the staging cluster"
        " first, measure how long the load takes, and write down each step so that anybody can repeat it.",
    ),
    ("user", "We decided to use Postgres for billing. Please remember that the staging cluster is in Oslo."),
    (
        "assistant",
        "Understood. Postgres it is. The next step is a trial run on the staging cluster on Thursday, with the dump"
        " of last week, and a check of every invoice total afterwards against the old database.",
    ),
)


def turn(seq: int, role: str, content: str, *, origin: Origin | None = None, **more: Any) -> EpisodeTurn:
    known = TurnRole(role)
    return EpisodeTurn(
        seq=seq, turn_id=UUID(int=seq), at=MONDAY, role=known, origin=origin or ORIGINS[known], content=content, **more
    )


def turns(*said: tuple[str, str]) -> list[EpisodeTurn]:
    return [turn(number, role, content) for number, (role, content) in enumerate(said, 1)]


def settled(mind: Mind, **settings: int) -> Mind:
    """The same memory with other settings of episodes."""
    mind.terms = replace(mind.terms, episodes=EpisodesSettings(**settings))
    return mind


def writing(deps: MemoryDeps, model: Model | None) -> MemoryDeps:
    """The same desk with a model that writes."""

    async def writer(_space: SpaceId) -> Model | None:
        return model

    return replace(deps, writer=writer)


async def talk(mind: Mind, *said: tuple[str, str], session: str = "s1", agent: str = "default") -> Episode:
    """Say something in a session; the episode that it went into."""
    place = mind.place(session, agent)
    for role, content in said:
        last = await append_turn(mind.deps, place, role, content)
    return last.episode


async def talked(mind: Mind, *said: tuple[str, str], session: str = "s1") -> Episode:
    """A conversation that has ended."""
    episode = await talk(mind, *(said or PLAN), session=session)
    return await close_episode(mind.deps, MAIN_SPACE, episode.id)


def fact(content: str, *turns: int, confidence: float = 0.9, **more: Any) -> EpisodeFact:
    given = {"subject": "", "is_decision": False, **more}
    return EpisodeFact(content=content, turns=list(turns), confidence=confidence, **given)


def answered(*facts: EpisodeFact, title: str = "", words: int = 120, **more: Any) -> EpisodeSummaryAnswer:
    """What a model says of an episode."""
    return EpisodeSummaryAnswer(
        reasoning="The database was chosen.",
        title=title or "Billing moves from MySQL to Postgres",
        summary=more.pop("summary", " ".join(["Billing"] * words)),
        outcome=more.pop("outcome", "partial"),
        topics=more.pop("topics", ["billing", "postgres"]),
        facts=list(facts),
        **more,
    )


async def kept_episodes(store: Store) -> list[dict[str, Any]]:
    return await rows(store, "select * from episode order by seq")


async def kept_turns(store: Store) -> list[dict[str, Any]]:
    return await rows(
        store, "select t.* from episode_turn t join episode e on e.id = t.episode_id order by e.seq, t.seq"
    )
