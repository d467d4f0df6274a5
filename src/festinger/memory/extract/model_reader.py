"""Lets a language model correct what was extracted from a turn without one.

Runs after `turns`, in the background. Better wording replaces what was extracted from the same turn, news
replaces older memories, and what should not have been kept is archived. Every step can be undone, and nothing
is kept that the turn and the memories it may correct do not support.
"""

import json
from collections.abc import Sequence

import structlog
from pydantic import BaseModel, ConfigDict, Field

from festinger.errors import ProviderRefused, Refused
from festinger.ids import Origin, Scope
from festinger.llm.model import AnswerSchema, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.deps import MemoryDeps, log_writer_failure
from festinger.memory.edit import archive, supersede
from festinger.memory.extract.classifier import statement_probabilities
from festinger.memory.extract.clauses import split_clauses, split_words
from festinger.memory.extract.statements import classify_kind, flatten_lists
from festinger.memory.extract.turns import SOURCE, PersonTurn
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import SURE, LearnRequest, TurnWithTrust, is_supported
from festinger.memory.model import Memory, Status, memory_from_row
from festinger.store.queries import load_queries
from festinger.text.hygiene import is_question, is_small_talk
from festinger.text.words import FUNCTION_WORDS

log = structlog.get_logger(room="memory")

Q = load_queries("festinger.memory")

OLDER = 20
"""Older statements of an agent that news may replace, newest first."""
MAY_STATE = 0.15
"""A turn whose likeliest clause scores lower is not shown to a model."""
FEWEST_WORDS, ENGLISH_FROM = 3, 0.15
"""Words of a turn that may be in another language, and the share of English function words from which it is not. Plain
English sentences have .2 or more, sentences in German, French or Polish hardly any."""


class ReadFact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=500)
    replaces: list[int] = Field(max_length=20)


class TurnReading(AnswerSchema):
    """What a model reads in a turn."""

    facts: list[ReadFact] = Field(max_length=20)
    wrong: list[int] = Field(max_length=20)


async def correct_turn_with_model(deps: MemoryDeps, scope: Scope, turn: PersonTurn) -> list[Learned]:
    """Correct what was learned from a turn with the writer model; do nothing without one.

    Raises `Unavailable` while the model cannot be asked."""
    model = await deps.writer(scope.space)
    if model is None or not await _may_hold_statement(deps, turn.text):
        return []
    taken, older = await _notes(deps, scope, turn)
    numbered = dict(enumerate([*taken, *older], start=1))
    try:
        answer = await model.answer([_question(turn.text, taken, older)], TurnReading)
    except ProviderRefused as error:
        log_writer_failure(deps, "turn not read by a model", model, error)
        return []
    for number in answer.value.wrong:
        if number in numbered and numbered[number] in taken:
            await archive(deps, scope.space, numbered[number].id, by=answer.model, reason="not worth keeping")
    return [
        learned
        for place_of, fact in enumerate(answer.value.facts)
        if (learned := await _keep(deps, scope, turn, fact, numbered, name=f"m{place_of}", by=answer.model))
    ]


async def _may_hold_statement(deps: MemoryDeps, text: str) -> bool:
    """Whether a turn is worth showing to a model. The classifier reads English, so it decides only about that."""
    if not is_english(text):
        return not is_small_talk(text) and not is_question(text)
    said, _ = flatten_lists(text)
    likely = await statement_probabilities(split_clauses(said), said, encoder=deps.encoder())
    return max(likely, default=0.0) >= MAY_STATE


def is_english(text: str) -> bool:
    """Whether a text may be English; a few words say too little to tell."""
    words = split_words(text.casefold())
    return len(words) < FEWEST_WORDS or sum(word in FUNCTION_WORDS for word in words) >= ENGLISH_FROM * len(words)


async def _keep(
    deps: MemoryDeps, scope: Scope, turn: PersonTurn, fact: ReadFact, numbered: dict[int, Memory], *, name: str, by: str
) -> Learned | None:
    content = " ".join(fact.content.split())
    known = [memory.content for memory in numbered.values()]
    if not is_supported(content, [turn.text, *known], confidence=SURE):
        return None
    olds = [numbered[number] for number in fact.replaces if number in numbered]
    trust = deps.terms(scope.space).trusts[Origin.PERSON]
    request = LearnRequest(
        text=content,
        kind=classify_kind(content),
        origin=Origin.MODEL,
        source=SOURCE,
        turns=(TurnWithTrust(id=turn.id, trust=trust),),
        by_model=True,
        turn_id=turn.id,
        key=f"turn:{turn.id}:{name}",
        corrects=olds[0].id if olds else None,
    )
    learned = await learn(deps, scope, request)
    new = learned.memory
    for old in olds:
        if new is not None and new.id != old.id and new.status is Status.ACTIVE:
            try:
                await supersede(deps, scope.space, old.id, new.id, by=by, reason="A model read the turn again.")
            except Refused as refused:
                log.info("note not replaced", why=refused.message)
    return learned


async def _notes(deps: MemoryDeps, scope: Scope, turn: PersonTurn) -> tuple[list[Memory], list[Memory]]:
    """Return what was learned from a turn, and the newest statements from before."""
    taken = await deps.store.all(Q["learned_from_turns"], space=scope.space, session=scope.session, turns=[turn.id])
    older = await deps.store.all(
        Q["newest_statements"], space=scope.space, agent=scope.agent, turn=turn.id, limit=OLDER
    )
    live = [memory for memory in map(memory_from_row, taken) if memory.status is Status.ACTIVE]
    return live, [memory_from_row(row) for row in older]


def _question(text: str, taken: Sequence[Memory], older: Sequence[Memory]) -> PromptMessage:
    lines = [f"{number}. {json.dumps(memory.content)}" for number, memory in enumerate([*taken, *older], start=1)]
    return load_prompt("festinger.memory", "read_turn").message(
        message=json.dumps(text),
        taken="\n".join(lines[: len(taken)]) or "none",
        older="\n".join(lines[len(taken) :]) or "none",
    )
