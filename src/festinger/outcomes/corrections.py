"""Learns what a person says in place of a wrong note and applies named successors.

An inferred outcome replaces nothing by itself. But a correction is a statement: it is learned as that
person's, so that the judges see it beside the note and trust decides what follows. A bare `no` says nothing
to learn. A successor named by a reporter is only a judgment too: trust decides whether the old memory is
superseded or both wait for a person. The cue lists in `lists/` are our own; they hold what any English
speaker would name, and no phrase because it is in a test. What a cue means for a note is decided in
`inference`.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from uuid import UUID

from festinger.ids import AgentId, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.judge.model import PERSON, CurrentSide, Judgement, PairJudgement, Relation
from festinger.judge.rules.attributes import WORD, value_key
from festinger.judge.rules.parse import parse_statement
from festinger.memory.changes import load_existing_memories, lock_owners
from festinger.memory.late_judgements import apply_judgements_in_transaction, build_comparison, build_memory_pair
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory
from festinger.outcomes.model import OutcomeDeps, OutcomeReport, ReportContext, Reporter, parse_memory_id
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.normalize import fold
from festinger.world.model import NoteOutcome

LISTS = Path(__file__).parent / "lists"

_NOT = re.compile(r"\b(\w+)n't\b")
_PREFIXES = {"ca": "can", "wo": "will", "sha": "shall"}
_BETWEEN = re.compile(r"[^\w']+")


@cache
def _load_pattern(name: str) -> re.Pattern[str]:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    phrases = sorted((line.strip() for line in lines if line.strip() and line[0] != "#"), key=len, reverse=True)
    return re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, phrases)) + r")(?![\w'])")


def normalize_phrase(text: str) -> str:
    """Lowercase a text, separate its words by one space and write out `not`."""
    plain = _NOT.sub(lambda found: f"{_PREFIXES.get(found[1], found[1])} not", fold(text))
    return _BETWEEN.sub(" ", plain.replace("cannot", "can not")).strip()


def is_correction(text: str) -> bool:
    """Whether the text says that something is wrong."""
    return _load_pattern("correction_cues").search(normalize_phrase(text)) is not None


def text_after_correction(text: str) -> str | None:
    """Return what follows a correction cue at the start of a text; None if there is none."""
    plain = normalize_phrase(text)
    found = _load_pattern("correction_cues").match(plain)
    return plain[found.end() :].strip() if found else None


def is_dismissal(text: str) -> bool:
    """Whether the text says that something known is disregarded."""
    return _load_pattern("setting_aside_cues").search(normalize_phrase(text)) is not None


Q = load_queries("festinger.outcomes")

CORRECT = "judge_corrections"
"""The job that takes a person's correction to the judges."""

SHORT = 4
"""Longest cue, in words, before what is said instead: `actually, …`."""

_INSTEAD = re.compile(
    r"\b(?:it|that|this|he|she|they)(?:\s+(?:is|are|was)|['’]s)(?:\s+now)?\s+(?P<value>[^.!?;,\n]+)", re.IGNORECASE
)


def strip_correction_cue(sentence: str) -> str:
    """Return a sentence without its leading correction cue."""
    head, comma, rest = sentence.partition(",")
    is_cue = bool(comma and rest.strip()) and len(head.split()) <= SHORT and is_correction(head)
    return rest.strip() if is_cue else sentence.strip()


def substitute_value(note: str, message: str) -> str | None:
    """Put the value that a person names (`no, it is B`) into the note; None if its place is unclear."""
    instead, slots = _INSTEAD.search(message), parse_statement(note).slots
    if instead is None or not slots:
        return None
    words = list(WORD.finditer(note))
    for at in range(len(words) - 1, -1, -1):
        if value_key(tuple(word[0] for word in words[at:])) == slots[0].value:
            return note[: words[at].start()] + instead["value"].strip() + note[words[-1].end() :]
    return None


async def learn_correction(deps: OutcomeDeps, space: SpaceId, memory: UUID, *, session: SessionId) -> Learned | None:
    """Learn what a person said in place of a memory; None if there is nothing to learn."""
    row = await deps.store.maybe(Q["last_correction"], space=space, memory=memory, session=session)
    if row is None:
        return None
    async with deps.store.transaction() as transaction:
        note = (await load_existing_memories(transaction, space, [memory])).get(row["memory_id"])
    if note is None or not note.is_live:
        return None
    request = LearnRequest(
        text=row["said"],
        subject=note.subject,
        kind=note.kind,
        origin=Origin.PERSON,
        source=f"correction of {memory}",
        shared=note.agent_id is None,
        key=f"correction:{row['id']}",
    )
    scope = Scope(space=space, agent=AgentId(row["agent_id"]), session=session)
    learned = await learn(deps.memory, scope, request)
    # The new memory holds the text now, and it is forgotten with it: nothing else may keep it.
    await deps.store.run(Q["drop_correction"], space=space, id=row["id"])
    return learned


SURE = {True: 0.9, False: 0.6}
"""Confidence of a reporter: a person, and anything else."""


def superseded_pairs(report: OutcomeReport) -> dict[MemoryId, MemoryId]:
    """Return the contradicted memories with their named successors."""
    found = {
        parse_memory_id(old): parse_memory_id(new)
        for old, new in report.superseded_by.items()
        if report.outcome_of(old) is NoteOutcome.CONTRADICTED and old in report.memories
    }
    return {old: new for old, new in found.items() if old is not None and new is not None and old != new}


async def lock_successor_owners(transaction: Transaction, reporter: Reporter, report: OutcomeReport) -> None:
    """Lock the owners of the successors before any row: superseding takes the same locks."""
    new = await load_existing_memories(transaction, reporter.scope.space, set(superseded_pairs(report).values()))
    await lock_owners(transaction, reporter.scope.space, [memory.agent_id for memory in new.values()])


async def supersede_contradicted(context: ReportContext, *, held: Mapping[MemoryId, Memory]) -> None:
    """Supersede contradicted memories by the named successors, as far as the reporter is trusted."""
    transaction, reporter = context.transaction, context.reporter
    for old, new in sorted(superseded_pairs(context.report).items()):
        if old not in held:
            continue
        found = await load_existing_memories(transaction, reporter.scope.space, [UUID(int=old.int), UUID(int=new.int)])
        newer = found.get(new)
        if newer is None or newer.agent_id not in (None, reporter.scope.agent) or old not in found:
            continue
        judgement = build_successor_judgement(reporter)
        opinion = PairJudgement(pair=build_memory_pair(found[old], newer), judgement=judgement)
        await apply_judgements_in_transaction(
            context.deps.memory, transaction, newer, [build_comparison(found[old], opinion)], by=reporter.name
        )


def build_successor_judgement(reporter: Reporter) -> Judgement:
    """Build the judgment that naming a successor amounts to."""
    is_person = reporter.origin is Origin.PERSON
    return Judgement(
        relation=Relation.UPDATE,
        current=CurrentSide.NEW,
        confidence=SURE[is_person],
        judge=f"{reporter.origin.value}:{reporter.name.removeprefix(PERSON)}"[:100],
        reasoning="Named as what stands in the place of what was contradicted.",
    )
