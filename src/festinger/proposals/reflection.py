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
from festinger.events.feed import event_history
from festinger.ids import Origin, SpaceId, cause
from festinger.llm.model import AnswerSchema, Model, ModelAnswer, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import SPOKEN, Episode, EpisodeState, EpisodeTurn, format_prompt_transcript
from festinger.memory.episodes.store import find_episode, list_usable_turns
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind
from festinger.observability.metrics import PROPOSALS_DROPPED
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.detectors.detector import slugify_scope
from festinger.proposals.model import Proposal, ProposalId, ProposalType
from festinger.proposals.sightings.fingerprint import FingerprintProfile, normalise, normalised_words
from festinger.proposals.sightings.intake import list_active_proposals, submit_suggestion
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


def _validate_word_count(text: str) -> str:
    plain = " ".join(text.split())
    if not 1 <= len(plain.split()) <= MOST_WORDS:
        raise ValueError(f"must have 1 to {MOST_WORDS} words")
    return plain


class ProposedChange(BaseModel):
    """A change that a model finds worth making."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    reasoning: str = Field(description="What in the turns asks for it, before anything is claimed.")
    existing_id: str | None = None
    category: str = Field(max_length=40)
    scope: str = Field(max_length=80)
    type: ProposalType = ProposalType.ADVICE
    what: Annotated[str, Field(max_length=LONGEST_WHAT), AfterValidator(_validate_word_count)]
    why: str = Field(max_length=LONGEST_REASON)
    how: str = Field(max_length=LONGEST_REASON)
    evidence: list[int] = Field(max_length=50)
    confidence: float = Field(ge=0, le=1)


class Reflection(AnswerSchema):
    """What a model thinks of an episode."""

    changes: list[ProposedChange] = Field(max_length=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionDeps:
    """What reflecting needs: the desks of both rooms, and the model that writes."""

    deps: ProposalDeps
    memory: MemoryDeps
    writer: Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionResult:
    id: UUID
    proposals: tuple[ProposalId, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSegment:
    """A part of an episode that is looked at by itself."""

    episode: Episode
    turns: tuple[EpisodeTurn, ...]
    number: int

    @property
    def id(self) -> UUID:
        """Of the reflection on it: the same however often it is begun."""
        return uuid5(self.episode.id, f"reflection {self.number}")


async def enqueue_reflection(deps: ProposalDeps, transaction: Transaction, event: Event) -> None:
    """Have an episode that has ended looked back at. A subscriber of `episode_closed`."""
    terms = deps.terms(event.space)
    if terms.reflect and terms.max_per_episode:
        await deps.ask(transaction, REFLECT, space=event.space, episode=event.payload["episode"])


async def reflect(mirror: ReflectionDeps, space: SpaceId, episode: UUID) -> list[ReflectionResult]:
    """Look back at an episode, each stretch once. Raises `NotFound`, and what a model that does not answer raises."""
    model = await mirror.writer(space)
    if model is None:
        return []
    async with mirror.deps.store.transaction() as transaction:
        found = await find_episode(transaction, space, episode)
        turns = await list_usable_turns(transaction, space, episode)
        told = await event_history(transaction, space=space, subject=_subject(episode), names=[CREATED])
    if found.state is EpisodeState.OPEN:
        return []
    known = {each.payload["reflection"] for each in told}
    due = [each for each in episode_segments(found, turns) if str(each.id) not in known]
    return [await _reflect_on_segment(mirror, model, each) for each in due]


def episode_segments(episode: Episode, turns: Sequence[EpisodeTurn]) -> Iterator[EpisodeSegment]:
    """The parts of an episode that are long enough to look back at."""
    for number, start in enumerate(range(0, len(turns), STRETCH)):
        part = tuple(turns[start : start + STRETCH])
        if sum(turn.role in SPOKEN for turn in part) >= FEWEST_TURNS:
            yield EpisodeSegment(episode=episode, turns=part, number=number)


async def _reflect_on_segment(mirror: ReflectionDeps, model: Model, stretch: EpisodeSegment) -> ReflectionResult:
    deps, space = mirror.deps, stretch.episode.space_id
    terms = deps.terms(space)
    stands = await list_active_proposals(deps, space, limit=MOST_STANDING)
    asked = build_reflection_prompt(stretch.turns, stands, terms)
    answer = await model.answer([asked], Reflection)
    chosen = list(filter_changes(answer.value.changes, stretch.turns, terms=terms))
    await _save_reflection(mirror, stretch, answer)
    known = {str(each.id): each.id for each in stands}
    sighted = []
    for place, change in enumerate(chosen):
        said = change_to_suggestion(change, stretch, place=place)
        try:
            done = await submit_suggestion(deps, space, said, existing=known.get((change.existing_id or "").strip()))
        except (BadInput, ProposalRefused):
            PROPOSALS_DROPPED.labels("unfit").inc()
            continue
        sighted += [done.proposal] if done.proposal else []
    return await _emit_created(deps, stretch, tuple(dict.fromkeys(sighted)), wanted=len(answer.value.changes))


def build_reflection_prompt(
    turns: Sequence[EpisodeTurn], stands: Sequence[Proposal], terms: ProposalsSettings
) -> PromptMessage:
    """What the model is asked: the turns, the scopes and what stands, all of it quoted."""
    scopes = dict.fromkeys([*(each.scope for each in stands), *USUAL_SCOPES])
    return load_prompt("festinger.proposals", "reflect").message(
        transcript=format_prompt_transcript(turns),
        standing="\n".join(map(_format_proposal, stands)) or "(none)",
        scopes=", ".join(scopes),
        categories=", ".join(terms.categories),
        most=str(terms.max_per_episode),
    )


def filter_changes(
    changes: Sequence[ProposedChange], turns: Sequence[EpisodeTurn], *, terms: ProposalsSettings
) -> Iterator[ProposedChange]:
    """The changes that are proposed, as many as there may be; each that is not is counted with its reason."""
    numbers = {turn.seq for turn in turns}
    taken = 0
    for change in changes:
        reason = _rejection_reason(change, numbers, categories=terms.categories)
        if not reason and taken >= terms.max_per_episode:
            reason = "too many"
        if reason:
            PROPOSALS_DROPPED.labels(reason).inc()
            continue
        taken += 1
        yield change


def _rejection_reason(change: ProposedChange, numbers: Collection[int], *, categories: Collection[str]) -> str:
    """Why a change is not proposed; empty if it is."""
    if not set(change.evidence) & set(numbers):
        return "no evidence"
    if change.confidence < LEAST_SURE:
        return "not sure"
    if change.category not in categories:
        return "no category"
    return "restates the prompt" if restates_prompt(change.what) else ""


def restates_prompt(what: str) -> bool:
    """Whether words say nothing that the question did not say."""
    template = load_prompt("festinger.proposals", "reflect").text
    asked = normalised_words(normalise(template, FingerprintProfile.COMPAT_COURSE))
    return normalised_words(normalise(what, FingerprintProfile.COMPAT_COURSE)) <= asked


def change_to_suggestion(change: ProposedChange, stretch: EpisodeSegment, *, place: int) -> Suggestion:
    """The same as every producer says it: for the session of the episode, as trusted as the turns that it cites."""
    episode = stretch.episode
    cited = [turn for turn in stretch.turns if turn.seq in change.evidence]
    at = max(turn.at for turn in cited)
    # The answer has no payload, so anything but advice could not be carried out as it is.
    wanted = {} if change.type is ProposalType.ADVICE else {"wanted": change.type.value}
    return Suggestion(
        category=change.category,
        scope=slugify_scope(change.scope, otherwise="chat"),
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


async def _save_reflection(mirror: ReflectionDeps, stretch: EpisodeSegment, answer: ModelAnswer[Reflection]) -> None:
    """Keep the reflection itself as a memory. One that was begun before and not finished stays as it was."""
    said = answer.value
    lines = [said.reasoning, *(f"{each.what}: {each.why}" for each in said.changes)]
    text = "\n".join(line.strip() for line in lines if line.strip())
    if not text:
        return
    given = LearnRequest(
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


async def _emit_created(
    deps: ProposalDeps, stretch: EpisodeSegment, proposals: tuple[ProposalId, ...], *, wanted: int
) -> ReflectionResult:
    """Say that the stretch was looked at; by this it is known and not looked at again."""
    episode = stretch.episode
    async with deps.store.transaction() as transaction:
        await deps.outbox.emit(
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
    return ReflectionResult(id=stretch.id, proposals=proposals, dropped=wanted - len(proposals))


def _subject(episode: UUID) -> str:
    return f"episode:{episode}"


def _format_proposal(proposal: Proposal) -> str:
    what = json.dumps(proposal.what)
    return f"{proposal.id} ({proposal.state.value}; {proposal.category}, {proposal.scope}): {what}"
