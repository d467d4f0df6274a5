"""What helped with such a question comes sooner for it, and for no other."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import drain, rows
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE, Origin
from festinger.outcomes.model import OutcomeDeps, Reporter, ReportSource
from festinger.outcomes.report import observe_recall
from festinger.outcomes.surface import record_surfacings
from festinger.retrieval.candidate import CueOutcome, matching_outcomes, outcome_bonus
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.lessons import HEARD, embed_questions, record_cue_outcomes
from festinger.retrieval.result import RecallResult
from festinger.store.pool import Store, Transaction

MOST = 0.25


def outcomes_of(mind: Recaller) -> OutcomeDeps:
    return OutcomeDeps(
        store=mind.store,
        outbox=mind.deps.outbox,
        clock=mind.hands.clock,
        new_id=mind.deps.new_id,
        terms=lambda space: mind.searching.terms(space).outcomes,
        memory=mind.deps,
        world=mind.deps.world,
    )


def lesson(reward: float, weight: float = 1.0, likeness: float = 1.0) -> CueOutcome:
    return CueOutcome(reward=reward, weight=weight, likeness=likeness, cue="")


@pytest.mark.requirement("R-39")
def test_each_further_lesson_says_less():
    assert outcome_bonus([], most=MOST) == 0.0
    assert outcome_bonus([lesson(1.0)], most=MOST) == pytest.approx(0.125)
    assert outcome_bonus([lesson(1.0)] * 5, most=MOST) == pytest.approx(0.25 * 5 / 6, abs=1e-5)
    assert outcome_bonus([lesson(1.0), lesson(-1.0)], most=MOST) == 0.0
    assert outcome_bonus([lesson(0.3, 0.25, 0.8)], most=MOST) == pytest.approx(0.25 * 0.06 / 1.2)


@pytest.mark.requirement("R-39")
@given(st.lists(st.builds(lesson, st.floats(-1, 1), st.floats(0, 5), st.floats(0, 1)), max_size=20))
def test_it_never_adds_or_takes_more_than_it_may(lessons: list[CueOutcome]):
    assert -MOST <= outcome_bonus(lessons, most=MOST) <= MOST


@pytest.mark.requirement("R-39")
def test_only_questions_like_this_one_tell_something():
    like, unlike = lesson(1.0, likeness=0.9), lesson(1.0, likeness=0.5)

    assert matching_outcomes([like, unlike], bar=0.8) == [like]
    assert matching_outcomes([like, unlike], bar=None) == []
    assert matching_outcomes([lesson(1.0)], bar=None) == [lesson(1.0)]


class Taught:
    """Somebody who recalls and says what became of it."""

    def __init__(self, mind: Recaller) -> None:
        self.mind = mind
        self.deps = outcomes_of(mind)

        async def note(transaction: Transaction, event: Event) -> None:
            await record_cue_outcomes(transaction, event)

        mind.deps.outbox.subscribe(HEARD, "learn_questions", note)

    async def tell(self, cue: str, memory: UUID, outcome: str, session: str = "asking", **asked: Any) -> RecallResult:
        """Ask, and say of one memory what became of it."""
        found = await self.mind.recall(cue, session=session, **asked)
        await self.mind.written()
        reporter = Reporter(
            scope=self.mind.place(session), name="test", door="test", how=ReportSource.EXPLICIT, origin=Origin.PERSON
        )
        async with self.mind.store.transaction() as transaction:
            memories = [item.id for item in found.items if item.type == "memory"]
            await record_surfacings(self.deps, transaction, reporter, memories, reason="recall", recall=found.id)
        await observe_recall(self.deps, reporter, {str(memory): outcome}, recall=found.id)
        await drain(self.mind.wired.jobs)
        return found


NOTES = ("The lift needs a new cable.", "The lift takes fresh oil.", "The lift wants its spare key.")
QUESTION = "what about the lift?"
OTHERS = (
    "Bob repairs bicycles.", "Carol plays the cello.", "The printer is out of toner.", "The ferry sails on Sunday.",
    "Alice drinks green tea.", "The garden gate squeaks.", "The museum closes on Mondays.", "Dogs bark at the post.",
)  # fmt: skip


@pytest.mark.requirement("R-39")
async def test_it_learns_the_question(by_words: Recaller):
    """Five days the third note is acted on for one question: on the sixth it is first, and for others all is as it was."""
    await by_words.put(*NOTES, *OTHERS)
    await recount_words(by_words.searching, MAIN_SPACE)
    taught = Taught(by_words)
    first = await by_words.recall(QUESTION, limit=3)
    third = first.items[2].id
    cues = [text.rstrip(".").lower() for text in OTHERS] + ["new cable", "fresh oil", "spare key"]
    day_one = {cue: await by_words.texts(cue, strict=True) for cue in cues}

    for _ in range(5):
        by_words.forward(DAY)
        await taught.tell(QUESTION, third, "acted")
    sixth = await by_words.recall(QUESTION, limit=3, explain=True)

    assert sixth.items[0].id == third
    assert sixth.items[0].why is not None
    assert sixth.items[0].why["helped"] == pytest.approx(0.25 * 5 / 6, abs=1e-5)
    assert len(sixth.items[0].why["helped_by"]) == 1
    assert {cue: await by_words.texts(cue, strict=True) for cue in cues} == day_one

    by_words.forward(DAY)
    for _ in range(9):
        await taught.tell(QUESTION, third, "contradicted", session="angry")
        by_words.forward(DAY)
    order = [item.id for item in (await by_words.recall(QUESTION, limit=3)).items]
    for _ in range(50):
        await by_words.recall(QUESTION, limit=3)
        await by_words.written()
    assert order.index(third) == 2
    assert [item.id for item in (await by_words.recall(QUESTION, limit=3)).items] == order


@pytest.mark.requirement("R-39")
async def test_one_cause_teaches_once_and_the_last_word_counts(by_words: Recaller):
    [note] = await by_words.put(NOTES[0])
    taught = Taught(by_words)

    for outcome in ("used", "used", "contradicted"):
        await taught.tell(QUESTION, note, outcome)
        by_words.forward(timedelta(minutes=1))
    await taught.tell(QUESTION, note, "deferred", session="another")

    told = await rows(by_words.store, "select reward, weight, cause from cue_outcome")
    assert [(row["reward"], row["weight"]) for row in told] == [(-1.0, 1.0)]


@pytest.mark.requirement("R-39")
async def test_a_question_in_other_words_is_known_by_its_sense(store: Store):
    near = {QUESTION: 1.0, "which part is missing?": 0.95, "who sings?": 0.1} | dict.fromkeys(NOTES, 0.7)
    mind = Recaller(store, near=near)
    note, *_ = await mind.put(*NOTES)
    taught = Taught(mind)
    await taught.tell(QUESTION, note, "acted")

    assert await embed_questions(mind.searching, MAIN_SPACE) == 1
    assert await embed_questions(mind.searching, MAIN_SPACE) == 0

    async def help_for(cue: str) -> float:
        items = (await mind.recall(cue, explain=True, include=["dormant"])).items
        return next((float(item.why["helped"]) for item in items if item.id == note and item.why), 0.0)

    assert await help_for("which part is missing?") == pytest.approx(0.25 * 0.95 / 1.95, abs=1e-3)
    assert await help_for("who sings?") == 0.0
    mind.forget_unwritten()
