"""The idle mind: while nobody talks with it, an agent comes upon a memory and thinks about it.

What weighs much and was long not touched, what is disputed, what is far from recent thoughts and what is near to goals
and values comes up more often, everything sometimes. A thought has one of three reasons: it bears on a goal, on a value,
or it connects two memories that were apart, about which the next night is asked. After a conversation an agent thinks
a few times and then rests until somebody talks with it again. Decisions are pure; chance comes from outside.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations
from typing import Any
from uuid import UUID

import numpy as np

from festinger.agent.attention import Vector, nearest_similarity
from festinger.agent.goals import Q
from festinger.ids import Scope, SessionId
from festinger.llm.prompts import load_prompt
from festinger.memory.confidence import Weight
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import TurnRole
from festinger.memory.episodes.store import append_turn
from festinger.memory.model import Kind

SESSIONS = "thoughts:"
"""How the sessions of thoughts begin; they hold no conversation."""
SILENCE, EVERY, HOUR = timedelta(seconds=60), timedelta(seconds=300), timedelta(hours=1)
MOST_AN_HOUR = 12
MOST_ALONE = 12
"""Thoughts after a conversation; then it rests, so that a server that nobody talks with costs nothing."""
LONGEST_ALONE = timedelta(hours=6)
"""After a conversation nothing is thought from then on, also where no model could be asked before."""
MOST_WAITING = 20
POOL = 200
"""Memories among which one is picked, drawn from all."""
NEGLECT_SHARE, TENSION_SHARE, DISTANCE_SHARE, SELF_SHARE = 0.35, 0.25, 0.20, 0.20
TEMPERATURE = 0.25
FORGOTTEN_DAYS = 14.0
HEAVY = 0.8
"""The center of a weight from which a neglected memory counts in full."""
NEAR, FAR = 0.8, 0.5
"""Ranks among the pool: the nearest fifth is near, the farther half is far."""
LOOK_BACK = 0.2
"""Share of picks that look back at what came second the last time."""
RUT, RUT_PICKS, BARRED_PICKS = 0.95, 5, 10
"""Picks that are as much alike as the most alike pairs of the pool form a rut, which is left for a while."""
FULL_LINK, SECOND_HOP = 3, 0.3
"""Causes that make a link between memories full, and what of its strength remains one hop further."""
NOTHING = "NOTHING"
REFLECTS_WITHIN = timedelta(days=7)
REFLECTION = "The person reached this goal. What helped, or what would be worth doing otherwise with the next one?"


class ThoughtReason(StrEnum):
    GOAL = "goal"
    VALUE = "value"
    CONNECTION = "connection"
    GUT = "gut"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleCandidate:
    """A memory that may come up."""

    id: UUID
    text: str
    weight: Weight
    touched: datetime
    is_tense: bool = False
    vector: Vector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalAndValueVectors:
    """Vectors of what an agent is: its goals and its values."""

    goals: Sequence[Vector] = ()
    values: Sequence[Vector] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleHistory:
    """What was thought before, and when somebody talked last."""

    last_word: datetime | None = None
    last_thought: datetime | None = None
    in_hour: int = 0
    alone: int = 0
    """Thoughts since somebody talked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePick:
    """What came up, with what it led to, and why it is thought about."""

    candidate: IdleCandidate
    channel: ThoughtReason
    other: IdleCandidate | None = None
    loser: IdleCandidate | None = None
    question: str = ""
    """What is asked about it, where that is not the question of the channel."""

    @property
    def memories(self) -> list[UUID]:
        return [each.id for each in (self.candidate, self.other) if each is not None]

    @property
    def prompt(self) -> str:
        notes = [each.text for each in (self.candidate, self.other) if each is not None]
        return (
            load_prompt("festinger.agent", "idle")
            .message(notes="\n".join(f"- {text}" for text in notes), question=self.question or QUESTIONS[self.channel])
            .text
        )


QUESTIONS = {
    ThoughtReason.GOAL: "It bears on a goal of the person. What would be a next step, or what should they not overlook?",
    ThoughtReason.VALUE: "It bears on what matters to the person. Does anything in it speak for or against that?",
    ThoughtReason.CONNECTION: "These two notes were never thought of together. Does one throw light on the other?",
    ThoughtReason.GUT: "The person said this, and it is unusual for them. What may be behind it, or what would help?",
}


def is_time_to_think(history: IdleHistory, *, now: datetime) -> bool:
    """Whether it is time for a thought: there was a conversation, it is over, and it was not thought too often since."""
    if history.last_word is None or not SILENCE <= now - history.last_word < LONGEST_ALONE:
        return False
    is_rested = history.last_thought is None or now - history.last_thought >= EVERY
    return is_rested and history.in_hour < MOST_AN_HOUR and history.alone < MOST_ALONE


