"""Calibrating a house: by what people decided in it, and what learning does with it afterwards."""

from pathlib import Path

import pytest
from tests.runtime.server import opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.client.memory import Memory
from festinger.embedding.profiles import FILE, ThresholdName
from festinger.ids import MAIN_SPACE
from festinger.judge.calibration import CalibrationExample, PairLabel
from festinger.judge.model import Relation, person_judgement
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import LearnAction
from festinger.memory.model import Memory as Remembered
from festinger.runtime.app import App, StartOptions
from festinger.services.models import calibrate, load_decided_examples

PROVIDERS = StartOptions(providers=True)
COLOURS = ("amber", "azure", "coral", "ebony", "ivory", "olive", "pearl", "scarlet", "teal", "umber")
THINGS = ("barrel", "basket", "candle", "carpet", "kettle", "ladder", "mirror")
ASH, OAK = "Bo planted an ash beside the mill.", "Bo planted a small ash next to the mill."
GATE = ("The miller repaired the wooden gate near the river", "The miller repaired wooden gate near the river bank")
LAMP = ("The sailor cleaned the copper lamp below the deck", "The sailor cleaned copper lamp below the deck stairs")


def examples() -> list[CalibrationExample]:
    """Statements that say the same with one word more, and others that share hardly a word."""
    stated = [f"the {colour} {thing} stands near the old gate" for colour in COLOURS for thing in THINGS]
    same = [CalibrationExample(a=each, b=f"{each} there", label=PairLabel.SAME) for each in stated]
    other = [
        CalibrationExample(a=each, b="rain falls upon distant hills", label=PairLabel.UNRELATED) for each in stated
    ]
    return [*same, *other]


@pytest.mark.requirement("M-26")
async def test_learning_goes_by_the_thresholds_that_were_saved_from_the_next_start(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, start=PROVIDERS, embedding__model="hashed:") as app:
        memory = handle(app)
        await memory.learn(GATE[0])
        unmeasured = await memory.learn(GATE[1])
        tried = await calibrate(app, examples(), data="ours")
        assert not (app.home / FILE).exists()
        saved = await calibrate(app, examples(), data="ours", save=True)
    async with opened(database_url, tmp_path, start=PROVIDERS, embedding__model="hashed:") as app:
        memory = handle(app)
        await memory.learn(LAMP[0])
        measured = await memory.learn(LAMP[1])

        assert app.embedder is not None
        assert app.embedder.profile.threshold(ThresholdName.SAME) == saved.new.threshold(ThresholdName.SAME)
    assert saved == tried
    assert unmeasured.action is not LearnAction.CONFIRMED
    assert measured.action is LearnAction.CONFIRMED


async def learnt(memory: Memory, text: str, subject: str) -> Remembered:
    learned = await memory.learn(text, subject=subject)
    assert learned.memory is not None
    return learned.memory


async def decide(app: App, old: Remembered, new: Remembered, relation: Relation) -> None:
    """A person's word on two memories, as every door keeps it."""
    said = person_judgement("Ada", relation, reasoning="")
    async with app.store.transaction() as transaction:
        await app.memory.deps.panel.store_person_decision(transaction, MAIN_SPACE, build_memory_pair(old, new), said)


@pytest.mark.requirement("M-26")
async def test_what_people_decided_here_is_an_example_as_long_as_both_read_as_they_did(
    database_url: str, tmp_path: Path
):
    async with opened(database_url, tmp_path, start=PROVIDERS, embedding__model="none:") as app:
        memory = handle(app)
        ash, oak = await learnt(memory, ASH, "the ash"), await learnt(memory, OAK, "Bo's ash")
        gate = await learnt(memory, GATE[0], "the gate")
        assert await load_decided_examples(app, MAIN_SPACE) == []

        await decide(app, ash, oak, Relation.CONTRADICTS)
        await decide(app, ash, oak, Relation.SAME)
        await decide(app, oak, gate, Relation.UNRELATED)
        found = await load_decided_examples(app, MAIN_SPACE)
        await memory.edit(gate.id, content="The miller painted the gate.")
        after = await load_decided_examples(app, MAIN_SPACE)

    assert found == [
        CalibrationExample(a=OAK, b=GATE[0], label=PairLabel.UNRELATED),
        CalibrationExample(a=ASH, b=OAK, label=PairLabel.SAME),
        CalibrationExample(a="the ash", b="Bo's ash", label=PairLabel.SAME_SUBJECT),
    ]
    assert after == found[1:]
