"""What should change, as a model sees it that looks back at an episode?

Once for each episode, or for each stretch of a very long one, a model is asked for a few changes worth making, with its
reasons first and the turns that show them. What cites nothing, is not sure, or only says the question again is
dropped and counted. The rest is sighted like anybody's suggestion: no more trusted than the turns that it cites. The
reflection itself is remembered. Without a model nothing happens here; detectors look all the same.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID, uuid5

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from festinger.errors import BadInput, ProposalRefused, Replayed
from festinger.events.event import Event
from festinger.events.feed import history
from festinger.ids import Origin, SpaceId, cause
from festinger.llm.model import Answer, Message, Model, Shape
from festinger.llm.prompts import prompt_of
from festinger.memory.deps import Desk as MemoryDesk
from festinger.memory.episodes.episode import SPOKEN, Episode, State, Turn, shown
from festinger.memory.episodes.store import find_in, turns_left
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import Given
from festinger.memory.model import Kind
from festinger.observability.metrics import PROPOSALS_DROPPED
from festinger.proposals.deps import Desk
from festinger.proposals.detectors.detector import scope_of
from festinger.proposals.model import Proposal, ProposalId, Type
from festinger.proposals.sightings.fingerprint import Profile, normalise, words_of
from festinger.proposals.sightings.intake import emit, standing
from festinger.proposals.sightings.model import LONGEST_REASON, LONGEST_WHAT, REFLECTION, Suggestion
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction

REFLECT = "reflect_on_episode"
"""The job that asks the model."""
CREATED = "reflection_created"

STRETCH = 200
"""Turns of an episode that one reflection looks at."""
FEWEST_TURNS = 2
MOST_WORDS = 15
LEAST_SURE = 0.5
MOST_STANDING = 40
USUAL_SCOPES = ("tools", "chat", "memory", "world", "prompt")

Writer = Callable[[SpaceId], Awaitable[Model | None]]


def _few_words(text: str) -> str:
    plain = " ".join(text.split())
    if not 1 <= len(plain.split()) <= MOST_WORDS:
        raise ValueError(f"must have 1 to {MOST_WORDS} words")
    return plain


class Change(BaseModel):
    """A change that a model finds worth making."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    reasoning: str = Field(description="What in the turns asks for it, before anything is claimed.")
    existing_id: str | None = None
    category: str = Field(max_length=40)
    scope: str = Field(max_length=80)
    type: Type = Type.ADVICE
    what: Annotated[str, Field(max_length=LONGEST_WHAT), AfterValidator(_few_words)]
    why: str = Field(max_length=LONGEST_REASON)
    how: str = Field(max_length=LONGEST_REASON)
    evidence: list[int] = Field(max_length=50)
    confidence: float = Field(ge=0, le=1)


