"""Runs the judges over pairs of statements, and retries the pairs that wait.

Rules come first, then the bundled reader, then an LLM. The first sure judge ends the cascade; a person's
decision overrides all. Where rules go by the form of the words, the reader is asked all the same. Without an
LLM, what rules and the reader cannot tell is `unsure_judgement` and waits. A retry takes the pairs that are due
or that the current last judge has not seen; callers load the statements and act on the answers, and pairs whose
statements are gone are dropped.

Asks an LLM how two statements relate.

The model sees both as quoted data, with subject, dates and which came first, and nothing else: no history, no
identity, no other memory. It gives its reasons first. An invalid answer is `unsure_judgement`, never a
default; `cascade` decides whether an answer is enough.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from pydantic import Field

from festinger.clock import Stopwatch, iso
from festinger.errors import Overloaded, ProviderRefused, Unavailable
from festinger.ids import SpaceId
from festinger.judge import records
from festinger.judge.model import (
    ACCEPT,
    CurrentSide,
    GuardKind,
    Judgement,
    JudgeStatement,
    PairFeatures,
    PairJudgement,
    Relation,
    StatementPair,
    WaitingPair,
    is_newer_statement,
    unsure_judgement,
)
from festinger.judge.pair_reader import NAME as READER
from festinger.judge.pair_reader import PairReader, does_reading_count, select_pair_indexes
from festinger.judge.records import LLM, JudgeDeps
from festinger.judge.rules import decide
from festinger.judge.rules.decide import (
    are_any_of_kind,
    explain_agreement,
    is_backed_denial,
    is_double_negation,
    is_partial_denial,
)
from festinger.judge.rules.guards import ReadingComparison, compare_readings
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.subjects import find_other_subject
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.observability.metrics import DEGRADED, JUDGE_FAILURES
from festinger.store.pool import Transaction

LONGEST = 8000
"""Characters of a statement shown to a model; no memory is longer."""


class RelationAnswer(AnswerSchema):
    """How the second statement relates to the first."""

    relation: Literal["same", "update", "contradicts", "refines", "unrelated", "unsure"]
    current: Literal["new", "old", "both"]
    confidence: float = Field(ge=0, le=1)


async def judge_by_llm(
    model: Model, old: JudgeStatement, new: JudgeStatement, *, compared: ReadingComparison
) -> Judgement:
    """Ask a model how two statements relate; an answer that does not fit the schema is `unsure_judgement`."""
    name = f"{LLM}{model.name}"
    try:
        answer = await model.answer([build_question(old, new)], RelationAnswer)
    except ProviderRefused as error:
        why = str(error.details.get("flaw", "refused"))
        JUDGE_FAILURES.labels(judge="llm", why=why).inc()
        return unsure_judgement(name, f"The model gave no usable answer: {why}.", guards=compared.guards)
    said = answer.value
    relation = Relation(said.relation)
    if relation is Relation.SAME and (parted := compared.find_parting_guard(sure=True)):
        why = parted.why
        return unsure_judgement(name, f"The model takes them for the same, but: {why}", guards=compared.guards)
    return Judgement(
        relation=relation,
        current=CurrentSide(said.current) if relation is Relation.UPDATE else CurrentSide.BOTH,
        confidence=said.confidence,
        judge=name,
        reasoning=said.reasoning,
        guards=compared.guards,
        prompt_hash=answer.prompt_hash,
        final=relation is not Relation.UNSURE,
    )


def build_question(old: JudgeStatement, new: JudgeStatement) -> PromptMessage:
    return load_prompt("festinger.judge", "relate").message(
        old=_quoted(old.text),
        new=_quoted(new.text),
        old_about=_about(old),
        new_about=_about(new),
        order=_order(old, new),
    )


def _quoted(text: str) -> str:
    """Quote the text as JSON, so that no quotation mark, line break or hidden character ends it."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
    return json.dumps(cut, ensure_ascii=True).replace("<", "\\u003c").replace("`", "\\u0060")


def _about(statement: JudgeStatement) -> str:
    parts = [
        f"about {_quoted(statement.subject)}" if statement.subject else "",
        f"happened {iso(statement.event_time)}" if statement.event_time else "",
        f"said {iso(statement.said_at)}" if statement.said_at else "",
        f"by a {statement.origin.value}",
    ]
    return ", ".join(part for part in parts if part)


def _order(old: JudgeStatement, new: JudgeStatement) -> str:
    is_later = is_newer_statement(old, new)
    if is_later is None:
        return "It is not known which is the later one."
    return "The SECOND is the later one." if is_later else "The FIRST is the later one, although it was stored before."


