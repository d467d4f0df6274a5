"""Asks a model to look back at an ended episode and suggests the changes that it finds.

Each episode, or each segment of a very long one, is reflected on once. The model gives its reasons first and
cites turns. Changes without evidence, with low confidence or that only restate the prompt are dropped and
counted; the rest become sightings, trusted no more than the turns cited. What a tool returned shows what
happened and not what anybody wants, so it neither backs a change alone nor spoils one that others back. The
reflection itself is stored as a memory. Without a model this does nothing; detectors still run.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID, uuid5

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from festinger.errors import BadInput, ProposalRefused, Replayed
from festinger.events.catalogue import Event
from festinger.events.outbox import event_history
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
from festinger.proposals.detectors.patterns import slugify_scope
from festinger.proposals.model import Proposal, ProposalId, ProposalType
from festinger.proposals.sightings.fingerprint import topic_words
from festinger.proposals.sightings.intake import list_active_proposals, submit_suggestion
from festinger.proposals.sightings.recount import LONGEST_REASON, LONGEST_WHAT, REFLECTION, Suggestion
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction
from festinger.text.hygiene import is_instruction

REFLECT = "reflect_on_episode"
"""The job that asks the model."""
CREATED = "reflection_created"

STRETCH = 200
"""Turns per segment."""
FEWEST_TURNS = 2
MOST_WORDS = 15
LEAST_SURE = 0.5
MOST_STANDING = 40
MOSTLY = 0.8
"""Share of the words of a change from which a tool's text counts as its source."""
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
    """Dependencies of reflection: those of both packages, and the model that writes."""

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
    """A part of an episode that is reflected on by itself."""

    episode: Episode
    turns: tuple[EpisodeTurn, ...]
    number: int

    @property
    def id(self) -> UUID:
        """The id of its reflection: the same however often it is started."""
        return uuid5(self.episode.id, f"reflection {self.number}")


async def enqueue_reflection(deps: ProposalDeps, transaction: Transaction, event: Event) -> None:
    """Enqueue reflection on an episode that has ended. A subscriber of `episode_closed`."""
    terms = deps.terms(event.space)
    if terms.reflect and terms.max_per_episode:
        await deps.ask(transaction, REFLECT, space=event.space, episode=event.payload["episode"])


async def reflect(mirror: ReflectionDeps, space: SpaceId, episode: UUID) -> list[ReflectionResult]:
    """Reflect on an episode, each segment once. Raises `NotFound`, and the errors of an unavailable model."""
    model = await mirror.writer(space)
    if model is None:
        return []
    async with mirror.deps.store.transaction() as transaction:
        found = await find_episode(transaction, space, episode)
        turns = await list_usable_turns(transaction, space, episode)
        events = await event_history(transaction, space=space, subject=_subject(episode), names=[CREATED])
    if found.state is EpisodeState.OPEN:
        return []
    known = {each.payload["reflection"] for each in events}
    due = [each for each in episode_segments(found, turns) if str(each.id) not in known]
    return [await _reflect_on_segment(mirror, model, each) for each in due]


def episode_segments(episode: Episode, turns: Sequence[EpisodeTurn]) -> Iterator[EpisodeSegment]:
    """Yield the segments of an episode that are long enough to reflect on."""
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
        suggestion = change_to_suggestion(change, stretch, place=place)
        try:
            done = await submit_suggestion(
                deps, space, suggestion, existing=known.get((change.existing_id or "").strip())
            )
        except (BadInput, ProposalRefused):
            PROPOSALS_DROPPED.labels("unfit").inc()
            continue
        sighted += [done.proposal] if done.proposal else []
    return await _mark_segment_reflected(deps, stretch, tuple(dict.fromkeys(sighted)), wanted=len(answer.value.changes))


def build_reflection_prompt(
    turns: Sequence[EpisodeTurn], stands: Sequence[Proposal], terms: ProposalsSettings
) -> PromptMessage:
    """Build the prompt: turns, scopes and active proposals, all of it quoted."""
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
    """Yield the changes to propose, up to the limit; the others are counted by reason."""
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
    """Return why a change is not proposed; empty if it is."""
    if not set(change.evidence) & set(numbers):
        return "no evidence"
    if change.confidence < LEAST_SURE:
        return "not sure"
    if change.category not in categories:
        return "no category"
    return "restates the prompt" if restates_prompt(change.what) else ""


def restates_prompt(what: str) -> bool:
    """Whether a text says nothing that the prompt did not say."""
    template = load_prompt("festinger.proposals", "reflect").text
    return topic_words(what) <= topic_words(template)


def change_to_suggestion(change: ProposedChange, stretch: EpisodeSegment, *, place: int) -> Suggestion:
    """Convert a change to a suggestion of the episode's session, as trusted as the cited turns."""
    episode = stretch.episode
    cited = [turn for turn in stretch.turns if turn.seq in change.evidence]
    at = max(turn.at for turn in cited)
    # The answer has no payload, so only advice could be carried out as it is.
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
        cited=tuple(turn.origin for turn in cited if not _is_neutral_tool_turn(turn, change, cited)),
        reflection=stretch.id,
    )


def _is_neutral_tool_turn(turn: EpisodeTurn, change: ProposedChange, cited: Sequence[EpisodeTurn]) -> bool:
    """Whether a tool's turn only shows what happened: it gives no orders, does not itself suggest the change, and a
    turn of a person or the model is cited beside it."""
    is_backed = any(each.origin in (Origin.PERSON, Origin.MODEL) for each in cited)
    if turn.origin is not Origin.TOOL or not is_backed or is_instruction(turn.content):
        return False
    wanted, said = topic_words(change.what), topic_words(turn.content)
    return len(wanted & said) < MOSTLY * len(wanted)


async def _save_reflection(mirror: ReflectionDeps, stretch: EpisodeSegment, answer: ModelAnswer[Reflection]) -> None:
    """Store the reflection as a memory. One started before and not finished stays as it was."""
    value = answer.value
    lines = [value.reasoning, *(f"{each.what}: {each.why}" for each in value.changes)]
    text = "\n".join(line.strip() for line in lines if line.strip())
    if not text:
        return
    request = LearnRequest(
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
        await learn(mirror.memory, stretch.episode.place, request)
    except Replayed:
        return


async def _mark_segment_reflected(
    deps: ProposalDeps, stretch: EpisodeSegment, proposals: tuple[ProposalId, ...], *, wanted: int
) -> ReflectionResult:
    """Emit the event that marks the segment as done, so that it is not reflected on again."""
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