class Reflection(Shape):
    """What a model thinks of an episode."""

    changes: list[Change] = Field(max_length=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """What reflecting needs: the desks of both rooms, and the model that writes."""

    desk: Desk
    memory: MemoryDesk
    writer: Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    id: UUID
    proposals: tuple[ProposalId, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of an episode that is looked at by itself."""

    episode: Episode
    turns: tuple[Turn, ...]
    number: int

    @property
    def id(self) -> UUID:
        """Of the reflection on it: the same however often it is begun."""
        return uuid5(self.episode.id, f"reflection {self.number}")


async def ask_for_reflection(desk: Desk, transaction: Transaction, event: Event) -> None:
    """Have an episode that has ended looked back at. A subscriber of `episode_closed`."""
    terms = desk.terms(event.space)
    if terms.reflect and terms.max_per_episode:
        await desk.ask(transaction, REFLECT, space=event.space, episode=event.payload["episode"])


async def reflect(mirror: Mirror, space: SpaceId, episode: UUID) -> list[Reflected]:
    """Look back at an episode, each stretch once. Raises `NotFound`, and what a model that does not answer raises."""
    model = await mirror.writer(space)
    if model is None:
        return []
    async with mirror.desk.store.transaction() as transaction:
        found = await find_in(transaction, space, episode)
        turns = await turns_left(transaction, space, episode)
        told = await history(transaction, space=space, subject=_subject(episode), names=[CREATED])
    if found.state is State.OPEN:
        return []
    known = {each.payload["reflection"] for each in told}
    due = [each for each in stretches(found, turns) if str(each.id) not in known]
    return [await _reflect(mirror, model, each) for each in due]


def stretches(episode: Episode, turns: Sequence[Turn]) -> Iterator[Stretch]:
    """The parts of an episode that are long enough to look back at."""
    for number, start in enumerate(range(0, len(turns), STRETCH)):
        part = tuple(turns[start : start + STRETCH])
        if sum(turn.role in SPOKEN for turn in part) >= FEWEST_TURNS:
            yield Stretch(episode=episode, turns=part, number=number)


async def _reflect(mirror: Mirror, model: Model, stretch: Stretch) -> Reflected:
    desk, space = mirror.desk, stretch.episode.space_id
    terms = desk.terms(space)
    stands = await standing(desk, space, limit=MOST_STANDING)
    asked = question(stretch.turns, stands, terms)
    answer = await model.answer([asked], Reflection)
    chosen = list(worthy(answer.value.changes, stretch.turns, terms=terms))
    await _remember(mirror, stretch, answer)
    known = {str(each.id): each.id for each in stands}
    sighted = []
    for place, change in enumerate(chosen):
        said = suggestion(change, stretch, place=place)
        try:
            done = await emit(desk, space, said, existing=known.get((change.existing_id or "").strip()))
        except (BadInput, ProposalRefused):
            PROPOSALS_DROPPED.labels("unfit").inc()
            continue
        sighted += [done.proposal] if done.proposal else []
    return await _tell(desk, stretch, tuple(dict.fromkeys(sighted)), wanted=len(answer.value.changes))


def question(turns: Sequence[Turn], stands: Sequence[Proposal], terms: ProposalsSettings) -> Message:
    """What the model is asked: the turns, the scopes and what stands, all of it quoted."""
    scopes = dict.fromkeys([*(each.scope for each in stands), *USUAL_SCOPES])
    return prompt_of("festinger.proposals", "reflect").message(
        transcript=shown(turns),
        standing="\n".join(map(_stands, stands)) or "(none)",
        scopes=", ".join(scopes),
        categories=", ".join(terms.categories),
        most=str(terms.max_per_episode),
    )


def worthy(changes: Sequence[Change], turns: Sequence[Turn], *, terms: ProposalsSettings) -> Iterator[Change]:
    """The changes that are proposed, as many as there may be; each that is not is counted with its reason."""
    numbers = {turn.seq for turn in turns}
    taken = 0
    for change in changes:
        reason = _unworthy(change, numbers, categories=terms.categories)
        if not reason and taken >= terms.max_per_episode:
            reason = "too many"
        if reason:
            PROPOSALS_DROPPED.labels(reason).inc()
            continue
        taken += 1
        yield change


def _unworthy(change: Change, numbers: Collection[int], *, categories: Collection[str]) -> str:
    """Why a change is not proposed; empty if it is."""
    if not set(change.evidence) & set(numbers):
        return "no evidence"
    if change.confidence < LEAST_SURE:
        return "not sure"
    if change.category not in categories:
        return "no category"
    return "restates the prompt" if restates(change.what) else ""


def restates(what: str) -> bool:
    """Whether words say nothing that the question did not say."""
    template = prompt_of("festinger.proposals", "reflect").text
    asked = words_of(normalise(template, Profile.COMPAT_COURSE))
    return words_of(normalise(what, Profile.COMPAT_COURSE)) <= asked


def suggestion(change: Change, stretch: Stretch, *, place: int) -> Suggestion:
    """The same as every producer says it: for the session of the episode, as trusted as the turns that it cites."""
    episode = stretch.episode
    cited = [turn for turn in stretch.turns if turn.seq in change.evidence]
    at = max(turn.at for turn in cited)
    # The answer has no payload, so anything but advice could not be carried out as it is.
    wanted = {} if change.type is Type.ADVICE else {"wanted": change.type.value}
    return Suggestion(
        category=change.category,
        scope=scope_of(change.scope, otherwise="chat"),
        what=change.what,
        why=change.why,
        how=change.how,
        producer=REFLECTION,
        source=f"reflection:{stretch.id}:{place}",
        cause=cause(agent=episode.agent_id, session=episode.session_id, origin=Origin.MODEL, at=at),
        at=at,
        payload=wanted,
        evidence={"episodes": [str(episode.id)], "turns": [str(turn.turn_id) for turn in cited]},
        cited=tuple(turn.origin for turn in cited),
        reflection=stretch.id,
    )


async def _remember(mirror: Mirror, stretch: Stretch, answer: Answer[Reflection]) -> None:
    """Keep the reflection itself as a memory. One that was begun before and not finished stays as it was."""
    said = answer.value
    lines = [said.reasoning, *(f"{each.what}: {each.why}" for each in said.changes)]
    text = "\n".join(line.strip() for line in lines if line.strip())
    if not text:
        return
    given = Given(
        text=text,
        kind=Kind.REFLECTION,
        origin=Origin.MODEL,
        source=stretch.episode.source,
        asked=False,
        episode_id=stretch.episode.id,
        key=f"reflection:{stretch.id}",
        metadata={"model": answer.model, "prompt": answer.prompt_hash},
    )
    try:
        await learn(mirror.memory, stretch.episode.place, given)
    except Replayed:
        return


async def _tell(desk: Desk, stretch: Stretch, proposals: tuple[ProposalId, ...], *, wanted: int) -> Reflected:
    """Say that the stretch was looked at; by this it is known and not looked at again."""
    episode = stretch.episode
    async with desk.store.transaction() as transaction:
        await desk.outbox.emit(
            transaction,
            CREATED,
            space=episode.space_id,
            subject=_subject(episode.id),
            agent=episode.agent_id,
            session=episode.session_id,
            payload={
                "reflection": str(stretch.id),
                "episode": str(episode.id),
                "proposals": [str(each) for each in proposals],
            },
        )
    return Reflected(id=stretch.id, proposals=proposals, dropped=wanted - len(proposals))


def _subject(episode: UUID) -> str:
    return f"episode:{episode}"


def _stands(proposal: Proposal) -> str:
    what = json.dumps(proposal.what)
    return f"{proposal.id} ({proposal.state.value}; {proposal.category}, {proposal.scope}): {what}"