AT_ONCE = 4
"""Concurrent model calls in one batch."""

WITHOUT_A_PAUSE = 20
"""Pairs judged by rules before yielding to the event loop."""

ASKED_FROM = 0.85
"""Cosine from which an LLM is asked about what the reader keeps apart or holds against each other."""

ENOUGH_OF_THE_LAST = 0.5
"""Confidence at which the LLM, the last judge, is believed if its answer replaces nothing."""

ModelFor = Callable[[SpaceId], Awaitable[Model | None]]
"""Returns the model that judges for a space, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeConfig:
    """The settings of a space that the cascade reads."""

    accept: float = ACCEPT
    calls_per_hour: int = 1000


async def null_model_for(_space: SpaceId) -> Model | None:
    """Provide no model, for an app without an LLM."""
    return None


class Cascade:
    """The judges of the app. The reader and `model_for` may be absent."""

    def __init__(
        self,
        deps: JudgeDeps,
        *,
        stopwatch: Stopwatch,
        terms: Callable[[SpaceId], CascadeConfig] = lambda _space: CascadeConfig(),
        model_for: ModelFor = null_model_for,
    ) -> None:
        self.deps = deps
        self._stopwatch = stopwatch
        self._terms = terms
        self._reader: PairReader | None = None
        self._model_for = model_for

    def set_reader(self, reader: PairReader) -> None:
        """Use the bundled reader from now on, after the rules."""
        self._reader = reader

    def by_rules(self, pair: StatementPair) -> Judgement:
        """Judge by rules only, else `unsure_judgement`; stores nothing."""
        return judge_by_rules(pair)

    async def at_once(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge by people's earlier decisions, rules and the reader; call outside a transaction."""
        if not pairs:
            return []
        judges = [self._reader.name] if self._reader else []
        said_before = await records.find_known_judgements(self.deps, space, pairs, judges=judges)
        new = [pair for pair in pairs if pair.hashes not in said_before]
        judged = iter(await self._leave_to_model(space, new, await self._judge_locally_all(space, new)))
        return [said_before.get(pair.hashes) or next(judged) for pair in pairs]

    async def _leave_to_model(
        self, space: SpaceId, pairs: Sequence[StatementPair], judged: Sequence[Judgement]
    ) -> list[Judgement]:
        """Leave open what a configured model shall judge as well."""
        doubtful = [needs_second_opinion(pair, said) for pair, said in zip(pairs, judged, strict=True)]
        if not any(doubtful) or await self._model_for(space) is None:
            return list(judged)
        return [
            unsure_judgement(said.judge, said.reasoning, guards=said.guards, leaning=said.relation) if is_open else said
            for said, is_open in zip(judged, doubtful, strict=True)
        ]

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge many pairs with the whole cascade, the most similar first and a few at a time."""
        model = await self._model_for(space)
        judges = [self._reader.name] if self._reader else []
        judges += [f"{LLM}{model.name}"] if model else []
        said_before = await records.find_known_judgements(self.deps, space, pairs, judges=judges)
        asked = await records.model_calls_last_hour(self.deps, space) if model else 0
        allowance = _CallBudget(max(0, self._terms(space).calls_per_hour - asked) if model else 0)
        few = asyncio.Semaphore(AT_ONCE)

        async def judged(pair: StatementPair) -> Judgement:
            if pair.hashes in said_before:
                return said_before[pair.hashes]
            async with few:
                return await self._judge_with_fallback_llm(space, pair, model=model, allowance=allowance)

        order = sorted(range(len(pairs)), key=lambda at: -(pairs[at].features.similarity or 0.0))
        answers = await asyncio.gather(*(judged(pairs[at]) for at in order))
        by_place = dict(zip(order, answers, strict=True))
        return [by_place[at] for at in range(len(pairs))]

    async def keep(self, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement]) -> list[UUID]:
        """Store judgements and return their ids in the same order."""
        return await records.save_judgements(self.deps, transaction, space, opinions)

    async def waiting(self, transaction: Transaction, space: SpaceId, ref: UUID) -> list[WaitingPair]:
        """Return the pairs of a statement that wait for a judge."""
        return await records.list_waiting_pairs(transaction, space, ref)

    async def drop(self, transaction: Transaction, space: SpaceId, ref: UUID) -> None:
        """Drop all waiting pairs of a statement that is gone."""
        await records.drop_waiting_pairs(transaction, space, ref)

    async def last_judge_name(self, space: SpaceId) -> str:
        """Return the name of the last judge of the cascade; pairs that it has not seen may be retried."""
        model = await self._model_for(space)
        if model is not None:
            return f"{LLM}{model.name}"
        return self._reader.name if self._reader else decide.NAME

    async def _judge_locally_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        return await judge_locally(pairs, reader=self._reader, accept=self._terms(space).accept)

    async def _judge_with_fallback_llm(
        self, space: SpaceId, pair: StatementPair, *, model: Model | None, allowance: "_CallBudget"
    ) -> Judgement:
        [quick] = await self._judge_locally_all(space, [pair])
        is_settled = quick.final and not needs_second_opinion(pair, quick)
        if is_settled or model is None or not allowance.take():
            return quick
        try:
            said = await judge_by_llm(model, pair.old, pair.new, compared=_compare_pair(pair))
        except (Overloaded, Unavailable):
            # The model never answered, so this was no attempt: the pair waits as before.
            DEGRADED.labels(what="judge").inc()
            return quick
        settled = settle_last_judgement(said, accept=self._terms(space).accept)
        if settled.relation is not Relation.UNSURE:
            return settled
        if quick.final:
            return quick
        # A model that cannot tell takes nothing back: until it is decided, go by the statement the reader goes by.
        return replace(settled, current=quick.current, confidence=quick.confidence)


@dataclass(slots=True)
class _CallBudget:
    """Calls left in this hour."""

    left: int

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


async def judge_locally(pairs: Sequence[StatementPair], *, reader: PairReader | None, accept: float) -> list[Judgement]:
    judged = []
    for number, pair in enumerate(pairs, 1):
        judged.append(judge_by_rules(pair, accept=accept))
        if number % WITHOUT_A_PAUSE == 0:
            # Rules never await, and a batch can keep the loop busy for half a second.
            await asyncio.sleep(0)
    if reader is None:
        return judged
    places = [
        at
        for at in select_pair_indexes(pairs)
        if judged[at].relation is not Relation.SAME
        and not decide.settles_by_label(pairs[at].old, pairs[at].new, judged[at])
    ]
    asked = [pairs[at] for at in places]
    compared = [_compare_pair(pair) for pair in asked]
    try:
        read = await reader.judge_all(asked, compared)
    except Unavailable:
        DEGRADED.labels(what="judge").inc()
        return judged
    for at, by_reader, seen in zip(places, read, compared, strict=True):
        if does_reading_count(by_reader, pairs[at], by_rules=judged[at]):
            judged[at] = _weigh_reader(judged[at], by_reader, seen, pairs[at].features, accept=accept)
    return judged


def judge_by_rules(pair: StatementPair, *, accept: float = ACCEPT) -> Judgement:
    """Judge by rules and settle, with no other judge to follow."""
    return accept_if_sure(decide.judge(pair.old, pair.new, pair.features), accept=accept)


def needs_second_opinion(pair: StatementPair, said: Judgement) -> bool:
    """Whether an LLM is asked although the reader is sure: of statements this alike, it takes one in five wrongly for two.

    A pair that waited was as near, and comes without its similarity.
    """
    similarity = pair.features.similarity
    return (
        said.final
        and said.judge == READER
        and said.relation in (Relation.UNRELATED, Relation.CONTRADICTS)
        and (similarity is None or similarity >= ASKED_FROM)
        and find_other_subject(_compare_pair(pair)) is None
    )


def is_conclusive(said: Judgement, *, accept: float) -> bool:
    return said.relation is not Relation.UNSURE and said.confidence >= accept


def accept_if_sure(said: Judgement, *, accept: float) -> Judgement:
    """Settle after a judge that is not the last: its answer if it is sure, else `unsure_judgement`."""
    if is_conclusive(said, accept=accept):
        return replace(said, final=True)
    if said.relation is Relation.UNSURE:
        return replace(said, final=False) if said.final else said
    why = f"Perhaps `{said.relation}` ({said.confidence:.2f}): {said.reasoning}"
    return unsure_judgement(said.judge, why, guards=said.guards, leaning=said.relation, current=said.current)


def _weigh_reader(
    said: Judgement, read: Judgement, compared: ReadingComparison, features: PairFeatures, *, accept: float
) -> Judgement:
    """Settle between rules and the reader, who is right more often where both are sure.

    It cannot tell a synonym from an opposite where a single phrase differs, nor whether two statements about any
    of a kind are about the same one, nor what can never change; there it needs the support of rules, as where it
    only finds nothing worth asking about. Where one side denies what the other states, it need not be sure.
    """
    is_history = read.relation is Relation.UPDATE and compared.old.past and not compared.new.past
    why = "The old one speaks of what was." if is_history else find_other_subject(compared)
    if read.relation is not Relation.UNRELATED and why:
        return replace(read, relation=Relation.UNRELATED, current=CurrentSide.BOTH, reasoning=why, final=True)
    is_opposed = said.final and said.relation is Relation.CONTRADICTS
    if read.relation is Relation.CONTRADICTS and is_partial_denial(compared):
        return said
    if read.relation is Relation.CONTRADICTS and (why := explain_agreement(compared)):
        return replace(read, relation=Relation.UNRELATED, reasoning=why, final=True)
    if (
        read.relation is Relation.CONTRADICTS
        and (is_opposed or not said.final)
        and is_backed_denial(compared, features)
    ):
        return replace(read, confidence=max(read.confidence, accept))
    by_reader = accept_if_sure(read, accept=accept)
    if is_opposed and compared.is_denial and read.leaning is Relation.SAME:
        # `Only Petra has root` and `Nobody else has root`: what is denied is not what the other states.
        return by_reader
    if not by_reader.final:
        agrees = read.relation is said.relation is Relation.UNRELATED
        return said if said.final and (agrees or not said.tentative) else by_reader
    if by_reader.tentative:
        return said if said.final and not said.tentative else by_reader
    if by_reader.relation is Relation.UNRELATED:
        return said if is_opposed and compared.difference.swapped else by_reader
    is_any = are_any_of_kind(compared)
    is_blind = is_any or compared.difference.swapped or is_double_negation(compared)
    if by_reader.relation is Relation.CONTRADICTS and is_blind and not is_opposed:
        why = f"Perhaps they contradict: {by_reader.reasoning}"
        return unsure_judgement(by_reader.judge, why, leaning=by_reader.relation)
    if by_reader.relation is Relation.UPDATE and is_opposed and GuardKind.SLOT in said.guards:
        # Of one attribute, without a word of change: it may never change.
        return by_reader if compared.new.announces else said
    if by_reader.relation in (Relation.UPDATE, Relation.SAME) and is_any:
        why = "Of whom they speak is not said."
        return said if is_opposed else unsure_judgement(by_reader.judge, why, leaning=by_reader.relation)
    return by_reader


def settle_last_judgement(said: Judgement, *, accept: float) -> Judgement:
    """Settle after the last judge; a relation that replaces nothing needs less confidence than a merge."""
    replaces_nothing = said.relation in (Relation.CONTRADICTS, Relation.UPDATE, Relation.REFINES, Relation.UNRELATED)
    if replaces_nothing and said.confidence >= ENOUGH_OF_THE_LAST:
        return replace(said, final=True)
    return replace(accept_if_sure(said, accept=accept), prompt_hash=said.prompt_hash)


def _compare_pair(pair: StatementPair) -> ReadingComparison:
    old, new = (parse_statement(each.text, said_at=each.said_at) for each in (pair.old, pair.new))
    return compare_readings(old, new, statements=(pair.old, pair.new))


MOST_AT_ONCE = 100

Load = Callable[[SpaceId, WaitingPair], Awaitable[StatementPair | None]]
"""Loads the statements of a pair as they are now; none if one is gone."""

Settle = Callable[[SpaceId, StatementPair, Judgement], Awaitable[object]]
"""Applies and stores a judgement in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementRetryResult:
    judged: int
    still_waiting: int
    gone: int


