"""The bundled encoder with trained layers: each reader answers its own question, whatever else is loaded."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from festinger.embedding.runtime import Runner
from festinger.embedding.trained_encoder import TextClassifier, open_text_classifier
from festinger.memory.extract.classifier import reader_path as statement_reader
from festinger.retrieval.notes import pair_text
from festinger.retrieval.notes import reader_path as note_reader

ALLERGY, PORT = "I'm allergic to peanuts", "Our staging database listens on port 5433"
RECIPE = "suggest a satay recipe"


async def test_two_readers_in_one_process_do_not_share_what_they_learned():
    statements = await open_text_classifier(statement_reader())
    notes = await open_text_classifier(note_reader())
    try:
        allergy, port = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        fact, question = await statements.logits([f"{PORT} [SEP]  [SEP] ", "how do I dump a table [SEP]  [SEP] "])
    finally:
        await statements.close()
        await notes.close()

    assert allergy > 0 > port
    assert fact > 0 > question


async def test_a_text_gets_the_same_answer_alone_and_in_company():
    notes, other = [await open_text_classifier(note_reader()) for _ in range(2)]
    try:
        together = await notes.logits([pair_text(ALLERGY, RECIPE), pair_text(PORT, RECIPE)])
        alone = [(await other.logits([pair_text(each, RECIPE)]))[0] for each in (ALLERGY, PORT)]
        nothing = await notes.logits([])
    finally:
        await notes.close()
        await other.close()

    assert together == pytest.approx(alone, abs=0.3)  # the scale of 8-bit products is that of the batch
    assert nothing == []


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
    classifier = TextClassifier(runner, np.ones((1, 1), np.float32), np.zeros(1, np.float32), {})

    first = await classifier.logits(["a", "bbb", "a"])
    second = await classifier.logits(["bbb", "cc"])

    assert first == [20.0, 60.0, 20.0]
    assert second == [60.0, 40.0]
    assert runner.given == ["a", "bbb", "cc"]