def score_idle_candidate(
    candidate: IdleCandidate, *, now: datetime, recent: Sequence[Vector], selves: GoalAndValueVectors
) -> float:
    """How strongly a memory asks to be thought about, from 0 to 1."""
    days = max(0.0, (now - candidate.touched) / timedelta(days=1))
    neglect = (1.0 - math.exp(-days / FORGOTTEN_DAYS)) * min(1.0, candidate.weight.center / HEAVY)
    return (
        NEGLECT_SHARE * neglect
        + TENSION_SHARE * candidate.is_tense
        + DISTANCE_SHARE * (1.0 - nearest_similarity(candidate.vector, recent))
        + SELF_SHARE * nearest_similarity(candidate.vector, [*selves.goals, *selves.values])
    )


def draw_two_indexes(
    appeals: Sequence[float], chance: random.Random, *, temperature: float = TEMPERATURE
) -> tuple[int, int]:
    """Draw what comes up and what comes second, by appeal; the same where there is only one."""
    weights = [math.exp(each / temperature) for each in appeals]
    first = chance.choices(range(len(weights)), weights)[0]
    if len(weights) == 1:
        return first, first
    return first, chance.choices(
        range(len(weights)), [0.0 if at == first else each for at, each in enumerate(weights)]
    )[0]


def choose_thought_reason(
    candidate: IdleCandidate, pool: Sequence[IdleCandidate], selves: GoalAndValueVectors
) -> ThoughtReason:
    """Why a memory is thought about: what it is nearer to than most of the pool; far from all, it is to be connected."""
    goal, value = (_rank(candidate, pool, those) for those in (selves.goals, selves.values))
    if goal >= NEAR or (goal >= FAR and goal >= value):
        return ThoughtReason.GOAL
    return ThoughtReason.VALUE if value >= FAR else ThoughtReason.CONNECTION


def _rank(candidate: IdleCandidate, pool: Sequence[IdleCandidate], those: Sequence[Vector]) -> float:
    """The share of the pool that is farther from those than the candidate; -1 where there are none."""
    if not those or candidate.vector is None:
        return -1.0
    own = nearest_similarity(candidate.vector, those)
    return sum(nearest_similarity(each.vector, those) < own for each in pool) / len(pool)


def find_repetitive_topic_vectors(picks: Sequence[Vector], *, bar: float) -> list[Vector]:
    """The middles of ruts among the last picks, oldest first, that are barred still."""
    found = []
    for end in range(max(RUT_PICKS, len(picks) - BARRED_PICKS + 1), len(picks) + 1):
        last = picks[end - RUT_PICKS : end]
        if np.mean([float(one @ other) for one, other in combinations(last, 2)]) >= bar:
            middle = np.mean(last, axis=0)
            found.append(np.asarray(middle / max(float(np.linalg.norm(middle)), 1e-9), dtype=np.float32))
    return found