async def retry_waiting_pairs(
    cascade: Cascade, space: SpaceId, *, load: Load, settle: Settle, limit: int = MOST_AT_ONCE
) -> JudgementRetryResult:
    judge = await cascade.last_judge_name(space)
    waiting = await records.list_due_pairs(cascade.deps, space, judge=judge, limit=limit)
    loaded = [(each, await load(space, each)) for each in waiting]
    pairs = [pair for _, pair in loaded if pair is not None]
    answers = await cascade.with_model_all(space, pairs)
    for pair, said in zip(pairs, answers, strict=True):
        if said.final:
            await settle(space, pair, said)
        elif said.judge == judge or not judge.startswith(LLM):
            # Small judges need not read every pair: it waits for one that was never at hand. An LLM that did not
            # answer has made no attempt.
            async with cascade.deps.store.transaction() as transaction:
                kept = PairJudgement(pair=pair, judgement=replace(said, judge=judge))
                await cascade.keep(transaction, space, [kept])
    for each in (each for each, pair in loaded if pair is None):
        async with cascade.deps.store.transaction() as transaction:
            await records.drop_waiting_pair(transaction, space, each.id)
    done = sum(said.final for said in answers)
    return JudgementRetryResult(judged=done, still_waiting=len(answers) - done, gone=len(loaded) - len(pairs))
