"""The bundled encoder with trained layers: each reader answers its own question, whatever else is loaded."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from festinger.embedding.runtime import Runner
from festinger.embedding.trained_encoder import (
    TextClassifier,
    load_trained_layers,
    open_split_reader,
    open_text_classifier,
)
from festinger.memory.extract.classifier import reader_path as statement_reader
from festinger.retrieval.notes import screen_path

ALLERGY, PORT = "I'm allergic to peanuts", "Our staging database listens on port 5433"
LONG = "My sister Aino, who lives in the flat above ours with two cats, comes for dinner on most Sundays"
RECIPE = "suggest a satay recipe"


async def test_two_readers_in_one_process_do_not_share_what_they_learned():
    statements = await open_text_classifier(statement_reader())
    notes = await open_split_reader(screen_path())
    try:
        allergy, port = await notes.logits([ALLERGY, PORT], RECIPE)
        fact, question = await statements.logits([f"{PORT} [SEP]  [SEP] ", "how do I dump a table [SEP]  [SEP] "])
    finally:
        await statements.close()
        await notes.close()

    assert allergy > 0 > port
    assert fact > 0 > question


async def test_a_note_gets_the_same_answer_alone_and_in_company_now_and_later():
    notes = await open_split_reader(screen_path())
    try:
        together = await notes.logits([ALLERGY, PORT, LONG, ALLERGY], RECIPE)
        again = await notes.logits([LONG, ALLERGY, PORT], RECIPE)
        other = await open_split_reader(screen_path())
        alone = [(await other.logits([each], RECIPE))[0] for each in (ALLERGY, PORT, LONG)]
        nothing = await notes.logits([], RECIPE)
        await other.close()
    finally:
        await notes.close()

    assert together[:3] == pytest.approx(alone, abs=0.02)  # notes are kept with 16 bits
    assert together[3] == together[0]
    assert [again[1], again[2], again[0]] == pytest.approx(together[:3], abs=0.02)
    assert nothing == []


async def test_notes_that_were_read_are_not_read_again(monkeypatch: pytest.MonkeyPatch):
    notes = await open_split_reader(screen_path())
    read: list[int] = []
    run = notes._read_notes.run

    def count_notes(feed: Any) -> NDArray[np.float32]:
        read.append(len(feed["input_ids"]))
        return run(feed)

    monkeypatch.setattr(notes._read_notes, "run", count_notes)
    try:
        await notes.logits([ALLERGY, PORT], RECIPE)
        await notes.logits([PORT, LONG], "and which port was it?")
    finally:
        await notes.close()

    assert sum(read) == 3


async def test_many_messages_at_once_get_the_answers_they_get_one_by_one():
    notes = await open_split_reader(screen_path())
    messages = [f"{RECIPE} for {number}" for number in range(60)]
    try:
        at_once = await asyncio.gather(*(notes.logits([ALLERGY, PORT, LONG], each) for each in messages))
        one_by_one = [await notes.logits([ALLERGY, PORT, LONG], each) for each in messages]
    finally:
        await notes.close()

    for first, second in zip(at_once, one_by_one, strict=True):
        assert first == pytest.approx(second, abs=0.02)


async def test_readers_of_one_process_share_the_embeddings_of_words():
    readers = [load_trained_layers(each()) for each in (screen_path, statement_reader)]

    assert readers[0].words is readers[1].words


class LengthRunner(Runner):
    """Gives each text its length, and remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    async def rows(
        self, texts: Sequence[str] | Sequence[tuple[str, str]], *, is_urgent: bool = False
    ) -> NDArray[np.float32]:
        self.given += map(str, texts)
        return np.array([[len(text)] for text in texts], np.float32)


async def test_a_text_is_read_once():
    runner = LengthRunner()
    classifier = TextClassifier(runner, np.ones((1, 1), np.float32), np.zeros(1, np.float32))

    first = await classifier.logits(["a", "bbb", "a"])
    second = await classifier.logits(["bbb", "cc"])

    assert first == [20.0, 60.0, 20.0]
    assert second == [60.0, 40.0]
    assert runner.given == ["a", "bbb", "cc"]
