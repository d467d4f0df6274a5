"""What does a person put in the place of a note that they call wrong?

An inferred outcome replaces nothing by itself. But whoever corrects says something, and that is a statement like any
other: it is learnt as that person's word, so the judges see it beside the note, and trust and their rules decide what
follows. What is said in place of the note is read here; a bare `no` says nothing that could be learnt.
"""

import re
from uuid import UUID

from festinger.ids import AgentId, Origin, SessionId, SpaceId
from festinger.judge.rules.attributes import WORD, value_key
from festinger.judge.rules.parse import read
from festinger.memory.given import Given
from festinger.memory.learn import learn
from festinger.memory.learned import Learned
from festinger.memory.memory import Place
from festinger.memory.states import find_all
from festinger.outcomes.cues import corrects
from festinger.outcomes.desk import Desk
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

CORRECT = "judge_corrections"
"""The job that takes a person's correction to the judges."""

SHORT = 4
"""Words of a correction that stands before what is said instead: `actually, …`."""

_INSTEAD = re.compile(
    r"\b(?:it|that|this|he|she|they)(?:\s+(?:is|are|was)|['’]s)(?:\s+now)?\s+(?P<value>[^.!?;,\n]+)",
    re.IGNORECASE,
)


def without_cue(sentence: str) -> str:
    """What is said after a correction that a sentence begins with."""
    head, comma, rest = sentence.partition(",")
    is_cue = bool(comma and rest.strip()) and len(head.split()) <= SHORT and corrects(head)
    return rest.strip() if is_cue else sentence.strip()


def restated(note: str, message: str) -> str | None:
    """The note with the value that a person names instead: `no, it is B`; none if it cannot be told where that goes."""
    instead, slots = _INSTEAD.search(message), read(note).slots
    if instead is None or not slots:
        return None
    words = list(WORD.finditer(note))
    for at in range(len(words) - 1, -1, -1):
        if value_key(tuple(word[0] for word in words[at:])) == slots[0].value:
            return note[: words[at].start()] + instead["value"].strip() + note[words[-1].end() :]
    return None


async def take_to_judges(desk: Desk, space: SpaceId, memory: UUID, *, session: SessionId) -> Learned | None:
    """Learn what a person said in the place of a memory; none if nothing is left to learn."""
    row = await desk.store.maybe(Q["last_correction"], space=space, memory=memory, session=session)
    if row is None:
        return None
    async with desk.store.transaction() as transaction:
        note = (await find_all(transaction, space, [memory])).get(row["memory_id"])
    if note is None or not note.is_live:
        return None
    given = Given(
        text=row["said"],
        subject=note.subject,
        kind=note.kind,
        origin=Origin.PERSON,
        source=f"correction of {memory}",
        shared=note.agent_id is None,
        key=f"correction:{row['id']}",
    )
    place = Place(space=space, agent=AgentId(row["agent_id"]), session=session)
    learned = await learn(desk.memory, place, given)
    # The words stand with the new memory now, and go with it: nothing else may keep them.
    await desk.store.run(Q["drop_correction"], space=space, id=row["id"])
    return learned