def pick_memory(
    pool: Sequence[IdleCandidate],
    *,
    before: Sequence[Vector],
    loser: UUID | None,
    selves: GoalAndValueVectors,
    now: datetime,
    chance: random.Random,
) -> tuple[IdleCandidate, IdleCandidate | None]:
    """Pick what comes up, and what came second. `before` are the vectors of the last picks, oldest first."""
    known = {each.id: each for each in pool}
    if loser in known and chance.random() < LOOK_BACK:
        return known[loser], None
    vectors = [each.vector for each in pool if each.vector is not None]
    alike = [float(one @ other) for one, other in combinations(vectors[: POOL // 4], 2)]
    bar = float(np.quantile(alike, RUT)) if alike else math.inf
    ruts = find_repetitive_topic_vectors(before, bar=bar)
    free = [each for each in pool if not ruts or nearest_similarity(each.vector, ruts) < bar] or list(pool)
    appeals = [score_idle_candidate(each, now=now, recent=before[-RUT_PICKS:], selves=selves) for each in free]
    first, second = draw_two_indexes(appeals, chance, temperature=TEMPERATURE * (2 if ruts else 1))
    return free[first], free[second] if second != first else None


def is_empty_thought(text: str) -> bool:
    """Whether a model had no thought."""
    return not text or text.strip(" .!*`").upper() == NOTHING


async def load_idle_timing(deps: MemoryDeps, scope: Scope) -> IdleHistory:
    row = await deps.store.one(
        Q["idle_history"], space=scope.space, agent=scope.agent, thoughts=f"{SESSIONS}%", since=deps.clock() - HOUR
    )
    return IdleHistory(**row)


def _agent_parameters(deps: MemoryDeps, scope: Scope) -> dict[str, Any]:
    embedder = deps.embedder()
    return {"space": scope.space, "agent": scope.agent, "model": embedder.name if embedder else ""}


async def sample_idle_candidates(deps: MemoryDeps, scope: Scope, chance: random.Random) -> list[IdleCandidate]:
    """Memories at random places of an agent's life."""
    places = [chance.random() for _ in range(POOL)]
    return list(
        map(_row_to_candidate, await deps.store.all(Q["idle_pool"], places=places, **_agent_parameters(deps, scope)))
    )


async def find_reached_goal(deps: MemoryDeps, scope: Scope) -> IdlePick | None:
    """A goal that was reached lately and not thought about since."""
    since = deps.clock() - REFLECTS_WITHIN
    row = await deps.store.maybe(Q["goal_to_reflect_on"], space=scope.space, agent=scope.agent, since=since)
    return IdlePick(candidate=_row_to_candidate(row), channel=ThoughtReason.GOAL, question=REFLECTION) if row else None


async def pick_idle_memory(
    deps: MemoryDeps, scope: Scope, selves: GoalAndValueVectors, chance: random.Random
) -> IdlePick | None:
    """Come upon a memory; none where there are too few."""
    pool = await sample_idle_candidates(deps, scope, chance)
    picks = await deps.store.all(Q["last_picks"], limit=RUT_PICKS + BARRED_PICKS, **_agent_parameters(deps, scope))
    last = list(reversed(picks))
    if len(pool) < 2:
        return None
    before = [each for row in last if (each := _vector_from_row(row)) is not None]
    loser = last[-1]["loser_id"] if last else None
    now = deps.clock()
    picked, second = pick_memory(pool, before=before, loser=loser, selves=selves, now=now, chance=chance)
    channel = choose_thought_reason(picked, pool, selves)
    if channel is ThoughtReason.CONNECTION:
        apart = sorted((each for each in pool if each.id != picked.id), key=lambda each: _cosine(picked, each))
        other: IdleCandidate | None = chance.choice(apart[: math.ceil(len(apart) / 2)])
    else:
        row = await deps.store.maybe(
            Q["reached"], space=scope.space, agent=scope.agent, memory=picked.id, full=FULL_LINK, damping=SECOND_HOP
        )
        other = _row_to_candidate(row) if row else None
    return IdlePick(candidate=picked, channel=channel, other=other, loser=second)


def _row_to_candidate(row: Mapping[str, Any]) -> IdleCandidate:
    weight = Weight(alpha=row["weight_alpha"], beta=row["weight_beta"])
    return IdleCandidate(
        id=row["id"],
        text=row["content"],
        weight=weight,
        touched=row["touched"],
        is_tense=weight.is_contested or row["kind"] == Kind.TENSION,
        vector=_vector_from_row(row),
    )


def _vector_from_row(row: Mapping[str, Any]) -> Vector | None:
    kept = row["embedding"]
    return None if kept is None else np.asarray(kept.to_numpy(), dtype=np.float32)


def _cosine(one: IdleCandidate, other: IdleCandidate) -> float:
    return nearest_similarity(one.vector, [] if other.vector is None else [other.vector])


async def save_thought(deps: MemoryDeps, scope: Scope, id_: UUID, pick: IdlePick, text: str) -> None:
    """Keep a thought: its words as a turn, and what it was about. What is thought is never learned."""
    if text:
        await append_turn(deps, scope, TurnRole.THOUGHT, text, turn_id=id_)
    about: dict[str, Any] = {
        "memory": pick.candidate.id,
        "other": pick.other.id if pick.other else None,
        "loser": pick.loser.id if pick.loser else None,
    }
    kept: dict[str, Any] = {"id": id_, "at": deps.clock(), "channel": pick.channel, "has_words": bool(text)}
    await deps.store.run(Q["put_thought"], space=scope.space, agent=scope.agent, **kept, **about)


async def load_thoughts(deps: MemoryDeps, scope: Scope, *, limit: int, untold: bool = False) -> list[dict[str, Any]]:
    """The last thoughts in words, newest first, each with the time and why it was thought."""
    rows = await deps.store.all(Q["thoughts"], space=scope.space, agent=scope.agent, limit=limit, untold=untold)
    return [dict(row) for row in rows]


async def tell_thought(deps: MemoryDeps, scope: Scope) -> tuple[UUID, str] | None:
    """Tell a person the last thought since they were told one, one about a goal before others; it becomes a turn of the
    conversation. The others stay where they can be read."""
    waiting = await load_thoughts(deps, scope, limit=MOST_ALONE, untold=True)
    if not waiting:
        return None
    chosen = min(waiting, key=lambda each: each["channel"] != ThoughtReason.GOAL)
    await deps.store.run(Q["mark_told"], space=scope.space, id=chosen["id"], now=deps.clock())
    text = f"Meanwhile I thought: {chosen['content']}"
    await append_turn(deps, scope, TurnRole.ASSISTANT, text)
    return chosen["id"], text


def thoughts_scope(scope: Scope) -> Scope:
    """Where an agent thinks: in a session of its own, so that no conversation goes on for it."""
    return Scope(space=scope.space, agent=scope.agent, session=SessionId(f"{SESSIONS}{scope.agent}"))
